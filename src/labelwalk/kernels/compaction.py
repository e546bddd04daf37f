"""Fewer vertices: move what is kept to the front, in place."""

from __future__ import annotations

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.jit import compiled


@compiled
def keep_pairs(matrix: Floats, kept: Ints) -> None:
    """Move the rows and columns in `kept` (ascending) to the front of a square matrix."""
    m = kept.shape[0]
    for a in range(m):
        source, target = matrix[kept[a]], matrix[a]
        for b in range(m):
            target[b] = source[kept[b]]
