"""Which vertices are too far from all others, and stand for too few rows, to be believed.

Far is what a multiple of the typical distance of neighbours does not reach. What is that far apart
is believed where enough rows are close together, as in the quarantine of a learner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.scale.cover import Cover
from labelwalk.screen import Screen

SUPPORT = 5  # rows close together that are believed wherever they are
FAR = 32.0  # typical distances of neighbours that connect vertices
SHARE = 1 / 8  # of the rows, the densest: their distances are typical while rows are still to come
SAMPLE = 1024  # vertices that are measured to know what is typical


def parted(covers: Sequence[Cover], share: float = SHARE) -> tuple[list[Cover], list[Cover]]:
    """Return what covers have of near vertices, and of far ones, without those left empty.

    Examples
    --------
    >>> points = np.append(np.arange(7.0), 5e4)[:, None]
    >>> cover = Cover(points, points, np.ones(8, dtype=np.int64), np.zeros(8), 0.0)
    >>> [[len(cover) for cover in some] for some in parted([cover])]
    [[7], [1]]
    """
    far = is_far(covers, share)
    if not far.any():
        return list(covers), []
    masks = np.split(far, np.cumsum([len(cover) for cover in covers])[:-1])
    both = [list(map(some_of, covers, some)) for some in ([~mask for mask in masks], masks)]
    near, rest = ([cover for cover in some if len(cover)] for some in both)
    return near, rest


def is_far(covers: Sequence[Cover], share: float = SHARE) -> Bools:
    """Return which vertices are far, all covers after another.

    A vertex is far if its cover is so coarse that it may stand for rows far apart, or if fewer than
    `SUPPORT` rows are close to it and to one another. Where all would be, none is.

    Parameters
    ----------
    covers : sequence of Cover
        Of rows with the same features; none is empty.
    share : float
        Of all rows, the densest, whose distances are typical.
    """
    points = np.concatenate([cover.points for cover in covers])
    examples = np.concatenate([cover.examples for cover in covers])
    radius = np.concatenate([np.full(len(cover), cover.radius) for cover in covers])
    screen = Screen(*points.shape)
    screen.put(0, points)
    some = np.arange(0, len(points), -(-len(points) // SAMPLE))
    known = screen.nearest(points[some], points, SUPPORT + 1)
    local = np.where(np.isfinite(known[1]), known[1], 0.0).max(axis=1)
    limit = FAR * typical(np.maximum(local, radius[some]), examples[some], share)
    far = radius > limit
    light = np.flatnonzero(~far & (examples < SUPPORT))
    if len(some) < len(points):
        known = screen.nearest(points[light], points, SUPPORT + 1)
    else:
        known = known[0][light], known[1][light]
    far[light] = _is_alone(np.where(far, 1, examples), light, *known, limit)
    return far & ~far.all()


def typical(distances: Floats, examples: Ints, share: float) -> float:
    """Return what at least this share of all examples has at most as its distance.

    Examples
    --------
    >>> typical(np.array([9.0, 1.0, 2.0]), np.array([10, 1, 3]), share=0.25)
    2.0
    """
    order = np.argsort(distances, kind="stable")
    counts = np.cumsum(examples[order])
    return float(distances[order[np.searchsorted(counts, share * counts[-1])]])


def _is_alone(examples: Ints, light: Ints, nearest: Ints, gaps: Floats, limit: float) -> Bools:
    """Return which of the light vertices lie in groups of fewer than `SUPPORT` rows.

    Each knows as many neighbours as would make its group large enough, so that no group that is
    found to be small is part of a larger one.
    """
    n = len(examples)
    near = (nearest >= 0) & (gaps <= limit)
    ends = (np.repeat(light, near.sum(axis=1)), nearest[near])
    links = csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    _, group = connected_components(links, directed=False)
    small = np.bincount(group, examples) < SUPPORT
    return np.asarray(small[group[light]])


def some_of(cover: Cover, some: Bools) -> Cover:
    """Return some vertices of a cover."""
    columns = {name: getattr(cover, name)[some] for name in ("points", "means", "examples", "reach")}
    return replace(cover, **columns)
