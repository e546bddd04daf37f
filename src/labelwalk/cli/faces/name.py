"""`labelwalk faces name`: a stranger gets a name."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.faces.folders import kept_in
from labelwalk.cli.faces.options import Folder
from labelwalk.cli.failures import told
from labelwalk.cli.files import counted, say
from labelwalk.cli.passphrase import PassphraseFile


def name(
    folder: Folder,
    stranger: Annotated[str, typer.Argument(help="'#3', or 'unknown #3', as `watch` calls them.")],
    name: Annotated[str, typer.Argument(help="Who it is.")],
    passphrase_file: PassphraseFile = None,
    quiet: read.Quiet = False,
) -> None:
    """Say who a numbered stranger is: a few of their views are taught, and the others follow.

    \b
    Examples:
      labelwalk faces name people '#3' Ada
      labelwalk faces name people 'unknown #3' Ada
    """  # noqa: D301
    with told():
        from labelwalk.faces.names import plain, stranger_called

        number, name = stranger_called(f"#{stranger.removeprefix('#')}"), plain(name)
        number = stranger_called(stranger) if number is None else number
        if number is None:
            raise ValueError(f"{stranger!r} is no stranger. Give a number, as in '#3'.")
        with kept_in(folder, None, passphrase_file) as gallery:
            taught = gallery.name_stranger(number, name)
        console = Console(stderr=True, highlight=False, quiet=quiet)
        say(console, f"unknown #{number} is {name}: {counted(len(taught), 'view')} taught.")
        say(console, f"People: {folder}")
