"""What commands print on standard error: messages, progress, and the summary of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from labelwalk.io import Progress as RunProgress
    from labelwalk.io import RunStats

LINE_INTERVAL_S = 10.0  # between lines, where no terminal can update one
NOTICE_AFTER_S = 5.0  # without a row
MAX_SHOWN_NAMES = 10
COMPILING = (
    "Nothing has been answered yet. The first run after installation compiles for up to a minute."
)


def echo(console: Console, message: str) -> None:
    """Print a message without wrapping it."""
    console.print(message, markup=False, soft_wrap=True)


def pluralize(n: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> pluralize(1, "view"), pluralize(1200, "view")
    ('1 view', '1,200 views')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def join_names(names: Sequence[object]) -> str:
    """Return names in one line, with the number of those left out.

    Examples
    --------
    >>> join_names("abc"), join_names(range(12))
    ('a, b, c', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    n_more = len(names) - MAX_SHOWN_NAMES
    shown = ", ".join(map(str, names[:MAX_SHOWN_NAMES]))
    return shown + (f" and {n_more} more" if n_more > 0 else "")


class Status(NamedTuple):
    """The progress of a command."""

    n_done: int  # rows, or frames
    share: float | None  # of all, if that is known
    line: str  # the progress in one line


ShowStatus = Callable[[Status], None]


@contextmanager
def show_progress(console: Console) -> Iterator[ShowStatus]:
    """Yield a function that shows the progress as a bar, or as a line at intervals."""
    notice = threading.Timer(NOTICE_AFTER_S, lambda: echo(console, COMPILING))
    notice.daemon = True
    notice.start()
    show_interactive = console.is_terminal and not console.quiet
    try:
        with (show_bar if show_interactive else _print_lines)(console) as show:

            def show_status(status: Status) -> None:
                if status.n_done:
                    notice.cancel()
                show(status)

            yield show_status
    finally:
        notice.cancel()


@contextmanager
def show_bar(console: Console) -> Iterator[ShowStatus]:
    """Yield a function that shows the progress as a bar."""
    bar = Progress(
        BarColumn(None), TimeRemainingColumn(), TextColumn("{task.description}"), console=console
    )
    task = bar.add_task("starting ...", total=None)

    def show(status: Status) -> None:
        total = None if status.share is None else 1.0
        text = escape(status.line)
        bar.update(task, total=total, completed=status.share or 0.0, description=text)

    with bar:
        yield show


@contextmanager
def _print_lines(console: Console) -> Iterator[ShowStatus]:
    last = time.monotonic()

    def show(status: Status) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_INTERVAL_S:
            last = time.monotonic()
            share = "" if status.share is None else f" ({status.share:.0%})"
            echo(console, f"{status.line}{share}")

    yield show


def describe_progress(progress: RunProgress) -> Status:
    """Return the progress of a run over rows."""
    stats, parts = progress.tally, [f"{progress.tally.rows:,} rows"]
    if progress.rate is not None:
        parts.append(f"{progress.rate:,.0f} rows/s")
    if stats.accuracy is not None:
        parts.append(f"{stats.accuracy:.1%} correct")
    if stats.skipped:
        parts.append(f"{stats.skipped:,} skipped")
    return Status(stats.rows, progress.share, "  ".join(parts))


def summarize(stats: RunStats) -> str:
    """Return the result of a run in one sentence."""
    parts = [f"{stats.rows:,} rows: {stats.taught:,} taught", f"{stats.answered:,} labelled"]
    if stats.unnamed:
        parts.append(f"{stats.unnamed:,} without a label ({stats.outliers:,} of them outliers)")
    if stats.accuracy is not None:
        parts.append(f"{stats.accuracy:.1%} of {stats.judged:,} correct")
    if stats.skipped:
        parts.append(f"{stats.skipped:,} skipped")
    return ", ".join(parts) + "."
