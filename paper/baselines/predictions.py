"""What baselines share: predictions, class names, a buffer of labelled rows, offline learning."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelwalk.arrays import Floats, Ints, Label


class Predictions(NamedTuple):
    """A label for each row, None for an abstention, and a confidence from 0 to 1."""

    label: NDArray[np.object_]
    confidence: Floats


def divide(parts: Floats, totals: Floats) -> Floats:
    """Divide; the share of nothing, a total of 0, is taken as a share of 1."""
    return np.asarray(parts / np.where(totals > 0.0, totals, 1.0))


class ClassNames:
    """Names of classes, numbered in order of first appearance.

    Examples
    --------
    >>> classes = ClassNames()
    >>> classes.encode(["cat", "dog", "cat"])
    array([0, 1, 0])
    >>> classes.decide(np.array([[0.2, 0.7], [0.0, 0.0]])).label
    array(['dog', None], dtype=object)
    """

    def __init__(self) -> None:
        self.codes: dict[Label, int] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def encode(self, labels: Iterable[Label]) -> Ints:
        """Return the numbers of labels; new classes get the next ones."""
        codes = [self.codes.setdefault(label, len(self.codes)) for label in labels]
        return np.array(codes, dtype=np.int64)

    def one_hot(self, codes: Ints) -> Floats:
        """Return a row for each code, with 1 in its column."""
        return np.eye(len(self.codes))[codes]

    def decide(self, scores: Floats) -> Predictions:
        """Return the class with the largest score, the older one in a tie; None if none is > 0."""
        label = np.full(len(scores), None, dtype=object)
        if not self.codes or not len(scores):
            return Predictions(label, np.zeros(len(scores)))
        best = scores.argmax(axis=1)
        confidence = np.clip(scores[np.arange(len(scores)), best], 0.0, 1.0)
        answered = confidence > 0.0
        label[answered] = np.array(list(self.codes), dtype=object)[best[answered]]
        return Predictions(label, confidence)


class LabelledBuffer:
    """All labelled rows, their class numbers and class names."""

    def __init__(self) -> None:
        self.classes = ClassNames()
        self.rows: Floats = np.empty((0, 0))
        self.codes: Ints = np.empty(0, dtype=np.int64)

    def add(self, X: ArrayLike, labels: Iterable[Label]) -> None:
        """Append rows with their labels."""
        rows = np.asarray(X, dtype=np.float64)
        self.rows = np.vstack([self.rows.reshape(-1, rows.shape[1]), rows])
        self.codes = np.concatenate([self.codes, self.classes.encode(labels)])

    @property
    def one_hot(self) -> Floats:
        """A row for each example, with 1 in the column of its class."""
        return self.classes.one_hot(self.codes)

    @property
    def nbytes(self) -> int:
        """Memory of rows and classes."""
        return self.rows.nbytes + self.codes.nbytes


class Baseline:
    """A method that answers rows as they come."""

    online: ClassVar[bool] = True

    @property
    def nbytes(self) -> int:
        """Memory of the arrays of this object and of its parts."""
        return sum(getattr(value, "nbytes", 0) for value in vars(self).values())


class OfflineBaseline(Baseline, ABC):
    """Labelled rows first, then one call of `observe`, which uses all its rows for every answer."""

    online: ClassVar[bool] = False

    def __init__(self) -> None:
        self.labelled = LabelledBuffer()

    @abstractmethod
    def _compute_scores(self, rows: Floats) -> Floats:
        """Return a number for each row and class; there is at least one class."""

    def teach(self, X: ArrayLike, labels: Iterable[Label]) -> None:
        """Store labelled rows."""
        self.labelled.add(X, labels)

    def observe(self, X: ArrayLike) -> Predictions:
        """Answer all rows; None for rows without a connection to a label."""
        rows, classes = np.asarray(X, dtype=np.float64), self.labelled.classes
        scores = self._compute_scores(rows) if len(classes) else np.empty((len(rows), 0))
        return classes.decide(scores)
