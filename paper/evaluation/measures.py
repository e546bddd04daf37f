"""What an outcome is worth: accuracy, precision and recall, confusion, calibration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk import evaluation
from labelwalk.arrays import Ints
from paper.evaluation.running import Outcome


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


def accuracy(outcome: Outcome) -> float:
    """Return the share of the examples of a class that were named rightly.

    Outsiders, whose right answer is none, count too.
    """
    return float(outcome.right.mean())


def precision_recall(outcome: Outcome) -> PrecisionRecall:
    """Return precision over all answers, outsiders included, and recall over known examples.

    Examples
    --------
    >>> from paper.evaluation import NOBODY, OUTSIDER
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
    >>> from paper.evaluation import NOBODY, OUTSIDER
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
    right = outcome.right & outcome.answered
    return evaluation.calibration_error(outcome.confidence, right, bins)


def _place(codes: Ints, classes: Ints) -> Ints:
    return np.where(codes >= 0, np.searchsorted(classes, codes), len(classes))
