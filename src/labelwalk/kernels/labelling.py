"""Answers for many rows from a solved graph, without measuring what is far from a row.

What is near is found as `screened` finds it; all else is the harmonic extension, bit for bit that
of `extension`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints, SmallInts
from labelwalk.kernels.comparison import LENIENT, between, gaussian, width_at
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.screened import Sight, distance, insert, write_bounds
from labelwalk.kernels.system import UNIT_ROUNDOFF
from labelwalk.kernels.verdict import NOBODY, Answers, write_answer

NEARLY = 1.0 + 1e-9  # what is looked for is a little farther away than what is wanted


class Solved(NamedTuple):
    """A graph and its solution, as far as answers need them; arrays are over vertices."""

    points: Floats  # (n, features) representatives
    bandwidth: Floats
    weight: Floats
    lit: Bools  # can a label be reached?
    f: Floats  # (n, classes) probabilities,
    errors: Floats  # and what they may be off by
    labelled: Ints  # vertices with a label, and their classes
    label: SmallInts
    bias: Floats  # (1 + classes)


class Reach(NamedTuple):
    """How far a row looks."""

    sink: float
    cut: float  # bandwidths past which similarity is zero
    neighbour: int  # whose distance is the local scale of a self-tuning graph; 0: one for all
    width: float
    evenness: float
    typical: float
    sigma: float
    far: float  # an outlier is so many bandwidths from every vertex; infinite: there is none
    guess: bool  # the nearest label is named where no other can be reached
    sharpness: float


@compiled
def local_distance(
    points: Floats, few: int, x: Floats, lowest: Floats, highest: Floats, unit: float
) -> float:
    """Return the distance to one of the nearest points at another place, the `few`-th.

    Where there are fewer, the farthest stands in; 0 where there is none.
    """
    limits, places = np.full(few, np.inf), np.empty(few, dtype=np.int64)
    limit = np.inf
    for j in range(points.shape[0]):
        most = highest[j]
        if most < limit:
            if lowest[j] <= 0.0:  # it may be at the same place
                apart = distance(x, points[j]) / unit
                most = apart * apart * NEARLY if apart > 0.0 else np.inf
            insert(places, limits, j, most)
            limit = limits[few - 1]
    nearest = np.full(few, np.inf)
    for j in range(points.shape[0]):
        if lowest[j] <= limit:
            apart = distance(x, points[j])
            if 0.0 < apart < nearest[few - 1]:
                insert(places, nearest, j, apart)
    found = few
    while found > 0 and nearest[found - 1] == np.inf:
        found -= 1
    return nearest[found - 1] if found > 0 else 0.0


@compiled
def list_similar(
    solved: Solved,
    reach: Reach,
    x: Floats,
    own: float,
    lowest: Floats,
    unit: float,
    similar: Ints,
    flow: Floats,
) -> int:
    """List the vertices that a row is similar to, and how much flows there; return how many."""
    many, all_are_near, span = 0, reach.cut == np.inf, reach.cut * NEARLY / unit
    for j in range(lowest.shape[0]):
        near = all_are_near or lowest[j] <= span * span * own * solved.bandwidth[j]
        if near or lowest[j] <= 0.0:
            apart = distance(x, solved.points[j])
            alike = gaussian(apart, between(own, solved.bandwidth[j]), reach.cut)
            if alike > 0.0:
                similar[many] = j
                flow[many] = alike * solved.weight[j]
                many += 1
    return many


@compiled
def is_outlier(solved: Solved, reach: Reach, x: Floats, lowest: Floats, unit: float) -> bool:
    """Say whether no vertex is near, as each vertex judges it."""
    if reach.far == np.inf:
        return False
    for j in range(lowest.shape[0]):
        bandwidth = min(max(solved.bandwidth[j], reach.sigma), LENIENT * reach.sigma)
        span = reach.far * NEARLY * bandwidth / unit
        if bandwidth == 0.0:
            return False
        if lowest[j] <= span * span:
            if distance(x, solved.points[j]) <= reach.far * bandwidth:
                return False
    return lowest.shape[0] > 0


@compiled
def nearest_label(solved: Solved, x: Floats, lowest: Floats, unit: float) -> int:
    """Return the class of the nearest labelled vertex, or NOBODY."""
    guess, shortest, span = NOBODY, np.inf, np.inf
    for a in range(solved.labelled.shape[0]):
        j = solved.labelled[a]
        if lowest[j] <= span * span:
            apart = distance(x, solved.points[j])
            if apart < shortest:
                guess, shortest, span = solved.label[a], apart, NEARLY * apart / unit
    return guess


@compiled
def label_row(
    solved: Solved,
    reach: Reach,
    x: Floats,
    lowest: Floats,
    highest: Floats,
    unit: float,
    similar: Ints,
    flow: Floats,
    values: Floats,
    answers: Answers,
    row: int,
) -> None:
    """Answer one row."""
    own = reach.sigma
    if reach.neighbour > 0:
        local = local_distance(solved.points, reach.neighbour, x, lowest, highest, unit)
        own = width_at(local, reach.width, reach.typical, reach.evenness)
    if is_outlier(solved, reach, x, lowest, unit):
        answers.outlier[row] = True
        return
    many = list_similar(solved, reach, x, own, lowest, unit, similar, flow)
    total = reach.sink
    for a in range(many):
        total += flow[a]
    values[:] = 0.0
    error, reached = 0.0, False
    for a in range(many):
        j, share = similar[a], flow[a] / total
        error += share * solved.errors[j]
        if solved.lit[j]:
            reached = True
            for c in range(values.shape[0]):
                values[c] += share * solved.f[j, c]
    if reached:
        error += 2.0 * (lowest.shape[0] + 8) * UNIT_ROUNDOFF
    guess = nearest_label(solved, x, lowest, unit) if reach.guess else NOBODY
    write_answer(answers, row, values, error, solved.bias, guess, reach.sharpness)


@compiled
def label_rows(
    solved: Solved, reach: Reach, sight: Sight, rows: Floats, answers: Answers, first: int
) -> None:
    """Answer rows that have been screened, the answers from place `first` on."""
    n, unit = solved.points.shape[0], sight.unit
    lowest, highest = np.empty(n), np.empty(n)
    similar, flow, values = np.empty(n, dtype=np.int64), np.empty(n), np.empty(solved.f.shape[1])
    for i in range(rows.shape[0]):
        write_bounds(sight, i, lowest, highest)
        label_row(
            *(solved, reach, rows[i], lowest, highest, unit),
            *(similar, flow, values, answers, first + i),
        )


@compiled
def local_distances(points: Floats, few: int, sight: Sight, rows: Floats, local: Floats) -> None:
    """Write the distance of each row to its `few`-th nearest point at another place."""
    lowest, highest = np.empty(points.shape[0]), np.empty(points.shape[0])
    for i in range(rows.shape[0]):
        write_bounds(sight, i, lowest, highest)
        local[i] = local_distance(points, few, rows[i], lowest, highest, sight.unit)


@compiled
def list_pairs(
    points: Floats,
    bandwidth: Floats,
    cut: float,
    sight: Sight,
    first: int,
    n_rows: int,
    others: Ints,
    alike: Floats,
    ends: Ints,
) -> int:
    """List the points that others are similar to, row after row; return how many rows had room.

    Row i of the sight is point `first` + i, and its list ends at `ends[i]`.
    """
    n, low, unit, many = points.shape[0], sight.low, sight.unit, 0
    all_are_near, span = cut == np.inf, cut * NEARLY / unit
    for i in range(n_rows):
        if many + n > others.shape[0]:
            return i
        own, row = bandwidth[first + i], sight.products[i]
        least = sight.squares[i] - sight.slack[i]
        for j in range(n):
            lowest = low[j] - 2.0 * row[j] + least
            near = all_are_near or lowest <= span * span * own * bandwidth[j]
            if (near or lowest <= 0.0) and j != first + i:
                apart = distance(points[first + i], points[j])
                w = gaussian(apart, between(own, bandwidth[j]), cut)
                if w > 0.0:
                    others[many], alike[many] = j, w
                    many += 1
        ends[i] = many
    return n_rows
