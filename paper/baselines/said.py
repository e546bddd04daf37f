"""What every baseline has in common: what it says of each row, and the names of its classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.rows import as_labels


class Said(NamedTuple):
    """A label for each row, None where the method abstains, and how sure it is, from 0 to 1."""

    label: NDArray[np.object_]
    confidence: Floats


class Classes:
    """Names of classes in order of first appearance; inside a method they are numbers.

    Examples
    --------
    >>> classes = Classes()
    >>> classes.codes(["cat", "dog", "cat"], 3)
    array([0, 1, 0])
    >>> classes.said(np.array([[0.2, 0.7], [0.0, 0.0]])).label
    array(['dog', None], dtype=object)
    """

    def __init__(self) -> None:
        self.names: dict[Label, int] = {}

    def __len__(self) -> int:
        return len(self.names)

    def codes(self, labels: Label | Iterable[Label], n: int) -> Ints:
        """Return the numbers of n labels; those never seen before get the next ones."""
        given = as_labels(labels, n)
        for name in given:
            self.names.setdefault(name, len(self.names))
        return np.array([self.names[name] for name in given], dtype=np.int64)

    def said(self, scores: Floats) -> Said:
        """Name the class with the largest score, the older one in a tie; None where none is > 0."""
        label = np.full(len(scores), None, dtype=object)
        if not self.names or not len(scores):
            return Said(label, np.zeros(len(scores)))
        best = scores.argmax(axis=1)
        confidence = np.clip(scores[np.arange(len(scores)), best], 0.0, 1.0)
        named = confidence > 0.0
        label[named] = np.array(list(self.names), dtype=object)[best[named]]
        return Said(label, confidence)

    def one_hot(self, codes: Ints) -> Floats:
        """Return a row for each code, with 1 in its own column."""
        return np.eye(len(self.names))[codes]
