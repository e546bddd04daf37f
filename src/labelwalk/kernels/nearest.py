"""Exact nearest points: single precision excludes candidates, double precision decides.

The squared distance of a row x to a point c is |x|² + |c|² - 2 x·c. In single precision its error
is bounded by a part of the row and a part of the point together, so each point has a lower and an
upper bound. If m points have upper bounds below a limit, no point with a lower bound above it is
among the m nearest; only the other points are measured. Exact distances add features in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints, Singles, SmallInts
from labelwalk.kernels.answer import NO_CLASS, KernelAnswers, write_answer
from labelwalk.kernels.compare import MAX_BANDWIDTH_RATIO, gaussian, geometric_mean, local_bandwidth
from labelwalk.kernels.jit import jit
from labelwalk.kernels.system import UNIT_ROUNDOFF

NO_VERTEX = -1


class DistanceBounds(NamedTuple):
    """Bounds on the squared distances between rows and points, in units of the index.

    A squared distance is at least `low - 2 * products + squares - slack`, and at most
    `high - 2 * products + squares + slack`. Removed points are infinitely far away.
    """

    products: Singles  # (rows, points)
    low: Floats  # (points)
    high: Floats  # (points)
    squares: Floats  # (rows)
    slack: Floats  # (rows)
    unit: float


@jit
def distance(x: Floats, y: Floats) -> float:
    """Return the Euclidean distance of two rows, features added in order."""
    total = 0.0
    for p in range(x.shape[0]):
        gap = y[p] - x[p]
        total += gap * gap
    return np.sqrt(total)


@jit
def insert(ids: Ints, distances: Floats, j: int, gap: float) -> None:
    """Insert a point into a sorted list if it is near enough; it follows equal distances."""
    place = distances.shape[0]
    while place > 0 and gap < distances[place - 1]:
        place -= 1
    for a in range(distances.shape[0] - 1, place, -1):
        ids[a], distances[a] = ids[a - 1], distances[a - 1]
    if place < distances.shape[0]:
        ids[place], distances[place] = j, gap


@jit
def write_bounds(bounds: DistanceBounds, i: int, lowest: Floats, highest: Floats) -> None:
    """Write bounds on the squared distances of row i to all points."""
    row, low, high = bounds.products[i], bounds.low, bounds.high
    lower, upper = bounds.squares[i] - bounds.slack[i], bounds.squares[i] + bounds.slack[i]
    for j in range(lowest.shape[0]):
        twice = 2.0 * row[j]
        lowest[j] = low[j] - twice + lower
        highest[j] = high[j] - twice + upper


@jit
def find_nearest(
    bounds: DistanceBounds, rows: Floats, points: Floats, below: Ints, ids: Ints, distances: Floats
) -> None:
    """Write the nearest of the first `below` points to each row; ties go to older points.

    If there are too few points, the remaining ids are NO_VERTEX, at infinite distance.
    """
    n_nearest, low, high = distances.shape[1], bounds.low, bounds.high
    highest, places = np.empty(n_nearest), np.empty(n_nearest, dtype=np.int64)
    for i in range(rows.shape[0]):
        row = bounds.products[i]
        highest[:] = np.inf
        limit = np.inf
        for j in range(below[i]):
            upper = high[j] - 2.0 * row[j]
            if upper < limit:
                insert(places, highest, j, upper)
                limit = highest[n_nearest - 1]
        limit += 2.0 * bounds.slack[i]
        ids[i] = NO_VERTEX
        distances[i] = np.inf
        for j in range(below[i]):
            if low[j] - 2.0 * row[j] <= limit and low[j] < np.inf:
                gap = distance(rows[i], points[j])
                if gap < distances[i, n_nearest - 1]:
                    insert(ids[i], distances[i], j, gap)


SEARCH_MARGIN = 1.0 + 1e-9  # factor on distances that are compared with bounds


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
def measure_local_distance(
    points: Floats, rank: int, x: Floats, lowest: Floats, highest: Floats, unit: float
) -> float:
    """Return the distance to the nearest point of a rank, points at the same place left out.

    The farthest of fewer points stands in; 0 if there is none.
    """
    limits, places = np.full(rank, np.inf), np.empty(rank, dtype=np.int64)
    limit = np.inf
    for j in range(points.shape[0]):
        upper = highest[j]
        if upper < limit:
            if lowest[j] <= 0.0:  # it may be at the same place
                gap = distance(x, points[j]) / unit
                upper = gap * gap * SEARCH_MARGIN if gap > 0.0 else np.inf
            insert(places, limits, j, upper)
            limit = limits[rank - 1]
    nearest = np.full(rank, np.inf)
    for j in range(points.shape[0]):
        if lowest[j] <= limit:
            gap = distance(x, points[j])
            if 0.0 < gap < nearest[rank - 1]:
                insert(places, nearest, j, gap)
    n_found = rank
    while n_found > 0 and nearest[n_found - 1] == np.inf:
        n_found -= 1
    return nearest[n_found - 1] if n_found > 0 else 0.0


@jit
def list_similar(
    graph: SolvedGraph,
    params: ReadoutParams,
    x: Floats,
    bandwidth: float,
    lowest: Floats,
    unit: float,
    similar: Ints,
    flow: Floats,
) -> int:
    """List the vertices similar to a row and the flow to each; return their number."""
    n_terms, is_uncut = 0, params.cut == np.inf
    span = params.cut * SEARCH_MARGIN / unit
    for j in range(lowest.shape[0]):
        is_near = is_uncut or lowest[j] <= span * span * bandwidth * graph.bandwidth[j]
        if is_near or lowest[j] <= 0.0:
            gap = distance(x, graph.points[j])
            similarity = gaussian(gap, geometric_mean(bandwidth, graph.bandwidth[j]), params.cut)
            if similarity > 0.0:
                similar[n_terms] = j
                flow[n_terms] = similarity * graph.weight[j]
                n_terms += 1
    return n_terms


@jit
def is_outlier(
    graph: SolvedGraph, params: ReadoutParams, x: Floats, lowest: Floats, unit: float
) -> bool:
    """Return whether a row is far from every vertex, in the bandwidth of that vertex."""
    if params.outlier_distance == np.inf:
        return False
    for j in range(lowest.shape[0]):
        bandwidth = min(max(graph.bandwidth[j], params.sigma), MAX_BANDWIDTH_RATIO * params.sigma)
        span = params.outlier_distance * SEARCH_MARGIN * bandwidth / unit
        if bandwidth == 0.0:
            return False
        if lowest[j] <= span * span:
            if distance(x, graph.points[j]) <= params.outlier_distance * bandwidth:
                return False
    return lowest.shape[0] > 0


@jit
def find_nearest_label(graph: SolvedGraph, x: Floats, lowest: Floats, unit: float) -> int:
    """Return the class of the nearest labelled vertex, or NO_CLASS."""
    guess, shortest, span = NO_CLASS, np.inf, np.inf
    for a in range(graph.labelled.shape[0]):
        j = graph.labelled[a]
        if lowest[j] <= span * span:
            gap = distance(x, graph.points[j])
            if gap < shortest:
                guess, shortest, span = graph.label[a], gap, SEARCH_MARGIN * gap / unit
    return guess


@jit
def answer_row(
    graph: SolvedGraph,
    params: ReadoutParams,
    x: Floats,
    lowest: Floats,
    highest: Floats,
    unit: float,
    similar: Ints,
    flow: Floats,
    values: Floats,
    answers: KernelAnswers,
    row: int,
) -> None:
    """Answer one row."""
    bandwidth = params.sigma
    if params.neighbour > 0:
        local = measure_local_distance(graph.points, params.neighbour, x, lowest, highest, unit)
        bandwidth = local_bandwidth(local, params.width, params.typical, params.evenness)
    if is_outlier(graph, params, x, lowest, unit):
        answers.outlier[row] = True
        return
    n_terms = list_similar(graph, params, x, bandwidth, lowest, unit, similar, flow)
    total = params.sink
    for a in range(n_terms):
        total += flow[a]
    values[:] = 0.0
    error, is_reached = 0.0, False
    for a in range(n_terms):
        j, share = similar[a], flow[a] / total
        error += share * graph.errors[j]
        if graph.has_label[j]:
            is_reached = True
            for c in range(values.shape[0]):
                values[c] += share * graph.f[j, c]
    if is_reached:
        error += 2.0 * (lowest.shape[0] + 8) * UNIT_ROUNDOFF
    guess = find_nearest_label(graph, x, lowest, unit) if params.nearest_fallback else NO_CLASS
    write_answer(answers, row, values, error, graph.bias, guess, params.sharpness)


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
    n, unit = graph.points.shape[0], bounds.unit
    lowest, highest = np.empty(n), np.empty(n)
    similar, flow, values = np.empty(n, dtype=np.int64), np.empty(n), np.empty(graph.f.shape[1])
    for i in range(rows.shape[0]):
        write_bounds(bounds, i, lowest, highest)
        answer_row(
            *(graph, params, rows[i], lowest, highest, unit),
            *(similar, flow, values, answers, first + i),
        )


@jit
def write_local_distances(
    points: Floats, rank: int, bounds: DistanceBounds, rows: Floats, local: Floats
) -> None:
    """Write `local_distance` of each row."""
    lowest, highest = np.empty(points.shape[0]), np.empty(points.shape[0])
    for i in range(rows.shape[0]):
        write_bounds(bounds, i, lowest, highest)
        local[i] = measure_local_distance(points, rank, rows[i], lowest, highest, bounds.unit)


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
                gap = distance(points[first + i], points[j])
                w = gaussian(gap, geometric_mean(row_bandwidth, bandwidth[j]), cut)
                if w > 0.0:
                    ids[n_terms], similarities[n_terms] = j, w
                    n_terms += 1
        ends[i] = n_terms
    return n_rows
