"""A row beside every vertex."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.kernels.comparison import squared_distances


@given(st.integers(1, 13), st.integers(0, 20), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_distances_have_the_bits_of_a_plain_loop(d: int, n: int, spare: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, x = rng.normal(size=(d, n + spare)), rng.normal(size=d)
    found = np.full(n + spare, np.nan)
    squared_distances(points, n, x, found)
    for j in range(n):
        total = 0.0
        for p in range(d):
            gap = points[p, j] - x[p]
            total += gap * gap
        assert found[j] == total
    assert np.isnan(found[n:]).all()
