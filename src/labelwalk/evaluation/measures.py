"""What an outcome is worth: accuracy, precision and recall, confusion, calibration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.evaluation.running import Outcome
from labelwalk.parameters import check_whole


class PrecisionRecall(NamedTuple):
    """Of the answers, how many are right; of the examples of a class, how many were rightly named.

    Without any answer the precision is 1: nothing wrong was said.
    """

    precision: float
    recall: float


class Confusion(NamedTuple):
    """How often examples of a class (rows) were named as another (columns).

    The last row counts outsiders, the last column abstentions.
    """

    classes: Ints
    counts: Ints


def cumulative_accuracy(right: Bools) -> Floats:
    """Return the share of right answers up to each step.

    Examples
    --------
    >>> cumulative_accuracy(np.array([True, False, True, True]))
    array([1.        , 0.5       , 0.66666667, 0.75      ])
    """
    return np.asarray(np.cumsum(right) / np.arange(1, len(right) + 1))


def windowed_accuracy(right: Bools, window: int) -> Floats:
    """Return the share of right answers among the last `window` at each step, fewer at first.

    Examples
    --------
    >>> windowed_accuracy(np.array([True, False, True, True]), 2)
    array([1. , 0.5, 0.5, 1. ])
    """
    check_whole("window", window, "200")
    sums = np.concatenate([[0], np.cumsum(right)])
    end = np.arange(1, len(right) + 1)
    start = np.maximum(end - window, 0)
    return np.asarray((sums[end] - sums[start]) / (end - start))


def accuracy(outcome: Outcome) -> float:
    """Return the share of the examples of a class that were named rightly.

    Outsiders, whose right answer is none, count too.
    """
    return float(outcome.right.mean())


def precision_recall(outcome: Outcome) -> PrecisionRecall:
    """Return precision over all answers, outsiders included, and recall over known examples.

    Examples
    --------
    >>> from labelwalk.evaluation import NOBODY, OUTSIDER
    >>> truth, said = np.array([0, 0, 1, OUTSIDER]), np.array([0, NOBODY, 1, 1])
    >>> precision_recall(Outcome(truth, said, np.ones(4), np.zeros(4), 0))
    PrecisionRecall(precision=0.666..., recall=0.666...)
    """
    named, right = outcome.answered, outcome.right & outcome.answered
    return PrecisionRecall(
        precision=float(right.sum() / named.sum()) if named.any() else 1.0,
        recall=float(right.sum() / outcome.known.sum()) if outcome.known.any() else 0.0,
    )


def confusion(outcome: Outcome) -> Confusion:
    """Count how often each class was named as each.

    Examples
    --------
    >>> from labelwalk.evaluation import NOBODY, OUTSIDER
    >>> truth, said = np.array([3, 3, 5, OUTSIDER]), np.array([3, 5, NOBODY, NOBODY])
    >>> print(confusion(Outcome(truth, said, np.ones(4), np.zeros(4), 0)).counts)
    [[1 1 0]
     [0 0 1]
     [0 0 1]]
    """
    classes = np.unique(np.concatenate([outcome.truth, outcome.said]))
    classes = classes[classes >= 0]
    counts = np.zeros((len(classes) + 1, len(classes) + 1), dtype=np.int64)
    np.add.at(counts, (_place(outcome.truth, classes), _place(outcome.said, classes)), 1)
    return Confusion(classes, counts)


def calibration_error(outcome: Outcome, bins: int = 10) -> float:
    """Return the expected calibration error: how far confidence is from the share that is right.

    Examples are put into bins of equal width by their confidence; abstentions have none, and lie in
    the lowest.

    Examples
    --------
    >>> truth = np.array([0, 0, 0, 0])
    >>> said = np.array([0, 0, 0, 1])
    >>> calibration_error(Outcome(truth, said, np.full(4, 0.75), np.zeros(4), 0))
    0.0
    """
    check_whole("bins", bins, "10")
    right = outcome.right & outcome.answered
    place = np.minimum((bins * outcome.confidence).astype(np.int64), bins - 1)
    sums = np.bincount(place, outcome.confidence - right, minlength=bins)
    return float(np.abs(sums).sum() / len(right))


def _place(codes: Ints, classes: Ints) -> Ints:
    return np.where(codes >= 0, np.searchsorted(classes, codes), len(classes))
