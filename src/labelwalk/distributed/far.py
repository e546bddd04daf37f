"""Which vertices are too far from all others, and stand for too few rows, to be believed.

Distances are in units of the typical distance of neighbours among the densest rows. Enough rows
close together are believed wherever they are, as in the quarantine of a learner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.distributed.cover import Cover
from labelwalk.engine.screen import PrefilterIndex

SUPPORT = 5  # rows close together that are believed
CLOSE, FAR = 8.0, 32.0  # typical distances: of such rows, and past which others are not believed
SHARE = 1 / 16  # of the rows, the densest, whose distances are typical while more are to come
SAMPLE = 1024  # vertices that are measured to know what is typical


def split_far(covers: Sequence[Cover], share: float) -> tuple[list[Cover], list[Cover]]:
    """Return what covers have of near vertices, and of far ones, without those left empty.

    Far are those of a cover so coarse that they may stand for rows far apart, and those that are
    far from all that have `SUPPORT` rows close to them; but never all. `share` is that of the
    densest rows, whose distances are typical.

    Examples
    --------
    >>> points = np.append(np.arange(7.0), 5e4)[:, None]
    >>> cover = Cover(points, points, np.ones(8, dtype=np.int64), np.zeros(8), 0.0)
    >>> [[len(cover) for cover in some] for some in split_far([cover], share=0.5)]
    [[7], [1]]
    """
    points = np.concatenate([cover.points for cover in covers])
    examples = np.concatenate([cover.examples for cover in covers])
    radius = np.concatenate([np.full(len(cover), cover.radius) for cover in covers])
    screen = PrefilterIndex(*points.shape)
    screen.put(0, points)
    some = np.arange(0, len(points), -(-len(points) // SAMPLE))
    gaps = screen.nearest(points[some], points, SUPPORT + 1)[1]
    local = np.where(np.isfinite(gaps), gaps, 0.0).max(axis=1)
    unit = typical(np.maximum(local, radius[some]), examples[some], share)
    far = radius > FAR * unit
    light = np.flatnonzero(~far & (examples < SUPPORT))
    nearest, gaps = screen.nearest(points[light], points, SUPPORT)
    rows = np.where(gaps <= CLOSE * unit, np.where(far, 1, examples)[nearest], 0).sum(axis=1)
    light = light[rows < SUPPORT]
    screen.remove(np.flatnonzero(far))
    screen.remove(light)
    far[light] = screen.nearest(points[light], points, 1)[1][:, 0] > FAR * unit
    if far.all() or not far.any():
        return list(covers), []
    masks = np.split(far, np.cumsum([len(cover) for cover in covers])[:-1])
    both = [list(map(_some_of, covers, some)) for some in ([~mask for mask in masks], masks)]
    near, rest = ([cover for cover in some if len(cover)] for some in both)
    return near, rest


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


def _some_of(cover: Cover, some: Bools) -> Cover:
    columns = {
        name: getattr(cover, name)[some] for name in ("points", "means", "examples", "reach")
    }
    return replace(cover, **columns)
