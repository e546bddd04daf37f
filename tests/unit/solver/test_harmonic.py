"""Theorems of sections 2 to 4 of the paper about the exact solution, as tests."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwalk.arrays import Bools, Floats
from labelwalk.solver.harmonic import (
    laplacian,
    sink_probability,
    solve,
    solve_normalised,
    solve_soft,
)
from tests.support.small_graphs import Graph, bare, chain, graphs, mask


def plain_laplacian(w: Floats) -> Floats:
    return np.diag(bare(w).sum(axis=1)) - bare(w)


def normalised_laplacian(w: Floats) -> Floats:
    """I - D^-1/2 W D^-1/2, entry by entry, no self loops."""
    n = len(w)
    degree = [sum(w[i, j] for j in range(n) if j != i) for i in range(n)]
    L = np.eye(n)
    for i in range(n):
        for j in range(n):
            if i != j and w[i, j] > 0:
                L[i, j] = -w[i, j] / np.sqrt(degree[i] * degree[j])
    return L


def clamped_minimum(K: Floats, labelled: Bools, y: Floats) -> Floats:
    """Minimum of f'Kf with f = y at labelled vertices."""
    f = np.where(labelled[:, None], y, 0.0)
    u, l = ~labelled, labelled
    f[u] = np.linalg.solve(K[np.ix_(u, u)], -K[np.ix_(u, l)] @ y[l])
    return f


def exact(w: Floats, labelled: Bools, y: Floats, v: Floats, sink: float) -> Floats:
    """The row form in rational numbers: no rounding at all."""
    free = np.flatnonzero(~labelled)
    W = [[Fraction(x) for x in row] for row in w.tolist()]
    V, n = [Fraction(x) for x in v.tolist()], len(w)
    rows = []
    for i in free:
        degree = sum((W[i][j] * V[j] for j in range(n) if j != i), Fraction(0))
        left = [degree + Fraction(sink) if i == j else -W[i][j] * V[j] for j in free]
        right = [
            sum((W[i][j] * V[j] * Fraction(y[j, c]) for j in np.flatnonzero(labelled)), Fraction(0))
            for c in range(y.shape[1])
        ]
        rows.append(left + right)
    for p in range(len(rows)):
        rows[p] = [x / rows[p][p] for x in rows[p]]
        for q in range(len(rows)):
            if q != p:
                rows[q] = [a - rows[q][p] * b for a, b in zip(rows[q], rows[p], strict=True)]
    f = np.where(labelled[:, None], y, 0.0)
    for i, row in zip(free, rows, strict=True):
        f[i] = [float(x) for x in row[len(free) :]]
    return f


class TestHandExamples:
    def test_between_two_labels(self) -> None:
        y = np.array([[1.0, 0], [0, 0], [0, 1]])
        f = solve(chain(3), mask(3, 0, 2), y, sink=1.0)
        np.testing.assert_allclose(f, [[1.0, 0.0], [1 / 3, 1 / 3], [0.0, 1.0]], rtol=1e-15)
        np.testing.assert_allclose(sink_probability(f), [0, 1 / 3, 0], atol=1e-15)

    def test_confidence_falls_with_every_hop(self) -> None:
        f = solve(chain(3), mask(3, 0), np.array([[1.0], [0], [0]]), sink=1.0)
        np.testing.assert_allclose(f[:, 0], [1, 2 / 5, 1 / 5], rtol=1e-15)

    def test_weight_and_sink_of_each_vertex(self) -> None:
        y = np.array([[1.0, 0], [0, 0], [0, 1]])
        f = solve(chain(3), mask(3, 0, 2), y, weights=[2, 5, 3], sink=[9, 5, 9])
        np.testing.assert_allclose(f[1], [2 / 10, 3 / 10], rtol=1e-15)

    def test_a_walk_that_starts_in_the_middle_of_signs(self) -> None:
        y = np.array([[1.0], [0], [-1]])
        f = solve(chain(3, np.array([3.0, 1.0])), mask(3, 0, 2), y, sink=4.0)
        np.testing.assert_allclose(f[:, 0], [1, 1 / 4, -1])

    def test_nothing_labelled_everything_labelled_nothing_at_all(self) -> None:
        y = np.eye(3)
        assert not solve(chain(3), mask(3), y, sink=1.0).any()
        np.testing.assert_array_equal(solve(chain(3), mask(3, 0, 1, 2), y, sink=1.0), y)
        empty = solve(np.zeros((0, 0)), mask(0), np.zeros((0, 2)), sink=1.0)
        assert empty.shape == (0, 2)

    def test_unused_rows_may_hold_anything(self) -> None:
        y = np.array([[1.0], [np.nan], [np.inf]])
        f = solve(chain(3), mask(3, 0), y, sink=1.0)
        np.testing.assert_allclose(f[:, 0], [1, 2 / 5, 1 / 5])

    def test_arguments_are_left_alone(self) -> None:
        w, y = chain(3) + np.eye(3), np.eye(3)
        w_before, y_before = w.copy(), y.copy()
        for method in (solve, solve_normalised):
            method(w, mask(3, 0), y, weights=[1, 2, 3], sink=0.1)
        solve_soft(w, mask(3, 0), y, c_u=0.1, sink=0.1)
        laplacian(w, [1, 2, 3], normalised=True)
        np.testing.assert_array_equal(w, w_before)
        np.testing.assert_array_equal(y, y_before)


