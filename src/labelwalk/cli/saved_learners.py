"""`ask`, `explain`, `inspect`, `merge`, `plot` and `retract`: commands on saved learners."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from labelwalk.cli import options
from labelwalk.cli.config import Configuration
from labelwalk.cli.errors import exit_if_not_writable
from labelwalk.cli.streams import make_task, read_feature_names
from labelwalk.cli.terminal import echo

if TYPE_CHECKING:
    from labelwalk.learner import OnlineLearner

MAX_SHOWN_COORDINATES = 8


def ask(
    model: options.Model,
    n: Annotated[int, typer.Option("-n", min=1, help="Maximum number of questions.")] = 10,
    by: Annotated[
        Literal["error", "uncertainty", "variance"],
        typer.Option(help="What a label should reduce: error, uncertainty or variance."),
    ] = "error",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line, with the whole example.")
    ] = False,
) -> None:
    """List the examples whose labels would help most. The learner does not change.

    Answer with `labelwalk teach learner.lw answers.csv --by-id example`.

    \b
    Examples:
      labelwalk ask learner.lw -n 5
      labelwalk ask learner.lw --by uncertainty --json > questions.ndjson
    """  # noqa: D301
    from labelwalk.learner import load

    questions = load(model).ask(n, by=by)
    if as_json:
        for question in questions:
            fields = {
                "example": question.example_id,
                "guess": question.guess,
                "confidence": question.confidence,
                "stands_for": question.count,
                "features": question.example.tolist(),
            }
            typer.echo(json.dumps(fields, ensure_ascii=False))
        return
    table = Table(box=box.SIMPLE)
    for head in ("example", "guess", "confidence", "stands for", "features"):
        table.add_column(head)
    for question in questions:
        table.add_row(
            "-" if question.example_id is None else str(question.example_id),
            "-" if question.guess is None else str(question.guess),
            f"{question.confidence:.3f}",
            str(question.count),
            _format_point(question.example),
        )
    Console(highlight=False).print(table)


@options.with_options("Columns")
def explain(
    *,
    model: options.Model,
    input: options.Input = "-",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 10,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line.")
    ] = False,
    reading: options.Reading,
    configuration: Configuration,
) -> None:
    """Explain the answer for each row, without learning: reachable labels, most probable path.

    \b
    Examples:
      labelwalk explain learner.lw doubtful.csv
      labelwalk explain learner.lw doubtful.csv --limit 1 --json
    """  # noqa: D301
    from labelwalk.io import read_examples
    from labelwalk.learner import load

    task = make_task(configuration, model, input, reading, label_optional=True)
    learner, n_left = load(model), limit
    for batch, examples in read_examples(task, learner):
        for i, x in enumerate(examples.matrix()[:n_left]):
            explanation, verdict = learner.explain(x), learner.predict(x)
            row = examples.ids[i] if examples.ids else batch.where(i)
            if as_json:
                answer = {"label": verdict.label, "confidence": verdict.confidence}
                fields = {"row": row, **answer, **asdict(explanation)}
                typer.echo(json.dumps(fields, default=lambda a: a.tolist(), ensure_ascii=False))
            else:
                name = "no answer" if verdict.label is None else verdict.label
                typer.echo(f"{row}: {name}, {verdict.confidence:.3g}\n{explanation}\n")
        n_left -= len(examples.rows)
        if n_left <= 0:
            return


def inspect(
    model: options.Model,
    vertices: Annotated[bool, typer.Option("--vertices", help="Also list the vertices.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Describe a learner: counts, classes, proven bounds, health and events.

    \b
    Examples:
      labelwalk inspect learner.lw
      labelwalk inspect learner.lw --vertices --json
    """  # noqa: D301
    from labelwalk.learner import load

    learner = load(model)
    if as_json:
        fields = _collect_facts(learner) | {
            "feature_names": list(learner.feature_names),
            "settings": learner.settings.describe(),
            "health": [asdict(metric) for metric in learner.health()],
            "events": [asdict(event) for event in learner.events],
        }
        if vertices:
            fields["vertices"] = _list_vertices(learner)
        typer.echo(json.dumps(fields, indent=2, ensure_ascii=False))
        return
    for name, value in _collect_facts(learner).items():
        typer.echo(f"{name:22} {_format_fact(value)}")
    typer.echo(f"\n{learner.health()}")
    for event in learner.events:
        typer.echo(f"at example {event.at}: {event.meaning}")
    if vertices:
        typer.echo("")
        for vertex in _list_vertices(learner):
            name = "-" if vertex["label"] is None else str(vertex["label"])
            size = f"{vertex['count']:>8} within {vertex['reach']:.4g}"
            typer.echo(f"{name:16} {size} of ({_format_point(vertex['point'])})")


