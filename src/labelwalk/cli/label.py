"""`labelwalk label`: a stream in, the same rows out with label, confidence and outlier."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.files import say
from labelwalk.cli.learners import say_new_classes, started
from labelwalk.cli.options import configured
from labelwalk.cli.progress import reporting, say_summary, watching
from labelwalk.cli.units import say_mixed_units
from labelwalk.configuration import Configuration

if TYPE_CHECKING:
    from labelwalk.io import RunResult, Task

LONG_RUNS = "Long runs"


@configured("Columns", "Rows", "Learner")
def label(
    input: read.Input = "-",
    output: read.Output = "-",
    model: Annotated[
        str | None,
        typer.Option(
            help="A learner's file: gone on with if it is there, and saved in the end.",
            rich_help_panel=read.PANEL,
        ),
    ] = None,
    format: read.Format = None,
    to: read.To = None,
    delimiter: read.Delimiter = None,
    no_header: read.NoHeader = False,
    embed: read.Embed = None,
    prefix: read.Prefix = None,
    example_ids: Annotated[
        bool,
        typer.Option(
            "--example-ids",
            help="Add a column with the number of each example, for `teach --by-id`.",
            rich_help_panel=read.PANEL,
        ),
    ] = False,
    rejects: read.Rejects = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Wait for more at the end; Ctrl-C ends it.", rich_help_panel=LONG_RUNS
        ),
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            help="Where to keep how far it has come; if it is there, go on from it.",
            rich_help_panel=LONG_RUNS,
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option(min=1, help="Rows between checkpoints.", rich_help_panel=LONG_RUNS),
    ] = 50_000,
    quiet: read.Quiet = False,
    *,
    configuration: Configuration,
) -> None:
    """Name every row of a stream as it passes; rows with a label are learned from.

    All rows come out as they went in, with three more columns: label (empty where the learner
    abstains), confidence and outlier. Settings may also stand in labelwalk.toml, or in the
    environment as LABELWALK_N_CENTROIDS and so on.

    \b
    Examples:
      labelwalk label stream.csv --label-column y -o labelled.csv --model learner.lw
      labelwalk label - < stream.ndjson > labelled.ndjson
    """  # noqa: D301
    from labelwalk.io import run

    console = Console(stderr=True, highlight=False, quiet=quiet)
    task = read.task_of(
        configuration,
        input,
        output,
        format=format,
        delimiter=delimiter,
        no_header=no_header,
        embed=embed,
        follow=follow,
        to=to,
        prefix=prefix,
        rejects=rejects,
        example_ids=example_ids,
        model=model,
    )
    learner = started(configuration, model, console)
    before = learner.classes
    with watching(console) as watch:
        outcome = run(
            task,
            learner,
            checkpoint=checkpoint,
            every=every,
            model=model,
            watch=watch,
            report=reporting(configuration, input),
        )
    _say(console, outcome, task, model, checkpoint)
    say_new_classes(console, before, outcome.learner)
    say_mixed_units(console, outcome.learner, outcome.features)
    if outcome.signal is not None:
        raise typer.Exit(128 + outcome.signal)


def _say(
    console: Console, outcome: RunResult, task: Task, model: str | None, checkpoint: str | None
) -> None:
    say_summary(console, outcome.tally, task)
    if outcome.already_finished:
        files = " and ".join(filter(None, [checkpoint, model]))
        say(console, f"It was finished before; to run it again from the beginning, delete {files}.")
    if not outcome.learner.classes:
        say(console, "No label was taught, so nothing was named: give --label-column or --model.")
    is_saved = outcome.signal is None or task.reading.follow
    if model is not None and is_saved and not outcome.already_finished:
        say(console, f"Learner: {model}")
    if outcome.signal is not None:
        name = signal.Signals(outcome.signal).name
        rest = "rows so far are written" + (", the learner is not saved" if not is_saved else "")
        if checkpoint:
            rest = f"the same command goes on from {checkpoint}"
        say(console, f"Ended by {name}; {rest}.")
