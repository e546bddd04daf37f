"""The width of the Gaussian where it is measured from the stream rather than given."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats, Record
from labelwalk.kernels.progress import NEVER
from labelwalk.similarity import COVER_FRACTION, NEIGHBOUR, Gaussian, Pairwise

KEPT_WITHIN = 1.05  # a cover's bandwidth that has moved less than five percent stays
FEWER = 8  # and is measured again when an eighth more vertices have been founded


def schedule(here: Record, similarity: Gaussian | Pairwise) -> None:
    """Say from which counts on the bandwidth is measured, or set it where it is given."""
    if isinstance(similarity, Pairwise):
        return
    if similarity.bandwidth == "scale":
        here.measure_at_seen = 2
    elif similarity.bandwidth == "cover":
        here.measure_at_founded = 2
    else:
        here.sigma = float(similarity.bandwidth)
        here.cutoff = similarity.cutoff(here.sigma)


def measure(here: Record, similarity: Gaussian, moments: Floats, distance: Floats) -> bool:
    """Measure the bandwidth and say when to do so next; return whether it has changed."""
    if similarity.bandwidth == "scale":
        sigma = from_features(moments, here.n_seen)
        here.measure_at_seen = 2 * here.n_seen if sigma > 0 else here.n_seen + 1
    elif similarity.bandwidth == "cover":
        sigma = from_cover(distance)
        here.measure_at_founded = here.n_founded + max(1, here.n // FEWER)
        if here.sigma / KEPT_WITHIN <= sigma <= here.sigma * KEPT_WITHIN:
            sigma = here.sigma
    else:
        return False
    changed = bool(sigma != here.sigma)
    here.sigma = sigma
    here.cutoff = similarity.cutoff(sigma) if sigma > 0 else np.inf
    return changed


def from_features(moments: Floats, n_seen: int) -> float:
    """Return σ with 2σ² = 2ps²: p features, s the mean of their standard deviations (5.1)."""
    deviations = np.sqrt(moments[1] / n_seen)
    return float(np.sqrt(len(deviations)) * deviations.mean())


def from_cover(distance: Floats) -> float:
    """Return a fixed fraction of the median distance from a vertex to its fifth nearest one.

    Vertices at distance zero are not counted. Where there are fewer, the farthest stands in.
    """
    last = min(NEIGHBOUR, len(distance)) - 1
    others = np.where(distance > 0, distance, np.inf)
    nearest = np.partition(others, last, axis=1)[:, : last + 1] if last >= 0 else others
    farthest = np.where(np.isfinite(nearest), nearest, 0.0).max(axis=1, initial=0.0)
    farthest = farthest[farthest > 0]
    return COVER_FRACTION * float(np.median(farthest)) if len(farthest) else 0.0


def measure_soon(here: Record) -> None:
    """Have a bandwidth that follows the cover measured before the next answer."""
    if here.measure_at_founded != NEVER:
        here.measure_at_founded = here.n_founded
