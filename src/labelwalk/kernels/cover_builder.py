"""Cover rows without a graph: rows join vertices or found new ones, and closest pairs merge.

Each vertex stores the distances to a few of its nearest older vertices, so the closest pair of all
is among the first entries of these lists. When the first neighbor of a vertex has merged away, the
next one takes its place as soon as the pair matters. When all have, the last distance is a lower
bound, and the vertex is measured again only if a decision depends on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.cover import choose_center
from labelwalk.kernels.jit import jit
from labelwalk.kernels.nearest import NO_VERTEX, distance, insert

STALE = -2  # as first neighbor: all have merged away, and the distance is a lower bound
MERGED, NEEDS_MEASURING = range(2)  # how merging ended


class CoverArrays(NamedTuple):
    """Arrays over vertices in order of age; only the first n entries are in use."""

    points: Floats  # (capacity, features) founders
    means: Floats  # (capacity, features) of the examples of each vertex
    examples: Ints  # number of examples
    reach: Floats  # bound on the distance of the founder to its examples
    neighbor_ids: Ints  # (capacity, few) nearest older vertices, nearest first, then NO_VERTEX
    neighbor_distances: Floats  # (capacity, few)
    neighbor_bound: Floats  # no older vertex outside the list is nearer than this


@jit
def take_rows(
    cover: CoverArrays, n: int, rows: Floats, nearest: Ints, distances: Floats, radius: float
) -> tuple[int, int]:
    """Let rows join or found vertices; return the number of rows taken and of vertices.

    `nearest` and `distances` list the nearest of the first n vertices; vertices founded meanwhile
    are inserted. Stops when the capacity is used up.
    """
    before = n
    for i in range(rows.shape[0]):
        x = rows[i]
        for j in range(before, n):
            gap = distance(x, cover.points[j])
            if gap < distances[i, -1]:
                insert(nearest[i], distances[i], j, gap)
        gap = distances[i, 0]
        if gap == 0.0 or gap < radius:
            add_row(cover, nearest[i, 0], x, gap)
            continue
        append_vertex(cover, n, x, nearest[i], distances[i])
        n += 1
        if n == cover.points.shape[0]:
            return i + 1, n
    return rows.shape[0], n


@jit
def add_row(cover: CoverArrays, i: int, x: Floats, gap: float) -> None:
    """Add a row to vertex i."""
    cover.examples[i] += 1
    cover.reach[i] = max(cover.reach[i], gap)
    for p in range(x.shape[0]):
        cover.means[i, p] += (x[p] - cover.means[i, p]) / cover.examples[i]


@jit
def append_vertex(cover: CoverArrays, i: int, x: Floats, nearest: Ints, distances: Floats) -> None:
    """Make a row vertex i, the youngest."""
    cover.points[i] = x
    cover.means[i] = x
    cover.examples[i] = 1
    cover.reach[i] = 0.0
    cover.neighbor_ids[i] = nearest
    cover.neighbor_distances[i] = distances
    cover.neighbor_bound[i] = distances[-1]


@jit
def find_next_pair(cover: CoverArrays, n: int, merged_into: Ints) -> int:
    """Return the younger vertex of what may be the closest pair, or NO_VERTEX.

    Of two equal pairs the older; a vertex that must be measured precedes its equals.
    """
    best, gap, older = NO_VERTEX, np.inf, NO_VERTEX
    for i in range(n):
        candidate = cover.neighbor_distances[i, 0]
        if candidate <= gap and candidate < np.inf and merged_into[i] == i:
            if candidate < gap or cover.neighbor_ids[i, 0] < older:
                best, gap, older = i, candidate, cover.neighbor_ids[i, 0]
    return best


@jit
def drop_merged_neighbors(cover: CoverArrays, i: int, merged_into: Ints) -> None:
    """Remove merged vertices from the list of vertex i."""
    ids, distances = cover.neighbor_ids[i], cover.neighbor_distances[i]
    n_left = 0
    for a in range(ids.shape[0]):
        if ids[a] >= 0 and merged_into[ids[a]] == ids[a]:
            ids[n_left], distances[n_left] = ids[a], distances[a]
            n_left += 1
    ids[n_left:] = NO_VERTEX
    distances[n_left:] = np.inf
    if n_left == 0 and cover.neighbor_bound[i] < np.inf:
        ids[0], distances[0] = STALE, cover.neighbor_bound[i]


@jit
def drop_all_merged_neighbors(cover: CoverArrays, n: int, merged_into: Ints) -> None:
    """Remove merged vertices from all lists."""
    for i in range(n):
        if merged_into[i] == i and cover.neighbor_ids[i, 0] != STALE:
            drop_merged_neighbors(cover, i, merged_into)


@jit
def absorb(
    cover: CoverArrays, vertex: int, mean: Floats, examples: int, reach: float, gap: float
) -> None:
    """Add examples of another founder, `gap` away, none farther than `reach` from it."""
    cover.reach[vertex] = max(cover.reach[vertex], gap + reach)
    cover.examples[vertex] += examples
    share = examples / cover.examples[vertex]
    for p in range(cover.means.shape[1]):
        cover.means[vertex, p] += share * (mean[p] - cover.means[vertex, p])


@jit
def absorb_all(
    cover: CoverArrays, means: Floats, examples: Ints, reach: Floats, nearest: Ints, gaps: Floats
) -> None:
    """Add the examples of other vertices, each to the nearest vertex."""
    for i in range(examples.shape[0]):
        absorb(cover, nearest[i, 0], means[i], examples[i], reach[i], gaps[i, 0])


@jit
def merge_closest(
    cover: CoverArrays,
    n: int,
    merged_into: Ints,
    within: float,
    limit: int,
    aim: int,
    growth: float,
    last: float,
) -> tuple[int, float]:
    """Merge closest pairs in order of distance; return how it ended and the largest distance.

    Continues while a pair is closer than `within` or more than `limit` vertices remain, and then
    towards `aim` while the next distance is at most `growth` times the last, which is negative at
    first. If the next pair must be measured, it stops; call it again with the returned distance.
    """
    n_left = 0
    for i in range(n):
        n_left += merged_into[i] == i
    while True:
        younger = find_next_pair(cover, n, merged_into)
        if younger < 0:
            return MERGED, last
        gap, older = cover.neighbor_distances[younger, 0], cover.neighbor_ids[younger, 0]
        is_near = gap < within or gap == within == 0.0
        is_for_room = n_left > aim and 0.0 <= last and gap <= growth * last
        if not (is_near or n_left > limit or is_for_room):
            return MERGED, last
        if older == STALE:
            return NEEDS_MEASURING, last
        if merged_into[older] != older:
            drop_merged_neighbors(cover, younger, merged_into)
            continue
        center = choose_center(cover.reach, cover.examples, older, younger, gap)
        merged = older if center == younger else younger
        absorb(cover, center, cover.means[merged], cover.examples[merged], cover.reach[merged], gap)
        merged_into[merged] = center
        n_left -= 1
        last = max(last, gap)
