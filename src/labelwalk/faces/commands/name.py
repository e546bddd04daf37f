"""`labelwalk faces name`: a stranger gets a name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.failures import told
from labelwalk.cli.files import counted, say
from labelwalk.cli.passphrase import PassphraseFile
from labelwalk.faces.commands.folders import kept_in
from labelwalk.faces.commands.options import Folder

if TYPE_CHECKING:
    from labelwalk.faces.people_store import Gallery


def name(
    folder: Folder,
    stranger: Annotated[str, typer.Argument(help="'#3', or 'unknown #3', as `watch` calls them.")],
    name: Annotated[str, typer.Argument(help="Who it is.")],
    passphrase_file: PassphraseFile = None,
    quiet: read.Quiet = False,
) -> None:
    """Say who a numbered stranger is: a few of their views are taught, and the others follow.

    Where somebody has that name already, it is the same person from then on, and that is said.

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
            before = _n_taught(gallery, name)
            taught = gallery.name_stranger(number, name)
        console = Console(stderr=True, highlight=False, quiet=quiet)
        say(console, f"unknown #{number} is {name}: {counted(len(taught), 'view')} taught.")
        if before:
            _say_whom_they_joined(console, name, before, taught)
        say(console, f"People: {folder}")


def _n_taught(gallery: Gallery, name: str) -> int:
    return sum(one.taught for one in gallery.recognizer.known() if one.name == name)


def _say_whom_they_joined(console: Console, name: str, before: int, taught: list[int]) -> None:
    """Say that two are one now, and what takes it back: it may be a mistake."""
    known, more = counted(before, "view"), counted(len(taught), "view")
    say(console, f"{name} was known already, by {known}, and now has {more} more.")
    wrong = json.dumps({"examples": taught})
    say(
        console,
        f"Not the same person? A service with faces takes it back: POST /api/faces/undo {wrong}",
    )
