"""Exact nearest points: single precision excludes candidates, double precision decides.

In single precision, the error of a squared distance |x|² + |c|² - 2 x·c is bounded by a part of the
row x and a part of the point c. If m points have upper bounds below a limit, no point with a lower
bound above it is among the m nearest; only the others are measured.
"""

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints, Singles, SmallInts
from labelwalk.kernels import compare
from labelwalk.kernels.answer import NO_CLASS, KernelAnswers, write_answer
from labelwalk.kernels.certificate import Readout
from labelwalk.kernels.compare import gaussian, geometric_mean, measure_distance
from labelwalk.kernels.cover import NO_VERTEX
from labelwalk.kernels.jit import jit
from labelwalk.kernels.system import UNIT_ROUNDOFF

SEARCH_MARGIN = 1.0 + 1e-9  # factor on distances that are compared with bounds


class DistanceBounds(NamedTuple):
    """Bounds on the squared distances between rows and points, in units of the index.

    They are `low - 2 * products + squares - slack` and `high - 2 * products + squares + slack`.
    """

    products: Singles  # (rows, points)
    low: Floats  # (points), infinite if a point is removed
    high: Floats  # (points)
    squares: Floats  # (rows)
    slack: Floats  # (rows)
    unit: float


class BoundedRow(NamedTuple):
    """A row, and bounds on its squared distances to all points."""

    x: Floats
    lowest: Floats
    highest: Floats
    unit: float


@jit
def bound_row(bounds: DistanceBounds, i: int, x: Floats, room: Floats) -> BoundedRow:
    """Return row i with its bounds, which are written to the work array `room`, (2, points)."""
    lowest, highest, low, high = room[0], room[1], bounds.low, bounds.high
    products, square, slack = bounds.products[i], bounds.squares[i], bounds.slack[i]
    lower, upper = square - slack, square + slack
    for j in range(lowest.shape[0]):
        twice = 2.0 * products[j]
        lowest[j] = low[j] - twice + lower
        highest[j] = high[j] - twice + upper
    return BoundedRow(x, lowest, highest, bounds.unit)


@jit
def find_nearest(
    bounds: DistanceBounds, rows: Floats, points: Floats, below: Ints, ids: Ints, distances: Floats
) -> None:
    """Write the nearest of the first `below` points to each row; ties go to older points.

    If there are too few points, the remaining ids are NO_VERTEX, at infinite distance.
    """
    n_nearest, low, high = distances.shape[1], bounds.low, bounds.high
    highest = np.empty(n_nearest)
    for i in range(rows.shape[0]):
        row = bounds.products[i]
        highest[:] = np.inf
        limit = np.inf
        for j in range(below[i]):
            upper = high[j] - 2.0 * row[j]
            if upper < limit:
                compare.insert_distance(highest, upper)
                limit = highest[n_nearest - 1]
        limit += 2.0 * bounds.slack[i]
        ids[i] = NO_VERTEX
        distances[i] = np.inf
        for j in range(below[i]):
            if low[j] - 2.0 * row[j] <= limit and low[j] < np.inf:
                gap = measure_distance(rows[i], points[j])
                if gap < distances[i, n_nearest - 1]:
                    compare.insert_neighbor(ids[i], distances[i], j, gap)


class SolvedGraph(NamedTuple):
    """The part of a graph and its solution that answers need; arrays are over vertices."""

    points: Floats  # (n, features) representatives
    bandwidth: Floats
    weight: Floats
    has_label: Bools  # whether its component has a label
    f: Floats  # (n, classes) probabilities
    errors: Floats  # error bounds of f
    labelled: Ints  # ids of labelled vertices
    label: SmallInts  # classes of labelled vertices
    bias: Floats  # (1 + classes)


class ReadoutParams(NamedTuple):
    """Parameters of the answer at a row."""

    sink: float
    cut: float  # in bandwidths; beyond, similarity is zero
    neighbour: int  # rank of the neighbour that sets the local scale; 0: one scale for all
    width: float
    evenness: float
    typical: float
    sigma: float
    outlier_distance: float  # in bandwidths, from every vertex; infinite: no outliers
    nearest_fallback: bool  # without a reachable label, answer the nearest one
    sharpness: float


@jit
def measure_local_distance(points: Floats, rank: int, row: BoundedRow) -> float:
    """Return the distance to the nearest other position of a rank, or else to the farthest."""
    limits, limit = np.full(rank, np.inf), np.inf
    for j in range(points.shape[0]):
        upper = row.highest[j]
        if upper < limit and row.lowest[j] <= 0.0:  # it may be at the same place
            gap = measure_distance(row.x, points[j]) / row.unit
            upper = gap * gap * SEARCH_MARGIN if gap > 0.0 else np.inf
        if upper < limit:
            compare.insert_distance(limits, upper)
            limit = limits[rank - 1]
    nearest = np.full(rank, np.inf)
    for j in range(points.shape[0]):
        if row.lowest[j] <= limit:
            gap = measure_distance(row.x, points[j])
            if 0.0 < gap < nearest[rank - 1]:
                compare.insert_distance(nearest, gap)
    return compare.find_last_finite(nearest)


