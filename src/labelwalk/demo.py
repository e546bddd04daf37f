"""A demonstration: scikit-learn's digits as a stream, a few labels, one answer a digit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.learner import OnlineLearner
from labelwalk.verdicts import Verdicts

CHUNK = 25  # examples between two looks at the clock; any chunking gives the same answers
MOST_LABELS = 100  # of the 174 digits of the rarest class


class Stream(NamedTuple):
    """Labelled digits to start with, and those that follow with their labels kept aside."""

    taught: Floats
    labels: Ints
    rows: Floats
    truth: Ints


class SoFar(NamedTuple):
    """How far a run has come."""

    done: int
    total: int
    seconds: float
    accuracy: float


@dataclass(frozen=True)
class DemoResult:
    """What happened, example by example and in sum.

    Attributes
    ----------
    right, nearest_right : arrays of booleans, one an example
        Whether the learner, and the nearest label alone, named it rightly at its own step. An
        abstention is not right.
    answered, outliers : float
        Shares of all examples.
    certain : float
        Share of the answers that solving the learner's graph exactly is proven to give too.
    largest_bound : float
        The largest proven error of any probability in any answer.
    seconds : float
        Time the learner took, compilation and comparison with the truth excluded.
    """

    seed: int
    n_centroids: int
    labels_per_class: int
    n_labels: int
    n_examples: int
    right: Bools
    nearest_right: Bools
    answered: float
    outliers: float
    certain: float
    largest_bound: float
    seconds: float
    n_labelled_vertices: int
    n_unlabelled_vertices: int
    radius: float
    distortion: float
    nbytes: int

    @property
    def accuracy(self) -> float:
        """Share of all examples that the learner named rightly as they passed."""
        return float(self.right.mean())

    @property
    def nearest_accuracy(self) -> float:
        """The same share for the nearest label alone."""
        return float(self.nearest_right.mean())

    @property
    def examples_per_second(self) -> float:
        """How many examples the learner answered a second."""
        return self.n_examples / self.seconds

    def numbers(self) -> dict[str, float]:
        """Return every number, without the arrays."""
        stored = {field.name: getattr(self, field.name) for field in fields(self)}
        del stored["right"], stored["nearest_right"]
        derived = ("accuracy", "nearest_accuracy", "examples_per_second")
        return stored | {name: getattr(self, name) for name in derived}


def run_demo(
    seed: int = 0,
    *,
    labels_per_class: int = 4,
    n_centroids: int = 500,
    limit: int | None = None,
    watch: Callable[[SoFar], None] | None = None,
) -> DemoResult:
    """Teach a few digits of each class, then answer all others strictly online.

    Parameters
    ----------
    seed : int
        Which order the digits come in.
    labels_per_class : int
        How many of each class are taught, from 1 to 100.
    n_centroids : int
        The most unlabelled vertices that are kept.
    limit : int, optional
        Stop after so many examples.
    watch : function, optional
        Called every few examples with how far it has come.

    Returns
    -------
    result : DemoResult

    Examples
    --------
    >>> result = run_demo(seed=1, n_centroids=50, limit=100)
    >>> result.n_labels, result.n_examples
    (40, 100)
    >>> result.accuracy > 0.7
    True
    """
    stream = digits(seed, labels_per_class, limit)
    learner = OnlineLearner(n_centroids=n_centroids)
    learner.teach(stream.taught, stream.labels)
    verdicts, seconds = _observe(learner, stream, watch)
    answered = np.array([label is not None for label in verdicts.label])
    labelled = sum(label is not None for label in learner.vertices.label)
    return DemoResult(
        seed=seed,
        n_centroids=n_centroids,
        labels_per_class=labels_per_class,
        n_labels=len(stream.labels),
        n_examples=len(stream.rows),
        right=verdicts.label == stream.truth,
        nearest_right=_nearest_label(stream) == stream.truth,
        answered=float(answered.mean()),
        outliers=float(verdicts.outlier.mean()),
        certain=float(verdicts.certain[answered].mean()) if answered.any() else 0.0,
        largest_bound=float(verdicts.bound.max()),
        seconds=seconds,
        n_labelled_vertices=labelled,
        n_unlabelled_vertices=learner.n_vertices - labelled,
        radius=learner.radius,
        distortion=learner.distortion,
        nbytes=learner.nbytes,
    )


def _observe(
    learner: OnlineLearner, stream: Stream, watch: Callable[[SoFar], None] | None
) -> tuple[Verdicts, float]:
    """Return the answers to the stream, and the seconds they took."""
    parts: list[Verdicts] = []
    seconds, n_right, total = 0.0, 0, len(stream.rows)
    for start in range(0, total, CHUNK):
        end = min(start + CHUNK, total)
        begun = perf_counter()
        verdicts = learner.observe(stream.rows[start:end])
        seconds += perf_counter() - begun
        parts.append(verdicts)
        n_right += int((verdicts.label == stream.truth[start:end]).sum())
        if watch is not None:
            watch(SoFar(end, total, seconds, n_right / end))
    columns = (field.name for field in fields(Verdicts))
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
    return Verdicts(**joined), seconds


def digits(seed: int, labels_per_class: int, limit: int | None = None) -> Stream:
    """Shuffle the digits; the first few of each class are taught, the others follow."""
    if not 1 <= labels_per_class <= MOST_LABELS:
        raise ValueError(
            f"labels_per_class={labels_per_class} is not from 1 to {MOST_LABELS}. Try 4."
        )
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit} leaves no examples. Try None for all of them.")
    from sklearn.datasets import load_digits

    rows, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(truth))
    rows, truth = rows[order].astype(np.float64), truth[order].astype(np.int64)
    first = np.zeros(len(truth), dtype=np.bool_)
    for digit in range(10):
        first[np.flatnonzero(truth == digit)[:labels_per_class]] = True
    return Stream(rows[first], truth[first], rows[~first][:limit], truth[~first][:limit])


def _nearest_label(stream: Stream) -> NDArray[np.int64]:
    """Return for each example of the stream the label of the nearest taught one."""
    from sklearn.neighbors import KNeighborsClassifier

    nearest = KNeighborsClassifier(1, algorithm="brute").fit(stream.taught, stream.labels)
    return np.asarray(nearest.predict(stream.rows), dtype=np.int64)


def warm_up() -> None:
    """Have all that a run needs compiled, on data that has nothing to do with it."""
    rng = np.random.default_rng(0)
    learner = OnlineLearner(n_centroids=8)
    learner.teach(rng.normal(size=(4, 3)), [0, 1, 0, 1])
    learner.observe(rng.normal(size=(300, 3)))  # enough for health to be judged once
    learner.observe(100.0 * rng.normal(size=(20, 3)))
