"""The width of the Gaussian where it is measured from the stream rather than given."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats, Record
from labelwalk.kernels import comparison
from labelwalk.kernels.cover import Vertices
from labelwalk.kernels.progress import NEVER, Rules
from labelwalk.similarity import (
    COVER_FRACTION,
    COVER_NEIGHBOUR,
    Gaussian,
    SelfTuning,
    Similarity,
)

KEPT_WITHIN = 1.05  # a cover's bandwidth that has moved less than five percent stays
FEWER = 8  # and is measured again when an eighth more vertices have been founded


def schedule(here: Record, similarity: Similarity) -> None:
    """Say from which counts on the bandwidth is measured, or set it where it is given."""
    if isinstance(similarity, SelfTuning):
        here.measure_at_founded = 2
        here.width, here.evenness = similarity.pairs[0]
    elif isinstance(similarity, Gaussian):
        if similarity.bandwidth == "scale":
            here.measure_at_seen = 2
        elif similarity.bandwidth == "cover":
            here.measure_at_founded = 2
        else:
            here.sigma = float(similarity.bandwidth)


def measure(
    here: Record, similarity: Similarity, rules: Rules, vertices: Vertices, moments: Floats
) -> bool:
    """Measure all bandwidths and say when to do so next; return whether any has changed."""
    before = vertices.bandwidth[: here.n].copy()
    if here.measure_at_founded != NEVER:
        here.measure_at_founded = here.n_founded + max(1, here.n // FEWER)
    if isinstance(similarity, SelfTuning):
        _measure_each(here, rules, vertices)
    elif isinstance(similarity, Gaussian):
        _measure_one(here, similarity, vertices, moments)
        vertices.bandwidth[: here.n] = here.sigma
    return bool(np.any(vertices.bandwidth[: here.n] != before))


def _measure_one(here: Record, similarity: Gaussian, vertices: Vertices, moments: Floats) -> None:
    if similarity.bandwidth == "scale":
        here.sigma = from_features(moments, here.n_moments)
        here.measure_at_seen = 2 * here.n_seen if here.sigma > 0 else here.n_seen + 1
    elif similarity.bandwidth == "cover":
        sigma = COVER_FRACTION * typical(local_distances(vertices, here.n, COVER_NEIGHBOUR))
        if not here.sigma / KEPT_WITHIN <= sigma <= here.sigma * KEPT_WITHIN:
            here.sigma = sigma


def _measure_each(here: Record, rules: Rules, vertices: Vertices) -> None:
    local = local_distances(vertices, here.n, rules.neighbour)
    here.typical = typical(local)
    here.sigma = here.width * here.typical
    comparison.own_bandwidths(local, here, rules, vertices.bandwidth)


def from_features(moments: Floats, n_seen: int) -> float:
    """Return σ with 2σ² = 2ps²: p features, s the mean of their standard deviations (5.1)."""
    deviations = np.sqrt(moments[1] / n_seen)
    return float(np.sqrt(len(deviations)) * deviations.mean())


def local_distances(vertices: Vertices, n: int, neighbour: int) -> Floats:
    """Return the distance of each representative to one of its nearest at another place.

    Where there are fewer, the farthest stands in; 0 where there is none.
    """
    local = np.empty(n)
    comparison.local_distances(vertices.apart, n, neighbour, local)
    return local


def typical(local: Floats) -> float:
    """Return the median of the local distances that are not zero; 0 where all are."""
    positive = local[local > 0]
    return float(np.median(positive)) if len(positive) else 0.0


def measure_soon(here: Record) -> None:
    """Have bandwidths that follow the cover measured before the next answer."""
    if here.measure_at_founded != NEVER:
        here.measure_at_founded = here.n_founded