def _collect_facts(learner: OnlineLearner) -> dict[str, Any]:
    return {
        "examples": learner.n_seen,
        "outliers": learner.n_outliers,
        "features": learner.n_features,
        "classes": list(learner.classes),
        "vertices in all": learner.n_vertices,
        "radius": learner.radius,
        "distortion": learner.distortion,
        "bytes": learner.nbytes,
    }


def _list_vertices(learner: OnlineLearner) -> list[dict[str, Any]]:
    table = learner.vertices
    columns = (table.label, table.count, table.reach, table.means)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [dict(zip(("label", "count", "reach", "point"), row, strict=True)) for row in rows]


def _format_point(point: Iterable[float]) -> str:
    first = [f"{x:.4g}" for x in islice(point, MAX_SHOWN_COORDINATES + 1)]
    return ", ".join(first if len(first) <= MAX_SHOWN_COORDINATES else [*first[:-1], "..."])


def _format_fact(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def merge(
    models: Annotated[list[str], typer.Argument(help="Two or more model files.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Model file for the new learner.")],
) -> None:
    """Merge learners with the same settings into one that represents all their examples.

    \b
    Examples:
      labelwalk merge monday.lw tuesday.lw -o both.lw
      labelwalk merge shard-*.lw -o whole.lw
    """  # noqa: D301
    if len(models) < 2:
        raise ValueError(f"There is only one file, {models[0]}. Give two or more files to merge.")
    learner = _load_with_feature_names(models[0])
    for path in models[1:]:
        try:
            learner.merge(_load_with_feature_names(path))
        except ValueError as error:
            raise type(error)(f"{path} cannot be merged: {error}") from error
    learner.save(output)
    typer.echo(
        f"{learner.n_seen:,} examples, {learner.n_vertices} vertices, "
        f"{len(learner.classes)} classes: {output}",
        err=True,
    )


def _load_with_feature_names(model: str) -> OnlineLearner:
    """Load a learner; if it has no feature names, use those of `MODEL.columns.json`."""
    from labelwalk.learner import load

    learner, names = load(model), read_feature_names(model)
    if names and not learner.feature_names:
        learner.feature_names = names * (learner.n_features or 0 if len(names) == 1 else 1)
    return learner


@options.with_options()
def retract(
    *,
    model: options.Model,
    example: Annotated[
        list[int] | None,
        typer.Option(help="Id of a taught example. Can be given several times."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Class whose labels are all retracted.")] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Also remove the class and its vertices.")
    ] = False,
    console: Console,
) -> None:
    """Retract wrong labels of examples, or all labels of a class.

    Example ids come from `label --example-ids` or `ask`.

    \b
    Examples:
      labelwalk retract learner.lw --example 1380
      labelwalk retract learner.lw --label leek --forget
    """  # noqa: D301
    from labelwalk.io.rows import to_class_names
    from labelwalk.learner import load

    examples = example or []
    if bool(examples) == (label is not None) or (forget and label is None):
        raise ValueError("Give either --example, or --label with or without --forget.")
    learner = load(model)
    for number in examples:
        learner.retract(number)
    if label is not None:
        name = to_class_names([label], learner.classes)[0]
        if forget:
            learner.forget(name)
        else:
            learner.retract(label=name)
    learner.save(model)
    echo(console, f"Retracted: {label or ', '.join(map(str, examples))}.")
    echo(console, f"Learner: {model}")


def plot(
    kind: Annotated[
        Literal["centroids", "accuracy", "precision-recall"],
        typer.Argument(
            help="Plot: centroids of a learner, or accuracy or precision-recall of its answers."
        ),
    ],
    input: Annotated[str, typer.Argument(help="Model file, or the output of `label`.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="PNG, SVG or PDF file.", show_default="KIND.png"),
    ] = None,
    truth_column: Annotated[str, typer.Option(help="Column of true labels.")] = "truth",
    label_column: Annotated[
        str | None,
        typer.Option(
            help="Label column of the `label` run. Rows with a label were taught and do not count.",
            show_default="label, unless the answers use that name",
        ),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Prefix of the added columns, as in `label`.",
            show_default="the default of `label`",
        ),
    ] = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Plot the centroids of a learner in 2-D, or the accuracy of its answers.

    \b
    Examples:
      labelwalk plot centroids learner.lw -o map.svg
      labelwalk plot accuracy labelled.csv --truth-column y
    """  # noqa: D301
    from labelwalk import plotting
    from labelwalk.io import ReadOptions
    from labelwalk.learner import load

    if kind == "centroids":
        figure = plotting.draw_centroids(load(input))
    else:
        reading = ReadOptions(format, delimiter)
        scores = plotting.read_scored_output(input, truth_column, label_column, prefix, reading)
        figure = (
            plotting.draw_accuracy(scores.is_right)
            if kind == "accuracy"
            else plotting.draw_precision_recall(*plotting.compute_precision_and_recall(scores))
        )
    path = output or Path(f"{kind}.png")
    with exit_if_not_writable(path):
        figure.savefig(path)
    typer.echo(f"Plot: {path}", err=True)
