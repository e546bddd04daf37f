"""Where walks from a point end, and on which way, against larger graphs and all paths there are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.arrays import Floats
from labelwalk.engine.explanation import Path, compute_absorption, find_strongest_path
from labelwalk.solver.linear_system import as_graph
from tests.reference import explanation as reference
from tests.support.small_graphs import chain, mask
from tests.support.weighted_graphs import Drawn, weighted_graphs


@st.composite
def queries(draw: st.DrawFn, most: int = 7) -> tuple[Drawn, Floats, float]:
    """A graph, and the similarities and the sink of a point."""
    drawn = draw(weighted_graphs(most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = len(drawn.counts)
    near = rng.random(n) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    scale = draw(st.sampled_from([1.0, 1e-300]))
    similar = np.where(near, scale * rng.random(n), 0.0)
    return drawn, similar, draw(st.sampled_from([1e-300, 0.1, 2.0]))


class TestEnds:
    @given(queries())
    def test_equals_a_larger_graph(self, query: tuple[Drawn, Floats, float]) -> None:
        drawn, similar, sink = query
        w, v, gamma, _ = drawn.graph
        expected = reference.ends(w, v, gamma, drawn.labelled, similar, sink)
        np.testing.assert_allclose(
            compute_absorption(drawn.graph, similar, sink), expected, atol=1e-9
        )

    @given(queries())
    def test_classes_are_the_harmonic_extension(self, query: tuple[Drawn, Floats, float]) -> None:
        drawn, similar, sink = query
        flow = similar * drawn.graph.v
        extension = flow @ drawn.f / (flow.sum() + sink)
        classes = compute_absorption(drawn.graph, similar, sink) @ drawn.y[drawn.labelled]
        np.testing.assert_allclose(classes, extension, atol=1e-12)

    def test_nothing_labelled_nothing_similar_nothing_at_all(self) -> None:
        graph = as_graph(chain(3), mask(3), None, 1.0)
        assert compute_absorption(graph, np.ones(3), 1.0).shape == (0,)
        graph = as_graph(chain(3), mask(3, 0, 1, 2), None, 1.0)
        np.testing.assert_array_equal(compute_absorption(graph, np.zeros(3), 1.0), 0.0)
        np.testing.assert_array_equal(compute_absorption(graph, np.ones(3), 1.0), 0.25)
        nothing = as_graph(np.zeros((0, 0)), mask(0), None, 1.0)
        assert compute_absorption(nothing, np.zeros(0), 1.0).shape == (0,)


class TestStrongestPath:
    @given(queries(most=6))
    def test_no_path_is_stronger(self, query: tuple[Drawn, Floats, float]) -> None:
        drawn, similar, sink = query
        w, v, gamma, _ = drawn.graph
        for target in drawn.labelled:
            ways = {
                tuple(vertices): steps
                for vertices, steps in reference.paths(
                    w, v, gamma, drawn.labelled, similar, sink, target
                )
            }
            path = find_strongest_path(drawn.graph, similar, sink, target)
            if not ways:
                assert path == Path([], [])
                continue
            np.testing.assert_allclose(path.steps, ways[tuple(path.vertices)], rtol=1e-12)
            best = max(sum(map(math.log, steps)) for steps in ways.values())
            np.testing.assert_allclose(sum(map(math.log, path.steps)), best, rtol=1e-12, atol=1e-12)

    @given(queries())
    def test_is_part_of_what_ends_there(self, query: tuple[Drawn, Floats, float]) -> None:
        drawn, similar, sink = query
        for target, share in zip(
            drawn.labelled, compute_absorption(drawn.graph, similar, sink), strict=True
        ):
            path = find_strongest_path(drawn.graph, similar, sink, target)
            assert len(path.vertices) == len(path.steps)
            assert (math.prod(path.steps) if path.steps else 0.0) <= share * (1 + 1e-9)

    def test_labels_on_the_way_are_not_passed_through(self) -> None:
        w = chain(4)
        similar = np.array([1.0, 0.0, 0.0, 0.0])
        graph = as_graph(w, mask(4, 1, 3), None, 1.0)
        assert find_strongest_path(graph, similar, 1.0, target=3) == Path([], [])
        w[0, 2] = w[2, 0] = 1e-300
        path = find_strongest_path(as_graph(w, mask(4, 1, 3), None, 1.0), similar, 1.0, target=3)
        assert path.vertices == [0, 2, 3]
        np.testing.assert_allclose(path.steps, [0.5, 0.5e-300, 1 / 3])

    def test_steps_that_are_certain(self) -> None:
        """A sink of 1e-300 is lost in d + sink: steps of probability 1 are steps all the same."""
        graph = as_graph(chain(2), mask(2, 1), None, 1e-300)
        path = find_strongest_path(graph, np.array([1.0, 0.0]), 1e-300, target=1)
        assert path == Path([0, 1], [1.0, 1.0])

    def test_a_vertex_like_the_point_is_met_first(self) -> None:
        graph = as_graph(np.ones((1, 1)), mask(1, 0), None, 1.0)
        assert find_strongest_path(graph, np.array([3.0]), 1.0, target=0) == Path([0], [0.75])

    @pytest.mark.parametrize("target", [-1, 0, 2])
    def test_a_target_is_labelled(self, target: int) -> None:
        graph = as_graph(chain(2), mask(2, 1), None, 1.0)
        with pytest.raises(ValueError, match=f"target={target} is not labelled: pass the index"):
            find_strongest_path(graph, np.ones(2), 1.0, target)
