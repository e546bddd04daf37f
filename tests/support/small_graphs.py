"""Small graphs for tests to draw and to write down."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from labelwalk.arrays import Bools, Floats

Graph = tuple[Floats, Bools, Floats]


@st.composite
def graphs(draw: st.DrawFn, most: int = 9, dense: bool = False) -> Graph:
    """Similarities, mask and one-hot targets; unit self-similarity, often several components."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = rng.normal(size=(n, 2))
    w = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2) / 2)
    if not dense:
        w[w < draw(st.sampled_from([0.0, 0.3, 0.7]))] = 0.0
    labelled = rng.random(n) < draw(st.sampled_from([0.2, 0.5]))
    return w, labelled, np.eye(3)[rng.integers(0, 3, n)]


def bare(w: Floats) -> Floats:
    return w - np.diag(np.diag(w))


def chain(n: int, links: Floats | float = 1.0) -> Floats:
    w = np.zeros((n, n))
    w[np.arange(n - 1), np.arange(1, n)] = links
    return w + w.T


def mask(n: int, *labelled: int) -> Bools:
    is_labelled = np.zeros(n, np.bool_)
    is_labelled[list(labelled)] = True
    return is_labelled
