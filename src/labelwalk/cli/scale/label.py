"""`labelwalk scale label`: a data set in, the same files out with label, confidence and outlier."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelwalk.cli.failures import TERMINATED, fail
from labelwalk.cli.files import counted, say
from labelwalk.cli.learners import SHOWN
from labelwalk.cli.options import configured
from labelwalk.cli.progress import State, showing, summary
from labelwalk.cli.reading import Prefix, Quiet
from labelwalk.configuration import Configuration

if TYPE_CHECKING:
    from labelwalk.distributed.job import Outcome, Step
    from labelwalk.distributed.naming import Outliers
    from labelwalk.distributed.pools import Pool

WORKERS = "Workers"
STEPS = {  # what is said of each, and which share of the whole it is
    "sketch": ("covering", 0.0, 0.3),
    "merge": ("merging", 0.3, 0.32),
    "solve": ("solving", 0.32, 0.35),
    "label": ("labelling", 0.35, 0.95),
    "join": ("joining", 0.95, 1.0),
}


@configured("Columns", "Learner")
def label(
    input: Annotated[
        str, typer.Argument(help="A file, a folder or a pattern; a path, or s3://bucket/key.")
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="A folder; files are called as they were."),
    ],
    prefix: Prefix = None,
    address: Annotated[
        str,
        typer.Option(
            help="Who works: here (this process), local (workers on this machine), auto (the "
            "cluster that runs here), or the address of one.",
            rich_help_panel=WORKERS,
        ),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many, with --address local.",
            show_default="one a core",
            rich_help_panel=WORKERS,
        ),
    ] = None,
    quiet: Quiet = False,
    *,
    configuration: Configuration,
) -> None:
    """Name every row of a data set, from the few rows that have a label.

    One pass covers the rows of each file, covers are merged and solved once, and one more pass
    names every row. Parquet and Arrow files come out as they went in, with three more columns. What
    is done is not done again: after any accident, the same command goes on.

    \b
    Examples:
      labelwalk scale label rows/ -o labelled/ --label-column y
      labelwalk scale label 's3://bucket/rows/*.parquet' -o s3://bucket/labelled --address auto
    """  # noqa: D301
    from labelwalk.distributed.job import Job, run

    console = Console(stderr=True, highlight=False, quiet=quiet)
    job = Job(
        input,
        output,
        configuration.learner().settings,
        configuration.columns,
        configuration.unlabeled,
        prefix,
    )
    steps: list[Step] = []
    with _working(address, workers) as pool, showing(console) as show:

        def watch(step: Step) -> None:
            steps.append(step)
            show(_state(step))

        outcome = run(job, pool, watch)
    if not steps:
        say(console, "All was done before.")
    _say(console, outcome, output)


@contextmanager
def _working(address: str, workers: int | None) -> Iterator[Pool]:
    """Yield who does the tasks, and let go of them."""
    from labelwalk.distributed.pools import Here

    if address == "here":
        if workers is not None:
            raise ValueError(f"--workers {workers}: here is one process. Use --address local.")
        yield Here()
        return
    from labelwalk.distributed.on_ray import OnRay

    pool = OnRay(address, workers)
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield pool
    finally:
        signal.signal(signal.SIGTERM, before)
        pool.close()


def _leave(number: int, frame: FrameType | None) -> None:
    """Let go of workers before the end that a signal asks for."""
    fail("Terminated. The same command goes on.", TERMINATED)


def _state(step: Step) -> State:
    doing, begin, end = STEPS[step.what]
    share = begin + (end - begin) * (step.done / max(1, step.of))
    line = f"{doing}: {step.done} of {step.of}"
    return State(step.rows, share, f"{line}, {step.rows:,} rows" if step.rows else line)


def _say(console: Console, outcome: Outcome, output: str) -> None:
    say(console, summary(outcome.tally))
    if outcome.tally.taught == outcome.tally.rows:
        say(console, "Every row came with a label. What stands for none is said by --unlabeled.")
    say(
        console,
        f"{outcome.vertices:,} vertices stand for them; that no row is farther than "
        f"{outcome.distortion:.3g} from its own is proven, and that probabilities are within "
        f"{outcome.certificate:.2g} of the exact solution.",
    )
    if outcome.held:
        say(
            console,
            f"Not learned from, as too far from all others: {counted(outcome.held, 'row')}.",
        )
    if outcome.outliers:
        say(console, f"Outliers: {_listed([_format_outliers(own) for own in outcome.outliers])}.")
    say(console, f"Features: {_listed(outcome.features)}.")
    say(console, f"Classes: {_listed(outcome.classes)}.")
    say(console, f"{counted(outcome.files, 'file')}: {output}")


def _format_outliers(outliers: Outliers) -> str:
    rows = ", ".join(map(str, outliers.rows))
    more = outliers.total - len(outliers.rows)
    return f"{outliers.file} (row {rows}{f' and {more:,} more' if more else ''})"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
