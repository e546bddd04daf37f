"""`labelwalk explain`: why rows get their answers."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from labelwalk.cli import reading as read
from labelwalk.cli.options import configured
from labelwalk.configuration import Configuration


@configured("Columns")
def explain(
    model: read.Model,
    input: read.Input = "-",
    limit: Annotated[int, typer.Option(min=1, help="How many rows at most.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    format: read.Format = None,
    delimiter: read.Delimiter = None,
    no_header: read.NoHeader = False,
    embed: read.Embed = None,
    *,
    configuration: Configuration,
) -> None:
    """Say which labels a walk from each row meets, and by which way; nothing is learned.

    \b
    Examples:
      labelwalk explain learner.lw doubtful.csv
      labelwalk explain learner.lw doubtful.csv --limit 1 --json
    """  # noqa: D301
    from labelwalk.io import read_examples
    from labelwalk.learner import load

    task = read.task_of(
        configuration,
        input,
        None,
        format=format,
        delimiter=delimiter,
        no_header=no_header,
        embed=embed,
        learn=False,
        model=model,
    )
    learner, left = load(model), limit
    for batch, found in read_examples(task, learner):
        for i, x in enumerate(found.matrix()[:left]):
            said, verdict = learner.explain(x), learner.predict(x)
            row = found.ids[i] if found.ids else batch.where(i)
            if as_json:
                answer = {"label": verdict.label, "confidence": verdict.confidence}
                line = {"row": row, **answer, **asdict(said)}
                typer.echo(json.dumps(line, default=_listed, ensure_ascii=False))
            else:
                name = "no answer" if verdict.label is None else verdict.label
                typer.echo(f"{row}: {name}, {verdict.confidence:.3g}\n{said}\n")
        left -= len(found.rows)
        if left <= 0:
            return


def _listed(value: Any) -> Any:
    return value.tolist()
