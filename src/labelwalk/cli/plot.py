"""`plot`: plots of a learner, and of its answers compared with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from labelwalk.cli.errors import exit_if_not_writable
from labelwalk.cli.options import Delimiter, Format

if TYPE_CHECKING:
    from labelwalk.arrays import Bools, Floats
    from labelwalk.io import ReadOptions


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
    format: Format = None,
    delimiter: Delimiter = None,
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
        scores = read_scored_output(input, truth_column, label_column, prefix, reading)
        figure = (
            plotting.draw_accuracy(scores.is_right)
            if kind == "accuracy"
            else plotting.draw_precision_recall(*compute_precision_and_recall(scores))
        )
    path = output or Path(f"{kind}.png")
    with exit_if_not_writable(path):
        figure.savefig(path)
    typer.echo(f"Plot: {path}", err=True)


class ScoredRows(NamedTuple):
    """Rows with a known truth: whether they were named, named correctly, and the confidence."""

    is_named: Bools
    is_right: Bools
    confidence: Floats


def read_scored_output(
    path: str, truth_column: str, label_column: str | None, prefix: str | None, options: ReadOptions
) -> ScoredRows:
    """Read the rows of an output that have a truth and had no label.

    By default, the label column is "label" if the added columns have other names, and the prefix is
    that which a run chooses.
    """
    import numpy as np

    from labelwalk.io import ColumnError, InputError
    from labelwalk.io.examples import DEFAULT_LABEL_COLUMN
    from labelwalk.io.formats import read_batches
    from labelwalk.io.rows import as_label_text
    from labelwalk.io.task import PREDICTED_PREFIX

    scored = []
    for batch in read_batches(path, options):
        names = batch.rows.names
        start = prefix
        if start is None:
            start = PREDICTED_PREFIX if f"{PREDICTED_PREFIX}label" in names else ""
        has_default = bool(start) and DEFAULT_LABEL_COLUMN in names
        taught_column = label_column or (DEFAULT_LABEL_COLUMN if has_default else truth_column)
        columns = (truth_column, f"{start}label", f"{start}confidence", taught_column)
        for name in columns:
            if name not in names:
                raise ColumnError(f"{path} has no column {name!r}. The columns are {names}.")
        for row in zip(*map(batch.rows.values, columns), strict=True):
            truth, label, taught = (as_label_text(row[i]) for i in (0, 1, 3))
            if truth is not None and (taught is None or taught_column == truth_column):
                scored.append((label is not None, label == truth, float(row[2] or 0.0)))
    if not scored:
        raise InputError(f"{path} has no row with a value in {truth_column!r}.")
    return ScoredRows(*map(np.array, zip(*scored, strict=True)))


def compute_precision_and_recall(rows: ScoredRows) -> tuple[Floats, Floats]:
    """Return precision and recall as the threshold of confidence falls.

    Examples
    --------
    >>> import numpy as np
    >>> rows = ScoredRows(np.array([True, True]), np.array([True, False]), np.array([0.9, 0.4]))
    >>> precision, recall = compute_precision_and_recall(rows)
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.5], [0.5, 0.5])
    """
    import numpy as np

    order = np.argsort(-rows.confidence, kind="stable")
    order = order[rows.is_named[order]]
    n_right = np.cumsum(rows.is_right[order])
    return n_right / np.arange(1, len(order) + 1), n_right / len(rows.is_right)
