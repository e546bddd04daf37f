"""The output of a run read back and compared with the truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats
from labelwalk.io.examples import DEFAULT_LABEL_COLUMN, ColumnError
from labelwalk.io.formats import ReadOptions, open_source
from labelwalk.io.rows import InputError, as_label_text
from labelwalk.io.task import PREDICTED_PREFIX


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
    is_named, is_right, confidences = [], [], []
    for batch in open_source(path, options).batches(None):
        names = batch.rows.names
        if batch.faults:
            raise InputError(f"{path}, {batch.faults[0]}.")
        start = prefix
        if start is None:
            start = PREDICTED_PREFIX if f"{PREDICTED_PREFIX}label" in names else ""
        has_default = bool(start) and DEFAULT_LABEL_COLUMN in names
        taught_column = label_column or (DEFAULT_LABEL_COLUMN if has_default else truth_column)
        columns = (truth_column, f"{start}label", f"{start}confidence", taught_column)
        for name in columns:
            if name not in names:
                raise ColumnError(f"{path} lacks column {name!r}; it has {names}.")
        for row in zip(*map(batch.rows.values, columns), strict=True):
            truth, label, taught = (as_label_text(row[i]) for i in (0, 1, 3))
            if truth is not None and (taught is None or taught_column == truth_column):
                is_named.append(label is not None)
                is_right.append(label == truth)
                confidences.append(float(row[2] or 0.0))
    if not is_named:
        raise InputError(f"{path} has no row with a value in {truth_column!r}.")
    return ScoredRows(np.array(is_named), np.array(is_right), np.array(confidences))


def compute_precision_and_recall(rows: ScoredRows) -> tuple[Floats, Floats]:
    """Return precision and recall as the threshold of confidence falls.

    Examples
    --------
    >>> rows = ScoredRows(np.array([True, True]), np.array([True, False]), np.array([0.9, 0.4]))
    >>> precision, recall = compute_precision_and_recall(rows)
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.5], [0.5, 0.5])
    """
    order = np.argsort(-rows.confidence, kind="stable")
    order = order[rows.is_named[order]]
    n_right = np.cumsum(rows.is_right[order])
    return n_right / np.arange(1, len(order) + 1), n_right / len(rows.is_right)
