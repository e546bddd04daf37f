"""`labelwalk plot`: pictures of a learner and of its answers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from labelwalk.cli.errors import exit_if_not_writable, exit_on_error
from labelwalk.cli.options import Delimiter, Format
from labelwalk.cli.terminal import echo


class Kind(StrEnum):
    """What is drawn."""

    centroids = "centroids"
    accuracy = "accuracy"
    precision_recall = "precision-recall"


def plot(
    kind: Annotated[Kind, typer.Argument(help="Of a learner, or of labelled rows with truth.")],
    input: Annotated[str, typer.Argument(help="A learner's file, or the output of `label`.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="PNG, SVG or PDF.", show_default="KIND.png"),
    ] = None,
    truth_column: Annotated[
        str, typer.Option(help="What was true, for accuracy and precision-recall.")
    ] = "truth",
    label_column: Annotated[
        str | None,
        typer.Option(
            help="That of `label`: rows with a label were taught, and are not judged.",
            show_default="label, if the answers have another name",
        ),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(help="That of `label`.", show_default="as `label` chose without one"),
    ] = None,
    format: Format = None,
    delimiter: Delimiter = None,
) -> None:
    """Draw the centroids of a learner in 2-D, or how right its answers are.

    \b
    Examples:
      labelwalk plot centroids learner.lw -o map.svg
      labelwalk plot accuracy labelled.csv --truth-column y
    """  # noqa: D301
    with exit_on_error():
        from labelwalk import plotting
        from labelwalk.io import ReadOptions
        from labelwalk.io.scored_output import compute_precision_and_recall, read_scored_output
        from labelwalk.learner import load

        if kind is Kind.centroids:
            figure = plotting.draw_centroids(load(input))
        else:
            reading = ReadOptions(format, delimiter)
            found = read_scored_output(input, truth_column, label_column, prefix, reading)
            figure = (
                plotting.draw_accuracy(found.is_right)
                if kind is Kind.accuracy
                else plotting.draw_precision_recall(*compute_precision_and_recall(found))
            )
        path = output or Path(f"{kind.value}.png")
        with exit_if_not_writable(path):
            figure.savefig(path)
        echo(Console(stderr=True, highlight=False), f"Picture: {path}")
