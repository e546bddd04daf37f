"""Poisson learning on quantized examples: the known remedy where labels are very few."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from labelwalk.arrays import Bools, Floats, Label
from labelwalk.learner import OnlineLearner
from labelwalk.one_thread import one_blas_thread
from labelwalk.parameters import check_whole
from labelwalk.rows import as_labels, as_rows
from paper.baselines.full_graph import FullSimilarity, as_euclidean, similarities
from paper.baselines.poisson_equation import Potentials, poisson
from paper.baselines.said import Classes, Said

FAINTEST = 1e-12


class Solved(NamedTuple):
    """The vertices as they were when their potentials were solved."""

    means: Floats
    bandwidth: Floats
    weight: Floats
    potentials: Potentials


class QuantizedPoisson:
    """Poisson learning (Calder et al., ICML 2020) on the vertices an `OnlineLearner` keeps.

    Potentials are solved after each teaching, and whenever `every` more rows have come. A row is
    answered by the mean potentials of the vertices similar to it, as last solved: those in the
    connected component of the most similar one, where the classes taught in that component compete.
    Where none was, nothing is said. The confidence is the softmax of potentials in units of their
    mean size: no probability of anything, but larger the further a class is ahead.

    Parameters
    ----------
    n_centroids : int
        How many unlabelled vertices are kept.
    every : int
        How many rows are taken in between two solutions.
    neighbours : int
        A vertex is joined to so many most similar ones, and to those it is as similar to; a row is
        compared with so many.
    similarity : Gaussian or SelfTuning, optional
        How alike two examples are, in the Euclidean distance; `SelfTuning()` if not given. A row
        has the bandwidth of its nearest vertex. Similarities below 1e-12 are none.

    Examples
    --------
    >>> method = QuantizedPoisson(every=2)
    >>> method.teach([[0.0], [9.0]], ["low", "high"])
    >>> method.observe([[1.0], [8.0], [2.0], [3.0]]).label.tolist()
    ['low', 'high', 'low', 'low']
    """

    online: ClassVar[bool] = True

    def __init__(
        self,
        n_centroids: int = 500,
        every: int = 50,
        neighbours: int = 10,
        similarity: FullSimilarity | None = None,
    ) -> None:
        self.similarity = as_euclidean(similarity)
        check_whole("every", every, "50")
        check_whole("neighbours", neighbours, "10")
        self._threshold = max(self.similarity.threshold, FAINTEST)
        self.n_centroids, self.every, self.neighbours = n_centroids, every, neighbours
        self._learner = OnlineLearner(n_centroids, similarity=self.similarity, remember=0)
        self._classes = Classes()
        self._n_waiting = 0
        self._solved: Solved | None = None

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Learn labelled examples, and solve."""
        rows, _ = as_rows(X, self._learner.n_features)
        names = as_labels(labels, len(rows))
        self._classes.codes(names, len(rows))
        self._learner.teach(rows, names)
        self._solve()

    def observe(self, X: ArrayLike) -> Said:
        """Answer rows by the last solution before each, and learn them."""
        rows, _ = as_rows(X, self._learner.n_features)
        scores = []
        while len(rows):
            block, rows = np.split(rows, [self.every - self._n_waiting])
            scores.append(self._scores(block))
            self._learner.observe(block)
            self._n_waiting += len(block)
            if self._n_waiting == self.every:
                self._solve()
        return self._classes.said(np.vstack(scores))

    def _solve(self) -> None:
        vertices = self._learner.vertices
        # 0 as long as all examples are equal: then any other will do
        sigma = np.where(vertices.bandwidth > 0.0, vertices.bandwidth, 1.0)
        w = similarities(vertices.means, vertices.means, sigma, sigma, self._threshold)
        np.fill_diagonal(w, 0.0)
        near = self._few(w)
        w = np.maximum(near, near.T)
        labels = np.zeros((len(w), len(self._classes)))
        for name, code in self._classes.names.items():
            labels[:, code] = np.where(vertices.label == name, vertices.count, 0)
        potentials = poisson(w, vertices.weight, labels)
        self._solved = Solved(vertices.means, sigma, vertices.weight, potentials)
        self._n_waiting = 0

    def _scores(self, rows: Floats) -> Floats:
        if self._solved is None:
            return np.zeros((len(rows), len(self._classes)))
        means, sigma, weight, (u, component, size, taught) = self._solved
        own = sigma[cdist(rows, means).argmin(axis=1)]
        w = self._few(similarities(rows, means, own, sigma, self._threshold))
        home = component[w.argmax(axis=1)]
        w = np.where(component == home[:, None], w * weight, 0.0)
        total = w.sum(axis=1, keepdims=True)
        with one_blas_thread():
            mean = (w @ u) / np.where(total > 0.0, total, 1.0)
        scale = np.where(size > 0.0, size, 1.0)[home, None]
        return _softmax(mean / scale, taught[home] & (total > 0.0))

    def _few(self, w: Floats) -> Floats:
        """Return the similarities of each row to its most similar ones, 0 to all others."""
        if w.shape[1] <= self.neighbours:
            return w
        least = np.partition(w, -self.neighbours, axis=1)[:, -self.neighbours, None]
        return np.where(w >= least, w, 0.0)

    @property
    def nbytes(self) -> int:
        """Memory taken by the learner and by what was solved last."""
        arrays = () if self._solved is None else (*self._solved[:3], *self._solved.potentials)
        return self._learner.nbytes + sum(array.nbytes for array in arrays)


def _softmax(scores: Floats, allowed: Bools) -> Floats:
    """Return shares of 1 among the allowed, 0 for all others."""
    best = scores.max(axis=1, keepdims=True, where=allowed, initial=-np.inf)
    odds = np.zeros(scores.shape)
    np.exp(scores - best, out=odds, where=allowed)
    total = odds.sum(axis=1, keepdims=True)
    return odds / np.where(total > 0.0, total, 1.0)
