"""A cover without a graph: rows join or found, and closest pairs merge where there are too many.

Of all distances between vertices each vertex knows a few, those to its nearest older ones: the
closest pair of all is among the first of these. Where one of them has gone, the next takes its
place when it matters; where all have, the last distance is a lower bound until somebody measures
anew, and as long as nothing depends on it nobody does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.cover import nearer_to_all
from labelwalk.kernels.screened import NOBODY, distance, insert

STALE = -2  # in place of the first mate: all have gone, and the gap is a lower bound
SETTLED, TO_MEASURE = range(2)  # how merging ended


class Members(NamedTuple):
    """Arrays over vertices in order of age; only the first n entries are in use."""

    points: Floats  # (capacity, features) founders
    means: Floats  # (capacity, features) of the examples each stands for
    examples: Ints  # how many those are
    reach: Floats  # bound on the distance of a founder to any of them
    mates: Ints  # (capacity, few) the nearest older vertices, nearest first, then NOBODY
    gaps: Floats  # (capacity, few) how far they are
    beyond: Floats  # no older vertex that is not among these is nearer


@compiled
def take(
    members: Members, n: int, rows: Floats, nearest: Ints, distances: Floats, radius: float
) -> tuple[int, int]:
    """Let rows join or found; return how many have, and how many vertices there are.

    `nearest` and `distances` are the nearest few of the vertices there were; those that are founded
    in the meantime take their places among them. It stops where there is no room left.
    """
    before = n
    for i in range(rows.shape[0]):
        x = rows[i]
        for j in range(before, n):
            apart = distance(x, members.points[j])
            if apart < distances[i, -1]:
                insert(nearest[i], distances[i], j, apart)
        apart = distances[i, 0]
        if apart == 0.0 or apart < radius:
            join(members, nearest[i, 0], x, apart)
            continue
        found(members, n, x, nearest[i], distances[i])
        n += 1
        if n == members.points.shape[0]:
            return i + 1, n
    return rows.shape[0], n


@compiled
def join(members: Members, i: int, x: Floats, apart: float) -> None:
    """Let vertex i stand for a row too."""
    members.examples[i] += 1
    members.reach[i] = max(members.reach[i], apart)
    for p in range(x.shape[0]):
        members.means[i, p] += (x[p] - members.means[i, p]) / members.examples[i]


@compiled
def found(members: Members, i: int, x: Floats, nearest: Ints, distances: Floats) -> None:
    """Let a row become vertex i, the youngest."""
    members.points[i] = x
    members.means[i] = x
    members.examples[i] = 1
    members.reach[i] = 0.0
    members.mates[i] = nearest
    members.gaps[i] = distances
    members.beyond[i] = distances[-1]


@compiled
def next_pair(members: Members, n: int, heir: Ints) -> int:
    """Return the younger of what may be the closest pair, or NOBODY.

    Of two equal pairs the older one; whoever has to be measured first comes before its equals.
    """
    best, gap, mate = NOBODY, np.inf, NOBODY
    for i in range(n):
        own = members.gaps[i, 0]
        if own <= gap and own < np.inf and heir[i] == i:
            if own < gap or members.mates[i, 0] < mate:
                best, gap, mate = i, own, members.mates[i, 0]
    return best


@compiled
def forget_the_gone(members: Members, i: int, heir: Ints) -> None:
    """Let the first older vertex that is still there be the first in the list of vertex i."""
    mates, gaps = members.mates[i], members.gaps[i]
    left = 0
    for a in range(mates.shape[0]):
        if mates[a] >= 0 and heir[mates[a]] == mates[a]:
            mates[left], gaps[left] = mates[a], gaps[a]
            left += 1
    mates[left:] = NOBODY
    gaps[left:] = np.inf
    if left == 0 and members.beyond[i] < np.inf:
        mates[0], gaps[0] = STALE, members.beyond[i]


@compiled
def adopt(
    members: Members, kept: int, mean: Floats, examples: int, reach: float, gap: float
) -> None:
    """Let a vertex stand for so many examples more, none farther than `reach` from their founder.

    Their founder is `gap` away.
    """
    members.reach[kept] = max(members.reach[kept], gap + reach)
    members.examples[kept] += examples
    share = examples / members.examples[kept]
    for p in range(members.means.shape[1]):
        members.means[kept, p] += share * (mean[p] - members.means[kept, p])


@compiled
def adopt_all(
    members: Members, means: Floats, examples: Ints, reach: Floats, nearest: Ints, gaps: Floats
) -> None:
    """Let vertices stand for what others stand for, each by the one that is nearest."""
    for i in range(examples.shape[0]):
        adopt(members, nearest[i, 0], means[i], examples[i], reach[i], gaps[i, 0])


@compiled
def merge_closest(
    members: Members,
    n: int,
    heir: Ints,
    within: float,
    limit: int,
    aim: int,
    growth: float,
    last: float,
) -> tuple[int, float]:
    """Merge closest pairs in order of distance; return how that ended, and the largest merged.

    On while a pair is closer than `within`, while more than `limit` remain, and then towards `aim`
    as long as the next distance is at most `growth` times the last, which is negative at first.
    Where the next pair has to be measured it stops, and can be called again with what it returned.
    """
    left = 0
    for i in range(n):
        left += heir[i] == i
    while True:
        younger = next_pair(members, n, heir)
        if younger < 0:
            return SETTLED, last
        gap, older = members.gaps[younger, 0], members.mates[younger, 0]
        near = gap < within or gap == within == 0.0
        if not (near or left > limit or (left > aim and 0.0 <= last and gap <= growth * last)):
            return SETTLED, last
        if older == STALE:
            return TO_MEASURE, last
        if heir[older] != older:
            forget_the_gone(members, younger, heir)
            continue
        kept = nearer_to_all(members.reach, members.examples, older, younger, gap)
        gone = older if kept == younger else younger
        adopt(members, kept, members.means[gone], members.examples[gone], members.reach[gone], gap)
        heir[gone] = kept
        left -= 1
        last = max(last, gap)


@compiled
def forget_all_gone(members: Members, n: int, heir: Ints) -> None:
    """Let no list have anybody who has gone."""
    for i in range(n):
        if heir[i] == i and members.mates[i, 0] != STALE:
            forget_the_gone(members, i, heir)
