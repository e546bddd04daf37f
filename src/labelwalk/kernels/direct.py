"""The matrix that the direct solution factorises."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.jit import compiled


@compiled
def write_symmetric(w: Floats, v: Floats, free: Ints, escape: Floats, matrix: Floats) -> None:
    """Write V^½ M V^-½ over some vertices, of weights v, from which walks escape to all others.

    Each similarity is read once; whole matrices made on the way would take several times as long.
    """
    root, degree = np.sqrt(v), np.zeros(v.shape[0])
    for a in range(v.shape[0]):
        similar, row, own = w[free[a]], matrix[a], degree[a]
        for b in range(v.shape[0]):
            row[b] = similar[free[b]]
        for b in range(v.shape[0]):
            degree[b] += v[a] * row[b]
            row[b] = -(root[a] * row[b] * root[b])
        degree[a] = own  # a vertex is no neighbour of its own
    for a in range(v.shape[0]):
        matrix[a, a] = degree[a] + escape[a]
