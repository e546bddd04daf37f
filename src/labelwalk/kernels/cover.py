"""The cover: vertices that represent rows, and merging of vertices.

A learner stores the distances of all pairs in `Vertices`. Many rows are covered without a graph:
each vertex of `CoverArrays` stores the distances to a few of its nearest older vertices. Functions
that merge vertices fill `merged_into`: the vertex that represents each; one that stays is its own.
"""

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.compare import (
    RowComparison,
    insert_neighbor,
    measure_distance,
    measure_distances,
)
from labelwalk.kernels.counters import Counters
from labelwalk.kernels.jit import jit

NO_VERTEX = -1
UNLABELLED = -1
ABSORBING = -2  # a group: unlabelled vertices merge with each other and into labelled ones
STALE = -2  # as first neighbor: all have merged away, and the distance is a lower bound
MERGED, NEEDS_MEASURING = range(2)  # how merging ended


class Vertices(NamedTuple):
    """Arrays over vertices in order of age; only the first n entries are in use."""

    points: Floats  # (features, capacity) founders; feature-major, so that distances are vectorized
    distance: Floats  # (capacity, capacity) between founders
    means: Floats  # (features, capacity) moving representatives; none if founders represent
    mean_distances: Floats  # (capacity, capacity) between representatives, when last computed
    bandwidth: Floats  # of each representative
    similarity_count: Ints  # examples when the similarities were last computed
    examples: Ints  # number of examples
    taught: Ints  # number of examples that were taught
    decayed_count: Floats  # examples, weighted by half_life
    reach: Floats  # bound on the distance from the founder to any example
    label: SmallInts  # class, or UNLABELLED
    founder: Ints  # number of the founding example, or NO_ROW


@jit
def measure_row(
    vertices: Vertices, counters: Counters, x: Floats, comparison: RowComparison
) -> None:
    """Measure the distances of a row to founders and representatives."""
    measure_distances(vertices.points, counters.n, x, comparison.distances)
    if vertices.means.shape[0] > 0 and vertices.reach[: counters.n].any():
        measure_distances(vertices.means, counters.n, x, comparison.row_mean_distances)
    else:  # the same up to rounding, because no vertex represents different examples
        comparison.row_mean_distances[: counters.n] = comparison.distances[: counters.n]


@jit
def find_nearest_vertex(
    vertices: Vertices, n: int, distances: Floats, absorb: bool
) -> tuple[int, float]:
    """Return the nearest vertex that may absorb an unlabelled example (the older in a tie)."""
    nearest, shortest = -1, np.inf
    for j in range(n):
        if distances[j] < shortest and (absorb or vertices.label[j] == UNLABELLED):
            nearest, shortest = j, distances[j]
    return nearest, shortest


@jit
def find_same_point(vertices: Vertices, n: int, distances: Floats, label: int) -> tuple[int, bool]:
    """Return the vertex of this class at distance zero, or -1, and whether other classes are."""
    vertex, is_contradicted = NO_VERTEX, False
    for j in range(n):
        if distances[j] == 0.0 and vertices.label[j] == label and vertex < 0:
            vertex = j
        elif distances[j] == 0.0 and vertices.label[j] not in (label, UNLABELLED):
            is_contradicted = True
    return vertex, is_contradicted


@jit
def write_row(matrix: Floats, n: int, i: int, distances: Floats) -> None:
    """Write the distances of vertex i to the first n vertices into a symmetric matrix."""
    matrix[i, :n] = distances[:n]
    matrix[:n, i] = distances[:n]
    matrix[i, i] = 0.0


@jit
def append_vertex(
    vertices: Vertices, i: int, x: Floats, row: RowComparison, label: int, number: int
) -> None:
    """Make the example `x` of this number the youngest vertex, i."""
    vertices.points[:, i] = x
    if vertices.means.shape[0] > 0:
        vertices.means[:, i] = x
    write_row(vertices.distance, i, i, row.distances)
    write_row(vertices.mean_distances, i, i, row.row_mean_distances)
    vertices.examples[i] = 1
    vertices.decayed_count[i] = 1.0
    vertices.similarity_count[i] = 1
    vertices.reach[i] = 0.0
    vertices.label[i] = label
    vertices.taught[i] = label != UNLABELLED
    vertices.founder[i] = number


@jit
def choose_center(reach: Floats, examples: Ints, older: int, younger: int, gap: float) -> int:
    """Return the vertex that represents both with less reach; ties: more examples, then older."""
    if_older = max(reach[older], gap + reach[younger])
    if_younger = max(reach[younger], gap + reach[older])
    if if_younger < if_older or (if_younger == if_older and examples[younger] > examples[older]):
        return younger
    return older


