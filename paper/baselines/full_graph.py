"""Harmonic solutions on graphs of examples that are not quantized: offline, online, in a window."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from labelwalk.arrays import Bools, Floats, Label
from labelwalk.similarity import Gaussian, SelfTuning
from labelwalk.solver.harmonic import solve
from paper.baselines.predictions import (
    Baseline,
    ClassNames,
    LabelledBuffer,
    OfflineBaseline,
    Predictions,
    divide,
)

FullSimilarity = Gaussian | SelfTuning
MAX_ERROR = 1e-9  # of solutions that start from an earlier one
MAX_STEPS = 200  # a direct solution costs no more
RESIDUAL_ROUNDING = 16 * np.finfo(np.float64).eps  # in units of the degree
NEGLIGIBLE_SINK = 1e-300


def compute_similarities(
    rows: Floats,
    other_rows: Floats,
    sigma: float | Floats,
    other_sigma: float | Floats | None = None,
    threshold: float = 0.0,
) -> Floats:
    """Return exp(−d² / 2 σ_i σ_j) for all pairs, and 0 for values below the threshold."""
    other_sigma = sigma if other_sigma is None else other_sigma
    # divided twice, since the product of two small bandwidths may be 0
    with np.errstate(over="ignore"):
        squares = cdist(rows, other_rows, "sqeuclidean") / np.reshape(sigma, (-1, 1)) / other_sigma
    w: Floats = np.exp(-0.5 * squares)
    w[w < threshold] = 0.0
    return w


def scale_bandwidth(rows: Floats) -> float:
    """Return the paper's bandwidth (section 5.1): σ² = p s², s the mean standard deviation."""
    return float(np.sqrt(rows.shape[1]) * rows.std(axis=0).mean()) or 1.0


def measure_bandwidths(rows: Floats, similarity: FullSimilarity) -> float | Floats:
    """Return the bandwidth of a Gaussian, or that of each row for `SelfTuning` (its first pair)."""
    if isinstance(similarity, Gaussian):
        return float(similarity.bandwidth)
    width, evenness = similarity.pairs[0]
    local = _distance_to_neighbour(rows, similarity.neighbour)
    sigma: Floats = width * local ** (1.0 - evenness) * float(np.median(local)) ** evenness
    return sigma


def _distance_to_neighbour(rows: Floats, neighbour: int) -> Floats:
    """Distance of each row to its neighbour-th nearest at a positive distance; 1 without any."""
    distances = cdist(rows, rows)
    distances[distances == 0.0] = np.inf
    nearest = np.partition(distances, min(neighbour, len(rows)) - 1, axis=1)[:, :neighbour]
    furthest: Floats = nearest.max(axis=1, initial=0.0, where=np.isfinite(nearest))
    furthest[furthest == 0.0] = 1.0
    return furthest


def solve_representatives(
    labelled: LabelledBuffer,
    points: Floats,
    counts: Floats,
    similarity: FullSimilarity,
    sink: float,
) -> Floats:
    """Return the harmonic solution at the points, each of which counts for several examples."""
    y = labelled.one_hot
    vertices = np.vstack([labelled.rows, points])
    sigma = measure_bandwidths(vertices, similarity)
    w = compute_similarities(vertices, vertices, sigma, threshold=similarity.threshold)
    np.fill_diagonal(w, 0.0)
    is_labelled = np.arange(len(w)) < len(y)
    targets = np.vstack([y, np.zeros((len(points), y.shape[1]))])
    weights = np.concatenate([np.ones(len(y)), counts])
    return solve(w, is_labelled, targets, weights=weights, sink=sink)[len(y) :]


class OfflineHarmonic(OfflineBaseline):
    """Solve eq. (3) of the paper once, on all labelled and all observed examples (Zhu et al. 2003).

    Examples
    --------
    >>> method = OfflineHarmonic()
    >>> method.teach([[0.0], [9.0]], ["low", "high"])
    >>> method.observe([[4.0], [1.0], [2.0], [3.0], [8.0]]).label.tolist()
    ['low', 'low', 'low', 'low', 'high']
    """

    def __init__(self, similarity: FullSimilarity | None = None, sink: float = 1e-4) -> None:
        super().__init__()
        self.similarity, self.sink = similarity or SelfTuning(), sink

    def _compute_scores(self, rows: Floats) -> Floats:
        return solve_representatives(
            self.labelled, rows, np.ones(len(rows)), self.similarity, self.sink
        )


