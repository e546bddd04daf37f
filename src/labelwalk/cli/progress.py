"""How far a run has come, on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from labelwalk.configuration import Configuration
    from labelwalk.streams import Fault, SoFar, Tally, Task

SECONDS = 10.0  # between lines, where no terminal keeps one alive
Watch = Callable[["SoFar"], None]


@contextmanager
def watching(console: Console, quiet: bool) -> Iterator[Watch]:
    """Yield what shows each state of a run."""
    if quiet:
        yield lambda so_far: None
    elif console.is_terminal:
        with _bar(console) as watch:
            yield watch
    else:
        yield _now_and_then(console)


@contextmanager
def _bar(console: Console) -> Iterator[Watch]:
    bar = Progress(
        BarColumn(None), TimeRemainingColumn(), TextColumn("{task.description}"), console=console
    )
    task = bar.add_task("starting (the first run compiles) ...", total=None)

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
            console.print(f"{line(so_far)}{share}", soft_wrap=True)

    return watch


def line(so_far: SoFar) -> str:
    """Return a state of a run in one line."""
    tally, speed = so_far.tally, so_far.rows_here / max(so_far.seconds, 1e-9)
    parts = [f"{tally.rows:,} rows", f"{speed:,.0f} rows/s"]
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
    console.print(summary(tally), markup=False, soft_wrap=True)
    if tally.skipped:
        console.print(f"Skipped rows: {task.reject_path}", markup=False, soft_wrap=True)


def summary(tally: Tally) -> str:
    """Return what came of a run in one sentence."""
    parts = [
        f"{tally.rows:,} rows: {tally.taught:,} taught",
        f"{tally.answered:,} named",
        f"{tally.outliers:,} outliers",
    ]
    if tally.accuracy is not None:
        parts.append(f"{tally.accuracy:.1%} of {tally.judged:,} right")
    if tally.skipped:
        parts.append(f"{tally.skipped:,} skipped")
    return ", ".join(parts) + "."
