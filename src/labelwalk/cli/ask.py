"""`labelwalk ask`: what to label next."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from labelwalk.cli import reading as read
from labelwalk.cli.failures import told

SHOWN = 6  # features of an example


class By(StrEnum):
    """What a label is to lower."""

    error = "error"
    uncertainty = "uncertainty"
    variance = "variance"


def ask(
    model: read.Model,
    n: Annotated[int, typer.Option("-n", min=1, help="How many questions.")] = 10,
    by: Annotated[
        By, typer.Option(help="What a label is to lower: mistakes, doubt or variance.")
    ] = By.error,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, the whole example in it.")
    ] = False,
) -> None:
    """Say which examples to label next, those that help most first; the learner stays as it is.

    Answer with `labelwalk teach learner.lw answers.csv --by-id example`.

    \b
    Examples:
      labelwalk ask learner.lw -n 5
      labelwalk ask learner.lw --by uncertainty --json > questions.ndjson
    """  # noqa: D301
    with told():
        from labelwalk.learner import load

        questions = load(model).ask(n, by=by.value)
        if as_json:
            for question in questions:
                said = {
                    "example": question.example_id,
                    "guess": question.guess,
                    "confidence": question.confidence,
                    "stands_for": question.count,
                    "features": question.example.tolist(),
                }
                typer.echo(json.dumps(said, ensure_ascii=False))
            return
        table = Table(box=box.SIMPLE)
        for head in ("example", "guess", "confidence", "stands for", "features"):
            table.add_column(head)
        for question in questions:
            start = ", ".join(f"{x:.4g}" for x in question.example[:SHOWN])
            table.add_row(
                "-" if question.example_id is None else str(question.example_id),
                "-" if question.guess is None else str(question.guess),
                f"{question.confidence:.3f}",
                str(question.count),
                start + (" ..." if len(question.example) > SHOWN else ""),
            )
        Console(highlight=False).print(table)