@jit
def join(vertices: Vertices, merged: int, center: int) -> None:
    """Add the examples of vertex `merged` to vertex `center`."""
    span = vertices.distance[center, merged] + vertices.reach[merged]
    vertices.reach[center] = max(vertices.reach[center], span)
    vertices.examples[center] += vertices.examples[merged]
    vertices.taught[center] += vertices.taught[merged]
    vertices.decayed_count[center] += vertices.decayed_count[merged]
    share = vertices.decayed_count[merged] / vertices.decayed_count[center]
    for p in range(vertices.means.shape[0]):
        vertices.means[p, center] += share * (vertices.means[p, merged] - vertices.means[p, center])


@jit
def move_mean(vertices: Vertices, i: int, x: Floats) -> bool:
    """Update the mean of vertex i with its last example; return whether it differs."""
    has_changed = False
    for p in range(vertices.means.shape[0]):
        gap = x[p] - vertices.means[p, i]
        vertices.means[p, i] += gap / vertices.decayed_count[i]
        has_changed = has_changed or gap != 0.0
    return has_changed


@jit
def remove_example(vertices: Vertices, i: int, x: Floats) -> None:
    """Remove the example `x` from vertex i, which keeps others."""
    vertices.decayed_count[i] -= vertices.decayed_count[i] / vertices.examples[i]
    vertices.examples[i] -= 1
    vertices.similarity_count[i] = min(vertices.similarity_count[i], vertices.examples[i])
    for p in range(vertices.means.shape[0]):
        vertices.means[p, i] += (vertices.means[p, i] - x[p]) / vertices.examples[i]


@jit
def has_moved(vertices: Vertices, i: int) -> bool:
    """Return whether vertex i has gained half as many examples as when similarities were computed.

    With a half-life the current decayed count is used: old examples no longer hold the mean.
    """
    n_before = vertices.similarity_count[i]
    return 2 * (vertices.examples[i] - n_before) >= min(n_before, vertices.decayed_count[i])


@jit
def measure_mean_distances(
    vertices: Vertices, n: int, i: int, x: Floats, mean_distances: Floats
) -> None:
    """Measure the distances of representative i to all others; the last two are work arrays."""
    x[:] = vertices.means[:, i]
    measure_distances(vertices.means, n, x, mean_distances)
    write_row(vertices.mean_distances, n, i, mean_distances)
    vertices.similarity_count[i] = vertices.examples[i]


@jit
def remeasure_moved(vertices: Vertices, n: int) -> None:
    """Remeasure the representatives with more examples than when last measured."""
    x, mean_distances = np.empty(vertices.means.shape[0]), np.empty(n)
    for i in range(n if vertices.means.shape[0] > 0 else 0):
        if vertices.examples[i] != vertices.similarity_count[i]:
            measure_mean_distances(vertices, n, i, x, mean_distances)


@jit
def find_smallest_positive_distance(vertices: Vertices, n: int) -> float:
    """Return the smallest positive distance between unlabelled vertices (infinite: none)."""
    smallest = np.inf
    for i in range(n):
        for j in range(i if vertices.label[i] == UNLABELLED else 0):
            if vertices.label[j] == UNLABELLED and 0.0 < vertices.distance[i, j] < smallest:
                smallest = vertices.distance[i, j]
    return smallest


@jit
def may_absorb(vertices: Vertices, i: int, j: int, absorb: bool) -> bool:
    """Return whether vertex j may absorb the unlabelled vertex i, by age and label."""
    return j < i if vertices.label[j] == UNLABELLED else absorb


@jit
def find_smallest_gap(vertices: Vertices, n: int, merged_into: Ints, absorb: bool) -> float:
    """Return the smallest distance at which `repartition` could merge two remaining vertices."""
    smallest = np.inf
    for i in range(n):
        for j in range(n if vertices.label[i] == UNLABELLED and merged_into[i] == i else 0):
            if merged_into[j] == j and may_absorb(vertices, i, j, absorb):
                smallest = min(smallest, vertices.distance[i, j])
    return smallest


@jit
def repartition(vertices: Vertices, n: int, merged_into: Ints, radius: float, absorb: bool) -> int:
    """Greedily keep vertices no closer than `radius` (Figure 1); return how many unlabelled remain.

    Oldest vertices come first. With `absorb`, labelled vertices precede all others and absorb them.
    """
    n_left = 0
    for i in range(n):
        if vertices.label[i] != UNLABELLED or merged_into[i] != i:
            continue
        center, shortest = -1, radius
        for j in range(n):
            is_candidate = merged_into[j] == j and may_absorb(vertices, i, j, absorb)
            if is_candidate and vertices.distance[i, j] < shortest:
                center, shortest = j, vertices.distance[i, j]
        if center < 0:
            n_left += 1
        else:
            join(vertices, i, center)
            merged_into[i] = center
    return n_left


@jit
def find_partner(
    vertices: Vertices, n: int, i: int, merged_into: Ints, group: int
) -> tuple[int, float]:
    """Return the nearest other vertex that may merge with i (the older one in a tie)."""
    chosen, shortest = -1, np.inf
    for j in range(n):
        if j != i and merged_into[j] == j and vertices.distance[i, j] < shortest:
            a, b = vertices.label[i], vertices.label[j]
            may_absorb_other = group == ABSORBING and (a == UNLABELLED or b == UNLABELLED)
            if may_absorb_other or a == b == group:
                chosen, shortest = j, vertices.distance[i, j]
    return chosen, shortest


