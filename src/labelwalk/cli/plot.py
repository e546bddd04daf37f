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


class PictureKind(StrEnum):
    """Kinds of pictures."""

    centroids = "centroids"
    accuracy = "accuracy"
    precision_recall = "precision-recall"


def plot(
    kind: Annotated[
        PictureKind,
        typer.Argument(help="centroids of a learner; accuracy or precision-recall of its answers."),
    ],
    input: Annotated[str, typer.Argument(help="Model file, or the output of `label`.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="PNG, SVG or PDF file.", show_default="KIND.png"),
    ] = None,
    truth_column: Annotated[str, typer.Option(help="Column of the true labels.")] = "truth",
    label_column: Annotated[
        str | None,
        typer.Option(
            help="Label column of `label`; rows with a label were taught and do not count.",
            show_default="label, if the answers have another name",
        ),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(help="Prefix of `label`.", show_default="the default of `label`"),
    ] = None,
    format: Format = None,
    delimiter: Delimiter = None,
) -> None:
    """Draw the centroids of a learner in 2-D, or the accuracy of its answers.

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

        if kind is PictureKind.centroids:
            figure = plotting.draw_centroids(load(input))
        else:
            reading = ReadOptions(format, delimiter)
            scores = read_scored_output(input, truth_column, label_column, prefix, reading)
            figure = (
                plotting.draw_accuracy(scores.is_right)
                if kind is PictureKind.accuracy
                else plotting.draw_precision_recall(*compute_precision_and_recall(scores))
            )
        path = output or Path(f"{kind.value}.png")
        with exit_if_not_writable(path):
            figure.savefig(path)
        echo(Console(stderr=True, highlight=False), f"Picture: {path}")
