"""Small graphs with a weight, a sink and a class for every vertex, for tests to draw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.solver.harmonic import solve
from labelwalk.solver.linear_system import Graph
from tests.support.small_graphs import graphs

N_CLASSES = 3


class Drawn(NamedTuple):
    """A graph, the class of each vertex (-1: unlabelled), and the examples it stands for."""

    graph: Graph
    codes: Ints
    counts: Floats

    @property
    def y(self) -> Floats:
        return np.where(self.graph.labelled[:, None], np.eye(N_CLASSES)[self.codes], 0.0)

    @property
    def f(self) -> Floats:
        return harmonic(self.graph, self.y)

    @property
    def labelled(self) -> list[int]:
        return indices(self.graph.labelled)

    @property
    def free(self) -> list[int]:
        return indices(~self.graph.labelled)


@st.composite
def weighted_graphs(draw: st.DrawFn, most: int = 7) -> Drawn:
    """Draw similarities down to 1e-300, isolated vertices, and any share of labels."""
    w, _, _ = draw(graphs(most=most))
    n = len(w)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    faint = np.triu(rng.random((n, n)) < draw(st.sampled_from([0.0, 0.3])), 1)
    faint = faint | faint.T
    powers = 10.0 ** -rng.integers(0, 301, (n, n))
    w = np.where(faint, w * np.minimum(powers, powers.T), w)
    labelled = rng.random(n) < draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))
    v = rng.choice([1.0, 2.0, 3.5, 9.0], n)
    gamma = rng.choice([0.05, 0.5, 3.0], n)
    codes = np.where(labelled, rng.integers(0, N_CLASSES, n), -1)
    return Drawn(Graph(w, v, gamma, labelled), codes, rng.integers(1, 20, n).astype(np.float64))


def harmonic(graph: Graph, y: Floats) -> Floats:
    return solve(graph.w, graph.labelled, y, weights=graph.v, sink=graph.gamma)


def indices(mask: Bools) -> list[int]:
    return [int(i) for i in np.flatnonzero(mask)]
