"""Who is nearest: products in single precision screen, sums in double precision decide.

The squared distance of a row x to a point c is |x|² + |c|² - 2 x·c. In single precision that is off
by an amount which a part of the row and a part of the point bound together, so each point has a
lowest and a highest value. Where m points have a highest value that low, no other whose lowest is
above is among the m nearest, and only the rest are measured. Distances themselves add their
features in order, as everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints, Singles
from labelwalk.kernels.compiled import compiled

NOBODY = -1


class Sight(NamedTuple):
    """Rows beside points in single precision, in units of their own.

    A squared distance is at least `low - 2 * products + squares - slack`, and at most the same with
    `high` and the slack added. Points that no longer count are infinitely far away.
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
def insert(nearest: Ints, distances: Floats, j: int, apart: float) -> None:
    """Let a point, younger than all in the list, take its place there if it is near enough."""
    place = distances.shape[0]
    while place > 0 and apart < distances[place - 1]:
        place -= 1
    for a in range(distances.shape[0] - 1, place, -1):
        nearest[a], distances[a] = nearest[a - 1], distances[a - 1]
    if place < distances.shape[0]:
        nearest[place], distances[place] = j, apart


@compiled
def write_bounds(sight: Sight, i: int, lowest: Floats, highest: Floats) -> None:
    """Write what the squared distances of row i to all points are at least, and at most."""
    row, low, high = sight.products[i], sight.low, sight.high
    least, most = sight.squares[i] - sight.slack[i], sight.squares[i] + sight.slack[i]
    for j in range(lowest.shape[0]):
        twice = 2.0 * row[j]
        lowest[j] = low[j] - twice + least
        highest[j] = high[j] - twice + most


@compiled
def confirm_nearest(
    sight: Sight, rows: Floats, points: Floats, below: Ints, nearest: Ints, distances: Floats
) -> None:
    """Write the nearest few of the first `below` points to each row, older ones first in a tie.

    Where there are fewer the rest are NOBODY, infinitely far away.
    """
    few, low, high = distances.shape[1], sight.low, sight.high
    highest, places = np.empty(few), np.empty(few, dtype=np.int64)
    for i in range(rows.shape[0]):
        row = sight.products[i]
        highest[:] = np.inf
        limit = np.inf
        for j in range(below[i]):
            most = high[j] - 2.0 * row[j]
            if most < limit:
                insert(places, highest, j, most)
                limit = highest[few - 1]
        limit += 2.0 * sight.slack[i]
        nearest[i] = NOBODY
        distances[i] = np.inf
        for j in range(below[i]):
            if low[j] - 2.0 * row[j] <= limit and low[j] < np.inf:
                apart = distance(rows[i], points[j])
                if apart < distances[i, few - 1]:
                    insert(nearest[i], distances[i], j, apart)
