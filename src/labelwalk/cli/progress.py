"""How far a run has come, on standard error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from labelwalk.cli.files import say

if TYPE_CHECKING:
    from labelwalk.configuration import Configuration
    from labelwalk.io import Progress as RunProgress
    from labelwalk.io import RowError, RunStats, Task

SECONDS = 10.0  # between lines, where no terminal keeps one alive
PATIENCE = 5.0  # seconds without a row
COMPILING = "Nothing is answered yet. The first run after an installation compiles for a minute."
Watch = Callable[["RunProgress"], None]


class State(NamedTuple):
    """How far something has come.

    Attributes
    ----------
    done : int
        Rows, or frames.
    share : float or None
        Of all there are, where that is known.
    line : str
        It, in one line.
    """

    done: int
    share: float | None
    line: str


Show = Callable[[State], None]


@contextmanager
def watching(console: Console) -> Iterator[Watch]:
    """Yield what shows each state of a run over rows."""
    with showing(console) as show:
        yield lambda now: show(State(now.tally.rows, now.share, line(now)))


@contextmanager
def showing(console: Console) -> Iterator[Show]:
    """Yield what shows how far something has come."""
    notice = threading.Timer(PATIENCE, lambda: say(console, COMPILING))
    notice.daemon = True
    notice.start()
    try:
        if console.is_terminal and not console.quiet:
            with _bar(console) as show:
                yield _without(notice, show)
        else:
            yield _without(notice, _now_and_then(console))
    finally:
        notice.cancel()


def _without(notice: threading.Timer, show: Show) -> Show:
    """Return what shows a state, and makes the notice needless."""

    def show_on(now: State) -> None:
        if now.done:
            notice.cancel()
        show(now)

    return show_on


@contextmanager
def _bar(console: Console) -> Iterator[Show]:
    bar = Progress(
        BarColumn(None), TimeRemainingColumn(), TextColumn("{task.description}"), console=console
    )
    task = bar.add_task("starting ...", total=None)

    def show(now: State) -> None:
        total = None if now.share is None else 1.0
        bar.update(task, total=total, completed=now.share or 0.0, description=escape(now.line))

    with bar:
        yield show


def _now_and_then(console: Console) -> Show:
    last = time.monotonic()

    def show(now: State) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS:
            last = time.monotonic()
            share = "" if now.share is None else f" ({now.share:.0%})"
            say(console, f"{now.line}{share}")

    return show


def line(so_far: RunProgress) -> str:
    """Return a state of a run in one line."""
    tally, parts = so_far.tally, [f"{so_far.tally.rows:,} rows"]
    if so_far.rate is not None:
        parts.append(f"{so_far.rate:,.0f} rows/s")
    if tally.accuracy is not None:
        parts.append(f"{tally.accuracy:.1%} right")
    if tally.skipped:
        parts.append(f"{tally.skipped:,} skipped")
    return "  ".join(parts)


def reporting(configuration: Configuration, path: str) -> Callable[[RowError], None]:
    """Return what is said of a row that is skipped: something, where that is wanted."""
    if configuration.on_error != "report":
        return lambda fault: None
    return lambda fault: typer.echo(f"{path}, {fault}.", err=True)


def say_summary(console: Console, tally: RunStats, task: Task) -> None:
    """Say what came of a run, and where skipped rows are."""
    say(console, summary(tally))
    if tally.skipped:
        say(console, f"Skipped rows: {task.reject_path}")


def summary(tally: RunStats) -> str:
    """Return what came of a run in one sentence."""
    parts = [
        f"{tally.rows:,} rows: {tally.taught:,} taught",
        f"{tally.answered:,} named",
    ]
    if tally.unnamed:
        parts.append(f"{tally.unnamed:,} without a name ({tally.outliers:,} of them outliers)")
    if tally.accuracy is not None:
        parts.append(f"{tally.accuracy:.1%} of {tally.judged:,} right")
    if tally.skipped:
        parts.append(f"{tally.skipped:,} skipped")
    return ", ".join(parts) + "."
