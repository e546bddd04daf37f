"""`label`, `teach` and `predict`: commands that read a stream of rows."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from labelwalk.cli import options
from labelwalk.cli.config import Configuration
from labelwalk.cli.terminal import describe_progress, echo, join_names, show_progress, summarize

if TYPE_CHECKING:
    from labelwalk.arrays import Label
    from labelwalk.io import RunResult, Task
    from labelwalk.learner import OnlineLearner

long_run_option = partial(typer.Option, rich_help_panel="Long runs")
WIDE_SPREAD_FACTOR = 100.0  # times the median spread: the other features hardly count any more
MIN_COMPARED_FEATURES = 3


@options.with_options("Columns", "Rows", "Learner")
def label(
    *,
    input: options.Input = "-",
    output: options.Output = "-",
    model: Annotated[
        str | None,
        options.file_option(help="Model file. Loaded if it exists; written when the run ends."),
    ] = None,
    reading: options.Reading,
    to: options.To = None,
    prefix: options.Prefix = None,
    example_ids: Annotated[
        bool,
        options.file_option(
            "--example-ids",
            help="Add a column with the id of each example, for `teach --by-id`.",
        ),
    ] = False,
    rejects: options.Rejects = None,
    follow: Annotated[
        bool,
        long_run_option(
            "--follow", help="At the end of the input, wait for more rows until Ctrl-C."
        ),
    ] = False,
    checkpoint: Annotated[
        str | None,
        long_run_option(help="Checkpoint file. If it exists, the run resumes from it."),
    ] = None,
    every: Annotated[
        int, long_run_option(min=1, help="Number of rows between checkpoints.")
    ] = 50_000,
    console: Console,
    configuration: Configuration,
) -> None:
    """Label every row of a stream while learning from it; rows with a label are taught.

    Rows keep their values and get three more columns: label (empty if the learner abstains),
    confidence and outlier. Settings can also be set in labelwalk.toml, or in environment variables
    such as LABELWALK_N_CENTROIDS.

    \b
    Examples:
      labelwalk label stream.csv --label-column y -o labelled.csv --model learner.lw
      labelwalk label - < stream.ndjson > labelled.ndjson
    """  # noqa: D301
    task = replace(
        make_task(configuration, model, input, replace(reading, follow=follow)),
        output=output,
        to=to,
        prefix=prefix,
        rejects=rejects,
        example_ids=example_ids,
    )
    is_resumed = checkpoint is not None and os.path.exists(checkpoint)
    learner = load_or_create(configuration, model, None if is_resumed else console)
    classes = learner.classes
    result = _run(task, learner, console, model=model, checkpoint=checkpoint, every=every)
    _print_summary(console, result, task)
    if result.already_finished:
        files = " and ".join(filter(None, [checkpoint, model]))
        echo(console, f"This run has already finished. To run it again, delete {files}.")
    elif result.resumed:
        echo(console, f"Resumed from {checkpoint} at row {result.first_row:,}.")
    if not result.learner.classes:
        echo(
            console, "No label was taught, so no row was labelled. Give --label-column or --model."
        )
    is_saved = result.signal is None or follow
    if model is not None and is_saved and not result.already_finished:
        echo(console, f"Learner: {model}")
    if result.signal is not None:
        rest = f"the same command resumes from {checkpoint}"
        if checkpoint is None:
            end = "" if is_saved else ", the learner is not saved"
            rest = f"the rows so far have been written{end}"
        echo(console, f"Ended by {signal.Signals(result.signal).name}; {rest}.")
    _print_new_classes(console, classes, result.learner)
    _print_mixed_units(console, result.learner, result.features)
    if result.signal is not None:
        raise typer.Exit(128 + result.signal)


@options.with_options("Columns", "Rows", "Learner")
def teach(
    *,
    model: Annotated[str, typer.Argument(help="Model file; created if it does not exist.")],
    input: options.Input = "-",
    by_id: Annotated[
        str | None,
        typer.Option(
            help="Column with ids of earlier examples, from `label --example-ids` or `ask`.",
            metavar="COLUMN",
        ),
    ] = None,
    reading: options.Reading,
    rejects: options.Rejects = None,
    console: Console,
    configuration: Configuration,
) -> None:
    """Teach labelled rows to a learner. The model file is replaced at the end.

    \b
    Examples:
      labelwalk teach learner.lw labels.csv --label-column y
      labelwalk teach learner.lw answers.csv --by-id example --label-column y
    """  # noqa: D301
    from labelwalk.io import teach_by_id
    from labelwalk.io.formats import check_distinct

    task = make_task(configuration, model, input, reading)
    task = replace(task, all_labelled=True, rejects=rejects)
    learner = load_or_create(configuration, model, console)
    classes = learner.classes
    if by_id is not None:
        check_distinct(model=model, input=input)
        n = teach_by_id(learner, task, by_id)
        learner.save(model)
        echo(console, f"{n:,} earlier examples taught.")
    else:
        result = _run(task, learner, console, model=model)
        if result.signal is not None:
            echo(console, "Interrupted; the model file is unchanged.")
            raise typer.Exit(128 + result.signal)
        _print_summary(console, result, task)
    _print_new_classes(console, classes, learner)
    echo(console, f"Learner: {model}")


@options.with_options("Columns", "Rows")
def predict(
    *,
    model: options.Model,
    input: options.Input = "-",
    output: options.Output = "-",
    reading: options.Reading,
    to: options.To = None,
    prefix: options.Prefix = None,
    rejects: options.Rejects = None,
    console: Console,
    configuration: Configuration,
) -> None:
    """Label every row of a stream without learning. The model file does not change.

    \b
    Examples:
      labelwalk predict learner.lw new.csv -o named.csv
      labelwalk predict learner.lw new.parquet --truth-column y -o named.parquet
    """  # noqa: D301
    from labelwalk.learner import load

    task = make_task(configuration, model, input, reading, label_optional=True)
    task = replace(task, output=output, to=to, learn=False, prefix=prefix, rejects=rejects)
    result = _run(task, load(model), console, model=model)
    _print_summary(console, result, task)
    if result.signal is not None:
        raise typer.Exit(128 + result.signal)


def make_task(
    configuration: Configuration,
    model: str | None,
    input: str,
    reading: options.Reading,
    *,
    label_optional: bool = False,
) -> Task:
    """Return the parameters of a task that all commands have."""
    from labelwalk.io import Task

    return Task(
        input,
        columns=replace(configuration.columns, label_optional=label_optional),
        reading=reading,
        unlabeled=configuration.unlabeled,
        on_error=configuration.on_error,
        taught_by=read_feature_names(model),
    )


def load_or_create(
    configuration: Configuration, model: str | None, console: Console | None
) -> OnlineLearner:
    """Load the learner of a model file and print a message, or create a learner."""
    if model is None or not os.path.exists(model):
        return configuration.learner()
    from labelwalk.learner import load

    learner = load(model)
    configuration.check_fits(learner, model)
    if console is not None:
        echo(console, f"Continuing with {model}, which has seen {learner.n_seen:,} examples.")
    return learner


def read_feature_names(model: str | None) -> tuple[str, ...]:
    """Return the features in `MODEL.columns.json`, which labelwalk 0.4 to 0.7 wrote."""
    path = f"{model}.columns.json"
    if model is None or not os.path.exists(path):
        return ()
    with open(path, "rb") as file:
        content = file.read()
    try:
        names = json.loads(content)["features"]
        if not all(isinstance(name, str) for name in names):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged. Delete it, and name the features with --features."
        ) from error
    return tuple(names)


def _run(task: Task, learner: OnlineLearner, console: Console, **files: Any) -> RunResult:
    """Run a task with a progress display."""
    from labelwalk.io import run

    def report(fault: object) -> None:
        typer.echo(f"{task.input}, {fault}.", err=True)

    with show_progress(console) as show:
        return run(
            task,
            learner,
            watch=lambda progress: show(describe_progress(progress)),
            report=report if task.on_error == "report" else None,
            **files,
        )


def _print_summary(console: Console, result: RunResult, task: Task) -> None:
    echo(console, summarize(result.tally))
    if result.tally.skipped:
        echo(console, f"Skipped rows: {task.reject_path}")


def _print_new_classes(console: Console, before: Collection[Label], learner: OnlineLearner) -> None:
    """Print the new classes, so that a misspelt label is noticed."""
    new = [name for name in learner.classes if name not in before]
    if new:
        echo(console, f"New classes: {join_names(new)}.")


def _print_mixed_units(console: Console, learner: OnlineLearner, names: tuple[str, ...]) -> None:
    """Print a hint if a single feature decides the distances."""
    import numpy as np

    if learner.settings.scale != "none" or (learner.n_features or 0) < MIN_COMPARED_FEATURES:
        return
    spreads = learner.vertices.means.std(axis=0)
    median = float(np.median(spreads[spreads > 0])) if (spreads > 0).any() else 0.0
    widest = int(spreads.argmax())
    if median and spreads[widest] >= WIDE_SPREAD_FACTOR * median:
        name = names[widest] if len(names) == len(spreads) else f"number {widest + 1}"
        echo(
            console,
            f"The spread of feature {name} is {spreads[widest] / median:,.0f} times the median, so "
            "it dominates all distances. Try a new learner with --scale robust.",
        )
