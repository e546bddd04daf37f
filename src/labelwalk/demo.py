"""Demonstration: the digits of scikit-learn as a stream, with a few labels at the start."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from time import perf_counter
from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.learner import OnlineLearner
from labelwalk.verdicts import Verdicts

PROGRESS_ROWS = 25  # between two reports of the progress; the answers do not depend on it
MAX_LABELS_PER_CLASS = 100  # of the 174 digits of the rarest class


class DigitStream(NamedTuple):
    """Labelled digits to start with, and the digits to answer with their truth."""

    taught: Floats
    labels: Ints
    rows: Floats
    truth: Ints


class DemoProgress(NamedTuple):
    """The progress of a run."""

    n_done: int
    n_total: int
    seconds: float
    accuracy: float


@dataclass(frozen=True)
class DemoResult:
    """The result of a run: totals, and two arrays with one entry per answer.

    Attributes
    ----------
    correct, nearest_correct : arrays of bool
        Whether the answer of the learner, at its own step, and of the nearest label are correct.
        An abstention is not correct.
    answered, outliers : float
        Shares of all examples.
    certain : float
        Share of the answers that are proven to be those of the exact solution on the graph.
    largest_bound : float
        The largest proven error of a probability.
    seconds : float
        Time of the learner, without compilation.
    """

    seed: int
    n_centroids: int
    labels_per_class: int
    n_labels: int
    n_examples: int
    correct: Bools
    nearest_correct: Bools
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
        """Share of correct answers of the learner."""
        return float(self.correct.mean())

    @property
    def nearest_accuracy(self) -> float:
        """Share of correct answers of the nearest label."""
        return float(self.nearest_correct.mean())

    @property
    def examples_per_second(self) -> float:
        """Number of examples that the learner answered in a second."""
        return self.n_examples / self.seconds

    def numbers(self) -> dict[str, float]:
        """Return every number, without the arrays."""
        names = [field.name for field in fields(self) if not field.name.endswith("correct")]
        names += ["accuracy", "nearest_accuracy", "examples_per_second"]
        return {name: getattr(self, name) for name in names}


def run_demo(
    seed: int = 0,
    *,
    labels_per_class: int = 4,
    n_centroids: int = 500,
    limit: int | None = None,
    watch: Callable[[DemoProgress], None] | None = None,
) -> DemoResult:
    """Teach a few digits of each class, then answer all others strictly online.

    Parameters
    ----------
    seed : int
        Seed of the order of the digits.
    labels_per_class : int
        Number of labels of each class, from 1 to 100.
    n_centroids : int
        Maximum number of unlabelled vertices.
    limit : int, optional
        Maximum number of examples.
    watch : function, optional
        Called every few examples with the progress.

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
    stream = load_digit_stream(seed, labels_per_class, limit)
    learner = OnlineLearner(n_centroids=n_centroids)
    learner.teach(stream.taught, stream.labels)
    verdicts, seconds = _observe(learner, stream, watch)
    answered = np.array([label is not None for label in verdicts.label])
    n_labelled = sum(label is not None for label in learner.vertices.label)
    return DemoResult(
        seed=seed,
        n_centroids=n_centroids,
        labels_per_class=labels_per_class,
        n_labels=len(stream.labels),
        n_examples=len(stream.rows),
        correct=verdicts.label == stream.truth,
        nearest_correct=predict_nearest(stream) == stream.truth,
        answered=float(answered.mean()),
        outliers=float(verdicts.outlier.mean()),
        certain=float(verdicts.certain[answered].mean()) if answered.any() else 0.0,
        largest_bound=float(verdicts.bound.max()),
        seconds=seconds,
        n_labelled_vertices=n_labelled,
        n_unlabelled_vertices=learner.n_vertices - n_labelled,
        radius=learner.radius,
        distortion=learner.distortion,
        nbytes=learner.nbytes,
    )


def load_digit_stream(seed: int, labels_per_class: int, limit: int | None = None) -> DigitStream:
    """Shuffle the digits; the first few of each class are taught, the others follow."""
    from sklearn.datasets import load_digits

    if not 1 <= labels_per_class <= MAX_LABELS_PER_CLASS:
        raise ValueError(
            f"labels_per_class={labels_per_class} is not between 1 and {MAX_LABELS_PER_CLASS}. "
            "Try 4."
        )
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit} leaves no examples. Try None for all of them.")
    rows, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(truth))
    rows, truth = rows[order].astype(np.float64), truth[order].astype(np.int64)
    first = np.zeros(len(truth), dtype=np.bool_)
    for digit in range(10):
        first[np.flatnonzero(truth == digit)[:labels_per_class]] = True
    return DigitStream(rows[first], truth[first], rows[~first][:limit], truth[~first][:limit])


def predict_nearest(stream: DigitStream) -> Ints:
    """Return for each example the label of the nearest taught one."""
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(1, algorithm="brute").fit(stream.taught, stream.labels)
    return np.asarray(model.predict(stream.rows), dtype=np.int64)


def warm_up() -> None:
    """Compile everything that a run needs, on other data."""
    rng = np.random.default_rng(0)
    learner = OnlineLearner(n_centroids=8)
    learner.teach(rng.normal(size=(4, 3)), [0, 1, 0, 1])
    learner.observe(rng.normal(size=(300, 3)))  # enough for one check of the health
    learner.observe(100.0 * rng.normal(size=(20, 3)))


def _observe(
    learner: OnlineLearner, stream: DigitStream, watch: Callable[[DemoProgress], None] | None
) -> tuple[Verdicts, float]:
    """Return the answers to the stream, and the seconds they took."""
    batches: list[Verdicts] = []
    seconds, n_correct, n_total = 0.0, 0, len(stream.rows)
    for start in range(0, n_total, PROGRESS_ROWS):
        end = min(start + PROGRESS_ROWS, n_total)
        begin = perf_counter()
        verdicts = learner.observe(stream.rows[start:end])
        seconds += perf_counter() - begin
        batches.append(verdicts)
        n_correct += int((verdicts.label == stream.truth[start:end]).sum())
        if watch is not None:
            watch(DemoProgress(end, n_total, seconds, n_correct / end))
    names = (field.name for field in fields(Verdicts))
    columns = {name: np.concatenate([getattr(batch, name) for batch in batches]) for name in names}
    return Verdicts(**columns), seconds
