"""Temporal label propagation: the last examples are vertices, and older ones live on as edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Label
from labelwalk.one_thread import one_blas_thread
from labelwalk.parameters import check_number, check_whole
from labelwalk.rows import LARGEST, as_rows
from labelwalk.similarity import Gaussian
from labelwalk.solver.factorisation import factorise_graph
from labelwalk.solver.graphs import Graph
from paper.baselines.full_graph import MOST_EXAMPLES, fixed_bandwidth, gaussian_similarities
from paper.baselines.said import Said
from paper.baselines.taught import Taught


class TemporalPropagation:
    """Solve on the last examples, older ones eliminated (Wagner, Guha et al., ICML 2018).

    All taught examples of a class are one vertex. When the window is full its oldest vertex leaves
    by a star-mesh transform, w_jk += w_ji w_ik / d_i. So answers are those of the graph of the
    whole stream, in which two examples are joined if they were ever in the window together.

    Parameters
    ----------
    similarity : Gaussian
        With a number as bandwidth.
    window : int
        How many unlabelled examples are vertices.
    sink : float
        γ > 0, faint: the method as published has none, and then no answer where no label is met.

    Examples
    --------
    >>> method = TemporalPropagation(Gaussian(1.0), window=2)
    >>> method.teach([[0.0], [20.0]], ["low", "high"])
    >>> method.observe([[2.0], [5.0], [8.0], [12.0]]).label.tolist()
    ['low', 'low', 'low', 'low']
    """

    online: ClassVar[bool] = True

    def __init__(self, similarity: Gaussian, window: int = 500, sink: float = 1e-6) -> None:
        self._bandwidth = fixed_bandwidth(similarity)
        check_whole("window", window, "500", most=MOST_EXAMPLES)
        check_number("sink", sink, 1e-300, LARGEST, "a faint one such as 1e-6")
        self.similarity, self.window, self.sink = similarity, window, sink
        self._taught = Taught()
        self._n_seen = 0
        self._rows = np.empty((window, 0))
        self._w = np.zeros((window, window))
        self._ends = np.zeros((window, 1))  # edges to the sink, then to the vertex of each class

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Add labelled examples to the vertices of their classes."""
        rows, _ = as_rows(X, self._n_features)
        known = len(self._taught)
        self._taught.add(rows, labels)
        new_classes = 1 + len(self._taught.classes) - self._ends.shape[1]
        self._ends = np.pad(self._ends, ((0, 0), (0, new_classes)))
        if n := self._n_vertices:
            self._ends[:n, 1:] += self._to_classes(self._rows[:n], known)

    def observe(self, X: ArrayLike) -> Said:
        """Add rows as vertices, one by one, and answer each by its own solution."""
        rows, _ = as_rows(X, self._n_features)
        if not self._n_seen:
            self._rows = np.empty((self.window, rows.shape[1]))
        ends = np.full((len(rows), self._ends.shape[1]), self.sink)
        if len(self._taught):
            ends[:, 1:] = self._to_classes(rows)
        f = np.array([self._follow(*new) for new in zip(rows, ends, strict=True)])
        return self._taught.classes.said(f)

    def _follow(self, row: Floats, ends: Floats) -> Floats:
        """Put a row in the place of the oldest, and return its solution."""
        i = self._n_seen % self.window
        if self._n_seen >= self.window:
            self._eliminate(i)
        self._n_seen += 1
        n = self._n_vertices
        self._rows[i], self._ends[i] = row, ends
        self._w[i, :n] = self._w[:n, i] = self._similarities(row[None], self._rows[:n])[0]
        self._w[i, i] = 0.0
        escape, nobody = self._ends[:n].sum(axis=1), np.zeros(n, np.bool_)
        system = factorise_graph(Graph(self._w[:n, :n], np.ones(n), escape, nobody))
        solution: Floats = system.solve(self._ends[:n, 1:])[i]
        return solution

    def _eliminate(self, i: int) -> None:
        """Let all walks step past a vertex; its own edges are left to be written over."""
        links, last = self._w[i].copy(), self._ends[i].copy()
        total = links.sum() + last.sum()
        spokes = links / np.sqrt(total)
        self._w += np.outer(spokes, spokes)
        np.fill_diagonal(self._w, 0.0)
        self._ends += np.outer(links, last / total)

    def _to_classes(self, rows: Floats, known: int = 0) -> Floats:
        """Return the edges from rows to each class, by way of all but the first taught examples."""
        taught = self._taught
        with one_blas_thread():
            return self._similarities(rows, taught.rows[known:]) @ taught.one_hot[known:]

    def _similarities(self, some: Floats, others: Floats) -> Floats:
        return gaussian_similarities(some, others, self._bandwidth, self.similarity.threshold)

    @property
    def _n_vertices(self) -> int:
        return min(self._n_seen, self.window)

    @property
    def _n_features(self) -> int | None:
        return self._taught.n_features or self._rows.shape[1] or None

    @property
    def nbytes(self) -> int:
        """Memory taken by the window, its graph and all taught examples."""
        window = self._rows.nbytes + self._w.nbytes + self._ends.nbytes
        return window + self._taught.nbytes
