"""Nobody notices that a vertex has left; with a thinned mesh, nobody more than is proven."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.arrays import Floats
from labelwalk.engine.leave_one_out import held_out
from labelwalk.solver.elimination import Elimination, eliminate, proven_error
from labelwalk.solver.factorisation import factorise_graph
from labelwalk.solver.graphs import as_graph, degrees
from tests.reference import elimination as reference
from tests.reference.harmonic import quantized_row_form
from tests.small_graphs import bare, chain, mask
from tests.weighted_graphs import N_CLASSES, Drawn, harmonic, weighted_graphs


@st.composite
def departures(draw: st.DrawFn, most: int = 7) -> tuple[Drawn, list[int]]:
    """A graph, and some of its unlabelled vertices in some order."""
    drawn = draw(weighted_graphs(most))
    order = draw(st.permutations(drawn.free))
    return drawn, order[: draw(st.integers(0, len(order)))]


class TestExact:
    @given(departures())
    def test_equals_the_schur_complement(self, departure: tuple[Drawn, list[int]]) -> None:
        drawn, gone = departure
        w, v, gamma, labelled = drawn.graph
        left = eliminate(drawn.graph, gone)
        w_left, gamma_left, kept = reference.schur(w, v, gamma, gone)
        np.testing.assert_array_equal(left.kept, kept)
        np.testing.assert_array_equal(left.graph.v, v[kept])
        np.testing.assert_array_equal(left.graph.labelled, labelled[kept])
        np.testing.assert_allclose(left.graph.w, w_left, atol=1e-10)
        np.testing.assert_allclose(left.graph.gamma, gamma_left, rtol=1e-10)

    @given(departures())
    def test_the_others_keep_their_solution(self, departure: tuple[Drawn, list[int]]) -> None:
        drawn, gone = departure
        w, v, gamma, _ = drawn.graph
        graph, kept = eliminate(drawn.graph, gone)
        before = quantized_row_form(w, v, drawn.labelled, drawn.y[drawn.labelled], gamma)
        after = harmonic(graph, drawn.y[kept])
        np.testing.assert_allclose(after, before[kept], atol=1e-10)

    @given(departures())
    def test_and_keep_it_when_a_label_is_taken_back(
        self, departure: tuple[Drawn, list[int]]
    ) -> None:
        drawn, gone = departure
        graph, kept = eliminate(drawn.graph, gone)
        before = held_out(drawn.graph, drawn.codes, N_CLASSES)
        np.testing.assert_allclose(
            held_out(graph, drawn.codes[kept], N_CLASSES), before, atol=1e-10
        )

    @given(departures())
    def test_a_graph_stays_a_graph(self, departure: tuple[Drawn, list[int]]) -> None:
        drawn, gone = departure
        for strongest in (None, 1):
            w, v, gamma, labelled = eliminate(drawn.graph, gone, strongest).graph
            np.testing.assert_array_equal(w, w.T)
            assert not np.diagonal(w).any()
            as_graph(w, labelled, v, gamma)

    @given(departures())
    def test_the_order_does_not_matter(self, departure: tuple[Drawn, list[int]]) -> None:
        drawn, gone = departure
        one, other = eliminate(drawn.graph, gone).graph, eliminate(drawn.graph, gone[::-1]).graph
        np.testing.assert_allclose(one.w, other.w, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(one.gamma, other.gamma, rtol=1e-12)

    def test_a_chain_folds_up_at_the_end_of_all_scales(self) -> None:
        """Two links of 1e-300 and a sink as faint: a third each way, so a third of a link."""
        graph = as_graph(chain(3, 1e-300), mask(3, 0), None, 1e-300)
        left = eliminate(graph, [1]).graph
        np.testing.assert_allclose(left.w, chain(2, 1e-300 / 3), rtol=1e-12, atol=0)
        np.testing.assert_allclose(left.gamma, 4e-300 / 3, rtol=1e-12)

    def test_the_graph_is_left_alone(self) -> None:
        graph = as_graph(chain(3) + np.eye(3), mask(3, 0), None, 0.5)
        w, gamma = graph.w.copy(), graph.gamma.copy()
        eliminate(graph, [1])
        np.testing.assert_array_equal(graph.w, w)
        np.testing.assert_array_equal(graph.gamma, gamma)

    def test_everyone_leaves_nobody_leaves(self) -> None:
        graph = as_graph(chain(3), mask(3), None, 0.5)
        graph_left, kept = eliminate(graph, [2, 0, 1])
        assert len(kept) == len(graph_left.w) == len(graph_left.gamma) == 0
        graph_left, kept = eliminate(graph, [])
        np.testing.assert_array_equal(graph_left.w, graph.w)
        np.testing.assert_array_equal(kept, [0, 1, 2])

    @pytest.mark.parametrize(
        ("gone", "strongest", "match"),
        [
            ([0], None, "gone contains 0: pass indices of unlabelled"),
            ([-1], None, "gone contains -1"),
            ([3], None, "gone contains 3"),
            ([1, 1], None, "only once"),
            ([1], -1, "strongest is -1"),
        ],
    )
    def test_wrong_arguments(self, gone: list[int], strongest: int | None, match: str) -> None:
        with pytest.raises(ValueError, match=match):
            eliminate(as_graph(chain(3), mask(3, 0), None, 0.5), gone, strongest)


class TestThinned:
    @given(weighted_graphs(), st.integers(0, 8))
    def test_equals_the_loop(self, drawn: Drawn, strongest: int) -> None:
        w, v, gamma, _ = drawn.graph
        for i in drawn.free:
            left = eliminate(drawn.graph, [i], strongest).graph
            w_left, gamma_left = reference.left_out(w, v, gamma, drawn.labelled, i, strongest)
            np.testing.assert_allclose(left.w, bare(w_left), rtol=1e-12, atol=1e-300)
            np.testing.assert_allclose(left.gamma, gamma_left, rtol=1e-12)

    @given(departures())
    def test_a_mesh_that_is_strong_enough_is_whole(
        self, departure: tuple[Drawn, list[int]]
    ) -> None:
        drawn, gone = departure
        graph, kept = eliminate(drawn.graph, gone, strongest=100)
        np.testing.assert_allclose(harmonic(graph, drawn.y[kept]), drawn.f[kept], atol=1e-12)

    def test_of_equal_edges_the_oldest_are_added(self) -> None:
        graph = as_graph(np.ones((12, 12)), mask(12), None, 1.0)
        more = eliminate(graph, [5], strongest=20).graph.w - bare(np.ones((11, 11)))
        pairs = [(j, k) for j in range(11) for k in range(j + 1, 11)]
        assert list(zip(*np.nonzero(np.triu(more)), strict=True)) == pairs[:20]

    def test_edges_between_labels_are_not_among_the_strongest(self) -> None:
        graph = as_graph(np.ones((4, 4)), mask(4, 0, 1), [9, 9, 1, 1], 1.0)
        more = eliminate(graph, [3], strongest=1).graph.w - bare(np.ones((3, 3)))
        assert np.argwhere(more > 0).tolist() == [[0, 2], [2, 0]]


class TestProvenError:
    @given(departures(most=9), st.integers(0, 6))
    def test_covers_what_a_thinned_mesh_changes(
        self, departure: tuple[Drawn, list[int]], strongest: int
    ) -> None:
        drawn, gone = departure
        left = eliminate(drawn.graph, gone, strongest)
        bound = proven_error(left, drawn.f)
        assert (errors(left, drawn) <= bound).all()
        assert not bound[left.graph.labelled].any()

    @given(departures(most=9), st.integers(0, 6))
    def test_is_no_more_than_the_worst_residual_for_every_step(
        self, departure: tuple[Drawn, list[int]], strongest: int
    ) -> None:
        drawn, gone = departure
        left = eliminate(drawn.graph, gone, strongest)
        assert (proven_error(left, drawn.f) <= by_steps(left, drawn) + 1e-9).all()

    @given(departures())
    def test_is_rounding_where_nothing_is_left_out(
        self, departure: tuple[Drawn, list[int]]
    ) -> None:
        drawn, gone = departure
        bound = proven_error(eliminate(drawn.graph, gone), drawn.f)
        assert (bound <= 1e-9).all()

    def test_covers_what_rounding_hides(self) -> None:
        """Label and sink are lost in d + sink and share the walks: 1/2, where 1 has no residual."""
        graph = as_graph(np.ones((3, 3)), mask(3, 0), [1, 1e17, 1e17], 1.0)
        assert (proven_error(eliminate(graph, []), np.ones((3, 1)))[1:] >= 0.5).all()

    def test_no_classes_no_vertices(self) -> None:
        graph = as_graph(chain(3), mask(3), None, 0.5)
        np.testing.assert_array_equal(proven_error(eliminate(graph, [1]), np.zeros((3, 0))), [0, 0])
        assert proven_error(eliminate(graph, [0, 1, 2]), np.zeros((3, 2))).shape == (0,)


def errors(left: Elimination, drawn: Drawn) -> Floats:
    after = harmonic(left.graph, drawn.y[left.kept])
    worst: Floats = np.abs(after - drawn.f[left.kept]).max(axis=1, initial=0.0)
    return worst


def by_steps(left: Elimination, drawn: Drawn) -> Floats:
    w, v, gamma, labelled = left.graph
    d, _ = degrees(w, v)
    total, f = (d + gamma)[:, None], drawn.f[left.kept]
    residual = np.abs(w @ (v[:, None] * f) - total * f) / total
    steps = factorise_graph(left.graph).solve(total)[:, 0]
    worst: Floats = residual[~labelled].max(initial=0.0) * steps
    return worst
