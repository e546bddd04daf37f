"""Labelled rows read back: what was said, how surely, and what was true."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats
from labelwalk.streams.batch import Answers
from labelwalk.streams.columns import ColumnError
from labelwalk.streams.fault import InputError
from labelwalk.streams.formats import Reading, open_source
from labelwalk.streams.task import PREDICTED
from labelwalk.streams.words import as_word


class Judged(NamedTuple):
    """Rows whose truth is known: named at all, named rightly, and the confidence."""

    named: Bools
    right: Bools
    confidence: Floats


def judged(path: str, truth_column: str, prefix: str | None, reading: Reading) -> Judged:
    """Read the output of a run again, those rows that have a truth.

    Parameters
    ----------
    path : str
    truth_column : str
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
        start = _start(names) if prefix is None else prefix
        for name in (truth_column, f"{start}label", f"{start}confidence"):
            if name not in names:
                raise ColumnError(f"there is no column {name!r} in {path}, only {names}.")
        columns = (truth_column, f"{start}label", f"{start}confidence")
        for true, said, sure in zip(*map(batch.rows.values, columns), strict=True):
            truth, word = as_word(true), as_word(said)
            if truth is not None:
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
