"""The cover: vertices that represent rows, and how many vertices become fewer.

Functions that merge vertices fill `merged_into`, which maps each vertex to the one that represents
it; a vertex that stays is mapped to itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.compare import RowComparison, measure_distances
from labelwalk.kernels.counters import Counters
from labelwalk.kernels.jit import compiled

UNLABELLED = -1
UNKNOWN = -1


class Vertices(NamedTuple):
    """Arrays over vertices in order of age; only the first n entries are in use."""

    points: Floats  # (features, capacity): feature-major, so that distances vectorise over vertices
    distance: Floats  # (capacity, capacity) between these points, the founders
    means: Floats  # (features, capacity) representatives that move; (0, capacity) if founders stay
    mean_distances: Floats  # (capacity, capacity) between representatives, as of the last redrawing
    bandwidth: Floats  # of each representative
    similarity_count: Ints  # examples each stood for when its similarities were last drawn
    examples: Ints  # how many each stands for,
    taught: Ints  # and how many of them came with its label
    decayed_count: Floats  # the examples, each fading with its age
    reach: Floats  # bound on the distance to any of those
    label: SmallInts  # class, or UNLABELLED
    founder: Ints  # the number of the example each was founded on, or UNKNOWN


@compiled
def measure_row(
    vertices: Vertices, counters: Counters, x: Floats, comparison: RowComparison
) -> None:
    """Measure the distances of a row to founders and representatives.

    Until vertices have to stand for examples that differ, both are the same but for rounding.
    """
    measure_distances(vertices.points, counters.n, x, comparison.distances)
    if vertices.means.shape[0] > 0 and vertices.reach[: counters.n].any():
        measure_distances(vertices.means, counters.n, x, comparison.row_mean_distances)
    else:
        comparison.row_mean_distances[: counters.n] = comparison.distances[: counters.n]


@compiled
def find_nearest_vertex(
    vertices: Vertices, n: int, distances: Floats, absorb: bool
) -> tuple[int, float]:
    """Return the nearest vertex that may take an unlabelled example (the older one in a tie)."""
    found, shortest = -1, np.inf
    for j in range(n):
        if distances[j] < shortest and (absorb or vertices.label[j] == UNLABELLED):
            found, shortest = j, distances[j]
    return found, shortest


@compiled
def find_same_point(vertices: Vertices, n: int, distances: Floats, label: int) -> int:
    """Return the vertex of this class at distance zero, or -1."""
    for j in range(n):
        if vertices.label[j] == label and distances[j] == 0.0:
            return j
    return -1


@compiled
def has_contradiction(vertices: Vertices, n: int, distances: Floats, label: int) -> bool:
    """Say whether a label of another class was taught at distance zero."""
    for j in range(n):
        if vertices.label[j] not in (label, UNLABELLED) and distances[j] == 0.0:
            return True
    return False


@compiled
def append_vertex(
    vertices: Vertices, i: int, x: Floats, row: RowComparison, label: int, number: int
) -> None:
    """Let `x`, which came as this number, become vertex i, the youngest."""
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


@compiled
def choose_center(reach: Floats, examples: Ints, older: int, younger: int, gap: float) -> int:
    """Of two vertices at a distance, return the one that stands for both with the smaller reach.

    In a tie the one with more examples, and then the older.
    """
    if_older = max(reach[older], gap + reach[younger])
    if_younger = max(reach[younger], gap + reach[older])
    if if_younger < if_older or (if_younger == if_older and examples[younger] > examples[older]):
        return younger
    return older


@compiled
def join(vertices: Vertices, gone: int, heir: int) -> None:
    """Let `heir` stand for the examples of `gone` too."""
    span = vertices.distance[heir, gone] + vertices.reach[gone]
    vertices.reach[heir] = max(vertices.reach[heir], span)
    vertices.examples[heir] += vertices.examples[gone]
    vertices.taught[heir] += vertices.taught[gone]
    vertices.decayed_count[heir] += vertices.decayed_count[gone]
    share = vertices.decayed_count[gone] / vertices.decayed_count[heir]
    for p in range(vertices.means.shape[0]):
        vertices.means[p, heir] += share * (vertices.means[p, gone] - vertices.means[p, heir])


@compiled
def move_mean(vertices: Vertices, i: int, x: Floats) -> bool:
    """Let the last example of vertex i move its mean; return whether it lay elsewhere."""
    moved = False
    for p in range(vertices.means.shape[0]):
        gap = x[p] - vertices.means[p, i]
        vertices.means[p, i] += gap / vertices.decayed_count[i]
        moved = moved or gap != 0.0
    return moved


@compiled
def remove_example(vertices: Vertices, i: int, x: Floats) -> None:
    """Let vertex i, which stands for others too, stand for `x` no longer."""
    vertices.decayed_count[i] -= vertices.decayed_count[i] / vertices.examples[i]
    vertices.examples[i] -= 1
    vertices.similarity_count[i] = min(vertices.similarity_count[i], vertices.examples[i])
    for p in range(vertices.means.shape[0]):
        vertices.means[p, i] += (vertices.means[p, i] - x[p]) / vertices.examples[i]


@compiled
def has_moved(vertices: Vertices, i: int) -> bool:
    """Say whether half as many examples have come to vertex i as it stood for when drawn.

    Where examples fade, as it stands for now: then old ones hold a mean back no longer.
    """
    more = vertices.examples[i] - vertices.similarity_count[i]
    return vertices.means.shape[0] > 0 and 2 * more >= min(
        vertices.similarity_count[i], vertices.decayed_count[i]
    )


@compiled
def measure_mean_distances(
    vertices: Vertices, n: int, i: int, x: Floats, mean_distances: Floats
) -> None:
    """Measure the distances of representative i to all others anew; `x` and `apart` are room."""
    for p in range(x.shape[0]):
        x[p] = vertices.means[p, i]
    measure_distances(vertices.means, n, x, mean_distances)
    for j in range(n):
        vertices.mean_distances[i, j] = mean_distances[j]
        vertices.mean_distances[j, i] = mean_distances[j]
    vertices.mean_distances[i, i] = 0.0
    vertices.similarity_count[i] = vertices.examples[i]


@compiled
def remeasure_moved(vertices: Vertices, n: int) -> None:
    """Measure the representatives that stand for more examples than when they were drawn."""
    x, mean_distances = np.empty(vertices.means.shape[0]), np.empty(n)
    for i in range(n if vertices.means.shape[0] > 0 else 0):
        if vertices.examples[i] != vertices.similarity_count[i]:
            measure_mean_distances(vertices, n, i, x, mean_distances)


@compiled
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


@compiled
def may_absorb(vertices: Vertices, i: int, j: int, absorb: bool) -> bool:
    """Say whether vertex j may take in the unlabelled vertex i, by age and label."""
    return j < i if vertices.label[j] == UNLABELLED else absorb


@compiled
def find_smallest_gap(vertices: Vertices, n: int, heir: Ints, absorb: bool) -> float:
    """Return the smallest distance at which `repartition` could merge two vertices that stay."""
    smallest = np.inf
    for i in range(n):
        for j in range(n if vertices.label[i] == UNLABELLED and heir[i] == i else 0):
            if heir[j] == j and may_absorb(vertices, i, j, absorb):
                smallest = min(smallest, vertices.distance[i, j])
    return smallest


@compiled
def repartition(vertices: Vertices, n: int, heir: Ints, radius: float, absorb: bool) -> int:
    """Greedily keep vertices no closer than `radius` (Figure 1); return how many unlabelled stay.

    Oldest first; under `absorb` labelled vertices are there before all others and take them in.
    """
    kept = 0
    for i in range(n):
        if vertices.label[i] != UNLABELLED or heir[i] != i:
            continue
        taker, shortest = -1, radius
        for j in range(n):
            stays = heir[j] == j and may_absorb(vertices, i, j, absorb)
            if stays and vertices.distance[i, j] < shortest:
                taker, shortest = j, vertices.distance[i, j]
        if taker < 0:
            kept += 1
        else:
            join(vertices, i, taker)
            heir[i] = taker
    return kept


@compiled
def find_partner(vertices: Vertices, n: int, i: int, heir: Ints, group: int) -> tuple[int, float]:
    """Return the nearest other vertex that may merge with i (the older one in a tie)."""
    chosen, shortest = -1, np.inf
    for j in range(n):
        if j != i and heir[j] == j and vertices.distance[i, j] < shortest:
            if are_mergeable(vertices.label[i], vertices.label[j], group):
                chosen, shortest = j, vertices.distance[i, j]
    return chosen, shortest


ABSORBING = -2  # a group: unlabelled vertices among themselves, or into labelled ones


@compiled
def are_mergeable(a: int, b: int, group: int) -> bool:
    """Say whether vertices labelled a and b may merge: both in `group`, or as ABSORBING has it."""
    if group == ABSORBING:
        return a == UNLABELLED or b == UNLABELLED
    return a == group and b == group


@compiled
def choose_survivor(vertices: Vertices, older: int, younger: int) -> int:
    """Of two vertices, return the one that stands for both with the smaller reach."""
    labels = vertices.label
    if labels[older] != labels[younger]:
        return younger if labels[older] == UNLABELLED else older
    gap = vertices.distance[older, younger]
    return choose_center(vertices.reach, vertices.examples, older, younger, gap)


@compiled
def find_closest_pair(n: int, heir: Ints, mate: SmallInts, gap: Floats) -> tuple[int, int]:
    """Return the closest pair as (older, younger): the first in order of age in a tie."""
    older, younger = -1, -1
    for i in range(n):
        if heir[i] == i and mate[i] > i and (older < 0 or gap[i] < gap[older]):
            older, younger = i, mate[i]
    return older, younger


@compiled
def merge_closest(
    vertices: Vertices,
    n: int,
    heir: Ints,
    group: int,
    within: float,
    limit: int,
    aim: int,
    m: float,
) -> float:
    """Merge closest pairs of a group in order of distance; return the largest distance merged.

    On while a pair is closer than `within` (where that is 0: at distance 0), while more than
    `limit` remain, and then towards `aim` as long as the next distance is at most m times the last.
    """
    members = UNLABELLED if group == ABSORBING else group
    mate = np.empty(n, dtype=np.int32)
    gap = np.empty(n)
    left = 0
    for i in range(n):
        mate[i], gap[i] = -1, np.inf
        if group == ABSORBING or vertices.label[i] == group:
            mate[i], gap[i] = find_partner(vertices, n, i, heir, group)
        left += heir[i] == i and vertices.label[i] == members
    last = -1.0
    while True:
        older, younger = find_closest_pair(n, heir, mate, gap)
        if older < 0:
            return last
        shortest = gap[older]
        near = shortest < within or shortest == within == 0.0
        if not (near or left > limit or (left > aim and 0.0 <= last and shortest <= m * last)):
            return last
        heir_of_both = choose_survivor(vertices, older, younger)
        gone = older if heir_of_both == younger else younger
        join(vertices, gone, heir_of_both)
        heir[gone] = heir_of_both
        left -= 1
        last = max(last, shortest)
        for i in range(n):
            if heir[i] == i and mate[i] == gone:
                mate[i], gap[i] = find_partner(vertices, n, i, heir, group)


@compiled
def keep_pairs(matrix: Floats, kept: Ints) -> None:
    """Move the rows and columns in `kept` (ascending) to the front of a square matrix."""
    m = kept.shape[0]
    for a in range(m):
        source, target = matrix[kept[a]], matrix[a]
        for b in range(m):
            target[b] = source[kept[b]]
