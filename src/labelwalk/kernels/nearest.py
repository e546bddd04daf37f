"""Exact nearest points: single precision excludes candidates, double precision decides.

The squared distance of a row x to a point c is |x|² + |c|² - 2 x·c. In single precision its error
is bounded by a part of the row and a part of the point together, so each point has a lower and an
upper bound. If m points have upper bounds below a limit, no point with a lower bound above it is
among the m nearest; only the other points are measured. Exact distances add features in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints, Singles
from labelwalk.kernels.jit import compiled

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


@compiled
def distance(x: Floats, y: Floats) -> float:
    """Return the Euclidean distance of two rows, features added in order."""
    total = 0.0
    for p in range(x.shape[0]):
        gap = y[p] - x[p]
        total += gap * gap
    return np.sqrt(total)


@compiled
def insert(ids: Ints, distances: Floats, j: int, gap: float) -> None:
    """Insert a point into a sorted list if it is near enough; it follows equal distances."""
    place = distances.shape[0]
    while place > 0 and gap < distances[place - 1]:
        place -= 1
    for a in range(distances.shape[0] - 1, place, -1):
        ids[a], distances[a] = ids[a - 1], distances[a - 1]
    if place < distances.shape[0]:
        ids[place], distances[place] = j, gap


@compiled
def write_bounds(bounds: DistanceBounds, i: int, lowest: Floats, highest: Floats) -> None:
    """Write bounds on the squared distances of row i to all points."""
    row, low, high = bounds.products[i], bounds.low, bounds.high
    lower, upper = bounds.squares[i] - bounds.slack[i], bounds.squares[i] + bounds.slack[i]
    for j in range(lowest.shape[0]):
        twice = 2.0 * row[j]
        lowest[j] = low[j] - twice + lower
        highest[j] = high[j] - twice + upper


@compiled
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
