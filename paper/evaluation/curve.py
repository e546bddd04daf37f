"""Precision against recall as one parameter moves: the sink of a learner, the radius of another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from paper.evaluation.measures import precision_recall
from paper.evaluation.running import NOBODY, Outcome, StreamLearner, evaluate
from paper.evaluation.streams import Stream


class CurvePoint(NamedTuple):
    """The parameter, and what came of it."""

    parameter: float
    precision: float
    recall: float


def precision_recall_curve(
    learner_for: Callable[[float], StreamLearner], parameters: Iterable[float], stream: Stream
) -> list[CurvePoint]:
    """Evaluate a new learner for each value of the parameter.

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> from paper.evaluation import labels_first
    >>> stream = labels_first([[0.0], [9.0], [0.5], [8.5], [1.0]], [0, 1, 0, 1, 0], per_class=1)
    >>> def learner_for(floor):
    ...     return OnlineLearner(10, abstain_below=floor)
    >>> for point in precision_recall_curve(learner_for, [0, 1], stream):
    ...     print(point)
    CurvePoint(parameter=0, precision=1.0, recall=1.0)
    CurvePoint(parameter=1, precision=1.0, recall=0.0)
    """
    return [
        CurvePoint(value, *precision_recall(evaluate(learner_for(value), stream)))
        for value in parameters
    ]


def confidence_curve(outcome: Outcome, floors: Iterable[float]) -> list[CurvePoint]:
    """Return the curve of a learner that keeps silent where its confidence is below a floor.

    Examples
    --------
    >>> truth, said = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> outcome = Outcome(truth, said, np.array([0.9, 0.4, 0.8]), np.zeros(3), 0)
    >>> for point in confidence_curve(outcome, [0.0, 0.5]):
    ...     print(point)
    CurvePoint(parameter=0.0, precision=0.666..., recall=0.666...)
    CurvePoint(parameter=0.5, precision=1.0, recall=0.666...)
    """
    return [CurvePoint(floor, *precision_recall(_silent_below(outcome, floor))) for floor in floors]


def _silent_below(outcome: Outcome, floor: float) -> Outcome:
    return replace(outcome, said=np.where(outcome.confidence >= floor, outcome.said, NOBODY))


def precision_at_recall(curve: Iterable[CurvePoint], recall: float) -> float | None:
    """Return the best precision of any point that recalls at least so much; None without one.

    Examples
    --------
    >>> curve = [CurvePoint(0.1, 0.99, 0.6), CurvePoint(0.2, 0.95, 0.9), CurvePoint(0.3, 0.9, 0.95)]
    >>> precision_at_recall(curve, 0.8)
    0.95
    """
    return max((point.precision for point in curve if point.recall >= recall), default=None)
