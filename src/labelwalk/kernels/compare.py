"""Comparison of a row with all vertices: distances, bandwidths, similarities, outliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.kernels.counters import Counters, KernelParams
from labelwalk.kernels.jit import jit

ZERO_SIMILARITY_BANDWIDTHS = 39.0  # beyond, a Gaussian is zero in double precision
FEATURES_PER_BLOCK = 8  # read together
MAX_BANDWIDTH_RATIO = 2.0  # of a vertex to the typical one, in the outlier test


class RowComparison(NamedTuple):
    """Work arrays for the current row, and the moments of all rows so far."""

    distances: Floats  # from the row to founders, for membership
    row_mean_distances: Floats  # from the row to representatives, for similarity
    similarities: Floats
    mean: Floats  # (features) of one vertex
    moments: Floats  # (2, features) running means and summed squared deviations


@jit
def measure_squared_distances(points: Floats, n: int, x: Floats, out: Floats) -> None:
    """Write the squared Euclidean distance of `x` to the first `n` columns of `points`.

    The loops over vertices are vectorized. Each sum adds its features in order, so the result is
    bit for bit that of the plain loop on every processor. Features are read in blocks, so that
    memory latency is paid once per block.
    """
    n_blocked = points.shape[0] - points.shape[0] % FEATURES_PER_BLOCK
    value = np.empty(FEATURES_PER_BLOCK)
    for j in range(n):
        out[j] = 0.0
    for p in range(0, n_blocked, FEATURES_PER_BLOCK):
        features = points[p : p + FEATURES_PER_BLOCK]
        value[:] = x[p : p + FEATURES_PER_BLOCK]
        for j in range(n):
            total = out[j]
            for q in range(FEATURES_PER_BLOCK):
                gap = features[q, j] - value[q]
                total += gap * gap
            out[j] = total
    for p in range(n_blocked, points.shape[0]):
        feature = points[p]
        for j in range(n):
            gap = feature[j] - x[p]
            out[j] += gap * gap


@jit
def measure_distances(points: Floats, n: int, x: Floats, out: Floats) -> None:
    """Write the Euclidean distance of `x` to the first `n` columns of `points`."""
    measure_squared_distances(points, n, x, out)
    for j in range(n):
        out[j] = np.sqrt(out[j])


@jit
def gaussian(distance: float, sigma: float, cut: float) -> float:
    """Return exp(-d^2 / 2 sigma^2), and zero beyond `cut` bandwidths."""
    if distance == 0.0:
        return 1.0
    if sigma == 0.0 or distance > cut * sigma or distance / ZERO_SIMILARITY_BANDWIDTHS > sigma:
        return 0.0
    ratio = distance / sigma
    return np.exp(-0.5 * ratio * ratio)


@jit
def geometric_mean(a: float, b: float) -> float:
    """Return the geometric mean of two bandwidths; their order changes no bit."""
    low, high = min(a, b), max(a, b)
    return high if low == high else high * np.sqrt(low / high)


@jit
def gaussian_row(
    distances: Floats, n: int, bandwidth: float, bandwidths: Floats, cut: float, out: Floats
) -> None:
    """Write the similarities exp(-d^2 / 2 s_i s_j) of a point to others.

    The first loop is vectorized; few distances are left for the second.
    """
    if cut == np.inf:
        out[:n] = 1.0
    else:
        limit = cut * (1.0 + 1e-9) * np.sqrt(bandwidth)
        for j in range(n):
            out[j] = 1.0 if distances[j] <= limit * np.sqrt(bandwidths[j]) else 0.0
    for j in range(n):
        if out[j] > 0.0 or distances[j] == 0.0:
            out[j] = gaussian(distances[j], geometric_mean(bandwidth, bandwidths[j]), cut)


@jit
def compute_similarities(
    mean_distances: Floats, bandwidths: Floats, n: int, cut: float, w: Floats
) -> None:
    """Write the similarities of all pairs of vertices, 0 on the diagonal."""
    for i in range(n):
        gaussian_row(mean_distances[i], i, bandwidths[i], bandwidths, cut, w[i])
        w[i, i] = 0.0
        for j in range(i):
            w[j, i] = w[i, j]


@jit
def select_nearest(distances: Floats, n: int, max_count: int, nearest: Floats) -> int:
    """Write the smallest positive distances in order, at most `max_count`; return their number."""
    count = 0
    for j in range(n):
        distance = distances[j]
        if distance == 0.0 or (count == max_count and distance >= nearest[max_count - 1]):
            continue
        place = min(count, max_count - 1)
        count = min(count + 1, max_count)
        while place > 0 and nearest[place - 1] > distance:
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest[place] = distance
    return count


@jit
def local_distance(distances: Floats, n: int, neighbour: int) -> float:
    """Return the distance to the `neighbour`-th nearest vertex at another position.

    If there are fewer, it is the distance to the farthest; 0 if there is none.
    """
    nearest = np.empty(neighbour)
    count = select_nearest(distances, n, neighbour, nearest)
    return nearest[count - 1] if count > 0 else 0.0


@jit
def local_distances(mean_distances: Floats, n: int, neighbour: int, out: Floats) -> None:
    """Write the local distance of each of the first `n` vertices."""
    for i in range(n):
        out[i] = local_distance(mean_distances[i], n, neighbour)


@jit
def row_bandwidth(local: float, counters: Counters, params: KernelParams) -> float:
    """Turn a local distance into a bandwidth."""
    if params.neighbour == 0:
        return counters.sigma
    return local_bandwidth(local, counters.width, counters.typical, counters.evenness)


@jit
def local_bandwidth(local: float, width: float, typical: float, evenness: float) -> float:
    """Return the bandwidth of a local distance, which is shrunk towards the typical one."""
    if local == 0.0 or typical == 0.0:
        return width * max(local, typical)
    return width * local * (typical / local) ** evenness


@jit
def compute_bandwidths(
    local: Floats, counters: Counters, params: KernelParams, out: Floats
) -> None:
    """Turn the local distances of all vertices into bandwidths."""
    for i in range(local.shape[0]):
        out[i] = row_bandwidth(local[i], counters, params)


@jit
def compute_row_similarities(
    bandwidths: Floats, counters: Counters, params: KernelParams, comparison: RowComparison
) -> float:
    """Write the similarities of the row to all vertices; return its own bandwidth."""
    local = 0.0
    if params.neighbour > 0:
        local = local_distance(comparison.row_mean_distances, counters.n, params.neighbour)
    bandwidth = row_bandwidth(local, counters, params)
    gaussian_row(
        comparison.row_mean_distances,
        counters.n,
        bandwidth,
        bandwidths,
        params.cut,
        comparison.similarities,
    )
    return bandwidth


@jit
def is_outlier(
    bandwidths: Floats, counters: Counters, params: KernelParams, comparison: RowComparison
) -> bool:
    """Return whether the row is similar to no vertex (section 5.2 of the paper).

    The bandwidth of a vertex among sparse ones is larger, but limited: otherwise one distant vertex
    would accept every distant row.
    """
    if counters.n == 0 or counters.n_seen <= params.warm_up:
        return False
    limit = max(params.cut, params.outlier_distance / counters.width)
    for j in range(counters.n):
        bandwidth = min(max(bandwidths[j], counters.sigma), MAX_BANDWIDTH_RATIO * counters.sigma)
        if bandwidth == 0.0 or comparison.row_mean_distances[j] <= limit * bandwidth:
            return False
    return True