class EveryExample(Baseline):
    """Connect each new example to all before it, and solve again (section 3 of the paper, W^o).

    The solution starts from the last one and is exact to 1e-9; smaller values are no answer.
    `scale_bandwidth` measures the paper's bandwidth.

    Examples
    --------
    >>> method = EveryExample(Gaussian(1.0), sink=0.1)
    >>> method.teach([[0.0], [9.0]], ["low", "high"])
    >>> method.observe([[8.0], [1.0], [2.0], [3.0]]).label.tolist()
    ['high', 'low', 'low', 'low']
    """

    def __init__(self, similarity: Gaussian, sink: float = 0.1) -> None:
        self.sigma, self.threshold = float(similarity.bandwidth), similarity.threshold
        self.sink = sink
        self.classes = ClassNames()
        self.rows, self.w, self.f = np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 0))
        self.is_labelled = np.empty(0, np.bool_)

    def teach(self, X: ArrayLike, labels: Iterable[Label]) -> None:
        """Add labelled vertices."""
        codes = self.classes.encode(labels)
        first = self._add(X)
        self.is_labelled[first:] = True
        self.f[first:] = self.classes.one_hot(codes)

    def observe(self, X: ArrayLike) -> Predictions:
        """Add rows as vertices, and answer each with the solution on those up to it."""
        first = self._add(X)
        scores = np.zeros((len(self.w) - first, len(self.classes)))
        for i, score in enumerate(scores, first):
            past = slice(i + 1)
            w, is_labelled = self.w[past, past], self.is_labelled[past]
            self.f[past] = refine_solution(w, self.sink, is_labelled, self.f[past])
            score[:] = self.f[i]
        scores[scores < MAX_ERROR] = 0.0
        return self.classes.decide(scores)

    def _add(self, X: ArrayLike) -> int:
        """Add vertices and their similarities; return the index of the first one."""
        rows, n = np.asarray(X, dtype=np.float64), len(self.w)
        self.rows = np.vstack([self.rows.reshape(n, rows.shape[1]), rows])
        w = compute_similarities(rows, self.rows, self.sigma, threshold=self.threshold)
        self.w = np.pad(self.w, (0, len(rows)))
        self.w[n:], self.w[:, n:] = w, w.T
        np.fill_diagonal(self.w, 0.0)
        self.is_labelled = np.pad(self.is_labelled, (0, len(rows)))
        self.f = np.pad(self.f, ((0, len(rows)), (0, len(self.classes) - self.f.shape[1])))
        return n


def refine_solution(w: Floats, sink: float, is_labelled: Bools, guess: Floats) -> Floats:
    """Return the harmonic solution on a graph, no value further than 1e-9 from the exact one.

    With r the residuals and s_i = γ + Σ_{labelled j} w_ij, no value is off by more than the largest
    |r_i| / s_i. Conjugate gradients stop when that is half of 1e-9, and leave the other half to
    rounding; if rounding takes more, because the sink is small, the system is solved directly.
    Rows of labelled vertices in the guess are their fixed values, the others are where to start.
    """
    total = w.sum(axis=1) + sink
    tolerance = MAX_ERROR / 2 * (w @ is_labelled.astype(np.float64) + sink)
    free = ~is_labelled
    if (tolerance < RESIDUAL_ROUNDING * total)[free].any():
        return solve(w, is_labelled, guess, sink=sink)
    f = guess.T.copy()  # below, each class is a row
    r = free * (f @ w - total * f)
    p = z = r / total
    rz = (r * z).sum(axis=1, keepdims=True)
    for _ in range(MAX_STEPS):
        if (np.abs(r) <= tolerance).all():
            return f.T
        q = free * (total * p - p @ w)
        # a class that is already solved has 0 / 0
        step = divide(rz, (p * q).sum(axis=1, keepdims=True))
        f += step * p
        r -= step * q
        z = r / total
        previous, rz = rz, (r * z).sum(axis=1, keepdims=True)
        p = z + divide(rz, previous) * p
    return solve(w, is_labelled, guess, sink=sink)


