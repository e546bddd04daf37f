"""A row beside every vertex."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner
from labelwalk.kernels.compare import measure_distances
from labelwalk.solver.harmonic import solve


@given(st.integers(1, 40), st.integers(0, 20), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_distances_have_the_bits_of_a_plain_loop(d: int, n: int, spare: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, x = rng.normal(size=(d, n + spare)), rng.normal(size=d)
    found = np.full(n + spare, np.nan)
    measure_distances(points, n, x, found)
    for j in range(n):
        total = 0.0
        for p in range(d):
            gap = points[p, j] - x[p]
            total += gap * gap
        assert found[j] == np.sqrt(total)
    assert np.isnan(found[n:]).all()


def test_representatives_are_compared_once_they_have_left_their_founders() -> None:
    learner = OnlineLearner(n_centroids=2, similarity=Gaussian(20.0), tolerance=0.0)
    learner.teach([[0.0], [100.0]], ["low", "high"])
    learner.observe([[10.0], [90.0]])
    assert not learner.vertices.reach.any()
    learner.observe([[20.0], [16.0], [14.0], [18.0]])  # one vertex takes them all in
    table = learner.vertices
    moved = int(np.argmax(table.count))
    assert table.reach[moved] > 0.0
    assert table.means[moved] != table.points[moved]
    said = learner.predict([45.0]).probabilities
    for centres, same in ((table.means, True), (table.points, False)):
        flow = np.exp(-0.5 * ((centres[:, 0] - 45.0) / 20.0) ** 2) * table.weight
        expected = flow @ table.probabilities / (flow.sum() + learner.graph.sink[0])
        assert np.allclose(said, expected, atol=1e-3) == same


def test_the_graph_is_the_one_that_is_solved() -> None:
    learner = OnlineLearner(n_centroids=20, similarity=Gaussian(1.0), tolerance=0.0)
    rows = np.random.default_rng(0).normal(size=(60, 2))
    learner.teach(rows[:4], ["a", "b", "a", "b"])
    learner.observe(rows[4:])
    graph, table = learner.graph, learner.vertices
    labelled = np.array([label is not None for label in graph.label])
    one_hot = np.array([[label == name for name in learner.classes] for label in graph.label])
    f = solve(graph.similarity, labelled, one_hot, weights=graph.weight, sink=graph.sink)
    np.testing.assert_allclose(f[~labelled], table.probabilities[~labelled], atol=1e-9)
    assert np.array_equal(graph.count, table.count)
    graph.similarity[:] = 0.0  # a copy
    assert learner.graph.similarity.any()
