"""How far a run has come, on standard error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from labelwalk.cli.files import say

if TYPE_CHECKING:
    from labelwalk.configuration import Configuration
    from labelwalk.streams import Fault, SoFar, Tally, Task

SECONDS = 10.0  # between lines, where no terminal keeps one alive
PATIENCE = 5.0  # seconds without a row
COMPILING = "No row is answered yet. The first run after an installation compiles for a minute."
Watch = Callable[["SoFar"], None]


@contextmanager
def watching(console: Console) -> Iterator[Watch]:
    """Yield what shows each state of a run."""
    notice = threading.Timer(PATIENCE, lambda: say(console, COMPILING))
    notice.daemon = True
    notice.start()
    try:
        if console.is_terminal and not console.quiet:
            with _bar(console) as watch:
                yield _without(notice, watch)
        else:
            yield _without(notice, _now_and_then(console))
    finally:
        notice.cancel()


def _without(notice: threading.Timer, watch: Watch) -> Watch:
    """Return what shows a state, and makes the notice needless."""

    def watch_on(so_far: SoFar) -> None:
        if so_far.tally.rows:
            notice.cancel()
        watch(so_far)

    return watch_on


@contextmanager
def _bar(console: Console) -> Iterator[Watch]:
    bar = Progress(
        BarColumn(None), TimeRemainingColumn(), TextColumn("{task.description}"), console=console
    )
    task = bar.add_task("starting ...", total=None)

    def watch(so_far: SoFar) -> None:
        total = None if so_far.share is None else 1.0
        bar.update(task, total=total, completed=so_far.share or 0.0, description=line(so_far))

    with bar:
        yield watch


def _now_and_then(console: Console) -> Watch:
    last = time.monotonic()

    def watch(so_far: SoFar) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS:
            last = time.monotonic()
            share = "" if so_far.share is None else f" ({so_far.share:.0%})"
            say(console, f"{line(so_far)}{share}")

    return watch


def line(so_far: SoFar) -> str:
    """Return a state of a run in one line."""
    tally, parts = so_far.tally, [f"{so_far.tally.rows:,} rows"]
    if so_far.rate is not None:
        parts.append(f"{so_far.rate:,.0f} rows/s")
    if tally.accuracy is not None:
        parts.append(f"{tally.accuracy:.1%} right")
    if tally.skipped:
        parts.append(f"{tally.skipped:,} skipped")
    return "  ".join(parts)


def reporting(configuration: Configuration, path: str) -> Callable[[Fault], None]:
    """Return what is said of a row that is skipped: something, where that is wanted."""
    if configuration.on_error != "report":
        return lambda fault: None
    return lambda fault: typer.echo(f"{path}, {fault}.", err=True)


def say_summary(console: Console, tally: Tally, task: Task) -> None:
    """Say what came of a run, and where skipped rows are."""
    say(console, summary(tally))
    if tally.skipped:
        say(console, f"Skipped rows: {task.reject_path}")


def summary(tally: Tally) -> str:
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
