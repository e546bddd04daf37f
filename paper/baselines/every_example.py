"""The harmonic solution made online without quantization: every example stays a vertex."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Label
from labelwalk.parameters import check_number
from labelwalk.rows import LARGEST, as_rows
from labelwalk.similarity import Gaussian
from paper.baselines.full_graph import (
    MOST_EXAMPLES,
    check_fits,
    fixed_bandwidth,
    gaussian_similarities,
)
from paper.baselines.said import Classes, Said
from paper.baselines.warm_start import PROVEN, resolve


class EveryExample:
    """Join each new example to all before it, and solve again (section 3 of the paper, W^o).

    The solution starts from the last one and is exact to 1e-9; what is below that counts as no
    answer.

    Parameters
    ----------
    similarity : Gaussian
        With a number as bandwidth: see `full_graph.scale_bandwidth` for the paper's.
    sink : float
        γ > 0.

    Examples
    --------
    >>> method = EveryExample(Gaussian(1.0), sink=0.1)
    >>> method.teach([[0.0], [9.0]], ["low", "high"])
    >>> method.observe([[8.0], [1.0], [2.0], [3.0]]).label.tolist()
    ['high', 'low', 'low', 'low']
    """

    online: ClassVar[bool] = True

    def __init__(self, similarity: Gaussian, sink: float = 0.1) -> None:
        self._bandwidth = fixed_bandwidth(similarity)
        check_number("sink", sink, 1e-300, LARGEST, "the paper's 0.1")
        self.similarity, self.sink = similarity, sink
        self._classes = Classes()
        self._n = 0
        self._rows, self._w = np.empty((0, 0)), np.empty((0, 0))
        self._labelled = np.empty(0, np.bool_)
        self._f = np.empty((0, 0))

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Add labelled vertices."""
        rows = self._checked(X)
        codes = self._classes.codes(labels, len(rows))
        self._make_room(rows)
        for row, code in zip(rows, codes, strict=True):
            i = self._add(row)
            self._labelled[i] = True
            self._f[i, code] = 1.0

    def observe(self, X: ArrayLike) -> Said:
        """Add rows as vertices, one by one, and answer each by its own solution.

        Raises
        ------
        ValueError
            The graph would not fit into 4 GiB.
        """
        rows = self._checked(X)
        self._make_room(rows)
        scores = np.zeros((len(rows), len(self._classes)))
        for row, score in zip(rows, scores, strict=True):
            i = self._add(row)
            w, labelled = self._w[: i + 1, : i + 1], self._labelled[: i + 1]
            self._f[: i + 1] = resolve(w, self.sink, labelled, self._f[: i + 1])
            score[:] = self._f[i]
        scores[scores < PROVEN] = 0.0
        return self._classes.said(scores)

    def _checked(self, X: ArrayLike) -> Floats:
        rows, _ = as_rows(X, self._rows.shape[1] or None)
        check_fits(self._n + len(rows))
        return rows

    def _make_room(self, rows: Floats) -> None:
        """Grow all arrays: to twice their length where rows come one by one."""
        n, needed, width = self._n, self._n + len(rows), rows.shape[1]
        room = len(self._w)
        if needed > room:
            room = min(max(needed, 2 * room), MOST_EXAMPLES)
            self._w = _larger(self._w, (room, room), n)
            self._rows = _larger(self._rows, (room, width), n)
            self._labelled = np.concatenate([self._labelled[:n], np.zeros(room - n, np.bool_)])
        if self._f.shape != (room, len(self._classes)):
            self._f = _larger(self._f, (room, len(self._classes)), n)

    def _add(self, row: Floats) -> int:
        i, (sigma, threshold) = self._n, (self._bandwidth, self.similarity.threshold)
        self._rows[i] = row
        w = gaussian_similarities(row[None], self._rows[:i], sigma, threshold)[0]
        self._w[i, :i] = self._w[:i, i] = w
        self._n += 1
        return i

    @property
    def nbytes(self) -> int:
        """Memory taken by the graph of all examples, and by the examples."""
        held = (self._rows, self._w, self._labelled, self._f)
        return sum(array.nbytes for array in held)


def _larger(old: Floats, shape: tuple[int, int], n: int) -> Floats:
    """Return a matrix of zeros that begins with the first n rows of an old one."""
    new = np.zeros(shape)
    new[:n, : old.shape[1]] = old[:n]
    return new
