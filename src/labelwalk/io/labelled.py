"""Labelled rows read back: what was said, how surely, and what was true."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats
from labelwalk.io.batch import Answers
from labelwalk.io.columns import LABEL, ColumnError
from labelwalk.io.fault import InputError
from labelwalk.io.formats import Reading, open_source
from labelwalk.io.task import PREDICTED
from labelwalk.io.words import as_word


class Judged(NamedTuple):
    """Rows whose truth is known: named at all, named rightly, and the confidence."""

    named: Bools
    right: Bools
    confidence: Floats


def judged(
    path: str, truth_column: str, label_column: str | None, prefix: str | None, reading: Reading
) -> Judged:
    """Read the output of a run again, those rows that have a truth and were not labelled.

    Parameters
    ----------
    path : str
    truth_column : str
    label_column : str or None
        That of the run; None: "label", if the new columns are named otherwise.
    prefix : str or None
        Before the names of the new columns; None: as they were named without being told.
    reading : Reading

    Raises
    ------
    ColumnError
        A column is not there.
    InputError
        No row has a truth.
    """
    named, right, confidence = [], [], []
    for batch in open_source(path, reading).batches(None):
        names = batch.rows.names
        if batch.faults:
            raise InputError(f"{path}, {batch.faults[0]}.")
        start = _start(names) if prefix is None else prefix
        given = label_column or (LABEL if start and LABEL in names else truth_column)
        columns = (truth_column, f"{start}label", f"{start}confidence", given)
        for name in columns:
            if name not in names:
                raise ColumnError(f"there is no column {name!r} in {path}, only {names}.")
        for true, said, sure, told in zip(*map(batch.rows.values, columns), strict=True):
            truth, word = as_word(true), as_word(said)
            taught = given != truth_column and as_word(told) is not None
            if truth is not None and not taught:
                named.append(word is not None)
                right.append(word == truth)
                confidence.append(float(sure or 0.0))
    if not named:
        raise InputError(f"{path} has no row with a value in {truth_column!r}.")
    return Judged(np.array(named), np.array(right), np.array(confidence))


def precision_and_recall(found: Judged) -> tuple[Floats, Floats]:
    """Return precision and recall as answers of less and less confidence are given.

    Examples
    --------
    >>> found = Judged(np.array([True, True]), np.array([True, False]), np.array([0.9, 0.4]))
    >>> precision, recall = precision_and_recall(found)
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.5], [0.5, 0.5])
    """
    order = np.argsort(-found.confidence, kind="stable")
    order = order[found.named[order]]
    right = np.cumsum(found.right[order])
    return right / np.arange(1, len(order) + 1), right / len(found.right)


def _start(names: list[str]) -> str:
    taken = [PREDICTED + name for name in Answers._fields]
    return PREDICTED if taken[0] in names else ""
