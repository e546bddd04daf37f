"""Poisson learning on quantized examples: the known remedy if labels are very few."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.special import softmax

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import SelfTuning
from labelwalk.solver.linear_system import Graph, factorise_graph
from paper.baselines.full_graph import FullSimilarity, compute_similarities
from paper.baselines.predictions import Baseline, ClassNames, Predictions, divide

MIN_SIMILARITY = 1e-12


class Potentials(NamedTuple):
    """Potentials of the vertices, and their connected components."""

    u: Floats  # (n, C), of each vertex and class
    component: Ints  # (n,)
    size: Floats  # mean size of the potentials of each component
    has_label: Bools  # whether a component has a label of a class


def solve_poisson(w: Floats, v: Floats, labels: Floats) -> Potentials:
    """Solve L u = Σ_j (y_j − ȳ) δ_j on the graph V W V, with u of mean 0, vertices by degree.

    Each component is a graph of its own: ȳ is the mean of its own labels, and its mean of u is 0.
    A vertex may have any number of labelled examples of each class.
    """
    n_components, component = connected_components(csr_array(w), directed=False)
    member = np.eye(n_components)[component]
    counts = member.T @ labels
    mean = divide(counts, counts.sum(axis=1, keepdims=True))
    sources = labels - labels.sum(axis=1, keepdims=True) * mean[component]
    # the first vertex of each component has the potential 0, until the mean is subtracted
    _, first = np.unique(component, return_index=True)
    grounded = np.isin(np.arange(len(w)), first)
    system = factorise_graph(Graph(w, v, np.zeros(len(w)), grounded))
    u = system.solve(sources / v[:, None])
    degrees = member * (v * (w @ v))[:, None]
    share = divide(degrees, degrees.sum(axis=0))
    u -= (share.T @ u)[component]
    size = (share.T @ np.abs(u)).sum(axis=1) / max(1, labels.shape[1])
    return Potentials(u, component.astype(np.int64), size, counts > 0.0)


class _Snapshot(NamedTuple):
    """The vertices when their potentials were solved."""

    means: Floats
    sigma: Floats
    weight: Floats
    potentials: Potentials


class QuantizedPoisson(Baseline):
    """Poisson learning (Calder et al., ICML 2020) on the vertices of an `OnlineLearner`.

    Potentials are solved after each teaching, and after each `interval` rows. A row is answered by
    the mean potentials of the vertices similar to it, as last solved: those in the connected
    component of the most similar one, where the classes with a label in that component compete.
    Without any, there is no answer. The confidence is the softmax of potentials in units of their
    mean size: not a probability, but larger the further a class is ahead.

    A vertex is joined to, and a row compared with, its most similar `neighbours`. A row has the
    bandwidth of its nearest vertex. Similarities below 1e-12 are 0.

    Examples
    --------
    >>> method = QuantizedPoisson(interval=2)
    >>> method.teach([[0.0], [9.0]], ["low", "high"])
    >>> method.observe([[1.0], [8.0], [2.0], [3.0]]).label.tolist()
    ['low', 'high', 'low', 'low']
    """

    def __init__(
        self,
        n_centroids: int = 500,
        interval: int = 50,
        neighbours: int = 10,
        similarity: FullSimilarity | None = None,
    ) -> None:
        similarity = similarity or SelfTuning()
        self.threshold = max(similarity.threshold, MIN_SIMILARITY)
        self.interval, self.neighbours = interval, neighbours
        self.learner = OnlineLearner(n_centroids, similarity=similarity, remember=0)
        self.classes = ClassNames()
        self.n_waiting = 0
        self.snapshot: _Snapshot | None = None

    def teach(self, X: ArrayLike, labels: Iterable[Label]) -> None:
        """Learn labelled examples, and solve."""
        names = list(labels)
        self.classes.encode(names)
        self.learner.teach(X, names)
        self._solve()

    def observe(self, X: ArrayLike) -> Predictions:
        """Answer each row by the last solution before it, and learn it."""
        rows = np.asarray(X, dtype=np.float64)
        scores = []
        while len(rows):
            block, rows = np.split(rows, [self.interval - self.n_waiting])
            scores.append(self._compute_scores(block))
            self.learner.observe(block)
            self.n_waiting += len(block)
            if self.n_waiting == self.interval:
                self._solve()
        return self.classes.decide(np.vstack(scores))

    @property
    def nbytes(self) -> int:
        """Memory of the learner and of the last solution."""
        arrays = () if self.snapshot is None else (*self.snapshot[:3], *self.snapshot.potentials)
        return self.learner.nbytes + sum(array.nbytes for array in arrays)

    def _solve(self) -> None:
        vertices = self.learner.vertices
        # the bandwidth is 0 as long as all examples are equal: then any other serves
        sigma = np.where(vertices.bandwidth > 0.0, vertices.bandwidth, 1.0)
        w = compute_similarities(
            vertices.means, vertices.means, sigma, sigma, threshold=self.threshold
        )
        np.fill_diagonal(w, 0.0)
        strongest = self._keep_largest(w)
        labels = np.zeros((len(w), len(self.classes)))
        for name, code in self.classes.codes.items():
            labels[:, code] = np.where(vertices.label == name, vertices.count, 0)
        potentials = solve_poisson(np.maximum(strongest, strongest.T), vertices.weight, labels)
        self.snapshot = _Snapshot(vertices.means, sigma, vertices.weight, potentials)
        self.n_waiting = 0

    def _compute_scores(self, rows: Floats) -> Floats:
        if self.snapshot is None or not len(self.classes):
            return np.zeros((len(rows), len(self.classes)))
        means, sigma, weight, (u, component, size, has_label) = self.snapshot
        row_sigma = sigma[cdist(rows, means).argmin(axis=1)]
        w = self._keep_largest(
            compute_similarities(rows, means, row_sigma, sigma, threshold=self.threshold)
        )
        nearest = component[w.argmax(axis=1)]
        w = np.where(component == nearest[:, None], w * weight, 0.0)
        total = w.sum(axis=1, keepdims=True)
        scores = divide(divide(w @ u, total), size[nearest, None])
        allowed = has_label[nearest] & (total > 0.0)
        shares: Floats = np.zeros(scores.shape)
        answered = allowed.any(axis=1)
        shares[answered] = softmax(np.where(allowed, scores, -np.inf)[answered], axis=1)
        return shares

    def _keep_largest(self, w: Floats) -> Floats:
        """Return the similarities of each row to its most similar ones, 0 to all others."""
        if w.shape[1] <= self.neighbours:
            return w
        cutoff = np.partition(w, -self.neighbours, axis=1)[:, -self.neighbours, None]
        return np.where(w >= cutoff, w, 0.0)
