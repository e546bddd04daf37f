"""What a person is told when a stream of faces has passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from labelwalk.cli.files import say

if TYPE_CHECKING:
    from labelwalk.faces.visits import Presence, Who


def say_who_was_there(
    console: Console, frames: str, presences: Sequence[Presence], people: str | None
) -> None:
    """Say how many frames passed, who was there how often, and what can be done about strangers.

    Parameters
    ----------
    console : Console
    frames : str
        How many, in words.
    presences : sequence of Presence
    people : str or None
        The folder in which they are kept.
    """
    n = sum(one.faces for one in presences)
    say(console, f"{frames}; {n:,} faces." if n else f"{frames}; no face was found.")
    if not presences:
        return
    table = Table(box=box.SIMPLE)
    table.add_column("who", overflow="fold")
    for head in ("faces", "visits"):
        table.add_column(head, justify="right")
    for one in presences:
        table.add_row(escape(title_of(one.who)), f"{one.faces:,}", f"{one.visits:,}")
    console.print(table)
    numbers = [one.who for one in presences if isinstance(one.who, int)]
    if numbers and people is None:
        say(console, "Nothing is kept. With --people FOLDER they could be named afterwards.")
    elif numbers:
        say(console, f"To name one: labelwalk faces name {people} '#{numbers[0]}' NAME")


def title_of(who: Who) -> str:
    """Return what somebody is called, with or without a name."""
    from labelwalk.faces.names import unknown

    if isinstance(who, str):
        return who
    return unknown(who)
