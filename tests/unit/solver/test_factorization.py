"""The factorised row form solves what it says, for any right-hand side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.solver.linear_system import as_graph, factorise_graph
from tests.support.small_graphs import Graph, bare, chain, graphs, mask


@given(graphs(), st.integers(0, 2**32 - 1))
def test_solves_its_row_form(graph: Graph, seed: int) -> None:
    w, labelled, _ = graph
    n = len(w)
    rng = np.random.default_rng(seed)
    v, sink, b = rng.uniform(1, 5, n), rng.uniform(0.1, 1, n), rng.normal(size=(n, 4))
    f = factorise_graph(as_graph(w, labelled, v, sink)).solve(b)
    M = np.diag(bare(w) @ v + sink) - bare(w) * v
    u = ~labelled
    np.testing.assert_allclose(M[np.ix_(u, u)] @ f[u], b[u], atol=1e-9)
    np.testing.assert_array_equal(f[labelled], 0.0)


@given(graphs(), st.sampled_from([1e-12, 1e-6, 0.1]))
def test_covers_components_without_labels(graph: Graph, sink: float) -> None:
    w, _, _ = graph
    system = factorise_graph(as_graph(w, mask(len(w)), np.full(len(w), 1e6), sink))
    h = system.solve(np.ones((len(w), 1)))
    np.testing.assert_allclose(h, 1 / sink, rtol=1e-9)


def test_a_hopeless_component_does_not_spoil_the_others() -> None:
    w = np.zeros((5, 5))
    w[:3, :3], w[3:, 3:] = chain(3), chain(2)
    sink = np.array([1.0, 1.0, 1.0, 1e-13, 1e-13])
    system = factorise_graph(as_graph(w, mask(5, 0), np.array([1.0, 1, 1, 1e12, 1e12]), sink))
    f = system.solve(np.array([[9.0], [1], [0], [1], [1]]))
    np.testing.assert_allclose(f[:, 0], [0, 2 / 5, 1 / 5, 1e13, 1e13], rtol=1e-12)


def test_one_factorisation_many_sides() -> None:
    system = factorise_graph(as_graph(chain(4), mask(4, 0), None, 0.1))
    b = np.arange(12.0).reshape(4, 3)
    columns = [system.solve(b[:, [c]]) for c in range(3)]
    np.testing.assert_allclose(np.hstack(columns), system.solve(b), rtol=1e-14)
    assert system.solve(np.zeros((4, 0))).shape == (4, 0)


def test_is_frozen_and_independent_of_its_arguments() -> None:
    w, v = chain(3), np.ones(3)
    system = factorise_graph(as_graph(w, mask(3, 0), v, 0.1))
    before = system.solve(np.ones((3, 1)))
    w[:], v[:] = 7.0, 7.0
    np.testing.assert_array_equal(system.solve(np.ones((3, 1))), before)
    with pytest.raises(AttributeError):
        system.n_vertices = 3  # type: ignore[misc]


def test_is_never_negative_where_the_right_hand_side_is_not() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2))
    points[150:] += 100.0
    w = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2))
    v = 10.0 ** rng.uniform(0, 6, 300)
    system = factorise_graph(as_graph(w, mask(300, *range(5)), v, 1e-3))
    np.testing.assert_array_equal(system.short, np.arange(5, 150))
    np.testing.assert_array_equal(system.long, np.arange(150, 300))
    f = system.solve(np.eye(300))
    assert (f >= 0).all()
    assert not f[:150, 150:].any()
    assert not f[150:, :150].any()


def test_walks_may_be_as_long_as_one_can_bear() -> None:
    graph = as_graph(chain(40), mask(40), None, 1e-7)  # of some twenty million steps
    strict, lenient = factorise_graph(graph), factorise_graph(graph, long_walk=1e9)
    assert (len(strict.long), len(lenient.long)) == (40, 0)
    np.testing.assert_allclose(lenient.solve(np.eye(40)), strict.solve(np.eye(40)), rtol=1e-6)