class TestHardConstraints:
    @given(graphs(), st.sampled_from([1e-3, 0.1, 2.0]))
    def test_plain_graph_is_equation_3(self, graph: Graph, sink: float) -> None:
        w, labelled, y = graph
        K = plain_laplacian(w) + sink * np.eye(len(w))
        expected = clamped_minimum(K, labelled, y)
        np.testing.assert_allclose(solve(w, labelled, y, sink=sink), expected, atol=1e-10)

    @given(graphs(most=6), st.data())
    def test_compact_equals_full(self, graph: Graph, data: st.DataObject) -> None:
        """Proposition 1: weight v = v copies."""
        w, labelled, y = graph
        n = len(w)
        v = np.array(data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)))
        copies = np.repeat(np.arange(n), v)
        compact = solve(w, labelled, y, weights=v, sink=0.05)
        K = plain_laplacian(w[np.ix_(copies, copies)]) + 0.05 * np.eye(len(copies))
        full = clamped_minimum(K, labelled[copies], y[copies])
        np.testing.assert_allclose(compact[copies], full, atol=1e-8)

    @given(graphs(dense=True))
    def test_no_sink_is_the_plain_harmonic_solution(self, graph: Graph) -> None:
        w, labelled, y = graph
        if not labelled.any():
            labelled[0] = True
        expected = clamped_minimum(plain_laplacian(w), labelled, y)
        f = solve(w, labelled, y, sink=1e-12)
        np.testing.assert_allclose(f, expected, atol=1e-8)
        inner = bare(w) @ f / bare(w).sum(axis=1, keepdims=True).clip(1e-300)
        np.testing.assert_allclose(f[~labelled], inner[~labelled], atol=1e-8)

    @given(graphs())
    def test_a_huge_sink_leaves_the_vote_of_the_labelled(self, graph: Graph) -> None:
        w, labelled, y = graph
        v = np.linspace(1.0, 4.0, len(w))
        vote = w[:, labelled] @ (v[:, None] * y)[labelled]
        f = solve(w, labelled, y, weights=v, sink=1e9)
        np.testing.assert_allclose(1e9 * f[~labelled], vote[~labelled], rtol=1e-6, atol=1e-6)

    @given(graphs(), st.floats(1e-9, 1e6))
    def test_probabilities(self, graph: Graph, sink: float) -> None:
        w, labelled, y = graph
        f = solve(w, labelled, y, sink=sink)
        lost = sink_probability(f)
        assert (f >= 0).all()
        assert ((lost >= 0) & (lost <= 1)).all()
        np.testing.assert_allclose(f.sum(axis=1) + lost, 1.0, atol=1e-12)

    @given(graphs(), st.floats(1e-6, 1e3), st.floats(1.01, 100))
    def test_raising_the_sink_lowers_every_class(
        self, graph: Graph, sink: float, factor: float
    ) -> None:
        w, labelled, y = graph
        before = solve(w, labelled, y, sink=sink)
        after = solve(w, labelled, y, sink=sink * factor)
        assert (after <= before * (1 + 1e-9)).all()
        one = np.full(len(w), sink)
        one[~labelled] *= np.where(np.arange((~labelled).sum()) == 0, factor, 1.0)
        assert (solve(w, labelled, y, sink=one) <= before * (1 + 1e-9)).all()

    @given(graphs())
    def test_a_component_without_labels_is_exactly_0(self, graph: Graph) -> None:
        w, labelled, y = graph
        n = len(w)
        both = np.zeros((2 * n, 2 * n))
        both[:n, :n], both[n:, n:] = w, w
        twice = np.concatenate([labelled, np.zeros(n, np.bool_)])
        f = solve(both, twice, np.vstack([y, y]), sink=1e-9)
        np.testing.assert_array_equal(f[n:], 0.0)
        np.testing.assert_allclose(f[:n], solve(w, labelled, y, sink=1e-9), rtol=1e-9)

    @given(graphs(), st.floats(1e-3, 1e3))
    def test_only_ratios_of_weights_and_sinks_matter(self, graph: Graph, unit: float) -> None:
        w, labelled, y = graph
        v = np.linspace(1.0, 4.0, len(w))
        f = solve(w, labelled, y, weights=v, sink=0.1)
        scaled = solve(w, labelled, y, weights=unit * v, sink=unit * 0.1)
        np.testing.assert_allclose(scaled, f, rtol=1e-9, atol=1e-15)

    @given(graphs(), st.data())
    def test_order_of_vertices_does_not_matter(self, graph: Graph, data: st.DataObject) -> None:
        w, labelled, y = graph
        order = np.array(data.draw(st.permutations(range(len(w)))))
        f = solve(w, labelled, y, sink=0.1)
        moved = solve(w[np.ix_(order, order)], labelled[order], y[order], sink=0.1)
        np.testing.assert_allclose(moved, f[order], rtol=1e-10, atol=1e-15)


