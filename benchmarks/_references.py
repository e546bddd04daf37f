"""What the learner is measured against: the same step of Figure 1, done in the obvious ways.

Both references start from a cover the learner has built, absorb each example into its nearest
vertex and answer it. Neither founds vertices nor coarsens, which favours them.
"""

from __future__ import annotations

import time

import numba
import numpy as np
import scipy.linalg

from labelwalk import OnlineLearner
from labelwalk.kernels.comparison import squared_distances


class Graph:
    """The vertices of a learner as plain arrays."""

    def __init__(self, learner: OnlineLearner, sigma: float, cutoff: float) -> None:
        table = learner.vertices
        self.sigma, self.cutoff = sigma, cutoff
        self.sink = learner.settings.sink * float(learner._engine.now.here.mu)
        self.points, self.weight = table.points.copy(), table.weight.copy()
        self.labelled = np.array([label is not None for label in table.label])
        self.values = np.zeros((len(table), len(learner.classes)))
        for i in np.flatnonzero(self.labelled):
            self.values[i, learner.classes.index(table.label[i])] = 1.0

    def absorb(self, x: np.ndarray) -> int:
        gaps = self.points - x
        squared = np.einsum("ij,ij->i", gaps, gaps)
        squared[self.labelled] = np.inf
        nearest = int(squared.argmin())
        self.weight[nearest] += 1
        return nearest

    def similarities(self) -> np.ndarray:
        norms = np.einsum("ij,ij->i", self.points, self.points)
        squared = np.maximum(norms[:, None] + norms - 2 * self.points @ self.points.T, 0)
        w = np.exp(squared / (-2 * self.sigma**2))
        w[squared > self.cutoff**2] = 0
        np.fill_diagonal(w, 0)
        return w


def naive_step(graph: Graph, x: np.ndarray) -> int:
    """Figure 1 with NumPy: similarities rebuilt, W = V W̃ V, dense solve of L + γV."""
    vertex = graph.absorb(x)
    v = graph.weight
    w = v[:, None] * graph.similarities() * v
    system = np.diag(w.sum(axis=1) + graph.sink * v) - w
    free = ~graph.labelled
    right = w[np.ix_(free, graph.labelled)] @ graph.values[graph.labelled]
    graph.values[free] = np.linalg.solve(system[np.ix_(free, free)], right)
    return int(graph.values[vertex].argmax())


def cholesky_step(graph: Graph, w: np.ndarray, x: np.ndarray) -> int:
    """Cached similarities, symmetric system, SciPy's Cholesky."""
    vertex = graph.absorb(x)
    root = np.sqrt(graph.weight)
    scaled = root[:, None] * w * root
    free = ~graph.labelled
    system = -scaled[np.ix_(free, free)]
    degree = w @ graph.weight + graph.sink
    system[np.diag_indices_from(system)] = degree[free]
    right = scaled[np.ix_(free, graph.labelled)] @ (
        root[graph.labelled, None] * graph.values[graph.labelled]
    )
    factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    solution = scipy.linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
    graph.values[free] = solution / root[free, None]
    return int(graph.values[vertex].argmax())


@numba.njit
def _bare_passes(points: np.ndarray, rows: np.ndarray, out: np.ndarray) -> float:
    total = 0.0
    for i in range(rows.shape[0]):
        squared_distances(points, points.shape[1], rows[i], out)
        total += out[0]
    return total


def seconds_naive(graph: Graph, rows: np.ndarray) -> float:
    return _seconds_each(lambda x: naive_step(graph, x), rows)


def seconds_cholesky(graph: Graph, rows: np.ndarray) -> float:
    w = graph.similarities()
    return _seconds_each(lambda x: cholesky_step(graph, w, x), rows)


def seconds_bare_pass(k: int, rows: np.ndarray) -> float:
    """One distance pass over k representatives, in the same compiled loop as the learner's."""
    points = np.ascontiguousarray(rows[:k].T)
    out = np.empty(k)
    _bare_passes(points, rows[:10], out)
    return _best_of(3, lambda: _bare_passes(points, rows, out)) / len(rows)


def _seconds_each(step, rows: np.ndarray) -> float:
    step(rows[0])
    times = []
    for x in rows[1:]:
        start = time.perf_counter()
        step(x)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def _best_of(repeats: int, work) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best
