"""Comparison of a row with all vertices: distances, bandwidths, similarities, outliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.kernels.counters import Counters, KernelParams
from labelwalk.kernels.jit import compiled

ZERO_SIMILARITY_BANDWIDTHS = 39.0  # at so many bandwidths a Gaussian is zero in double precision
FEATURES_PER_BLOCK = 8  # features that are read side by side
MAX_BANDWIDTH_RATIO = 2.0  # typical bandwidths that a vertex judges outliers by at most


class RowComparison(NamedTuple):
    """Room for the current row beside every vertex, and the moments of all rows so far."""

    distances: Floats  # to founders, which decide membership
    row_mean_distances: Floats  # to representatives, which decide similarity
    similarities: Floats
    mean: Floats  # (features) room for a representative
    moments: Floats  # (2, features): running means, summed squared deviations


@compiled
def measure_squared_distances(points: Floats, n: int, x: Floats, out: Floats) -> None:
    """Write the squared Euclidean distance of `x` to the first `n` columns of `points`.

    The loops over vertices vectorise; every sum still adds its features in order, so the result is
    bit for bit that of the plain loop, on every processor. Features that are read side by side do
    not wait for each other where they lie far away in memory.
    """
    together = points.shape[0] - points.shape[0] % FEATURES_PER_BLOCK
    value = np.empty(FEATURES_PER_BLOCK)
    for j in range(n):
        out[j] = 0.0
    for p in range(0, together, FEATURES_PER_BLOCK):
        features = points[p : p + FEATURES_PER_BLOCK]
        value[:] = x[p : p + FEATURES_PER_BLOCK]
        for j in range(n):
            total = out[j]
            for q in range(FEATURES_PER_BLOCK):
                gap = features[q, j] - value[q]
                total += gap * gap
            out[j] = total
    for p in range(together, points.shape[0]):
        feature = points[p]
        for j in range(n):
            gap = feature[j] - x[p]
            out[j] += gap * gap


@compiled
def measure_distances(points: Floats, n: int, x: Floats, out: Floats) -> None:
    """Write the Euclidean distance of `x` to the first `n` columns of `points`."""
    measure_squared_distances(points, n, x, out)
    for j in range(n):
        out[j] = np.sqrt(out[j])


@compiled
def gaussian(distance: float, sigma: float, cut: float) -> float:
    """Return exp(-d^2 / 2 sigma^2), zero past `cut` bandwidths."""
    if distance == 0.0:
        return 1.0
    if sigma == 0.0 or distance > cut * sigma or distance / ZERO_SIMILARITY_BANDWIDTHS > sigma:
        return 0.0
    ratio = distance / sigma
    return np.exp(-0.5 * ratio * ratio)


@compiled
def geometric_mean(one: float, other: float) -> float:
    """Return the geometric mean of two bandwidths, the same bits whichever comes first."""
    low, high = min(one, other), max(one, other)
    return high if low == high else high * np.sqrt(low / high)


@compiled
def gaussian_row(
    distances: Floats, n: int, own: float, bandwidths: Floats, cut: float, out: Floats
) -> None:
    """Write the similarities of a point of bandwidth `own` to others: exp(-d^2 / 2 s_i s_j).

    The first loop vectorises; few distances are left for the second.
    """
    if cut == np.inf:
        out[:n] = 1.0
    else:
        nearly = cut * (1.0 + 1e-9) * np.sqrt(own)
        for j in range(n):
            out[j] = 1.0 if distances[j] <= nearly * np.sqrt(bandwidths[j]) else 0.0
    for j in range(n):
        if out[j] > 0.0 or distances[j] == 0.0:
            out[j] = gaussian(distances[j], geometric_mean(own, bandwidths[j]), cut)


@compiled
def compute_similarities(
    mean_distances: Floats, bandwidths: Floats, n: int, cut: float, w: Floats
) -> None:
    """Write the similarities of all pairs of vertices, 0 on the diagonal."""
    for i in range(n):
        gaussian_row(mean_distances[i], i, bandwidths[i], bandwidths, cut, w[i])
        w[i, i] = 0.0
        for j in range(i):
            w[j, i] = w[i, j]


@compiled
def select_nearest(distances: Floats, n: int, few: int, nearest: Floats) -> int:
    """Write the smallest positive distances in order, at most `few`; return how many."""
    found = 0
    for j in range(n):
        distance = distances[j]
        if distance == 0.0 or (found == few and distance >= nearest[few - 1]):
            continue
        place = min(found, few - 1)
        found = min(found + 1, few)
        while place > 0 and nearest[place - 1] > distance:
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest[place] = distance
    return found


@compiled
def local_distance(distances: Floats, n: int, neighbour: int) -> float:
    """Return the distance to the `neighbour`-th nearest vertex that is not at the same place.

    Where there are fewer, the farthest stands in; 0 where there is none.
    """
    nearest = np.empty(neighbour)
    found = select_nearest(distances, n, neighbour, nearest)
    return nearest[found - 1] if found > 0 else 0.0


@compiled
def local_distances(mean_distances: Floats, n: int, neighbour: int, out: Floats) -> None:
    """Write the local distance of each of the first `n` vertices."""
    for i in range(n):
        out[i] = local_distance(mean_distances[i], n, neighbour)


@compiled
def row_bandwidth(local: float, counters: Counters, rules: KernelParams) -> float:
    """Turn a local distance into a bandwidth."""
    if rules.neighbour == 0:
        return counters.sigma
    return local_bandwidth(local, counters.width, counters.typical, counters.evenness)


@compiled
def local_bandwidth(local: float, width: float, typical: float, evenness: float) -> float:
    """Return the bandwidth where a local distance is drawn towards the typical one."""
    if local == 0.0 or typical == 0.0:
        return width * max(local, typical)
    return width * local * (typical / local) ** evenness


@compiled
def compute_bandwidths(local: Floats, counters: Counters, rules: KernelParams, out: Floats) -> None:
    """Turn the local distances of all vertices into bandwidths."""
    for i in range(local.shape[0]):
        out[i] = row_bandwidth(local[i], counters, rules)


@compiled
def compute_row_similarities(
    bandwidths: Floats, counters: Counters, rules: KernelParams, comparison: RowComparison
) -> float:
    """Write the similarities of the row to all vertices; return its own bandwidth."""
    local = 0.0
    if rules.neighbour > 0:
        local = local_distance(comparison.row_mean_distances, counters.n, rules.neighbour)
    own = row_bandwidth(local, counters, rules)
    gaussian_row(
        comparison.row_mean_distances,
        counters.n,
        own,
        bandwidths,
        rules.cut,
        comparison.similarities,
    )
    return own


@compiled
def is_outlier(
    bandwidths: Floats, counters: Counters, rules: KernelParams, comparison: RowComparison
) -> bool:
    """Say whether no vertex is similar to the row at all (section 5.2 of the paper).

    A vertex among sparse ones is lenient, but within bounds: else one far away would let in all
    that is far.
    """
    if counters.n == 0 or counters.n_seen <= rules.warm_up:
        return False
    far = max(rules.cut, rules.outlier_distance / counters.width)
    for j in range(counters.n):
        bandwidth = min(max(bandwidths[j], counters.sigma), MAX_BANDWIDTH_RATIO * counters.sigma)
        if bandwidth == 0.0 or comparison.row_mean_distances[j] <= far * bandwidth:
            return False
    return True
