"""`labelwalk teach`: labelled rows into a learner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.files import say, say_where
from labelwalk.cli.learners import say_new_classes, started
from labelwalk.cli.options import configured
from labelwalk.cli.progress import reporting, say_summary, watching
from labelwalk.configuration import Configuration


@configured("Columns", "Rows", "Learner")
def teach(
    model: Annotated[str, typer.Argument(help="A learner's file; a new one if it is not there.")],
    input: read.Input = "-",
    by_id: Annotated[
        str | None,
        typer.Option(
            help="Teach examples that were seen before: the column of the numbers that `label "
            "--example-ids` wrote, or `ask` gave.",
            metavar="COLUMN",
        ),
    ] = None,
    format: read.Format = None,
    delimiter: read.Delimiter = None,
    no_header: read.NoHeader = False,
    embed: read.Embed = None,
    rejects: read.Rejects = None,
    quiet: read.Quiet = False,
    *,
    configuration: Configuration,
) -> None:
    """Teach a learner rows that all have a label; its file is replaced when all are learned.

    \b
    Examples:
      labelwalk teach learner.lw labels.csv --label-column y
      labelwalk teach learner.lw answers.csv --by-id example --label-column y
    """  # noqa: D301
    from labelwalk.io import run, teach_by_id
    from labelwalk.io.formats import check_distinct

    console = Console(stderr=True, highlight=False, quiet=quiet)
    task = read.task_of(
        configuration,
        input,
        None,
        format=format,
        delimiter=delimiter,
        no_header=no_header,
        embed=embed,
        all_labelled=True,
        model=model,
        rejects=rejects,
    )
    learner = started(configuration, model, console)
    before = learner.classes
    if by_id is not None:
        check_distinct(model=model, input=input)
        n = teach_by_id(learner, task, by_id)
        learner.save(model)
        say(console, f"{n:,} examples taught later.")
    else:
        with watching(console) as watch:
            outcome = run(
                task,
                learner,
                model=model,
                watch=watch,
                report=reporting(configuration, input),
            )
        if outcome.signal is not None:
            say(console, "Interrupted; the learner's file is as it was.")
            raise typer.Exit(128 + outcome.signal)
        say_summary(console, outcome.tally, task)
    say_new_classes(console, before, learner)
    say_where(console, "Learner", Path(model))
