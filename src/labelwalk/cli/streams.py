"""`label`, `teach` and `predict`: commands that read a stream of rows."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from labelwalk.cli import options
from labelwalk.cli.config import Configuration
from labelwalk.cli.options import with_config_options
from labelwalk.cli.terminal import describe_progress, echo, show_progress, summarize

if TYPE_CHECKING:
    from labelwalk.arrays import Label
    from labelwalk.io import RunResult, Task
    from labelwalk.learner import OnlineLearner

LONG_RUNS_PANEL = "Long runs"
MAX_SHOWN_CLASSES = 10
WIDE_SPREAD_FACTOR = 100.0  # times the median spread: the other features hardly count any more
MIN_COMPARED_FEATURES = 3


@with_config_options("Columns", "Rows", "Learner")
def label(
    input: options.Input = "-",
    output: options.Output = "-",
    model: Annotated[
        str | None,
        typer.Option(
            help="Model file. Loaded if it exists; written when the run ends.",
            rich_help_panel=options.FILES_PANEL,
        ),
    ] = None,
    format: options.Format = None,
    to: options.To = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    embed: options.Embed = None,
    prefix: options.Prefix = None,
    example_ids: Annotated[
        bool,
        typer.Option(
            "--example-ids",
            help="Add a column with the id of each example, for `teach --by-id`.",
            rich_help_panel=options.FILES_PANEL,
        ),
    ] = False,
    rejects: options.Rejects = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="At the end of the input, wait for more rows until Ctrl-C.",
            rich_help_panel=LONG_RUNS_PANEL,
        ),
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            help="Checkpoint file. If it exists, the run resumes from it.",
            rich_help_panel=LONG_RUNS_PANEL,
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option(
            min=1, help="Number of rows between checkpoints.", rich_help_panel=LONG_RUNS_PANEL
        ),
    ] = 50_000,
    quiet: options.Quiet = False,
    *,
    configuration: Configuration,
) -> None:
    """Label every row of a stream while learning from it; rows with a label are taught.

    Rows are written unchanged with three added columns: label (empty if the learner abstains),
    confidence and outlier. Settings can also be set in labelwalk.toml, or in environment variables
    such as LABELWALK_N_CENTROIDS.

    \b
    Examples:
      labelwalk label stream.csv --label-column y -o labelled.csv --model learner.lw
      labelwalk label - < stream.ndjson > labelled.ndjson
    """  # noqa: D301
    from labelwalk.io import ReadOptions, Task

    task = Task(
        input,
        output,
        configuration.columns,
        ReadOptions(format, delimiter, not no_header, follow, embed),
        to=to,
        prefix=prefix,
        unlabeled=configuration.unlabeled,
        on_error=configuration.on_error,
        rejects=rejects,
        example_ids=example_ids,
        taught_by=read_feature_names(model),
    )
    console = Console(stderr=True, highlight=False, quiet=quiet)
    learner = load_or_create(configuration, model, console)
    classes = learner.classes
    result = _run(task, learner, console, model=model, checkpoint=checkpoint, every=every)
    _print_summary(console, result, task)
    if result.already_finished:
        files = " and ".join(filter(None, [checkpoint, model]))
        echo(console, f"This run has already finished. To run it again, delete {files}.")
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
            rest = "the rows so far have been written" + (
                "" if is_saved else ", the learner is not saved"
            )
        echo(console, f"Ended by {signal.Signals(result.signal).name}; {rest}.")
    _print_new_classes(console, classes, result.learner)
    _print_mixed_units(console, result.learner, result.features)
    if result.signal is not None:
        raise typer.Exit(128 + result.signal)


@with_config_options("Columns", "Rows", "Learner")
def teach(
    model: Annotated[str, typer.Argument(help="Model file; created if it does not exist.")],
    input: options.Input = "-",
    by_id: Annotated[
        str | None,
        typer.Option(
            help="Teach examples that were observed earlier: column with the ids from `label "
            "--example-ids` or `ask`.",
            metavar="COLUMN",
        ),
    ] = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    embed: options.Embed = None,
    rejects: options.Rejects = None,
    quiet: options.Quiet = False,
    *,
    configuration: Configuration,
) -> None:
    """Teach labelled rows to a learner. The model file is replaced at the end.

    \b
    Examples:
      labelwalk teach learner.lw labels.csv --label-column y
      labelwalk teach learner.lw answers.csv --by-id example --label-column y
    """  # noqa: D301
    from labelwalk.io import ReadOptions, Task, teach_by_id
    from labelwalk.io.formats import check_distinct

    task = Task(
        input,
        None,
        configuration.columns,
        ReadOptions(format, delimiter, not no_header, embed=embed),
        all_labelled=True,
        unlabeled=configuration.unlabeled,
        on_error=configuration.on_error,
        rejects=rejects,
        taught_by=read_feature_names(model),
    )
    console = Console(stderr=True, highlight=False, quiet=quiet)
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


@with_config_options("Columns", "Rows")
def predict(
    model: options.Model,
    input: options.Input = "-",
    output: options.Output = "-",
    format: options.Format = None,
    to: options.To = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    embed: options.Embed = None,
    prefix: options.Prefix = None,
    rejects: options.Rejects = None,
    quiet: options.Quiet = False,
    *,
    configuration: Configuration,
) -> None:
    """Label every row of a stream without learning. The model file does not change.

    \b
    Examples:
      labelwalk predict learner.lw new.csv -o named.csv
      labelwalk predict learner.lw new.parquet --truth-column y -o named.parquet
    """  # noqa: D301
    from labelwalk.io import ReadOptions, Task
    from labelwalk.learner import load

    task = Task(
        input,
        output,
        replace(configuration.columns, label_optional=True),
        ReadOptions(format, delimiter, not no_header, embed=embed),
        to=to,
        learn=False,
        prefix=prefix,
        unlabeled=configuration.unlabeled,
        on_error=configuration.on_error,
        rejects=rejects,
        taught_by=read_feature_names(model),
    )
    console = Console(stderr=True, highlight=False, quiet=quiet)
    result = _run(task, load(model), console, model=model)
    _print_summary(console, result, task)
    if result.signal is not None:
        raise typer.Exit(128 + result.signal)


def load_or_create(
    configuration: Configuration, model: str | None, console: Console
) -> OnlineLearner:
    """Load the learner of a model file and print a message, or create one if it does not exist."""
    if model is None or not os.path.exists(model):
        return configuration.learner()
    from labelwalk.learner import load

    learner = load(model)
    configuration.check_fits(learner, model)
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
    new = [str(name) for name in learner.classes if name not in before]
    if new:
        n_more = len(new) - MAX_SHOWN_CLASSES
        more = f" and {n_more} more" if n_more > 0 else ""
        echo(console, f"New classes: {', '.join(new[:MAX_SHOWN_CLASSES])}{more}.")


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
