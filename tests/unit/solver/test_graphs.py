"""What is no graph is refused, with the repair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from labelwalk.arrays import Floats
from labelwalk.solver.harmonic import (
    laplacian,
    sink_probability,
    solve,
    solve_normalised,
    solve_soft,
)
from labelwalk.solver.linear_system import as_graph, factorise_graph
from tests.support.small_graphs import chain, mask

GOOD_MASK = mask(3, 0)
GOOD_Y = np.eye(3)


@pytest.mark.parametrize("sink", [0.0, -1.0, np.nan, np.inf, [0.1, 0.0, 0.1]])
@pytest.mark.parametrize("method", [solve, solve_normalised])
def test_sink(sink: float, method: Callable[..., Floats]) -> None:
    with pytest.raises(ValueError, match=r"sink contains .*finite and > 0"):
        method(chain(3), GOOD_MASK, GOOD_Y, sink=sink)


@pytest.mark.parametrize("weights", [[1, 0, 1], [1, -1, 1], [1, np.nan, 1]])
def test_weights(weights: list[float]) -> None:
    with pytest.raises(ValueError, match=r"weights contains .*leave out vertices of weight 0"):
        solve(chain(3), GOOD_MASK, GOOD_Y, weights=weights, sink=1.0)


def test_weights_under_1_have_no_inner_edges() -> None:
    few = [0.5, 1, 1]
    with pytest.raises(ValueError, match=r"weights contains 0\.5.*counts >= 1"):
        laplacian(chain(3), few, normalised=True)
    with pytest.raises(ValueError, match=r"weights contains 0\.5.*counts >= 1"):
        solve_normalised(chain(3), GOOD_MASK, GOOD_Y, weights=few, sink=1.0)


def test_overflow() -> None:
    with pytest.raises(ValueError, match=r"weights sum to .*overflow"):
        solve(1e10 * chain(3), GOOD_MASK, GOOD_Y, weights=[1e300] * 3, sink=1.0)


@pytest.mark.parametrize(
    ("w", "message"),
    [
        (-chain(3), r"similarity contains -1\.0"),
        (np.full((3, 3), np.nan), "similarity contains nan"),
        (np.full((3, 3), np.inf), "similarity contains inf"),
        (np.triu(chain(3)), r"similarity is not symmetric.*np\.maximum"),
        (chain(3)[:2], r"similarity has shape \(2, 3\)"),
        (np.ones(3), r"similarity has shape \(3,\)"),
    ],
)
def test_similarity(w: Floats, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve(w, GOOD_MASK, GOOD_Y, sink=1.0)
    with pytest.raises(ValueError, match=message):
        laplacian(w)


def test_asymmetry_of_rounding_is_forgiven() -> None:
    w = chain(3)
    w[0, 1] += 1e-13
    assert solve(w, GOOD_MASK, GOOD_Y, sink=1.0)[1, 0] == pytest.approx(2 / 5)


def test_shapes() -> None:
    with pytest.raises(ValueError, match=r"targets has shape \(3,\).*targets\[:, None\]"):
        solve(chain(3), GOOD_MASK, np.ones(3), sink=1.0)
    with pytest.raises(ValueError, match=r"targets has shape \(2, 1\)"):
        solve(chain(3), GOOD_MASK, np.ones((2, 1)), sink=1.0)
    with pytest.raises(ValueError, match=r"is_labelled has dtype bool and shape \(2,\)"):
        solve(chain(3), mask(2, 0), GOOD_Y, sink=1.0)
    with pytest.raises(ValueError, match=r"sink has shape \(2,\)"):
        solve(chain(3), GOOD_MASK, GOOD_Y, sink=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"rhs has shape \(2, 1\)"):
        factorise_graph(as_graph(chain(3), GOOD_MASK, None, 1.0)).solve(np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"f has shape \(3,\)"):
        sink_probability(np.ones(3))


def test_targets() -> None:
    with pytest.raises(ValueError, match="targets of labelled vertex 0 are"):
        solve(chain(3), GOOD_MASK, np.full((3, 1), np.nan), sink=1.0)


@pytest.mark.parametrize(("c_l", "c_u"), [(0.0, 1.0), (1.0, -1.0), (1.0, np.nan)])
def test_soft_constants(c_l: float, c_u: float) -> None:
    with pytest.raises(ValueError, match=r"c_[lu] contains"):
        solve_soft(chain(3), GOOD_MASK, GOOD_Y, c_l=c_l, c_u=c_u, sink=1.0)
