"""`labelwalk faces forget`: somebody made as if they had never been."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.failures import FAILED, fail, told
from labelwalk.cli.files import counted, say
from labelwalk.cli.passphrase import PassphraseFile
from labelwalk.faces.commands.folders import kept_in
from labelwalk.faces.commands.options import Folder

if TYPE_CHECKING:
    from labelwalk.faces.people_store import Gallery
    from labelwalk.service.erasure import ErasureResult


def forget(
    folder: Folder,
    who: Annotated[
        str | None, typer.Argument(help="A name; or '#3', a stranger.", metavar="NAME")
    ] = None,
    strangers: Annotated[
        bool,
        typer.Option("--strangers", help="All who have no name, those without a number too."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    passphrase_file: PassphraseFile = None,
    quiet: read.Quiet = False,
) -> None:
    """Erase somebody for good: what was taught, all views taken for them, pictures, backups.

    \b
    Examples:
      labelwalk faces forget people Ada
      labelwalk faces forget people '#3' --yes
      labelwalk faces forget people --strangers
    """  # noqa: D301
    if (who is None) != strangers:
        raise typer.BadParameter("give a NAME, or '#3' in quotes, or --strangers: one of them.")
    with told():
        with kept_in(folder, None, passphrase_file) as gallery:
            asked = _asked(gallery, who)
            if not yes and not typer.confirm(f"{asked.said}. Erase all of it?", err=True):
                fail("Nothing is erased.", FAILED)
            gone = asked.erase()
        console = Console(stderr=True, highlight=False, quiet=quiet)
        say(console, f"Erased: {counted(gone.examples, 'view')}. {gone.meaning}")


class _Asked(NamedTuple):
    """Whom it is about, in words, and what makes them as if they had never been."""

    said: str
    erase: Callable[[], ErasureResult]


def _asked(gallery: Gallery, who: str | None) -> _Asked:
    from labelwalk.faces.names import stranger_called, unknown

    if who is None:
        return _Asked("All views that have no name", gallery.forget_strangers)
    for person in gallery.recognizer.known():
        if person.name == who:
            taught, seen = counted(person.taught, "view"), counted(person.examples, "time")
            return _Asked(
                f"{who}: {taught} taught, seen about {seen}", partial(gallery.forget, who)
            )
    number = stranger_called(who)
    for stranger in gallery.recognizer.strangers():
        if stranger.number == number:
            said = f"{unknown(number)}: seen about {counted(stranger.examples, 'time')}"
            return _Asked(said, partial(gallery.forget_stranger, stranger.number))
    people = ", ".join(gallery.recognizer.people) or "nobody"
    others = ", ".join(f"#{one.number}" for one in gallery.recognizer.strangers()) or "nobody"
    raise ValueError(
        f"there is nobody called {who!r}. Known by name: {people}. Unknown are: {others}."
    )
