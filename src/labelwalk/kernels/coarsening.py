"""Too many vertices: who joins whom. Each function fills `heir` (who stands for vertex i now)."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.cover import UNLABELLED, Vertices, join, nearer_to_all
from labelwalk.kernels.jit import compiled


@compiled
def smallest_positive_distance(vertices: Vertices, n: int) -> float:
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
def may_take(vertices: Vertices, i: int, j: int, absorb: bool) -> bool:
    """Say whether vertex j may take in the unlabelled vertex i, by age and label."""
    return j < i if vertices.label[j] == UNLABELLED else absorb


@compiled
def smallest_gap(vertices: Vertices, n: int, heir: Ints, absorb: bool) -> float:
    """Return the smallest distance at which `repartition` could merge two vertices that stay."""
    smallest = np.inf
    for i in range(n):
        for j in range(n if vertices.label[i] == UNLABELLED and heir[i] == i else 0):
            if heir[j] == j and may_take(vertices, i, j, absorb):
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
            stays = heir[j] == j and may_take(vertices, i, j, absorb)
            if stays and vertices.distance[i, j] < shortest:
                taker, shortest = j, vertices.distance[i, j]
        if taker < 0:
            kept += 1
        else:
            join(vertices, i, taker)
            heir[i] = taker
    return kept


@compiled
def partner(vertices: Vertices, n: int, i: int, heir: Ints, group: int) -> tuple[int, float]:
    """Return the nearest other vertex that may merge with i (the older one in a tie)."""
    chosen, shortest = -1, np.inf
    for j in range(n):
        if j != i and heir[j] == j and vertices.distance[i, j] < shortest:
            if mergeable(vertices.label[i], vertices.label[j], group):
                chosen, shortest = j, vertices.distance[i, j]
    return chosen, shortest


ABSORBING = -2  # a group: unlabelled vertices among themselves, or into labelled ones


@compiled
def mergeable(a: int, b: int, group: int) -> bool:
    """Say whether vertices labelled a and b may merge: both in `group`, or as ABSORBING has it."""
    if group == ABSORBING:
        return a == UNLABELLED or b == UNLABELLED
    return a == group and b == group


@compiled
def survivor(vertices: Vertices, older: int, younger: int) -> int:
    """Of two vertices, return the one that stands for both with the smaller reach."""
    labels = vertices.label
    if labels[older] != labels[younger]:
        return younger if labels[older] == UNLABELLED else older
    gap = vertices.distance[older, younger]
    return nearer_to_all(vertices.reach, vertices.examples, older, younger, gap)


@compiled
def closest_pair(n: int, heir: Ints, mate: SmallInts, gap: Floats) -> tuple[int, int]:
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
            mate[i], gap[i] = partner(vertices, n, i, heir, group)
        left += heir[i] == i and vertices.label[i] == members
    last = -1.0
    while True:
        older, younger = closest_pair(n, heir, mate, gap)
        if older < 0:
            return last
        shortest = gap[older]
        near = shortest < within or shortest == within == 0.0
        if not (near or left > limit or (left > aim and 0.0 <= last and shortest <= m * last)):
            return last
        heir_of_both = survivor(vertices, older, younger)
        gone = older if heir_of_both == younger else younger
        join(vertices, gone, heir_of_both)
        heir[gone] = heir_of_both
        left -= 1
        last = max(last, shortest)
        for i in range(n):
            if heir[i] == i and mate[i] == gone:
                mate[i], gap[i] = partner(vertices, n, i, heir, group)
