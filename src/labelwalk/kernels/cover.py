"""The cover: vertices that represent rows, and merging of vertices.

Functions that merge vertices fill `merged_into`, which maps each vertex to the one that represents
it; a vertex that stays is mapped to itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.compare import RowComparison, measure_distances
from labelwalk.kernels.counters import Counters
from labelwalk.kernels.jit import jit

UNLABELLED = -1
ABSORBING = -2  # a group: unlabelled vertices merge with each other and into labelled ones


class Vertices(NamedTuple):
    """Arrays over vertices in order of age; only the first n entries are in use."""

    points: Floats  # (features, capacity) founders; feature-major, so that distances are vectorized
    distance: Floats  # (capacity, capacity) between founders
    means: (
        Floats  # (features, capacity) moving representatives; (0, capacity) if founders represent
    )
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
    """Measure the distances of a row to founders and representatives.

    Both are the same up to rounding while no vertex represents different examples.
    """
    measure_distances(vertices.points, counters.n, x, comparison.distances)
    if vertices.means.shape[0] > 0 and vertices.reach[: counters.n].any():
        measure_distances(vertices.means, counters.n, x, comparison.row_mean_distances)
    else:
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
def find_same_point(vertices: Vertices, n: int, distances: Floats, label: int) -> int:
    """Return the vertex of this class at distance zero, or -1."""
    for j in range(n):
        if vertices.label[j] == label and distances[j] == 0.0:
            return j
    return -1


@jit
def has_contradiction(vertices: Vertices, n: int, distances: Floats, label: int) -> bool:
    """Return whether a label of another class was taught at distance zero."""
    for j in range(n):
        if vertices.label[j] not in (label, UNLABELLED) and distances[j] == 0.0:
            return True
    return False


@jit
def append_vertex(
    vertices: Vertices, i: int, x: Floats, row: RowComparison, label: int, number: int
) -> None:
    """Make the example `x` of this number the youngest vertex, i."""
    for p in range(x.shape[0]):
        vertices.points[p, i] = x[p]
    for p in range(vertices.means.shape[0]):
        vertices.means[p, i] = x[p]
    for j in range(i):
        vertices.distance[i, j] = row.distances[j]
        vertices.distance[j, i] = row.distances[j]
        vertices.mean_distances[i, j] = row.row_mean_distances[j]
        vertices.mean_distances[j, i] = row.row_mean_distances[j]
    vertices.distance[i, i] = 0.0
    vertices.mean_distances[i, i] = 0.0
    vertices.examples[i] = 1
    vertices.decayed_count[i] = 1.0
    vertices.similarity_count[i] = 1
    vertices.reach[i] = 0.0
    vertices.label[i] = label
    vertices.taught[i] = label != UNLABELLED
    vertices.founder[i] = number


@jit
def choose_center(reach: Floats, examples: Ints, older: int, younger: int, gap: float) -> int:
    """Return which of two vertices represents both with the smaller reach.

    In a tie it is the one with more examples, and then the older.
    """
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
    n_new = vertices.examples[i] - vertices.similarity_count[i]
    return vertices.means.shape[0] > 0 and 2 * n_new >= min(
        vertices.similarity_count[i], vertices.decayed_count[i]
    )


@jit
def measure_mean_distances(
    vertices: Vertices, n: int, i: int, x: Floats, mean_distances: Floats
) -> None:
    """Remeasure the distances of representative i to all others; the last two are work arrays."""
    for p in range(x.shape[0]):
        x[p] = vertices.means[p, i]
    measure_distances(vertices.means, n, x, mean_distances)
    for j in range(n):
        vertices.mean_distances[i, j] = mean_distances[j]
        vertices.mean_distances[j, i] = mean_distances[j]
    vertices.mean_distances[i, i] = 0.0
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
        for j in range(i):
            if vertices.label[i] == UNLABELLED and vertices.label[j] == UNLABELLED:
                gap = vertices.distance[i, j]
                if 0.0 < gap < smallest:
                    smallest = gap
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
            if are_mergeable(vertices.label[i], vertices.label[j], group):
                chosen, shortest = j, vertices.distance[i, j]
    return chosen, shortest


@jit
def are_mergeable(a: int, b: int, group: int) -> bool:
    """Return whether vertices with labels a and b may merge within a group."""
    if group == ABSORBING:
        return a == UNLABELLED or b == UNLABELLED
    return a == group and b == group


@jit
def choose_survivor(vertices: Vertices, older: int, younger: int) -> int:
    """Return which of two vertices represents both: the labelled one, or that of smaller reach."""
    labels = vertices.label
    if labels[older] != labels[younger]:
        return younger if labels[older] == UNLABELLED else older
    gap = vertices.distance[older, younger]
    return choose_center(vertices.reach, vertices.examples, older, younger, gap)


@jit
def find_closest_pair(
    n: int, merged_into: Ints, partner: SmallInts, gap: Floats
) -> tuple[int, int]:
    """Return the closest pair as (older, younger): the first in order of age in a tie."""
    older, younger = -1, -1
    for i in range(n):
        if merged_into[i] == i and partner[i] > i and (older < 0 or gap[i] < gap[older]):
            older, younger = i, partner[i]
    return older, younger


@jit
def merge_closest(
    vertices: Vertices,
    n: int,
    merged_into: Ints,
    group: int,
    within: float,
    limit: int,
    aim: int,
    m: float,
) -> float:
    """Merge closest pairs of a group in order of distance; return the largest distance merged.

    Continues while a pair is closer than `within` (or at distance 0, if that is 0) or more than
    `limit` remain, and then towards `aim` while the next distance is at most m times the last.
    """
    members = UNLABELLED if group == ABSORBING else group
    partner = np.empty(n, dtype=np.int32)
    gap = np.empty(n)
    n_left = 0
    for i in range(n):
        partner[i], gap[i] = -1, np.inf
        if group == ABSORBING or vertices.label[i] == group:
            partner[i], gap[i] = find_partner(vertices, n, i, merged_into, group)
        n_left += merged_into[i] == i and vertices.label[i] == members
    last = -1.0
    while True:
        older, younger = find_closest_pair(n, merged_into, partner, gap)
        if older < 0:
            return last
        shortest = gap[older]
        is_near = shortest < within or shortest == within == 0.0
        is_for_room = n_left > aim and 0.0 <= last and shortest <= m * last
        if not (is_near or n_left > limit or is_for_room):
            return last
        center = choose_survivor(vertices, older, younger)
        merged = older if center == younger else younger
        join(vertices, merged, center)
        merged_into[merged] = center
        n_left -= 1
        last = max(last, shortest)
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