@jit
def fill_readout(
    graph: SolvedGraph, params: ReadoutParams, row: BoundedRow, bandwidth: float, readout: Readout
) -> int:
    """Write the average over the vertices similar to a row; return their number."""
    n_terms, is_uncut, total = 0, params.cut == np.inf, params.sink
    span = params.cut * SEARCH_MARGIN / row.unit
    for j in range(row.lowest.shape[0]):
        is_near = is_uncut or row.lowest[j] <= span * span * bandwidth * graph.bandwidth[j]
        if is_near or row.lowest[j] <= 0.0:
            gap = measure_distance(row.x, graph.points[j])
            similarity = gaussian(gap, geometric_mean(bandwidth, graph.bandwidth[j]), params.cut)
            if similarity > 0.0:
                flow = similarity * graph.weight[j]
                total += flow
                readout.vertex[n_terms] = j
                readout.share[n_terms] = flow
                n_terms += 1
    for a in range(n_terms):
        readout.share[a] /= total
    return n_terms


@jit
def is_far_row(graph: SolvedGraph, params: ReadoutParams, row: BoundedRow) -> bool:
    """Return whether a row is far from every vertex, in the bandwidth of that vertex."""
    lowest, max_ratio = row.lowest, compare.MAX_BANDWIDTH_RATIO
    if params.outlier_distance == np.inf:
        return False
    for j in range(lowest.shape[0]):
        bandwidth = min(max(graph.bandwidth[j], params.sigma), max_ratio * params.sigma)
        span = params.outlier_distance * SEARCH_MARGIN * bandwidth / row.unit
        if bandwidth == 0.0:
            return False
        if lowest[j] <= span * span:
            if measure_distance(row.x, graph.points[j]) <= params.outlier_distance * bandwidth:
                return False
    return lowest.shape[0] > 0


@jit
def find_nearest_class(graph: SolvedGraph, row: BoundedRow) -> int:
    """Return the class of the nearest labelled vertex, or NO_CLASS."""
    guess, shortest, span = NO_CLASS, np.inf, np.inf
    for a in range(graph.labelled.shape[0]):
        j = graph.labelled[a]
        if row.lowest[j] <= span * span:
            gap = measure_distance(row.x, graph.points[j])
            if gap < shortest:
                guess, shortest, span = graph.label[a], gap, SEARCH_MARGIN * gap / row.unit
    return guess


@jit
def answer_row(
    graph: SolvedGraph,
    params: ReadoutParams,
    row: BoundedRow,
    readout: Readout,
    answers: KernelAnswers,
    place: int,
) -> None:
    """Answer one row."""
    bandwidth, values = params.sigma, readout.values
    if params.neighbour > 0:
        local = measure_local_distance(graph.points, params.neighbour, row)
        bandwidth = compare.local_bandwidth(local, params.width, params.typical, params.evenness)
    if is_far_row(graph, params, row):
        answers.outlier[place] = True
        return
    n_terms = fill_readout(graph, params, row, bandwidth, readout)
    values[:] = 0.0
    error, is_reached = 0.0, False
    for a in range(n_terms):
        j, share = readout.vertex[a], readout.share[a]
        error += share * graph.errors[j]
        if graph.has_label[j]:
            is_reached = True
            for c in range(values.shape[0]):
                values[c] += share * graph.f[j, c]
    if is_reached:
        error += 2.0 * (graph.points.shape[0] + 8) * UNIT_ROUNDOFF
    guess = find_nearest_class(graph, row) if params.nearest_fallback else NO_CLASS
    write_answer(answers, place, values, error, graph.bias, guess, params.sharpness)


@jit
def answer_rows(
    graph: SolvedGraph,
    params: ReadoutParams,
    bounds: DistanceBounds,
    rows: Floats,
    answers: KernelAnswers,
    first: int,
) -> None:
    """Write the answers of rows, from place `first` on."""
    n, n_classes = graph.f.shape
    room = np.empty((2, n))
    readout = Readout(np.empty(n, dtype=np.int32), np.empty(n), np.empty(n_classes))
    for i in range(rows.shape[0]):
        row = bound_row(bounds, i, rows[i], room)
        answer_row(graph, params, row, readout, answers, first + i)


@jit
def write_local_distances(
    points: Floats, rank: int, bounds: DistanceBounds, rows: Floats, local: Floats
) -> None:
    """Write `local_distance` of each row."""
    room = np.empty((2, points.shape[0]))
    for i in range(rows.shape[0]):
        local[i] = measure_local_distance(points, rank, bound_row(bounds, i, rows[i], room))


@jit
def list_pairs(
    points: Floats,
    bandwidth: Floats,
    cut: float,
    bounds: DistanceBounds,
    first: int,
    n_rows: int,
    ids: Ints,
    similarities: Floats,
    ends: Ints,
) -> int:
    """List the points similar to each point; return the number of rows that fit.

    Row i of the bounds is point `first` + i; its list ends at `ends[i]`.
    """
    n, low, unit, n_terms = points.shape[0], bounds.low, bounds.unit, 0
    is_uncut, span = cut == np.inf, cut * SEARCH_MARGIN / unit
    for i in range(n_rows):
        if n_terms + n > ids.shape[0]:
            return i
        row_bandwidth, row = bandwidth[first + i], bounds.products[i]
        lower = bounds.squares[i] - bounds.slack[i]
        for j in range(n):
            lowest = low[j] - 2.0 * row[j] + lower
            is_near = is_uncut or lowest <= span * span * row_bandwidth * bandwidth[j]
            if (is_near or lowest <= 0.0) and j != first + i:
                gap = measure_distance(points[first + i], points[j])
                w = gaussian(gap, geometric_mean(row_bandwidth, bandwidth[j]), cut)
                if w > 0.0:
                    ids[n_terms], similarities[n_terms] = j, w
                    n_terms += 1
        ends[i] = n_terms
    return n_rows