class TestExtremes:
    @settings(max_examples=60)
    @given(graphs(most=6), st.data())
    def test_any_scale_against_rational_numbers(self, graph: Graph, data: st.DataObject) -> None:
        w, labelled, y = graph
        n = len(w)
        scales = st.lists(st.sampled_from([1.0, 3.0, 1e6, 1e12]), min_size=n, max_size=n)
        v = np.array(data.draw(scales))
        sink = data.draw(st.sampled_from([1e-12, 1e-6, 1.0, 1e12]))
        faint = data.draw(st.sampled_from([1.0, 1e-8, 1e-20]))
        w = np.where(np.triu(np.ones((n, n))) + np.eye(n) > 0, w, w * faint)
        w = np.minimum(w, w.T)
        f = solve(w, labelled, y, weights=v, sink=sink)
        np.testing.assert_allclose(f, exact(w, labelled, y, v, sink), rtol=1e-9, atol=0)

    def test_a_label_of_weight_1_among_1e12(self) -> None:
        """d + sink = d in floating point, and still the sink takes its exact share."""
        v = np.array([1.0, 1e12, 1e12, 1.0])
        w = np.ones((4, 4))
        y = np.array([[1.0, 0], [0, 0], [0, 0], [0, 1]])
        f = solve(w, mask(4, 0, 3), y, weights=v, sink=2.0)
        np.testing.assert_allclose(f[1:3], 0.25, rtol=1e-12)
        np.testing.assert_allclose(sink_probability(f)[1:3], 0.5, rtol=1e-12)

    @pytest.mark.parametrize("n", [3, 40, 200])
    def test_a_long_chain_at_weight_1e12(self, n: int) -> None:
        y = np.zeros((n, 2))
        y[0, 0] = y[-1, 1] = 1.0
        f = solve(chain(n), mask(n, 0, n - 1), y, weights=np.full(n, 1e12), sink=1e-12)
        np.testing.assert_allclose(f[:, 0], np.linspace(1, 0, n), rtol=1e-10, atol=1e-300)

    def test_solution_far_below_rounding_keeps_its_digits(self) -> None:
        w = chain(4, np.array([1e-150, 1.0, 1e-150]))
        f = solve(w, mask(4, 0), np.array([[1.0], [0], [0], [0]]), sink=1.0)
        # two vertices in a walk that ends mostly in the sink: 1e-150 * (2/3, 1/3), then on
        np.testing.assert_allclose(f[1:, 0], [2e-150 / 3, 1e-150 / 3, 1e-300 / 3], rtol=1e-12)


