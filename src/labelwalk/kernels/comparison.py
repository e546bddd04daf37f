"""A row beside every vertex: distances, similarities, and whether it is like none of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Record
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.progress import Rules

FADED = 39.0  # at so many bandwidths a Gaussian is zero in double precision


class Comparison(NamedTuple):
    """Room for the current row beside every vertex, and the moments of all rows so far."""

    distances: Floats
    similarities: Floats
    moments: Floats  # (2, features): running means, summed squared deviations


@compiled
def squared_distances(points: Floats, n: int, x: Floats, out: Floats) -> None:
    """Write the squared Euclidean distance of `x` to the first `n` columns of `points`.

    The inner loop runs over vertices and vectorises; every sum still adds its features in order,
    so the result is bit for bit that of the plain loop, on every processor.
    """
    for j in range(n):
        out[j] = 0.0
    for p in range(points.shape[0]):
        feature = points[p]
        value = x[p]
        for j in range(n):
            gap = feature[j] - value
            out[j] += gap * gap


@compiled
def distances_to(points: Floats, n: int, x: Floats, out: Floats) -> None:
    """Write the Euclidean distance of `x` to the first `n` columns of `points`."""
    squared_distances(points, n, x, out)
    for j in range(n):
        out[j] = np.sqrt(out[j])


@compiled
def gaussian(distance: float, sigma: float, cutoff: float) -> float:
    """Return exp(-d^2 / 2 sigma^2), zero past the cutoff."""
    if distance == 0.0:
        return 1.0
    if distance > cutoff or sigma == 0.0 or distance / FADED > sigma:
        return 0.0
    ratio = distance / sigma
    return np.exp(-0.5 * ratio * ratio)


@compiled
def gaussian_matrix(distance: Floats, n: int, sigma: float, cutoff: float, out: Floats) -> None:
    """Write the similarities of all pairs of vertices, 0 on the diagonal."""
    for i in range(n):
        out[i, i] = 0.0
        for j in range(i):
            out[i, j] = gaussian(distance[i, j], sigma, cutoff)
            out[j, i] = out[i, j]


@compiled
def is_outlier(here: Record, rules: Rules, beside: Comparison) -> bool:
    """Say whether no vertex is similar to the row at all (section 5.2 of the paper)."""
    if here.n == 0 or here.n_seen <= rules.warm_up:
        return False
    for j in range(here.n):
        alike = (
            beside.similarities[j] > 0.0
            if rules.own_similarities
            else beside.distances[j] <= here.cutoff
        )
        if alike:
            return False
    return True