@jit
def choose_survivor(vertices: Vertices, older: int, younger: int) -> int:
    """Return which of two vertices represents both: the labelled one, or that of smaller reach."""
    labels = vertices.label
    if labels[older] != labels[younger]:
        return younger if labels[older] == UNLABELLED else older
    gap = vertices.distance[older, younger]
    return choose_center(vertices.reach, vertices.examples, older, younger, gap)


class MergeRule(NamedTuple):
    """When the closest pair merges."""

    within: float  # if it is closer, or at distance 0 and this is 0
    limit: int  # if more vertices remain
    aim: int  # if more vertices remain, and the distance is not much larger than the last merged
    growth: float  # by how much at most: a factor


@jit
def is_merge_due(rule: MergeRule, gap: float, last: float, n_left: int) -> bool:
    """Return whether the closest pair merges; `last` is negative before the first."""
    is_near = gap < rule.within or gap == rule.within == 0.0
    is_alike = 0.0 <= last and gap <= rule.growth * last
    return is_near or n_left > rule.limit or (n_left > rule.aim and is_alike)


@jit
def merge_closest(
    vertices: Vertices, n: int, merged_into: Ints, group: int, rule: MergeRule
) -> float:
    """Merge closest pairs of a group while `is_merge_due`; return the largest distance merged."""
    members = UNLABELLED if group == ABSORBING else group
    partner, gap = np.full(n, NO_VERTEX), np.full(n, np.inf)
    n_left = 0
    for i in range(n):
        if group == ABSORBING or vertices.label[i] == group:
            partner[i], gap[i] = find_partner(vertices, n, i, merged_into, group)
        n_left += merged_into[i] == i and vertices.label[i] == members
    last = -1.0
    while True:
        older = NO_VERTEX
        for i in range(n):  # the first in order of age in a tie
            if merged_into[i] == i and partner[i] > i and (older < 0 or gap[i] < gap[older]):
                older = i
        if older < 0 or not is_merge_due(rule, gap[older], last, n_left):
            return last
        younger = partner[older]
        center = choose_survivor(vertices, older, younger)
        merged = older if center == younger else younger
        join(vertices, merged, center)
        merged_into[merged] = center
        n_left -= 1
        last = max(last, gap[older])
        for i in range(n):
            if merged_into[i] == i and partner[i] == merged:
                partner[i], gap[i] = find_partner(vertices, n, i, merged_into, group)


@jit
def keep_pairs(matrix: Floats, ids: Ints) -> None:
    """Move the rows and columns in `ids` (ascending) to the front of a square matrix."""
    m = ids.shape[0]
    for a in range(m):
        source, target = matrix[ids[a]], matrix[a]
        for b in range(m):
            target[b] = source[ids[b]]


class CoverArrays(NamedTuple):
    """Vertices without a graph in order of age; only the first n entries are in use.

    The closest pair of all is among the first neighbors. When the first neighbor of a vertex has
    merged away, the next takes its place as soon as the pair matters. When all have, the last
    distance is a lower bound, and the vertex is measured again only if a decision depends on it.
    """

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
            gap = measure_distance(x, cover.points[j])
            if gap < distances[i, -1]:
                insert_neighbor(nearest[i], distances[i], j, gap)
        vertex, gap = nearest[i, 0], distances[i, 0]
        if gap == 0.0 or gap < radius:
            cover.examples[vertex] += 1
            cover.reach[vertex] = max(cover.reach[vertex], gap)
            for p in range(x.shape[0]):
                cover.means[vertex, p] += (x[p] - cover.means[vertex, p]) / cover.examples[vertex]
            continue
        cover.points[n] = x
        cover.means[n] = x
        cover.examples[n] = 1
        cover.reach[n] = 0.0
        cover.neighbor_ids[n] = nearest[i]
        cover.neighbor_distances[n] = distances[i]
        cover.neighbor_bound[n] = distances[i, -1]
        n += 1
        if n == cover.points.shape[0]:
            return i + 1, n
    return rows.shape[0], n


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
def merge_listed_pairs(
    cover: CoverArrays, n: int, merged_into: Ints, rule: MergeRule, last: float
) -> tuple[int, float]:
    """Merge closest pairs while `is_merge_due`; return how it ended and the largest distance.

    If the next pair must be measured, it stops; call it again with the returned distance.
    """
    n_left = np.sum(merged_into[:n] == np.arange(n))
    while True:
        younger = find_next_pair(cover, n, merged_into)
        if younger < 0:
            return MERGED, last
        gap, older = cover.neighbor_distances[younger, 0], cover.neighbor_ids[younger, 0]
        if not is_merge_due(rule, gap, last, n_left):
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
