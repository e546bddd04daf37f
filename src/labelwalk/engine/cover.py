"""Incremental k-centers: at most k vertices represent all examples (section 3.2).

Each vertex carries `reach`, a proven bound on its distance to any example that it represents. The
functions here change the arrays of `Vertices` in place.
"""

import math
from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Ints
from labelwalk.engine.state import FIELDS
from labelwalk.kernels import cover as kernels
from labelwalk.kernels.assign import REMOVED
from labelwalk.kernels.counters import Counters
from labelwalk.kernels.cover import ABSORBING, UNLABELLED, MergeRule, Vertices, keep_pairs
from labelwalk.settings import Settings

NO_DISTANCE = -1.0  # no pair is closer
MAX_GROWTHS = 10_000  # products that R takes to pass a gap; all of them from 1.15 on
TARGET_SHARE = 0.9  # just-enough coarsening goes on towards this share of k, to have some room


class VertexRemap(NamedTuple):
    """New indices of vertices after some have merged or were removed."""

    kept: Ints  # the old number of each vertex that is left
    merged_into: Ints  # the new number of the vertex that stands for each old one, or REMOVED


def coarsen(vertices: Vertices, counters: Counters, settings: Settings) -> VertexRemap:
    """Merge vertices until at most k unlabelled ones remain.

    "doubling" is Figure 1 with three corrections: R starts at the smallest positive distance, grows
    until the vertices fit, and does so within the step. "just-enough" merges as few closest pairs
    as possible, in order of distance, and R is the largest merged distance.
    """
    assert settings.n_centroids is not None
    merged_into = np.arange(counters.n)
    absorb, growth = settings.labelled == "absorb", float(settings.growth)
    if settings.coarsening == "doubling":
        if counters.radius == 0.0:
            counters.radius = kernels.find_smallest_positive_distance(vertices, counters.n)
        left = counters.n_unlabelled
        while left > settings.n_centroids:
            # where R is so small that a product rounds back to it, the next larger number
            counters.radius = max(growth * counters.radius, np.nextafter(counters.radius, np.inf))
            left = kernels.repartition(vertices, counters.n, merged_into, counters.radius, absorb)
            if left > settings.n_centroids:
                gap = kernels.find_smallest_gap(vertices, counters.n, merged_into, absorb)
                counters.radius = grow_radius(counters.radius, growth, gap)
    else:
        group = ABSORBING if absorb else UNLABELLED
        limit = settings.n_centroids
        aim = math.ceil(TARGET_SHARE * limit)
        rule = MergeRule(NO_DISTANCE, limit, aim, growth)
        last = kernels.merge_closest(vertices, counters.n, merged_into, group, rule)
        counters.radius = max(counters.radius, last)
    return compact(vertices, counters, merged_into)


def grow_radius(radius: float, growth: float, gap: float) -> float:
    """Multiply `radius` by `growth` while it is at most `gap`, below which nothing merges.

    If `growth` is so close to 1 that this takes too many steps, return `gap` itself.

    Examples
    --------
    >>> grow_radius(1.0, 2.0, gap=9.0), grow_radius(1.0, 1 + 1e-9, gap=9.0)
    (8.0, 9.0)
    """
    for _ in range(MAX_GROWTHS):
        if growth * radius > gap:
            return radius
        radius *= growth
    return max(radius, gap)


def trim_labels(vertices: Vertices, counters: Counters, label: int, budget: int) -> VertexRemap:
    """Merge closest labelled vertices of a class until at most `labels_per_class` remain."""
    merged_into = np.arange(counters.n)
    rule = MergeRule(NO_DISTANCE, budget, budget, 1.0)
    kernels.merge_closest(vertices, counters.n, merged_into, label, rule)
    return compact(vertices, counters, merged_into)


def merge_covers(
    vertices: Vertices, counters: Counters, settings: Settings, n_classes: int
) -> VertexRemap:
    """Give the union of two covers one radius, and reduce it to the maximum numbers.

    `counters.radius` is the larger of the two radii. Closest pairs merge while they are closer than
    that, or while there are too many vertices.
    """
    merged_into = np.arange(counters.n)
    limit = counters.n if settings.n_centroids is None else settings.n_centroids
    rule = MergeRule(float(counters.radius), limit, limit, 1.0)
    last = kernels.merge_closest(vertices, counters.n, merged_into, UNLABELLED, rule)
    budget = settings.labels_per_class
    rule = MergeRule(0.0, budget, budget, 1.0)
    for label in range(n_classes):
        kernels.merge_closest(vertices, counters.n, merged_into, label, rule)
    counters.radius = max(counters.radius, last)
    return compact(vertices, counters, merged_into)


def compact(vertices: Vertices, counters: Counters, merged_into: Ints) -> VertexRemap:
    """Remove merged vertices from the arrays; the others stay in order of age."""
    kept = np.flatnonzero(merged_into == np.arange(len(merged_into)))
    place = np.empty(len(merged_into), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    while np.any(merged_into[merged_into] != merged_into):
        merged_into = merged_into[merged_into]
    _keep(vertices, counters, kept)
    kernels.remeasure_moved(vertices, counters.n)
    return VertexRemap(kept, place[merged_into])


def remove_from_cover(vertices: Vertices, counters: Counters, gone: Ints) -> VertexRemap:
    """Remove vertices and the examples that they represent; others do not change."""
    kept = np.setdiff1d(np.arange(counters.n), gone)
    merged_into = np.full(counters.n, REMOVED, dtype=np.int64)
    merged_into[kept] = np.arange(len(kept))
    counters.n_removed += int(vertices.examples[gone].sum())
    _keep(vertices, counters, kept)
    return VertexRemap(kept, merged_into)


def _keep(vertices: Vertices, counters: Counters, kept: Ints) -> None:
    m = len(kept)
    for name, array in vertices._asdict().items():
        if FIELDS[Vertices][name].shape == "vv":
            keep_pairs(array, kept)
        else:
            array[..., :m] = array[..., kept]
    free = vertices.label[:m] == UNLABELLED
    counters.n = m
    counters.n_unlabelled = int(free.sum())
    counters.n_absorbed = int(vertices.examples[:m][free].sum())
