"""What the learner is measured against: the same steps, done in the obvious ways.

Every reference starts from a cover the learner has built, answers each example and absorbs it into
its nearest vertex. None founds vertices, coarsens or measures bandwidths, which favours them.
"""

from collections.abc import Callable
from functools import cached_property, partial

import numba
import numpy as np
import scipy.linalg
import scipy.spatial.distance
from _stopwatch import time_call

from labelwalk import OnlineLearner

AUTO = ((0.28, 0.25), (0.34, 0.0), (0.28, 1.0))  # width and evenness, as SelfTuning documents them


class Graph:
    """The vertices of a learner as plain arrays."""

    def __init__(self, learner: OnlineLearner, sigma: float, threshold: float) -> None:
        table = learner.vertices
        self.sigma, self.threshold = sigma, threshold
        self.sink = learner.graph.sink
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
        w[w < self.threshold] = 0
        np.fill_diagonal(w, 0)
        return w

    @cached_property
    def first_similarities(self) -> np.ndarray:
        return self.similarities()

    def step_naively(self, x: np.ndarray) -> int:
        """Figure 1 with NumPy: similarities rebuilt, W = V W̃ V, dense solve of L + γV."""
        vertex, v, free = self.absorb(x), self.weight, ~self.labelled
        w = v[:, None] * self.similarities() * v
        system = np.diag(w.sum(axis=1) + self.sink * v) - w
        right = w[np.ix_(free, self.labelled)] @ self.values[self.labelled]
        self.values[free] = np.linalg.solve(system[np.ix_(free, free)], right)
        return int(self.values[vertex].argmax())

    def step_with_cholesky(self, x: np.ndarray) -> int:
        """Similarities as they were at first, symmetric system, SciPy's Cholesky."""
        vertex, w, free = self.absorb(x), self.first_similarities, ~self.labelled
        root = np.sqrt(self.weight)
        scaled = root[:, None] * w * root
        system = -scaled[np.ix_(free, free)]
        system[np.diag_indices_from(system)] = (w @ self.weight + self.sink)[free]
        targets = root[self.labelled, None] * self.values[self.labelled]
        right = scaled[np.ix_(free, self.labelled)] @ targets
        factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        solution = scipy.linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
        self.values[free] = solution / root[free, None]
        return int(self.values[vertex].argmax())


class Profile:
    """A learner in its default profile as plain arrays, and its step with NumPy.

    Written for plainness, but with nothing slow on purpose: one vectorised pass for the distances
    to founders and one for those to means, distances between means kept and only those of a mean
    that has moved measured again, similarities of all pairs as one expression, one LAPACK solution
    for all classes. What the compiled loop saves is here: the graph is rebuilt and solved anew for
    each example.
    """

    def __init__(self, learner: OnlineLearner) -> None:
        table, graph, settings = learner.vertices, learner.graph, learner.settings
        self.similarity, self.bandwidth = settings.similarity, table.bandwidth
        self.sink = float(graph.sink[0])
        self.heaviest = settings.weight_cap * self.sink / settings.sink
        self.points, self.means = table.points, table.means
        self.count, self.weight = table.count, table.weight
        self.drawn = self.count.copy()
        with np.errstate(divide="ignore"):  # as last drawn; farther than any threshold where 0
            closeness = -2.0 * np.log(graph.similarity)
        self.apart = np.sqrt(closeness * np.outer(self.bandwidth, self.bandwidth))
        self.width, self.evenness = self._chosen()
        self.typical = learner.bandwidth / self.width
        self.labelled = np.array([label is not None for label in table.label])
        self.targets = np.zeros((self.labelled.sum(), len(learner.classes)))
        for i, label in enumerate(table.label[self.labelled]):
            self.targets[i, learner.classes.index(label)] = 1.0

    def _chosen(self) -> tuple[float, float]:
        """Tell which of the documented pairs of `SelfTuning` set the bandwidths."""
        apart = scipy.spatial.distance.cdist(self.means, self.means)
        local = np.sort(apart, axis=1)[:, self.similarity.neighbour]
        slope = np.polyfit(np.log(local), np.log(self.bandwidth), 1)[0]
        return min(AUTO, key=lambda pair: abs(1.0 - pair[1] - slope))

    def compute_similarities(self, distance: np.ndarray, scales: np.ndarray) -> np.ndarray:
        w = np.exp(distance * distance / (-2.0 * scales))
        w[w < self.similarity.threshold] = 0.0
        return w

    def solution(self) -> np.ndarray:
        w = self.compute_similarities(self.apart, np.outer(self.bandwidth, self.bandwidth))
        np.fill_diagonal(w, 0.0)
        flow, free = w * self.weight, ~self.labelled
        system = np.diag(flow.sum(axis=1) + self.sink) - flow
        values = np.empty((len(w), self.targets.shape[1]))
        values[self.labelled] = self.targets
        right = flow[np.ix_(free, self.labelled)] @ self.targets
        values[free] = np.linalg.solve(system[np.ix_(free, free)], right)
        return values

    def answer(self, x: np.ndarray) -> np.ndarray:
        """The harmonic extension to x, before it is learned."""
        distance = np.sqrt(((self.means - x) ** 2).sum(axis=1))
        local = np.sort(distance[distance > 0])[: self.similarity.neighbour][-1]
        own = self.width * local * (self.typical / local) ** self.evenness
        flow = self.compute_similarities(distance, own * self.bandwidth) * self.weight
        return flow @ self.solution() / (flow.sum() + self.sink)

    def learn(self, x: np.ndarray) -> None:
        distance = np.sqrt(((self.points - x) ** 2).sum(axis=1))
        distance[self.labelled] = np.inf
        i = int(distance.argmin())
        self.count[i] += 1
        self.weight[i] = max(self.weight[i], min(self.count[i], self.heaviest))
        self.means[i] += (x - self.means[i]) / self.count[i]
        if 2 * self.count[i] >= 3 * self.drawn[i]:
            self.drawn[i] = self.count[i]
            self.apart[i] = np.sqrt(((self.means - self.means[i]) ** 2).sum(axis=1))
            self.apart[:, i] = self.apart[i]

    def step(self, x: np.ndarray) -> int:
        best = int(self.answer(x).argmax())
        self.learn(x)
        return best


@numba.njit
def _bare_passes(points: np.ndarray, rows: np.ndarray, out: np.ndarray) -> float:
    total = 0.0
    for i in range(rows.shape[0]):
        out[:] = 0.0
        for p in range(points.shape[0]):
            for j in range(points.shape[1]):
                gap = points[p, j] - rows[i, p]
                out[j] += gap * gap
        total += out[0]
    return total


def seconds_bare_pass(k: int, rows: np.ndarray) -> float:
    """One distance pass over k representatives, as a plain compiled loop."""
    points, out = np.ascontiguousarray(rows[:k].T), np.empty(k)
    _bare_passes(points, rows[:10], out)
    return min(time_call(lambda: _bare_passes(points, rows, out))[1] for _ in range(3)) / len(rows)


def seconds_each(step: Callable[[np.ndarray], int], rows: np.ndarray) -> float:
    """Return the median over rows, the first one left out."""
    step(rows[0])
    return float(np.median([time_call(partial(step, x))[1] for x in rows[1:]]))