class TestSoftConstraints:
    @given(graphs(), st.booleans(), st.integers(0, 4))
    def test_is_equation_7(self, graph: Graph, normalised: bool, columns: int) -> None:
        w, labelled, _ = graph
        n = len(w)
        targets = np.linspace(-1, 1, n * columns).reshape(n, columns)
        y = np.where(labelled[:, None], targets, 0.0)
        L = normalised_laplacian(w) if normalised else plain_laplacian(w)
        C_inverse = np.diag(1 / np.where(labelled, 1.0, 0.02))
        K = L + 0.3 * np.eye(n)
        expected = np.linalg.solve(C_inverse @ K + np.eye(n), y)
        f = solve_soft(w, labelled, targets, c_l=1.0, c_u=0.02, sink=0.3, normalised=normalised)
        np.testing.assert_allclose(f, expected, atol=1e-9)

    @given(graphs(most=5), st.booleans(), st.data())
    def test_compact_equals_full(self, graph: Graph, normalised: bool, data: st.DataObject) -> None:
        w, labelled, y = graph
        n = len(w)
        v = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
        copies = np.repeat(np.arange(n), v)
        compact = solve_soft(w, labelled, y, c_u=0.1, sink=0.2, weights=v, normalised=normalised)
        full = solve_soft(
            w[np.ix_(copies, copies)],
            labelled[copies],
            y[copies],
            c_u=0.1,
            sink=0.2,
            normalised=normalised,
        )
        np.testing.assert_allclose(compact[copies], full, atol=1e-8)

    @given(graphs())
    def test_hard_constraints_are_the_limit(self, graph: Graph) -> None:
        w, labelled, y = graph
        soft = solve_soft(w, labelled, y, c_l=1e12, c_u=1e-12, sink=0.1)
        np.testing.assert_allclose(soft, solve(w, labelled, y, sink=0.1), atol=1e-8)


class TestNormalised:
    @given(graphs(), st.sampled_from([0.01, 0.5]))
    def test_plain_graph(self, graph: Graph, sink: float) -> None:
        w, labelled, y = graph
        K = normalised_laplacian(w) + sink * np.eye(len(w))
        expected = clamped_minimum(K, labelled, y)
        f = solve_normalised(w, labelled, y, sink=sink)
        np.testing.assert_allclose(f, expected, atol=1e-8)

    @given(graphs(most=6), st.data(), st.sampled_from([1.0, 0.4]))
    def test_compact_equals_full(self, graph: Graph, data: st.DataObject, itself: float) -> None:
        w, labelled, y = graph
        n = len(w)
        np.fill_diagonal(w, itself)
        v = np.array(data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)))
        copies = np.repeat(np.arange(n), v)
        compact = solve_normalised(w, labelled, y, weights=v, sink=0.1)
        K = normalised_laplacian(w[np.ix_(copies, copies)]) + 0.1 * np.eye(len(copies))
        full = clamped_minimum(K, labelled[copies], y[copies])
        np.testing.assert_allclose(compact[copies], full, atol=1e-8)

    def test_forgetting_the_inner_edges_would_show(self) -> None:
        w, y = chain(3), np.array([[1.0], [0], [0]])
        kept = solve_normalised(w + np.eye(3), mask(3, 0), y, weights=[1, 4, 1], sink=0.1)
        forgotten = solve_normalised(w, mask(3, 0), y, weights=[1, 4, 1], sink=0.1)
        assert abs(kept - forgotten).max() > 0.05


