"""`labelwalk scale label`: data sets of many files in, the same files with answers out."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelwalk.cli import terminal
from labelwalk.cli.config import Configuration
from labelwalk.cli.errors import EXIT_CODES, TERMINATED, exit_on_error, fail
from labelwalk.cli.options import Prefix, with_options

if TYPE_CHECKING:
    from labelwalk.distributed.job import Executor, JobResult, Step
    from labelwalk.distributed.job_tasks import Outliers

WORKERS_PANEL = "Workers"
STEP_PROGRESS = {  # the text of each step, and its share of the progress bar
    "sketch": ("covering", 0.0, 0.3),
    "merge": ("merging", 0.3, 0.32),
    "solve": ("solving", 0.32, 0.35),
    "label": ("labelling", 0.35, 0.95),
    "join": ("joining", 0.95, 1.0),
}

app = typer.Typer(no_args_is_help=True)


@app.callback(epilog=EXIT_CODES)
def scale() -> None:
    """Label data sets of many files on all cores of a machine or on a cluster.

    \b
    Examples:
      labelwalk scale label rows/ -o labelled/ --label-column y
      labelwalk scale label 's3://bucket/rows/*.parquet' -o s3://bucket/labelled --address auto
    """  # noqa: D301


@app.command(epilog=EXIT_CODES)
@exit_on_error()
@with_options("Columns", "Learner")
def label(
    *,
    input: Annotated[
        str,
        typer.Argument(help="Input: a file, a folder or a pattern, as a path or s3://bucket/key."),
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="Output folder; files keep their names."),
    ],
    prefix: Prefix = None,
    address: Annotated[
        str,
        typer.Option(
            help="Executor: here (this process), local (worker processes), auto (the running Ray "
            "cluster), or a cluster address.",
            rich_help_panel=WORKERS_PANEL,
        ),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of workers with --address local.",
            show_default="one per core",
            rich_help_panel=WORKERS_PANEL,
        ),
    ] = None,
    console: Console,
    configuration: Configuration,
) -> None:
    """Label every row of a data set from the few rows with a label.

    One pass sketches the rows of each file, the sketches are merged and solved once, and a second
    pass labels every row. Parquet and Arrow files keep their format and get three more columns.
    Finished steps are skipped: after a failure, run the same command again.

    \b
    Examples:
      labelwalk scale label rows/ -o labelled/ --label-column y
      labelwalk scale label 's3://bucket/rows/*.parquet' -o s3://bucket/labelled --address auto
    """  # noqa: D301
    from labelwalk.distributed.job import Job, run

    job = Job(
        input,
        output,
        configuration.settings(),
        configuration.columns,
        configuration.unlabeled,
        prefix,
    )
    steps: list[Step] = []
    with _open_executor(address, workers) as executor, terminal.show_progress(console) as show:

        def watch(step: Step) -> None:
            steps.append(step)
            show(_format_step(step))

        result = run(job, executor, watch)
    if not steps:
        terminal.echo(console, "Nothing to do: this job has already finished.")
    for line in _describe_result(result, output):
        terminal.echo(console, line)


@contextmanager
def _open_executor(address: str, workers: int | None) -> Iterator[Executor | None]:
    """Yield the executor at an address, or None for this process; close it at the end."""
    if address == "here":
        if workers is not None:
            raise ValueError(
                f"--workers {workers} has no effect with --address here. Use --address local."
            )
        yield None
        return
    from labelwalk.distributed.ray_executor import RayExecutor

    executor = RayExecutor(address, workers)
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield executor
    finally:
        signal.signal(signal.SIGTERM, before)
        executor.close()


def _terminate(number: int, frame: FrameType | None) -> None:
    """Exit through the context managers, which stop the workers."""
    fail("Terminated. Run the same command to continue.", TERMINATED)


def _format_step(step: Step) -> terminal.Status:
    text, begin, end = STEP_PROGRESS[step.what]
    share = begin + (end - begin) * (step.done / max(1, step.of))
    line = f"{text}: {step.done} of {step.of}"
    return terminal.Status(step.rows, share, f"{line}, {step.rows:,} rows" if step.rows else line)


def _describe_result(result: JobResult, output: str) -> Iterator[str]:
    """Yield what is printed about a result, line by line."""
    yield terminal.summarize(result.tally)
    if result.tally.taught == result.tally.rows:
        yield "Every row has a label. Give the value of unlabelled rows with --unlabeled."
    yield (
        f"{result.vertices:,} vertices. Proven: no row is farther than {result.distortion:.3g} "
        f"from its vertex, and probabilities are within {result.certificate:.2g} of the exact "
        "solution."
    )
    if result.held:
        n_rows = terminal.pluralize(result.held, "row")
        yield f"Not learned, because too far from all others: {n_rows}."
    if result.outliers:
        yield f"Outliers: {terminal.join_names([*map(_format_outliers, result.outliers)])}."
    yield f"Features: {terminal.join_names(result.features)}."
    yield f"Classes: {terminal.join_names(result.classes)}."
    yield f"{terminal.pluralize(result.files, 'file')}: {output}"


def _format_outliers(outliers: Outliers) -> str:
    rows = ", ".join(map(str, outliers.rows))
    n_others = outliers.total - len(outliers.rows)
    return f"{outliers.file} (row {rows}{f' and {n_others:,} more' if n_others else ''})"
