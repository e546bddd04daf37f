"""`ask`, `explain`, `inspect`, `merge` and `retract`: commands on saved learners."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from labelwalk.cli import options
from labelwalk.cli.config import Configuration
from labelwalk.cli.errors import exit_on_error
from labelwalk.cli.options import with_config_options
from labelwalk.cli.streams import read_feature_names
from labelwalk.cli.terminal import echo

if TYPE_CHECKING:
    from labelwalk.learner import OnlineLearner

MAX_SHOWN_EXAMPLE_FEATURES = 6
MAX_SHOWN_VERTEX_FEATURES = 8


class Criterion(StrEnum):
    """What a label should reduce."""

    error = "error"
    uncertainty = "uncertainty"
    variance = "variance"


def ask(
    model: options.Model,
    n: Annotated[int, typer.Option("-n", min=1, help="Maximum number of questions.")] = 10,
    by: Annotated[
        Criterion, typer.Option(help="What a label should reduce: error, uncertainty or variance.")
    ] = Criterion.error,
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
    with exit_on_error():
        from labelwalk.learner import load

        questions = load(model).ask(n, by=by.value)
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
            features = ", ".join(f"{x:.4g}" for x in question.example[:MAX_SHOWN_EXAMPLE_FEATURES])
            has_more = len(question.example) > MAX_SHOWN_EXAMPLE_FEATURES
            table.add_row(
                "-" if question.example_id is None else str(question.example_id),
                "-" if question.guess is None else str(question.guess),
                f"{question.confidence:.3f}",
                str(question.count),
                features + (" ..." if has_more else ""),
            )
        Console(highlight=False).print(table)


@with_config_options("Columns")
def explain(
    model: options.Model,
    input: options.Input = "-",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 10,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line.")
    ] = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    embed: options.Embed = None,
    *,
    configuration: Configuration,
) -> None:
    """Explain the answer to each row, without learning: reachable labels, most probable path.

    \b
    Examples:
      labelwalk explain learner.lw doubtful.csv
      labelwalk explain learner.lw doubtful.csv --limit 1 --json
    """  # noqa: D301
    from labelwalk.io import ReadOptions, Task, read_examples
    from labelwalk.learner import load

    task = Task(
        input,
        columns=replace(configuration.columns, label_optional=True),
        reading=ReadOptions(format, delimiter, not no_header, embed=embed),
        unlabeled=configuration.unlabeled,
        taught_by=read_feature_names(model),
    )
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
    with exit_on_error():
        from labelwalk.learner import load

        learner = load(model)
        if as_json:
            fields = _collect_all(learner) | (
                {"vertices": _list_vertices(learner)} if vertices else {}
            )
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
                shown = vertex["point"][:MAX_SHOWN_VERTEX_FEATURES]
                point = ", ".join(f"{x:.4g}" for x in shown)
                more = ", ..." if len(vertex["point"]) > len(shown) else ""
                size = f"{vertex['count']:>8} within {vertex['reach']:.4g}"
                typer.echo(f"{name:16} {size} of ({point}{more})")


def _collect_all(learner: OnlineLearner) -> dict[str, Any]:
    metric_fields = ("name", "value", "limit", "ok", "meaning")
    event_fields = ("at", "name", "value", "ok", "meaning")
    return _collect_facts(learner) | {
        "feature_names": list(learner.feature_names),
        "settings": learner.settings.describe(),
        "health": [{f: getattr(metric, f) for f in metric_fields} for metric in learner.health()],
        "events": [{f: getattr(event, f) for f in event_fields} for event in learner.events],
    }


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
    return [
        {
            "label": table.label[i],
            "count": int(table.count[i]),
            "reach": float(table.reach[i]),
            "point": table.means[i].tolist(),
        }
        for i in range(len(table.reach))
    ]


def _format_fact(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def merge(
    models: Annotated[list[str], typer.Argument(help="Two or more model files.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Model file for the new learner.")],
) -> None:
    """Merge learners with the same settings into one, as if it had seen all their streams.

    \b
    Examples:
      labelwalk merge monday.lw tuesday.lw -o both.lw
      labelwalk merge shard-*.lw -o whole.lw
    """  # noqa: D301
    with exit_on_error():
        if len(models) < 2:
            raise ValueError(
                f"There is only one file, {models[0]}. Give two or more files to merge."
            )
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


def retract(
    model: options.Model,
    example: Annotated[
        list[int] | None,
        typer.Option(help="Id of a taught example. Can be given several times."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Class of which all labels are retracted.")
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Also remove the class and its vertices.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Retract wrong labels of examples, or all labels of a class.

    The numbers are those that `label --example-ids` wrote, or `ask` listed.

    \b
    Examples:
      labelwalk retract learner.lw --example 1380
      labelwalk retract learner.lw --label leek --forget
    """  # noqa: D301
    with exit_on_error():
        from labelwalk.io.rows import to_class_names
        from labelwalk.learner import load

        examples = example or []
        if bool(examples) == (label is not None) or (forget and label is None):
            raise ValueError("Give either --example, or --label with or without --forget.")
        console = Console(stderr=True, highlight=False, quiet=quiet)
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