class TemporalPropagation(Baseline):
    """Solve on the last examples, older ones eliminated (Wagner, Guha et al., ICML 2018).

    All labelled examples of a class are one vertex. When the window is full its oldest vertex
    leaves by a star-mesh transform, w_jk += w_ji w_ik / d_i. So answers are those of the graph of
    the whole stream, in which two examples are joined if they were ever in the window together.
    The published method has no sink, and no answer if no label is connected; γ is small here.

    Examples
    --------
    >>> method = TemporalPropagation(Gaussian(1.0), window=2)
    >>> method.teach([[0.0], [20.0]], ["low", "high"])
    >>> method.observe([[2.0], [5.0], [8.0], [12.0]]).label.tolist()
    ['low', 'low', 'low', 'low']
    """

    def __init__(self, similarity: Gaussian, window: int = 500, sink: float = 1e-6) -> None:
        self.sigma, self.threshold = float(similarity.bandwidth), similarity.threshold
        self.window, self.sink = window, sink
        self.labelled = LabelledBuffer()
        self.n_seen = 0
        self.rows = np.empty((window, 0))
        self.w = np.zeros((window, window))
        self.exits = np.zeros((window, 1))  # edges to the sink, then to the vertex of each class

    def teach(self, X: ArrayLike, labels: Iterable[Label]) -> None:
        """Add labelled examples to the vertices of their classes."""
        n_before = len(self.labelled.codes)
        self.labelled.add(X, labels)
        n_new_classes = 1 + len(self.labelled.classes) - self.exits.shape[1]
        self.exits = np.pad(self.exits, ((0, 0), (0, n_new_classes)))
        if self.n_seen:
            n = min(self.n_seen, self.window)
            self.exits[:n, 1:] += self._connect_classes(self.rows[:n], n_before)

    def observe(self, X: ArrayLike) -> Predictions:
        """Add rows as vertices, one by one, and answer each with its own solution."""
        rows = np.asarray(X, dtype=np.float64)
        if not self.n_seen:
            self.rows = np.empty((self.window, rows.shape[1]))
        exits = np.full((len(rows), self.exits.shape[1]), self.sink)
        if len(self.labelled.codes):
            exits[:, 1:] = self._connect_classes(rows)
        f = np.array([self._add(*vertex) for vertex in zip(rows, exits, strict=True)])
        return self.labelled.classes.decide(f)

    def _add(self, row: Floats, exits: Floats) -> Floats:
        """Put a row in the place of the oldest, and return its solution."""
        i = self.n_seen % self.window
        if self.n_seen >= self.window:
            self._eliminate(i)
        self.n_seen += 1
        n = min(self.n_seen, self.window)
        self.rows[i], self.exits[i] = row, exits
        self.w[i, :n] = self.w[:n, i] = compute_similarities(
            row[None], self.rows[:n], self.sigma, threshold=self.threshold
        )[0]
        self.w[i, i] = 0.0
        # the sink and the classes are labelled vertices: the sink with the value 0 of each class
        n_exits = self.exits.shape[1]
        graph = np.zeros((n + n_exits, n + n_exits))
        graph[:n, :n], graph[:n, n:] = self.w[:n, :n], self.exits[:n]
        graph[n:, :n] = self.exits[:n].T
        targets = np.vstack([np.zeros((n + 1, n_exits - 1)), np.eye(n_exits - 1)])
        f = solve(graph, np.arange(len(graph)) >= n, targets, sink=NEGLIGIBLE_SINK)
        return np.asarray(f[i])

    def _eliminate(self, i: int) -> None:
        """Let all walks step past a vertex; its own edges are overwritten later."""
        edges, exits = self.w[i].copy(), self.exits[i].copy()
        total = edges.sum() + exits.sum()
        scaled = edges / np.sqrt(total)
        self.w += np.outer(scaled, scaled)
        np.fill_diagonal(self.w, 0.0)
        self.exits += np.outer(edges, exits / total)

    def _connect_classes(self, rows: Floats, first: int = 0) -> Floats:
        """Return the edges from rows to each class, by all labelled examples from `first` on."""
        labelled = self.labelled.rows[first:]
        w = compute_similarities(rows, labelled, self.sigma, threshold=self.threshold)
        return np.asarray(w @ self.labelled.one_hot[first:])
