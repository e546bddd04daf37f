"""Run a learner over a labelled stream, and measure its answers.

A learner has `teach(X, labels)` and `observe(X)`, which returns a label (None to abstain) and a
confidence for each row: `OnlineLearner`, or a class of `paper.baselines`. One with `online = False`
gets all labelled rows first and then all other rows in one call.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from labelwalk.arrays import Bools, Floats, Ints
from paper.datasets import UNKNOWN_CLASS

ABSTAINED = -1  # in `EvaluationResult.labels`


class StreamLearner(Protocol):
    """A method that can be evaluated."""

    def teach(self, X: Floats, labels: list[int]) -> Any:
        """Learn labelled rows."""

    def observe(self, X: Floats) -> Any:
        """Answer rows in order, and learn from them."""


class Stream(NamedTuple):
    """Examples in order; those that are taught with their label are not answered."""

    rows: Floats
    truth: Ints  # classes, or UNKNOWN_CLASS
    taught: Bools

    @property
    def answered(self) -> Bools:
        """Whether an example is answered."""
        return ~self.taught


def labels_first(
    X: ArrayLike, y: ArrayLike, *, per_class: int = 4, seed: int | None = None
) -> Stream:
    """Teach the first examples of each class; all others follow, shuffled if there is a seed.

    Examples
    --------
    >>> stream = labels_first([[0.0], [1.0], [2.0], [3.0]], [7, 7, 8, 7], per_class=1)
    >>> stream.rows[:, 0], stream.answered
    (array([0., 2., 1., 3.]), array([False, False,  True,  True]))
    """
    rows, truth = np.asarray(X, dtype=np.float64), np.asarray(y)
    order = np.arange(len(rows))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    first = _find_first(truth[order], per_class)
    order = np.concatenate([order[first], order[~first]])
    return Stream(rows[order], truth[order], np.arange(len(rows)) < first.sum())


def labels_at_first_appearance(X: ArrayLike, y: ArrayLike, *, per_class: int = 4) -> Stream:
    """Keep the order; the first examples of each class are taught where they appear.

    Examples
    --------
    >>> stream = labels_at_first_appearance([[0.0], [1.0], [2.0]], [7, 7, 8], per_class=1)
    >>> stream.answered
    array([False,  True, False])
    """
    truth = np.asarray(y)
    return Stream(np.asarray(X, dtype=np.float64), truth, _find_first(truth, per_class))


def _find_first(truth: Ints, per_class: int) -> Bools:
    first = np.zeros(len(truth), dtype=np.bool_)
    for c in np.unique(truth[truth != UNKNOWN_CLASS]):
        first[np.flatnonzero(truth == c)[:per_class]] = True
    return first


@dataclass(frozen=True)
class EvaluationResult:
    """Answers to the examples of a stream that were not taught, in order."""

    truth: Ints  # classes, or UNKNOWN_CLASS
    labels: Ints  # answers, or ABSTAINED
    confidence: Floats  # 0 for an abstention
    seconds: Floats  # for each answer, averaged over the call
    nbytes: int  # memory of the learner's arrays at the end

    @property
    def correct(self) -> Bools:
        """Whether the answer is the class; for `UNKNOWN_CLASS`, whether the learner abstained."""
        return np.asarray(self.labels == self.truth)

    @property
    def answered(self) -> Bools:
        """Whether the learner did not abstain."""
        return np.asarray(self.labels != ABSTAINED)

    @property
    def accuracy(self) -> float:
        """Share of correct answers, correct abstentions included."""
        return float(self.correct.mean())

    @property
    def precision(self) -> float:
        """Share of correct answers among all answers; 1 without any answer."""
        return float(self.correct[self.answered].mean()) if self.answered.any() else 1.0

    @property
    def recall(self) -> float:
        """Share of correct answers among all examples that have a class."""
        has_class = self.truth != UNKNOWN_CLASS
        return float(self.correct[has_class].mean()) if has_class.any() else 0.0


def evaluate(learner: StreamLearner, stream: Stream) -> EvaluationResult:
    """Let a new learner meet a stream, on one BLAS thread.

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> stream = labels_first([[0.0], [9.0], [0.5], [8.5], [1.0]], [0, 1, 0, 1, 0], per_class=1)
    >>> result = evaluate(OnlineLearner(10), stream)
    >>> result.labels, result.correct
    (array([0, 1, 0]), array([ True,  True,  True]))
    """
    answered = stream.answered
    if not answered.any():
        raise ValueError("stream has no example to answer. Teach fewer: lower per_class.")
    labels = np.full(len(stream.rows), ABSTAINED, dtype=np.int64)
    confidence, seconds = np.zeros(len(stream.rows)), np.zeros(len(stream.rows))
    with threadpool_limits(1):
        for block in _split(stream, getattr(learner, "online", True)):
            rows = stream.rows[block]
            if stream.taught[block[0]]:
                learner.teach(rows, stream.truth[block].tolist())
                continue
            start = perf_counter()
            answers = learner.observe(rows)
            seconds[block] = (perf_counter() - start) / len(rows)
            labels[block] = [ABSTAINED if label is None else label for label in answers.label]
            confidence[block] = np.where(labels[block] == ABSTAINED, 0.0, answers.confidence)
    return EvaluationResult(
        truth=stream.truth[answered],
        labels=labels[answered],
        confidence=confidence[answered],
        seconds=seconds[answered],
        nbytes=int(getattr(learner, "nbytes", 0)),
    )


def _split(stream: Stream, online: bool) -> Iterator[Ints]:
    """Yield the indices of examples that are taught or answered together."""
    if online:
        yield from np.split(np.arange(len(stream.rows)), np.flatnonzero(np.diff(stream.taught)) + 1)
    else:
        yield from filter(len, (np.flatnonzero(stream.taught), np.flatnonzero(stream.answered)))


class CurvePoint(NamedTuple):
    """Precision and recall for one value of a parameter."""

    parameter: float
    precision: float
    recall: float


def precision_recall_curve(
    learner_for: Callable[[float], StreamLearner], parameters: Iterable[float], stream: Stream
) -> list[CurvePoint]:
    """Evaluate a new learner for each value of its parameter."""
    results = ((value, evaluate(learner_for(value), stream)) for value in parameters)
    return [CurvePoint(value, result.precision, result.recall) for value, result in results]


def confidence_curve(result: EvaluationResult, floors: Iterable[float]) -> list[CurvePoint]:
    """Return the curve of a learner that abstains where its confidence is below a floor."""
    curve = []
    for floor in floors:
        labels = np.where(result.confidence >= floor, result.labels, ABSTAINED)
        at_floor = replace(result, labels=labels)
        curve.append(CurvePoint(floor, at_floor.precision, at_floor.recall))
    return curve


def precision_at_recall(curve: Iterable[CurvePoint], recall: float) -> float | None:
    """Return the best precision of the points with at least this recall; None without one.

    Examples
    --------
    >>> curve = [CurvePoint(0.1, 0.99, 0.6), CurvePoint(0.2, 0.95, 0.9), CurvePoint(0.3, 0.9, 0.95)]
    >>> precision_at_recall(curve, 0.8)
    0.95
    """
    return max((point.precision for point in curve if point.recall >= recall), default=None)
