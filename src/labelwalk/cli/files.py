"""Files that a command writes: where they are, and what is said if they cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console


def say(console: Console, sentence: str) -> None:
    """Say something in one line, however long."""
    console.print(sentence, markup=False, soft_wrap=True)


def say_where(console: Console, what: str, path: Path) -> None:
    """Say where a file is, in one line that can be copied."""
    say(console, f"{what}: {path}")


def counted(n: int, what: str) -> str:
    """Return how many there are of something, in words.

    Examples
    --------
    >>> counted(1, "view"), counted(1200, "view")
    ('1 view', '1,200 views')
    """
    return f"{n:,} {what}" + ("" if n == 1 else "s")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """End the command with 1 where the file cannot be written."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        typer.echo(f"{path} cannot be written ({reason}); choose another path.", err=True)
        raise typer.Exit(1) from None