class TestLaplacian:
    @given(graphs(), st.booleans())
    def test_plain_graph(self, graph: Graph, normalised: bool) -> None:
        w, _, _ = graph
        expected = normalised_laplacian(w) if normalised else plain_laplacian(w)
        np.testing.assert_allclose(laplacian(w, normalised=normalised), expected, atol=1e-12)

    @given(graphs(most=6), st.booleans(), st.data())
    def test_weighted_vertices_are_copies(
        self, graph: Graph, normalised: bool, data: st.DataObject
    ) -> None:
        w, _, _ = graph
        n = len(w)
        v = np.array(data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)))
        copies = np.repeat(np.arange(n), v)
        E = np.eye(n)[copies]
        whole = normalised_laplacian if normalised else plain_laplacian
        expected = E.T @ whole(w[np.ix_(copies, copies)]) @ E
        np.testing.assert_allclose(laplacian(w, v, normalised), expected, atol=1e-10)

    @given(graphs(), st.booleans())
    def test_solutions_minimise_it(self, graph: Graph, normalised: bool) -> None:
        w, labelled, y = graph
        v = np.arange(1.0, len(w) + 1)
        K = laplacian(w, v, normalised) + 0.2 * np.diag(v)
        method = solve_normalised if normalised else solve
        f = method(w, labelled, y, weights=v, sink=0.2)
        np.testing.assert_allclose((K @ f)[~labelled], 0.0, atol=1e-9)


class TestBugsSeenElsewhere:
    def test_the_sink_is_weighted_like_the_vertices(self) -> None:
        y = np.array([[1.0], [0.0]])
        f = solve(chain(2), mask(2, 0), y, weights=[1, 10], sink=1.0)
        assert f[1, 0] == pytest.approx(1 / 2)  # gamma I would give 10 / (10 + 1)
        K = laplacian(chain(2), [1, 10])
        right = clamped_minimum(K + np.diag([1.0, 10.0]), mask(2, 0), y)
        wrong = clamped_minimum(K + np.eye(2), mask(2, 0), y)
        np.testing.assert_allclose(f, right)
        assert abs(wrong - right).max() > 0.4

    def test_a_boolean_mask_is_no_set_of_indices(self) -> None:
        """`i in mask` finds 0 and 1 in [True, False]: labelled vertices were overwritten."""
        n, y = 6, np.eye(6)
        is_labelled = mask(n, 3, 5)
        f = solve(chain(n), is_labelled, y, sink=0.1)
        np.testing.assert_array_equal(f[[3, 5]], y[[3, 5]])
        assert not f[:, [0, 1, 2, 4]].any()
        assert (f[[0, 1, 2], 3] > 0).all()
        with pytest.raises(
            ValueError, match=r"is_labelled has dtype int64.*mask\[indices\] = True"
        ):
            solve(chain(n), np.array([3, 5]), y, sink=0.1)
        with pytest.raises(ValueError, match="is_labelled has dtype int64"):
            solve(chain(n), is_labelled.astype(np.int64), y, sink=0.1)

    def test_no_pseudo_inverse_hides_a_component_without_labels(self) -> None:
        w = np.zeros((4, 4))
        w[:2, :2], w[2:, 2:] = chain(2), chain(2)
        f = solve(w, mask(4, 0), np.array([[1.0, 0]] * 4), sink=1e-9)
        np.testing.assert_array_equal(f[2:], 0.0)
        np.testing.assert_array_equal(sink_probability(f)[2:], 1.0)
        with pytest.raises(ValueError, match="sink"):
            solve(w, mask(4, 0), np.ones((4, 1)), sink=0.0)

    def test_the_regularised_matrix_is_the_one_that_is_used(self) -> None:
        y = np.array([[1.0], [0.0], [0.0]])
        with_sink, without = (solve(chain(3), mask(3, 0), y, sink=s) for s in (1.0, 1e-12))
        assert (without[1:] - with_sink[1:] > 0.5).all()
