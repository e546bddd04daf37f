"""Comparison of a row with all vertices: distances, bandwidths, similarities, outliers."""

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints
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
def measure_distances(points: Floats, n: int, x: Floats, out: Floats) -> None:
    """Write the Euclidean distance of `x` to the first `n` columns of `points`.

    The loops over vertices are vectorized, features are read in blocks to save memory latency, and
    each sum adds them in order, so the result has the bits of the plain loop on every processor.
    """
    n_blocked = points.shape[0] - points.shape[0] % FEATURES_PER_BLOCK
    value = np.empty(FEATURES_PER_BLOCK)
    out[:n] = 0.0
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
    for j in range(n):
        out[j] = np.sqrt(out[j])


@jit
def measure_distance(x: Floats, y: Floats) -> float:
    """Return the Euclidean distance of two rows, features added in order."""
    total = 0.0
    for p in range(x.shape[0]):
        gap = y[p] - x[p]
        total += gap * gap
    return np.sqrt(total)


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
    """Write the similarities exp(-d^2 / 2 s_i s_j) of a point to others."""
    if cut == np.inf:
        out[:n] = 1.0
    else:
        limit = cut * (1.0 + 1e-9) * np.sqrt(bandwidth)
        for j in range(n):  # vectorized; few distances are left for the next loop
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
def insert_distance(nearest: Floats, distance: float) -> int:
    """Insert a distance, below the last, into a sorted list after its equals; return its place."""
    place = nearest.shape[0] - 1
    while place > 0 and distance < nearest[place - 1]:
        nearest[place] = nearest[place - 1]
        place -= 1
    nearest[place] = distance
    return place


@jit
def insert_neighbor(ids: Ints, nearest: Floats, j: int, distance: float) -> None:
    """Insert point j and its distance, which is below the last, into lists sorted by distance."""
    place = insert_distance(nearest, distance)
    for a in range(ids.shape[0] - 1, place, -1):
        ids[a] = ids[a - 1]
    ids[place] = j


@jit
def find_last_finite(nearest: Floats) -> float:
    """Return the largest finite distance of a sorted list; 0 if there is none."""
    for a in range(nearest.shape[0] - 1, -1, -1):
        if nearest[a] < np.inf:
            return nearest[a]
    return 0.0


@jit
def local_distance(distances: Floats, n: int, neighbour: int) -> float:
    """Return the distance to the `neighbour`-th nearest other position, or else the farthest."""
    nearest = np.full(neighbour, np.inf)
    for j in range(n):
        if 0.0 < distances[j] < nearest[neighbour - 1]:
            insert_distance(nearest, distances[j])
    return find_last_finite(nearest)


@jit
def local_distances(mean_distances: Floats, n: int, neighbour: int) -> Floats:
    """Return the local distance of each of the first `n` vertices."""
    local = np.empty(n)
    for i in range(n):
        local[i] = local_distance(mean_distances[i], n, neighbour)
    return local


@jit
def local_bandwidth(local: float, width: float, typical: float, evenness: float) -> float:
    """Return the bandwidth of a local distance, which is shrunk towards the typical one."""
    if local == 0.0 or typical == 0.0:
        return width * max(local, typical)
    return width * local * (typical / local) ** evenness


@jit
def compute_bandwidths(local: Floats, counters: Counters, out: Floats) -> None:
    """Turn the local distances of all vertices into bandwidths."""
    for i in range(local.shape[0]):
        out[i] = local_bandwidth(local[i], counters.width, counters.typical, counters.evenness)


@jit
def compute_row_similarities(
    bandwidths: Floats, counters: Counters, params: KernelParams, comparison: RowComparison
) -> float:
    """Write the similarities of the row to all vertices; return its own bandwidth."""
    n, distances, bandwidth = counters.n, comparison.row_mean_distances, counters.sigma
    if params.neighbour > 0:
        local = local_distance(distances, n, params.neighbour)
        bandwidth = local_bandwidth(local, counters.width, counters.typical, counters.evenness)
    gaussian_row(distances, n, bandwidth, bandwidths, params.cut, comparison.similarities)
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
