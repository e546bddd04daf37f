"""Every statement of section 4 on small random graphs, and what fails of it as printed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from labelwalk import OnlineLearner
from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.solver.harmonic import laplacian, solve_soft
from paper.bounds import Bound, Condition, Constants, generalization
from paper.bounds.generalization import (
    fit_exponent,
    printed_beta,
    proposition_3,
    proven_beta,
    transductive_error,
)
from paper.bounds.quantization import (
    bracket_optimum,
    distortion,
    find_nearest,
    gaussian_lipschitz,
    k_centers_law,
    proposition_6,
    proposition_7,
    proposition_7_as_printed,
    quantization_error,
)
from paper.bounds.solutions import (
    largest_value,
    lemma_1,
    lemma_1_as_printed,
    lemma_2,
    lemma_2_as_printed,
    proposition_2,
    proposition_4,
    proposition_4_as_printed,
    proposition_5,
    proposition_5_as_printed,
    solve_online,
)
from tests.reference import bounds as reference
from tests.reference.optimum import optimal_k_center
from tests.support.small_graphs import Graph, chain, graphs, mask

pytestmark = pytest.mark.shell

sinks = st.sampled_from([0.01, 0.1, 0.5, 1.0, 3.0, 20.0])
shares = st.sampled_from([1e-4, 0.01, 0.1, 0.5, 1.0])
seeds = st.integers(0, 2**32 - 1)


class Quantized(NamedTuple):
    """Examples, the representative of each, and the similarities of both."""

    X: Floats
    centres: Floats
    own: Ints
    w: Floats
    w_q: Floats
    bandwidth: float

    @property
    def distortion(self) -> float:
        return float(np.linalg.norm(self.X - self.centres[self.own], axis=1).max())

    @property
    def w_full(self) -> Floats:
        return self.w_q[np.ix_(self.own, self.own)]


def gaussian(X: Floats, bandwidth: float) -> Floats:
    return np.exp(cdist(X, X, "sqeuclidean") / (-2.0 * bandwidth**2))


def quantize(X: Floats, centres: Floats, bandwidth: float = 1.0) -> Quantized:
    own = find_nearest(X, centres)
    w, w_q = gaussian(X, bandwidth), gaussian(centres, bandwidth)
    return Quantized(X, centres, own, w, w_q, bandwidth)


@st.composite
def quantizations(draw: st.DrawFn, most: int = 9) -> Quantized:
    rng = np.random.default_rng(draw(seeds))
    X = rng.normal(size=(draw(st.integers(2, most)), draw(st.integers(1, 3))))
    k = draw(st.integers(1, len(X)))
    return quantize(X, X[rng.permutation(len(X))[:k]], draw(st.sampled_from([0.5, 1.0, 4.0])))


@st.composite
def streams(draw: st.DrawFn) -> tuple[Quantized, Bools, Floats]:
    """A quantized stream with labels of ±1, the true ones for every example."""
    q = draw(quantizations(most=7))
    rng = np.random.default_rng(draw(seeds))
    return q, rng.random(len(q.X)) < 0.4, rng.choice([-1.0, 1.0], (len(q.X), 1))


def softly(w: Floats, labelled: Bools, y: Floats, c_u: float, sink: float, norm: bool) -> Floats:
    return solve_soft(w, labelled, y, c_u=c_u, sink=sink, normalised=norm)


def column(labelled: Bools) -> Floats:
    return labelled[:, None].astype(np.float64)


class TestRecord:
    def test_an_equality_holds_up_to_rounding(self) -> None:
        assert Bound("x", 1.0 + 1e-12, 1.0).holds
        assert not Bound("x", 1.0 + 1e-6, 1.0).holds
        assert Bound("x", 1e-13, 0.0, rounding=1e-12).holds
        assert not Bound("x", 1e-13, 0.0).holds

    def test_what_cannot_be_told_is_no_objection(self) -> None:
        known, unknown, unmet = (Condition("it rains", met) for met in (True, None, False))
        assert Bound("x", 0.0, 1.0, (known, unknown)).covered
        assert not Bound("x", 0.0, 1.0, (known, unmet)).covered


class TestDistortion:
    @given(quantizations())
    def test_examples_are_measured_to_their_own_representative(self, q: Quantized) -> None:
        bound = distortion(q.X, q.centres, q.own, radius=1.0, growth=1.5)
        furthest = max(math.dist(x, q.centres[c]) for x, c in zip(q.X, q.own, strict=True))
        assert bound.left == pytest.approx(furthest)
        assert bound.right == pytest.approx(3.0)
        for x, c in zip(q.X, q.own, strict=True):
            assert math.dist(x, q.centres[c]) <= min(math.dist(x, p) for p in q.centres) + 1e-12

    @pytest.mark.slow
    @given(seeds, st.integers(1, 6), st.sampled_from([1.2, 1.5, 2.0]))
    def test_doubling_keeps_both_laws_and_proposition_6(self, seed: int, k: int, m: float) -> None:
        X = np.random.default_rng(seed).random((25, 2))
        learner = OnlineLearner.paper(n_centroids=k, bandwidth=1.0, growth=m)
        learner.observe(X)
        centres = learner.vertices.points
        own = find_nearest(X, centres)
        assert distortion(X, centres, own, radius=learner.radius, growth=m).holds
        reach = learner.distortion
        assert k_centers_law(reach, bracket_optimum(X, k).high, growth=m).holds
        assert proposition_6(reach, n_centroids=k, dimension=2, side=1.0, growth=m).holds

    @given(seeds, st.integers(1, 3), st.integers(2, 7))
    def test_farthest_first_brackets_the_optimum(self, seed: int, k: int, n: int) -> None:
        X = np.random.default_rng(seed).integers(0, 6, (n, 2)).astype(float)
        low, high = bracket_optimum(X, k)
        best = optimal_k_center(X.tolist(), k)
        assert low <= best + 1e-12
        assert best <= high + 1e-12

    def test_doubling_may_be_twice_the_optimum(self) -> None:
        """Section 3.2 prints 1 + eps; here the first of three examples stays the only centre."""
        X = np.array([[-1.0], [0.0], [1.0]])
        learner = OnlineLearner.paper(n_centroids=1, bandwidth=1.0)
        learner.observe(X)
        bound = distortion(X, learner.vertices.points, [0, 0, 0], radius=learner.radius, growth=1.5)
        assert bound.left == 2.0 * optimal_k_center(X.tolist(), 1)
        assert k_centers_law(bound.left, 1.0, growth=1.5).holds

    def test_a_radius_is_a_bound_and_no_equality(self) -> None:
        """Proposition 6 prints R m / (m - 1) = max distance."""
        learner = OnlineLearner.paper(n_centroids=1, bandwidth=1.0, growth=2.0)
        X = np.array([[0.0], [1.0]])
        learner.observe(X)
        bound = distortion(X, learner.vertices.points, [0, 0], radius=learner.radius, growth=2.0)
        assert bound.left < 0.5 * bound.right

    @pytest.mark.parametrize("dimension", [1, 2, 3])
    def test_the_bound_of_proposition_6_falls_at_its_rate(self, dimension: int) -> None:
        sizes = 10 ** np.arange(dimension + 6, dimension + 10)
        rights = [
            proposition_6(0.0, n_centroids=int(k), dimension=dimension, side=1.0, growth=1.5).right
            for k in sizes
        ]
        assert fit_exponent(sizes, rights) == pytest.approx(-1 / dimension, abs=0.02)


class TestLaplacians:
    @given(quantizations(), st.booleans())
    def test_equals_the_whole_matrices(self, q: Quantized, normalised: bool) -> None:
        error = quantization_error(q.w, q.w_q, q.own, normalised=normalised)
        assert error == pytest.approx(reference.frobenius(q.w_full, q.w, normalised), abs=1e-12)
        whole = reference.as_quantized(q.w_q, q.own.tolist())
        np.testing.assert_array_equal(whole, q.w_full)
        difference = laplacian(whole, normalised=normalised) - laplacian(q.w, normalised=normalised)
        assert error == pytest.approx(float(np.linalg.norm(difference)), abs=1e-12)

    @given(graphs(), seeds, st.booleans())
    def test_any_similarity_with_isolated_examples_too(
        self, graph: Graph, seed: int, normalised: bool
    ) -> None:
        w, *_ = graph
        rng = np.random.default_rng(seed)
        k = int(rng.integers(1, len(w) + 1))
        own = rng.integers(0, k, len(w))
        error = quantization_error(w, w[:k, :k], own, normalised=normalised)
        whole = reference.as_quantized(w[:k, :k], own.tolist())
        assert error == pytest.approx(reference.frobenius(whole, w, normalised), abs=1e-12)

    @given(quantizations(), st.booleans())
    def test_examples_that_represent_themselves_lose_nothing(
        self, q: Quantized, normalised: bool
    ) -> None:
        alone = np.arange(len(q.X))
        assert quantization_error(q.w, q.w, alone, normalised=normalised) == 0.0

    def test_tiny_degrees_keep_their_digits(self) -> None:
        w = np.array([[1.0, 1e-20, 0.0], [1e-20, 1.0, 1e-20], [0.0, 1e-20, 1.0]])
        assert quantization_error(w, w, np.arange(3)) == 0.0
        assert quantization_error(2 * w, w, np.arange(3)) == pytest.approx(0.0, abs=1e-15)

    @given(quantizations())
    def test_proposition_7(self, q: Quantized) -> None:
        M = gaussian_lipschitz(q.bandwidth)
        for normalised in (True, False):
            bound = proposition_7(
                q.w, q.w_q, q.own, distortion=q.distortion, lipschitz=M, normalised=normalised
            )
            assert bound.holds

    @given(quantizations())
    def test_entries_keep_the_corrected_constant(self, q: Quantized) -> None:
        M, n = gaussian_lipschitz(q.bandwidth), len(q.X)
        whole = proposition_7(q.w, q.w_q, q.own, distortion=q.distortion, lipschitz=M)
        c_min = reference.smallest_c(q.w_full, q.w)
        top = max(reference.without_loops(q.w).max(), q.w_full.max())
        assert whole.right == pytest.approx(2 * M * q.distortion / c_min * (1 + top / c_min))
        entries = proposition_7_as_printed(q.w, q.w_q, q.own, distortion=q.distortion, lipschitz=M)
        printed = reference.entry_bound(M, q.distortion, c_min, n)
        assert entries.right == pytest.approx(printed, rel=1e-9)
        assert entries.left <= whole.right / n * (1 + 1e-9) + 1e-12
        assert entries.holds or not entries.covered

    def test_the_printed_entries_fail_where_weights_exceed_twice_the_slope(self) -> None:
        """w = max(0, 1 - M d): a close pair, and others nearly out of sight that come nearer."""
        M, far = 0.01, 95.0
        X = np.array([[0.0], [0.0], *[[far]] * 8, *[[-far]] * 8])
        centres = np.array([[0.0], [far - 1.0], [-far + 1.0]])
        own = np.array([0, 0, *[1] * 8, *[2] * 8])
        w, w_q = (np.maximum(0.0, 1.0 - M * cdist(P, P)) for P in (X, centres))
        printed = proposition_7_as_printed(w, w_q, own, distortion=1.0, lipschitz=M)
        assert not printed.holds
        assert not printed.covered
        assert proposition_7(w, w_q, own, distortion=1.0, lipschitz=M).holds

    def test_the_printed_step_on_c_fails_where_degrees_differ(self) -> None:
        """|c^q - c^o| < 2 n M eps: c is a geometric mean, steep where one degree is small."""
        n, M, eps = 10, 1.0, 0.019
        X, centres = np.array([[0.999], *[[0.0]] * (n - 1)]), np.array([[0.999 - eps], [0.0]])
        own = np.array([0, *[1] * (n - 1)])
        w, w_q = (np.maximum(0.0, 1.0 - M * cdist(P, P)) for P in (X, centres))
        degrees = (reference.without_loops(v).sum(axis=1) for v in (w, w_q[np.ix_(own, own)]))
        c_o, c_q = (math.sqrt(d[0] * d[1]) for d in degrees)
        assert c_q - c_o > 2 * 2 * n * M * eps
        assert proposition_7(w, w_q, own, distortion=eps, lipschitz=M).holds

    def test_the_plain_laplacian_grows_with_copies_and_the_normalised_one_does_not(self) -> None:
        X = np.random.default_rng(0).normal(size=(30, 2))
        errors: dict[bool, list[float]] = {True: [], False: []}
        for copies in (2, 4, 8):
            q = quantize(np.repeat(X, copies, axis=0), X[:6])
            for normalised, found in errors.items():
                found.append(quantization_error(q.w, q.w_q, q.own, normalised=normalised))
        assert fit_exponent([2, 4, 8], errors[True]) == pytest.approx(0.0, abs=0.05)
        assert fit_exponent([2, 4, 8], errors[False]) > 1.2

    @pytest.mark.parametrize("dimension", [1, 2])
    def test_errors_fall_about_at_their_rate_over_k(self, dimension: int) -> None:
        X = np.random.default_rng(1).random((400, dimension))
        sizes, errors, reaches = [8, 16, 32, 64, 128], [], []
        for k in sizes:
            learner = OnlineLearner.paper(n_centroids=k, bandwidth=1.0)
            learner.observe(X)
            q = quantize(X, learner.vertices.points)
            errors.append(quantization_error(q.w, q.w_q, q.own))
            reaches.append(q.distortion)
        # R moves in steps of m = 1.5, so a few sizes show the rate roughly
        assert fit_exponent(sizes, reaches) < -0.6 / dimension
        assert fit_exponent(sizes, errors) < -0.6 / dimension


class TestSizes:
    @given(graphs(), sinks, shares, st.booleans())
    def test_lemma_1_in_its_three_true_forms(
        self, graph: Graph, sink: float, c_u: float, normalised: bool
    ) -> None:
        w, labelled, y = graph
        f = softly(w, labelled, y, c_u, sink, normalised)
        np.testing.assert_allclose(
            f, reference.soft(w, y, labelled, c_u, sink, normalised), rtol=1e-7, atol=1e-10
        )
        constants, n_l = Constants(c_u, sink, normalised), int(labelled.sum())
        assert lemma_1(f, labelled, constants).holds
        assert np.linalg.norm(f) <= math.sqrt(n_l) / (sink + c_u) * (1 + 1e-9)
        assert np.abs(f).max(initial=0.0) <= largest_value(n_l, constants) * (1 + 1e-9)

    @given(graphs(), sinks, st.booleans())
    def test_the_printed_lemma_1_holds_where_its_matrix_is_symmetric(
        self, graph: Graph, sink: float, normalised: bool
    ) -> None:
        w, labelled, y = graph
        f = softly(w, labelled, y, 1.0, sink, normalised)
        bound = lemma_1_as_printed(f, labelled, Constants(1.0, sink))
        assert bound.holds
        assert bound.covered

    @pytest.mark.parametrize("normalised", [False, True])
    def test_the_printed_lemma_1_fails(self, normalised: bool) -> None:
        w, labelled = np.ones((6, 6)), mask(6, 0)
        f = softly(w, labelled, column(labelled), 0.001, 0.01, normalised)
        assert not lemma_1_as_printed(f, labelled, Constants(0.001, 0.01)).holds

    def test_a_normalised_star_exceeds_the_bound_of_the_plain_one(self) -> None:
        n, c_u, sink = 200, 0.001, 0.1
        w = np.zeros((n, n))
        w[0, 1:] = w[1:, 0] = 1.0
        labelled = ~mask(n, 0)
        f = softly(w, labelled, np.ones((n, 1)), c_u, sink, True)
        plain = largest_value(n - 1, Constants(c_u, sink))
        assert plain == pytest.approx(1 / 1.1)
        assert f.max() > 10 * plain
        assert f.max() <= largest_value(n - 1, Constants(c_u, sink, True))

    @given(st.integers(1, 50), sinks, shares)
    def test_with_a_sink_of_1_the_normalised_bound_is_that_of_lemma_1(
        self, n_labelled: int, sink: float, c_u: float
    ) -> None:
        B = largest_value(n_labelled, Constants(c_u, sink, True))
        printed = math.sqrt(n_labelled) / (1 + sink)
        assert printed <= B
        assert (pytest.approx(printed) == B) == (sink + c_u >= 1.0)


class TestPerturbation:
    @given(streams(), sinks, shares, st.booleans())
    def test_lemma_2_printed_and_without_c_u(
        self, stream: tuple[Quantized, Bools, Floats], sink: float, c_u: float, normalised: bool
    ) -> None:
        q, labelled, y = stream
        f_o = softly(q.w, labelled, y, c_u, sink, normalised)
        f_q = softly(q.w_full, labelled, y, c_u, sink, normalised)
        error = quantization_error(q.w, q.w_q, q.own, normalised=normalised)
        sharp = lemma_2(f_q, f_o, int(labelled.sum()), error, Constants(c_u, sink))
        printed = lemma_2_as_printed(f_q, f_o, int(labelled.sum()), error, Constants(c_u, sink))
        assert sharp.holds
        assert printed.holds
        assert sharp.right <= printed.right

    def test_equation_9_fails_where_only_unlabelled_vertices_change(self) -> None:
        labelled, c_u, sink = mask(3, 0), 0.1, 0.5
        y = column(labelled)
        before, after = chain(3, np.array([1.0, 1.0])), chain(3, np.array([1.0, 2.0]))
        f_o, f_q = (softly(w, labelled, y, c_u, sink, False) for w in (before, after))
        assert reference.equation_9(after, before, y, labelled, c_u, sink) == 0.0
        assert np.linalg.norm(f_q - f_o) > 0.01
        difference = laplacian(after) - laplacian(before)
        # what is true in its place
        right = np.linalg.norm(difference @ f_o) / (sink + c_u)
        assert np.linalg.norm(f_q - f_o) <= right
        norm = float(np.linalg.norm(difference))
        assert lemma_2(f_q, f_o, int(labelled.sum()), norm, Constants(c_u, sink)).holds

    @given(streams(), sinks, shares, st.booleans())
    def test_proposition_5(
        self, stream: tuple[Quantized, Bools, Floats], sink: float, c_u: float, normalised: bool
    ) -> None:
        q, labelled, y = stream
        n_l = int(labelled.sum())
        o, f_q = (
            solve_online(w, labelled, y, Constants(c_u, sink, normalised)) for w in (q.w, q.w_full)
        )
        errors = [
            quantization_error(q.w[:t, :t], q.w_q, q.own[:t], normalised=normalised)
            for t in range(1, len(q.X) + 1)
        ]
        bound = proposition_5(f_q, o, errors, n_l, Constants(c_u, sink))
        assert bound.left == pytest.approx(reference.mean_square(f_q, o))
        assert bound.holds
        assert proposition_5_as_printed(f_q, o, max(errors), n_l, Constants(c_u, sink)).holds

    def test_proposition_5_fails_with_the_difference_of_the_last_step(self) -> None:
        """The third example joins the second, to the left of many that are far from no one."""
        n, c_u, sink = 200, 0.5, 20.0
        X = np.array([[-1.5, 0.0], [1.0, 0.0], [-1.0, 0.0], *[[0.0, 0.0]] * (n - 3)])
        own = np.array([0, 1, 1, *[2] * (n - 3)])
        w, w_q = gaussian(X, 1.0), gaussian(X[[0, 1, 3]], 1.0)
        labelled = mask(n, 0)
        y = column(labelled)
        o, q = (
            solve_online(v, labelled, y, Constants(c_u, sink, True))
            for v in (w, w_q[np.ix_(own, own)])
        )
        errors = [quantization_error(w[:t, :t], w_q, own[:t]) for t in range(1, n + 1)]
        assert errors[-1] < 0.02 * max(errors)
        assert not proposition_5_as_printed(q, o, errors[-1], 1, Constants(c_u, sink)).holds
        assert proposition_5(q, o, errors, 1, Constants(c_u, sink)).holds


class TestGeneralisation:
    @given(streams(), sinks, shares, st.booleans())
    def test_the_worst_swap_is_within_the_proven_stability(
        self, stream: tuple[Quantized, Bools, Floats], sink: float, c_u: float, normalised: bool
    ) -> None:
        q, labelled, y = stream
        worst = reference.worst_swap(q.w, y, labelled, c_u, sink, normalised)
        beta = proven_beta(int(labelled.sum()), Constants(c_u, sink, normalised))
        assert worst <= beta * (1 + 1e-9)

    @given(st.integers(0, 9), sinks, st.sampled_from([1e-4, 0.01, 0.1]), st.floats(0, 2))
    def test_the_printed_stability_is_that_of_proposition_3(
        self, n_l: int, sink: float, c_u: float, largest: float
    ) -> None:
        expected = reference.beta(n_l, c_u, sink, largest)
        assert printed_beta(n_l, Constants(c_u, sink), largest) == pytest.approx(expected)

    def test_the_printed_stability_fails_on_a_weak_edge(self) -> None:
        w, truth, c_u, sink = chain(2, 1e-6), np.array([[1.0], [-1.0]]), 1e-8, 1e-8
        worst = reference.worst_swap(w, truth, mask(2, 0), c_u, sink, False)
        largest = float(np.linalg.eigvalsh(laplacian(w)).max())
        assert printed_beta(1, Constants(c_u, sink), largest) < 3 < worst
        assert worst <= proven_beta(1, Constants(c_u, sink))

    @given(st.floats(0, 5), st.integers(1, 500), st.floats(1e-6, 1))
    def test_the_transductive_error(self, beta: float, n_l: int, delta: float) -> None:
        error = transductive_error(beta, n_l, delta)
        assert error == pytest.approx(reference.transductive_error(beta, n_l, delta))
        assert error >= 1.0 or n_l > 32 * math.log(2 / delta)

    @pytest.mark.parametrize("normalised", [False, True])
    def test_proposition_3_holds_in_nearly_all_draws(self, normalised: bool) -> None:
        rng = np.random.default_rng(0)
        n, n_l, delta, c_u = 300, 150, 0.1, 0.1
        X = rng.normal(size=(n, 2))
        w, truth = gaussian(X, 0.5), np.sign(X[:, :1])
        sink = generalization.schedule_proposition_3(0.5).sink(n_l)
        beta = proven_beta(n_l, Constants(c_u, sink, normalised))
        assert transductive_error(beta, n_l, delta) < 1.5
        held = 0
        for _ in range(20):
            labelled = mask(n, *rng.permutation(n)[:n_l])
            f = softly(w, labelled, truth, c_u, sink, normalised)
            held += proposition_3(f, truth, labelled, beta=beta, delta=delta).holds
        assert held >= 18

    @given(graphs(), st.sampled_from([1.0, 10.0, 100.0]))
    def test_what_is_approached_tends_to_1_itself(self, graph: Graph, sink: float) -> None:
        """A large sink makes all solutions small, and a squared error of nearly 1."""
        w, labelled, _ = graph
        assume(labelled.any())
        f = softly(w, labelled, np.ones((len(w), 1)), 0.01, sink, False)
        risk = float(np.square(f[labelled] - 1.0).mean())
        assert risk >= (sink / (1 + sink)) ** 2 - 1e-12


class TestOnline:
    @given(streams(), sinks, shares, st.booleans())
    def test_each_answer_knows_what_came_before(
        self, stream: tuple[Quantized, Bools, Floats], sink: float, c_u: float, normalised: bool
    ) -> None:
        q, labelled, y = stream
        answers = solve_online(q.w, labelled, y, Constants(c_u, sink, normalised))
        expected = reference.online(q.w, y, labelled, c_u, sink, normalised)
        np.testing.assert_allclose(answers, expected, rtol=1e-7, atol=1e-10)

    @given(seeds, st.integers(1, 8), st.integers(1, 3))
    def test_proposition_2_for_any_numbers(self, seed: int, n: int, m: int) -> None:
        rng = np.random.default_rng(seed)
        q, o, star, y = rng.standard_cauchy((4, n, m))
        bound = proposition_2(q, o, star, y)
        assert bound.holds
        parts = sum(reference.mean_square(a, b) for a, b in ((star, y), (o, star), (q, o)))
        assert bound.right == pytest.approx(4.5 * parts)
        assert bound.left <= 3 * parts * (1 + 1e-9)

    @given(streams(), sinks, shares, st.booleans())
    def test_proposition_4(
        self, stream: tuple[Quantized, Bools, Floats], sink: float, c_u: float, normalised: bool
    ) -> None:
        q, labelled, y = stream
        o = solve_online(q.w, labelled, y, Constants(c_u, sink, normalised))
        star = softly(q.w, labelled, y, c_u, sink, normalised)
        n_l = int(labelled.sum())
        true, printed = (
            statement(o, star, n_l, Constants(c_u, sink, normalised))
            for statement in (proposition_4, proposition_4_as_printed)
        )
        assert true.left == pytest.approx(reference.mean_square(o, star))
        assert true.holds
        assert printed.holds or not printed.covered

    def test_proposition_4_fails_on_a_normalised_graph_that_grows_away_from_its_label(self) -> None:
        n, c_u, sink = 10, 1e-4, 1e-3
        w = np.ones((n, n))
        w[0] = w[:, 0] = 0.0
        w[0, 1] = w[1, 0] = 0.01
        labelled = mask(n, 0)
        y = column(labelled)
        o = solve_online(w, labelled, y, Constants(c_u, sink, True))
        star = softly(w, labelled, y, c_u, sink, True)
        printed = proposition_4_as_printed(o, star, 1, Constants(c_u, sink, True))
        assert not printed.holds
        assert not printed.covered
        assert proposition_4(o, star, 1, Constants(c_u, sink, True)).holds


class TestSchedules:
    COUNTS = (10**12, 10**13, 10**14)

    def rights(self, right: Callable[[int], float]) -> float:
        return fit_exponent(self.COUNTS, [right(count) for count in self.COUNTS])

    @pytest.mark.parametrize("normalised", [False, True])
    def test_proposition_4_falls_at_its_rate(self, normalised: bool) -> None:
        one, plan = np.zeros((1, 1)), generalization.PROPOSITION_4

        def right(n: int) -> float:
            return proposition_4(one, one, 5, Constants(0.01, plan.sink(n), normalised)).right

        assert self.rights(right) == pytest.approx(plan.rate, abs=0.01)

    def test_proposition_5_falls_at_its_rate_where_the_laplacians_stay_close(self) -> None:
        one, plan = np.zeros((1, 1)), generalization.PROPOSITION_5
        for statement, difference in ((proposition_5_as_printed, 1.0), (proposition_5, [1.0])):

            def right(n: int, statement: Any = statement, difference: Any = difference) -> float:
                bound: Bound = statement(one, one, difference, 5, Constants(1e-3, plan.sink(n)))
                return bound.right

            assert self.rights(right) == pytest.approx(plan.rate, abs=0.01)

    @pytest.mark.parametrize("alpha", [0.25, 0.5, 1.0])
    def test_proposition_3_falls_at_its_rate(self, alpha: float) -> None:
        def printed(n_l: int) -> float:
            sink = generalization.schedule_printed_proposition_3(alpha).sink(n_l)
            beta = printed_beta(n_l, Constants(0.9, sink), largest_eigenvalue=2.0)
            return transductive_error(beta, n_l, 0.05)

        def proven(n_l: int) -> float:
            sink = generalization.schedule_proposition_3(alpha).sink(n_l)
            beta = proven_beta(n_l, Constants(0.01, sink, True))
            return transductive_error(beta, n_l, 0.05)

        rate = generalization.schedule_proposition_3(alpha).rate
        assert rate == -min(alpha, 0.5)
        assert self.rights(printed) == pytest.approx(rate, abs=0.02)
        assert self.rights(proven) == pytest.approx(rate, abs=0.02)

    @given(st.floats(-3, 3), st.floats(0.01, 100), seeds)
    def test_a_power_law_is_fitted_exactly(self, power: float, factor: float, seed: int) -> None:
        sizes = np.random.default_rng(seed).permutation(np.arange(1, 20))[:6]
        assert fit_exponent(sizes, factor * sizes**power) == pytest.approx(power, abs=1e-9)
        slope = np.polyfit(np.log(sizes), np.log(factor * sizes**power), 1)[0]
        assert slope == pytest.approx(power, abs=1e-9)


F, ONE = np.zeros((2, 1)), mask(2, 0)
CONSTANTS = Constants(0.1, 1.0)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (lambda: lemma_1(F, ONE, Constants(2.0, 1.0)), "c_u=2.0"),
        (lambda: lemma_1(F, ONE, Constants(0.1, 0.0)), "sink=0.0"),
        (lambda: lemma_1(F[:, 0], ONE, CONSTANTS), "f has shape"),
        (lambda: lemma_1(np.full((2, 1), np.nan), ONE, CONSTANTS), "f contains nan"),
        (lambda: lemma_2(np.zeros((2, 2)), F, 1, 1.0, CONSTANTS), "f_q has shape"),
        (lambda: proposition_4(F, F, -1, CONSTANTS), "n_labelled=-1"),
        (lambda: proposition_5(F, F, [1.0], 1, CONSTANTS), "differences has shape"),
        (lambda: proposition_5(F, F, [1.0, np.nan], 1, CONSTANTS), "differences contains nan"),
        (lambda: proposition_3(F, F, mask(2), beta=1.0, delta=0.1), "n_labelled=0"),
    ],
)
def test_bad_input_is_named(wrong: Callable[[], object], word: str) -> None:
    with pytest.raises(ValueError, match=re.escape(word)):
        wrong()
