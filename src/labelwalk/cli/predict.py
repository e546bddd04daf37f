"""`labelwalk predict`: what `label` does, without learning."""

from __future__ import annotations

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.options import configured
from labelwalk.cli.progress import reporting, say_summary, watching
from labelwalk.configuration import Configuration


@configured("Columns", "Rows")
def predict(
    model: read.Model,
    input: read.Input = "-",
    output: read.Output = "-",
    format: read.Format = None,
    to: read.To = None,
    delimiter: read.Delimiter = None,
    no_header: read.NoHeader = False,
    embed: read.Embed = None,
    prefix: read.Prefix = None,
    rejects: read.Rejects = None,
    quiet: read.Quiet = False,
    *,
    configuration: Configuration,
) -> None:
    """Name every row of a stream, and learn nothing: the learner's file stays as it is.

    \b
    Examples:
      labelwalk predict learner.lw new.csv -o named.csv
      labelwalk predict learner.lw new.parquet --truth-column y -o named.parquet
    """  # noqa: D301
    from labelwalk.io import run
    from labelwalk.learner import load

    console = Console(stderr=True, highlight=False, quiet=quiet)
    task = read.task_of(
        configuration,
        input,
        output,
        format=format,
        delimiter=delimiter,
        no_header=no_header,
        embed=embed,
        to=to,
        learn=False,
        model=model,
        prefix=prefix,
        rejects=rejects,
    )
    learner = load(model)
    with watching(console) as watch:
        outcome = run(
            task, learner, model=model, watch=watch, report=reporting(configuration, input)
        )
    say_summary(console, outcome.tally, task)
    if outcome.signal is not None:
        raise typer.Exit(128 + outcome.signal)
