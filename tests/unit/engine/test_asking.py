"""What an answer is worth, in closed form, against asking and solving again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.arrays import Floats
from labelwalk.engine.active_learning import (
    RULES,
    choose_vertices,
    compute_scores,
    count_visits,
)
from labelwalk.solver.linear_system import Graph, as_graph
from tests.reference import asking as reference
from tests.support.small_graphs import chain, mask
from tests.support.weighted_graphs import N_CLASSES, Drawn, weighted_graphs


def worth(drawn: Drawn, asked: list[int], by: str) -> Floats:
    """Scores of the reference implementation once `asked` are labelled; their values stay."""
    w, v, gamma, _ = drawn.graph
    known = [*drawn.labelled, *asked]
    if by == "variance":
        scores = reference.variance_reduction(w, v, gamma, known, drawn.counts)
    elif by == "error":
        scores = reference.expected_error_reduction(w, v, gamma, known, drawn.f, drawn.counts)
    else:
        scores = reference.uncertainty_left(
            w, v, gamma, drawn.labelled, asked, drawn.f, drawn.counts
        )
    return np.array(scores)


def scores_of(graph: Graph, f: Floats, counts: Floats, by: str) -> Floats:
    """The scores of all vertices, 0 at labelled ones."""
    scores, free, visits = np.zeros(len(counts)), ~graph.labelled, count_visits(graph)
    scores[free] = compute_scores(
        by, visits, np.diagonal(visits), graph.v[free], f[free], counts[free]
    )
    return scores


class TestScores:
    @given(weighted_graphs(), st.sampled_from(RULES))
    def test_they_equal_those_of_the_reference(self, drawn: Drawn, by: str) -> None:
        scores = scores_of(drawn.graph, drawn.f, drawn.counts, by)
        np.testing.assert_allclose(scores, worth(drawn, [], by), atol=1e-8)
        assert (scores >= 0).all()

    def test_the_middle_of_a_chain_tells_about_both_its_ends(self) -> None:
        f, counts = np.zeros((3, 2)), np.ones(3)
        scores = scores_of(as_graph(chain(3), mask(3), None, 1.0), f, counts, "error")
        np.testing.assert_allclose(scores, [1.6, 2.0, 1.6], atol=0.05)
        scores = scores_of(as_graph(chain(3), mask(3), None, 0.5), f, counts, "variance")
        np.testing.assert_allclose(scores, [1.5, 1.62, 1.5], atol=0.005)

    def test_no_class_is_known_yet(self) -> None:
        graph, nothing = as_graph(chain(3), mask(3), None, 1.0), np.zeros((3, 0))
        np.testing.assert_array_equal(scores_of(graph, nothing, np.ones(3), "uncertainty"), 1.0)
        np.testing.assert_array_equal(scores_of(graph, nothing, np.ones(3), "error"), 0.0)

    @pytest.mark.parametrize("by", RULES)
    def test_no_free_vertex(self, by: str) -> None:
        graph = as_graph(chain(2), mask(2, 0, 1), None, 1.0)
        np.testing.assert_array_equal(scores_of(graph, np.eye(2), np.ones(2), by), 0.0)


class TestChoose:
    @given(weighted_graphs(), st.sampled_from(RULES), st.integers(0, 4))
    def test_each_is_the_best_once_those_before_are_labelled(
        self, drawn: Drawn, by: str, n: int
    ) -> None:
        chosen = choose_vertices(drawn.graph, drawn.f, drawn.counts, n, by).tolist()
        assert len(chosen) == min(n, len(drawn.free))
        for k, i in enumerate(chosen):
            scores = worth(drawn, chosen[:k], by)
            assert scores[i] >= scores.max() - 1e-8

    @given(weighted_graphs(), st.sampled_from(RULES))
    def test_more_than_there_are_gives_all(self, drawn: Drawn, by: str) -> None:
        chosen = choose_vertices(drawn.graph, drawn.f, drawn.counts, 100, by)
        assert chosen.dtype == np.int64
        assert sorted(chosen.tolist()) == drawn.free

    @given(weighted_graphs(), st.sampled_from(RULES), st.integers(1, 5))
    def test_fewer_are_the_first_of_more(self, drawn: Drawn, by: str, n: int) -> None:
        more = choose_vertices(drawn.graph, drawn.f, drawn.counts, n, by)
        fewer = choose_vertices(drawn.graph, drawn.f, drawn.counts, n - 1, by)
        np.testing.assert_array_equal(more[: n - 1], fewer)

    @pytest.mark.parametrize("by", RULES)
    def test_a_batch_is_spread_over_clusters(self, by: str) -> None:
        w = np.kron(np.eye(3), np.ones((4, 4)))
        chosen = choose_vertices(
            as_graph(w, mask(12), None, 0.1), np.zeros((12, 2)), np.ones(12), 3, by
        )
        np.testing.assert_array_equal(chosen, [0, 4, 8])

    @pytest.mark.parametrize("by", RULES)
    def test_of_equals_the_heavier_then_the_older(self, by: str) -> None:
        w, counts = np.zeros((4, 4)), np.ones(4)
        v = np.array([1.0, 2.0, 2.0, 1.0])
        graph = Graph(w, v, 1.0 / v, mask(4))
        chosen = choose_vertices(graph, np.zeros((4, N_CLASSES)), counts, 4, by)
        np.testing.assert_array_equal(chosen, [1, 2, 0, 3])

    def test_no_digits_are_lost_where_one_answer_tells_nearly_all(self) -> None:
        """A chain with hardly a sink: what the first answer leaves is 1e-20 of what there was."""
        graph, counts = as_graph(chain(9), mask(9), None, 1e-20), np.ones(9)
        chosen = choose_vertices(graph, np.zeros((9, 2)), counts, 4, "variance").tolist()
        for k, i in enumerate(chosen):
            known = graph._replace(labelled=mask(9, *chosen[:k]))
            scores = scores_of(known, np.zeros((9, 2)), counts, "variance")
            assert scores[i] >= scores.max() * (1 - 1e-8)

    def test_no_free_vertex_no_vertex(self) -> None:
        everything = as_graph(chain(2), mask(2, 0, 1), None, 1.0)
        assert choose_vertices(everything, np.eye(2), np.ones(2), 3, "error").shape == (0,)
        nothing = as_graph(np.zeros((0, 0)), mask(0), None, 1.0)
        assert choose_vertices(nothing, np.zeros((0, 2)), np.ones(0), 3, "variance").shape == (0,)
