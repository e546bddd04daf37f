"""Labels held out in closed form against labels taken back one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from labelwalk.engine.leave_one_out import FLOOR, find_ends, held_out, score
from labelwalk.solver.linear_system import Graph, as_graph
from tests.reference import leave_one_out as reference
from tests.support.small_graphs import chain, mask
from tests.support.weighted_graphs import N_CLASSES, Drawn, weighted_graphs


class TestAbsorption:
    @given(weighted_graphs())
    def test_equals_a_class_for_every_label(self, drawn: Drawn) -> None:
        w, v, gamma, _ = drawn.graph
        expected = reference.absorption(w, v, gamma, drawn.labelled)
        np.testing.assert_allclose(find_ends(drawn.graph)[:, :-1], expected, atol=1e-9)

    @given(weighted_graphs())
    def test_classes_are_sums_of_labels(self, drawn: Drawn) -> None:
        ends = find_ends(drawn.graph)[:, :-1] @ drawn.y[drawn.labelled]
        np.testing.assert_allclose(ends, drawn.f, atol=1e-12)


class TestHeldOut:
    @given(weighted_graphs())
    def test_equals_taking_labels_back_one_by_one(self, drawn: Drawn) -> None:
        w, v, gamma, _ = drawn.graph
        expected = reference.held_out(w, v, gamma, drawn.labelled, drawn.y[drawn.labelled])
        held = held_out(drawn.graph, drawn.codes, N_CLASSES)
        np.testing.assert_allclose(held, expected, atol=1e-9)

    @given(weighted_graphs())
    def test_probabilities(self, drawn: Drawn) -> None:
        held = held_out(drawn.graph, drawn.codes, N_CLASSES)
        assert (held >= 0).all()
        assert (held.sum(axis=1) <= 1 + 1e-12).all()

    def test_a_label_without_neighbours_and_a_label_alone(self) -> None:
        w = np.zeros((3, 3))
        held = held_out(as_graph(w, mask(3, 0, 2), None, 0.1), np.array([0, -1, 1]), 2)
        np.testing.assert_array_equal(held, np.zeros((2, 2)))
        held = held_out(as_graph(chain(3), mask(3, 1), None, 0.1), np.array([-1, 0, -1]), 2)
        np.testing.assert_array_equal(held, np.zeros((1, 2)))

    def test_nothing_labelled_everything_labelled_one_vertex(self) -> None:
        assert held_out(as_graph(chain(3), mask(3), None, 1.0), np.full(3, -1), 2).shape == (0, 2)
        graph = as_graph(chain(3), mask(3, 0, 1, 2), None, 1.0)
        held = held_out(graph, np.array([0, 1, 0]), 2)
        np.testing.assert_allclose(held, [[0, 1 / 2], [2 / 3, 0], [0, 1 / 2]])
        alone = as_graph(np.ones((1, 1)), mask(1, 0), None, 1.0)
        np.testing.assert_array_equal(held_out(alone, np.array([0]), 1), [[0.0]])

    def test_nearly_every_walk_comes_back(self) -> None:
        """1 - a_ii is 3e-12 here, and would keep four digits."""
        v, gamma = np.array([1e12, 1.0, 1.0]), np.array([1e-12, 1.0, 1.0])
        graph = Graph(chain(3), v, gamma, mask(3, 0, 2))
        there = 1.0 / (1e12 + 2.0)
        held = held_out(graph, np.array([0, -1, 1]), 2)
        np.testing.assert_allclose(held[0], [0.0, there / (2 * there + 1e-12)], rtol=1e-12)

    @pytest.mark.parametrize("code", [-1, 2])
    def test_a_labelled_vertex_needs_a_class(self, code: int) -> None:
        graph = as_graph(chain(2), mask(2, 0), None, 1.0)
        with pytest.raises(ValueError, match=f"codes contains {code} at a labelled vertex"):
            held_out(graph, np.array([code, -1]), 2)


class TestScore:
    @given(weighted_graphs())
    def test_between_the_floor_and_certainty(self, drawn: Drawn) -> None:
        codes = drawn.codes[drawn.labelled]
        scores = score(held_out(drawn.graph, drawn.codes, N_CLASSES), codes)
        assert scores.shape == codes.shape
        assert (scores >= np.log(FLOOR)).all()
        assert (scores <= np.log(1 + FLOOR) + 1e-12).all()

    def test_looks_at_the_true_class(self) -> None:
        scores = score(np.array([[0.2, 0.7], [0.2, 0.7]]), np.array([0, 1]))
        np.testing.assert_allclose(scores, np.log([0.21, 0.71]))
