"""The width of the Gaussian where it is measured from the stream rather than given."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.kernels import compare
from labelwalk.kernels.counters import NEVER, Counters, KernelParams
from labelwalk.kernels.cover import Vertices
from labelwalk.similarity import (
    COVER_FRACTION,
    COVER_NEIGHBOUR,
    Gaussian,
    SelfTuning,
    Similarity,
)

KEPT_WITHIN = 1.05  # a cover's bandwidth that has moved less than five percent stays
FEWER = 8  # and is measured again when an eighth more vertices have been founded


def schedule(counters: Counters, similarity: Similarity) -> None:
    """Say from which counts on the bandwidth is measured, or set it where it is given."""
    if isinstance(similarity, SelfTuning):
        counters.measure_at_founded = 2
        counters.width, counters.evenness = similarity.pairs[0]
    elif isinstance(similarity, Gaussian):
        if similarity.bandwidth == "scale":
            counters.measure_at_seen = 2
        elif similarity.bandwidth == "cover":
            counters.measure_at_founded = 2
        else:
            counters.sigma = float(similarity.bandwidth)


def measure(
    counters: Counters,
    similarity: Similarity,
    rules: KernelParams,
    vertices: Vertices,
    moments: Floats,
) -> bool:
    """Measure all bandwidths and say when to do so next; return whether any has changed."""
    before = vertices.bandwidth[: counters.n].copy()
    if counters.measure_at_founded != NEVER:
        counters.measure_at_founded = counters.n_founded + max(1, counters.n // FEWER)
    if isinstance(similarity, SelfTuning):
        _measure_each(counters, rules, vertices)
    elif isinstance(similarity, Gaussian):
        _measure_one(counters, similarity, vertices, moments)
        vertices.bandwidth[: counters.n] = counters.sigma
    return bool(np.any(vertices.bandwidth[: counters.n] != before))


def _measure_one(
    counters: Counters, similarity: Gaussian, vertices: Vertices, moments: Floats
) -> None:
    if similarity.bandwidth == "scale":
        counters.sigma = from_features(moments, counters.n_moments)
        counters.measure_at_seen = (
            2 * counters.n_seen if counters.sigma > 0 else counters.n_seen + 1
        )
    elif similarity.bandwidth == "cover":
        sigma = COVER_FRACTION * typical(local_distances(vertices, counters.n, COVER_NEIGHBOUR))
        if not counters.sigma / KEPT_WITHIN <= sigma <= counters.sigma * KEPT_WITHIN:
            counters.sigma = sigma


def _measure_each(counters: Counters, rules: KernelParams, vertices: Vertices) -> None:
    local = local_distances(vertices, counters.n, rules.neighbour)
    counters.typical = typical(local)
    counters.sigma = counters.width * counters.typical
    compare.own_bandwidths(local, counters, rules, vertices.bandwidth)


def from_features(moments: Floats, n_seen: int) -> float:
    """Return σ with 2σ² = 2ps²: p features, s the mean of their standard deviations (5.1)."""
    deviations = np.sqrt(moments[1] / n_seen)
    return float(np.sqrt(len(deviations)) * deviations.mean())


def local_distances(vertices: Vertices, n: int, neighbour: int) -> Floats:
    """Return the distance of each representative to one of its nearest at another place.

    Where there are fewer, the farthest stands in; 0 where there is none.
    """
    local = np.empty(n)
    compare.local_distances(vertices.mean_distances, n, neighbour, local)
    return local


def typical(local: Floats) -> float:
    """Return the median of the local distances that are not zero; 0 where all are."""
    positive = local[local > 0]
    return float(np.median(positive)) if len(positive) else 0.0


def measure_soon(counters: Counters) -> None:
    """Have bandwidths that follow the cover measured before the next answer."""
    if counters.measure_at_founded != NEVER:
        counters.measure_at_founded = counters.n_founded
