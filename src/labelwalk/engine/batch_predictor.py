"""Batch prediction: a solved graph that answers many rows, and an index of near vertices."""

from collections.abc import Iterator

import numpy as np

from labelwalk.arrays import Floats, Ints, Singles
from labelwalk.concurrency import single_blas_thread
from labelwalk.engine.state import State
from labelwalk.kernels import nearest as kernels
from labelwalk.kernels.answer import KernelAnswers
from labelwalk.kernels.counters import Counters, KernelParams, weight_unit
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.nearest import DistanceBounds, ReadoutParams, SolvedGraph
from labelwalk.kernels.system import System
from labelwalk.verdicts import blank_answers

ROUNDOFF, FINE_ROUNDOFF = 2.0**-24, 2.0**-53
MAX_SQUARE = 2.0**40  # in squared units; a row farther away is measured against all points
UNDERFLOW = 2.0**-120  # error of a product of smaller features in single precision
MAX_PRODUCTS = 2**22  # of rows and points in one block: 16 MiB
MAX_BLOCK_ROWS = 1024  # an interrupt waits for one block


class PrefilterIndex:
    """Index that finds the exact nearest points.

    Examples
    --------
    >>> index = PrefilterIndex(capacity=3, n_features=2)
    >>> points = np.array([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]])
    >>> index.put(0, points)
    >>> nearest, distances = index.nearest(np.array([[3.0, 3.0], [8.0, 8.0]]), points, n_nearest=2)
    >>> nearest.tolist(), distances.round(2).tolist()
    ([[1, 0], [2, 1]], [[1.0, 4.24], [1.41, 6.4]])
    """

    def __init__(self, capacity: int, n_features: int) -> None:
        self._singles: Singles = np.zeros((capacity, n_features), dtype=np.float32)
        self._low, self._high = np.full((2, capacity), np.inf)
        self._origin, self._unit = np.zeros(n_features), 1.0

    def put(self, first: int, points: Floats) -> None:
        """Store points under the ids from `first` on."""
        if first == 0:
            self._choose_origin(points)
        place = slice(first, first + len(points))
        singles, squares, slack = self._convert(points)
        self._singles[place] = singles
        self._low[place], self._high[place] = squares - slack, squares + slack

    def remove(self, ids: Ints) -> None:
        """Remove points; the ids of the others do not change."""
        self._low[ids] = self._high[ids] = np.inf

    def nearest(
        self, rows: Floats, points: Floats, n_nearest: int, below: Ints | None = None
    ) -> tuple[Ints, Floats]:
        """Return the ids of the nearest stored points of each row, and their distances.

        Ties go to lower ids. Where there are too few points, ids are -1 and distances infinite.
        With `below`, only the ids below this number are searched, for each row.
        """
        n, m = len(rows), len(points)
        below = np.full(n, m, dtype=np.int64) if below is None else below
        nearest, distances = np.empty((n, n_nearest), dtype=np.int64), np.empty((n, n_nearest))
        for block, bounds in self.bound_distances(rows, m):
            kernels.find_nearest(
                bounds, rows[block], points, below[block], nearest[block], distances[block]
            )
        return nearest, distances

    def bound_distances(self, rows: Floats, m: int) -> Iterator[tuple[slice, DistanceBounds]]:
        """Yield blocks of rows with bounds on their distances to the first m points."""
        step = max(1, min(MAX_BLOCK_ROWS, MAX_PRODUCTS // max(1, m)))
        for start in range(0, len(rows), step):
            block = slice(start, min(start + step, len(rows)))
            singles, squares, slack = self._convert(rows[block])
            with single_blas_thread():
                products = singles @ self._singles[:m].T
            yield block, DistanceBounds(products, self._low, self._high, squares, slack, self._unit)

    def _choose_origin(self, points: Floats) -> None:
        """Center the points: bounds are tighter near the origin."""
        self._origin = points.mean(axis=0)
        spread = float(np.abs(points - self._origin).max())
        self._unit = 2.0 ** np.ceil(np.log2(spread)) if spread > 0.0 else 1.0

    def _convert(self, rows: Floats) -> tuple[Singles, Floats, Floats]:
        """Return rows in single precision, their squares, and bounds on the errors of these.

        A product of d terms has an error of at most d roundings of |x||c|; rounding the features
        and moving the origin is bounded too. 2|x||c| <= |x|² + |c|² divides the bound.
        """
        d = rows.shape[1]
        with np.errstate(over="ignore"):
            moved = (rows - self._origin) / self._unit
            squares = (moved * moved).sum(axis=1)
            raw = ((rows / self._unit) ** 2).sum(axis=1) + ((self._origin / self._unit) ** 2).sum()
            slack = 4.0 * (d + 8) * ROUNDOFF * squares + 64.0 * FINE_ROUNDOFF * (raw + squares)
            slack += d * UNDERFLOW
        is_far = ~(squares < MAX_SQUARE)
        moved[is_far], squares[is_far], slack[is_far] = 0.0, 0.0, np.inf
        return moved.astype(np.float32), squares, slack


class BatchPredictor:
    """A solved graph, ready to answer many rows."""

    def __init__(self, solved: SolvedGraph, params: ReadoutParams) -> None:
        self.solved, self.params = solved, params
        self._index = PrefilterIndex(*solved.points.shape)
        self._index.put(0, solved.points)

    def answer(self, rows: Floats) -> KernelAnswers:
        """Answer rows, each by the harmonic extension of the graph to it."""
        answers = blank_answers(len(rows), self.solved.f.shape[1])
        for block, bounds in self._index.bound_distances(rows, len(self.solved.points)):
            kernels.answer_rows(self.solved, self.params, bounds, rows[block], answers, block.start)
        return answers


def compute_row_sink(counters: Counters, rules: KernelParams) -> float:
    """Return the sink of a row that is not in the graph."""
    return float(rules.sink * weight_unit(counters, rules))


def freeze(state: State, rules: KernelParams, system: System, errors: Floats) -> BatchPredictor:
    """Return a predictor with the answers of a state whose vertices have at most these errors."""
    counters, n = state.counters, state.n
    label = state.vertices.label[:n]
    solved = SolvedGraph(
        points=state.representatives.T.copy(),
        bandwidth=state.vertices.bandwidth[:n].copy(),
        weight=system.v[:n].copy(),
        has_label=system.has_label[system.component[:n]],
        f=system.f[1:, :n].T.copy(),
        errors=errors[:n].copy(),
        labelled=np.flatnonzero(label != UNLABELLED),
        label=label[label != UNLABELLED],
        bias=system.bias.copy(),
    )
    outlier_distance = max(rules.cut, rules.outlier_distance / counters.width)
    if counters.n_seen <= rules.warm_up:
        outlier_distance = np.inf
    params = ReadoutParams(
        sink=compute_row_sink(counters, rules),
        cut=rules.cut,
        neighbour=rules.neighbour,
        width=float(counters.width),
        evenness=float(counters.evenness),
        typical=float(counters.typical),
        sigma=float(counters.sigma),
        outlier_distance=float(outlier_distance),
        nearest_fallback=rules.nearest_fallback,
        sharpness=float(counters.sharpness),
    )
    return BatchPredictor(solved, params)
