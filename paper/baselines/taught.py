"""Labelled examples as they came, for methods that keep them all."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.rows import as_rows
from paper.baselines.said import Classes


class Taught:
    """Rows, their classes as numbers, and the names of these.

    Examples
    --------
    >>> taught = Taught()
    >>> taught.add([[0.0, 1.0], [2.0, 3.0]], ["cat", "dog"])
    >>> taught.add([4.0, 5.0], "cat")
    >>> taught.rows.shape, taught.codes, len(taught)
    ((3, 2), array([0, 1, 0]), 3)
    """

    def __init__(self) -> None:
        self.classes = Classes()
        self.rows: Floats = np.empty((0, 0))
        self.codes: Ints = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.codes)

    def add(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Keep rows with their labels."""
        rows, _ = as_rows(X, self.n_features)
        codes = self.classes.codes(labels, len(rows))
        self.rows = np.vstack([self.rows.reshape(-1, rows.shape[1]), rows])
        self.codes = np.concatenate([self.codes, codes])

    @property
    def one_hot(self) -> Floats:
        """A row for each example, with 1 in the column of its class."""
        return self.classes.one_hot(self.codes)

    @property
    def n_features(self) -> int | None:
        """How many numbers make an example; None before the first one."""
        return self.rows.shape[1] or None

    @property
    def nbytes(self) -> int:
        """Memory taken by rows and classes."""
        return self.rows.nbytes + self.codes.nbytes
