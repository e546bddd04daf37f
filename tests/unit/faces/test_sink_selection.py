"""What names would claim, and where that is too much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces.profiles import (
    JUMP,
    RANGE_DECADES,
    STRIDE,
    USUAL,
    VECTORS,
    ClaimCurve,
    choose_sink,
    compute_claim,
    make_graph,
    sweep_sinks,
)
from labelwalk.learner import OnlineLearner
from tests.reference import cliff as reference
from tests.unit.faces.people import look_alike, views

pytestmark = pytest.mark.compiled


def learner_of(*people: int, named: int, n: int = 60) -> OnlineLearner:
    """Return a learner that has seen some people, the first few of them named."""
    learner = VECTORS.learner(80)
    for who in people[:named]:
        learner.teach(views(n, who)[:4], [f"person {who}"] * 4)
    rows = np.stack([views(n, who) for who in people], axis=1).reshape(-1, 128)
    learner.observe(rows)
    return learner


@given(
    st.lists(st.floats(0.0, 0.3), min_size=1, max_size=20).map(lambda steps: np.cumsum(steps)),
    st.data(),
)
def test_choice_is_that_of_plain_loops(shares: np.ndarray, data: st.DataObject) -> None:
    usual = data.draw(st.integers(0, len(shares) - 1))
    lowest = data.draw(st.integers(usual, len(shares) - 1))
    most = float(shares[-1]) + data.draw(st.sampled_from([0.0, JUMP, 1.0]))
    found = ClaimCurve(shares.__getitem__, len(shares), most).choose(usual, lowest)
    assert found == reference.choice(shares.tolist(), usual, lowest, STRIDE, JUMP)
    chosen, cliff = found
    assert 0 <= chosen <= lowest
    if cliff is not None:
        assert chosen <= cliff


@pytest.mark.parametrize(("share", "most", "looks"), [(0.2, 1.0, 2), (0.2, 0.22, 1)])
def test_where_nothing_jumps_hardly_a_sink_is_looked_at(
    share: float, most: float, looks: int
) -> None:
    asked: list[int] = []

    def claimed(place: int) -> float:
        asked.append(place)
        return share

    assert ClaimCurve(claimed, 13, most).choose(usual=4, lowest=8) == (8, None)
    assert len(asked) == looks


@pytest.mark.parametrize("named", [1, 2])
def test_claims_are_those_of_plain_loops(named: int) -> None:
    learner = learner_of(1, 2, 3, named=named)
    table = learner.vertices
    labels = [-1 if one is None else learner.classes.index(one) for one in table.label]
    sinks = VECTORS.sink * 10.0 ** np.arange(2.0, -3.0, -1.0)
    graph = make_graph(learner, VECTORS)
    assert graph is not None
    found = [compute_claim(graph, sink) for sink in sinks]
    unit = max(table.weight[i] for i, label in enumerate(labels) if label >= 0) / 10.0
    for share, sink in zip(found, sinks, strict=True):
        expected = reference.claimed(
            table.means,
            labels,
            table.weight.tolist(),
            table.count.tolist(),
            0.1,
            VECTORS.threshold,
            sink * unit,
        )
        assert share == pytest.approx(expected, abs=1e-12)
    assert np.all(np.diff(found) >= 0.0)  # a lower sink takes no name away


@pytest.mark.parametrize("named", [1, 2, 3])
@pytest.mark.parametrize("bridged", [False, True])
def test_the_near_side_is_that_of_the_whole_survey(named: int, bridged: bool) -> None:
    learner = learner_of(1, 2, 3, 4, named=named)
    if bridged:
        learner.observe(look_alike(views(60, 1), views(60, 4)))
    found = sweep_sinks(learner, VECTORS)
    assert found is not None
    assert choose_sink(learner, VECTORS) == found.chosen


def test_nobody_is_named_or_hardly_anything_seen() -> None:
    assert sweep_sinks(VECTORS.learner(), VECTORS) is None
    assert sweep_sinks(learner_of(1, 2, named=0), VECTORS) is None
    few = VECTORS.learner()
    few.teach(views(4, 1), ["ada"] * 4)
    assert sweep_sinks(few, VECTORS) is None
    assert choose_sink(few, VECTORS) is None


def test_the_cliff_is_where_strangers_would_be_named() -> None:
    """Two strangers, and a face that looks like somebody between one of them and who is named."""
    learner = learner_of(1, 2, 3, named=1)
    learner.observe(look_alike(views(60, 1), views(60, 2)))
    found = sweep_sinks(learner, VECTORS)
    assert found is not None
    assert found.cliff is not None
    assert found.chosen > found.cliff
    assert choose_sink(learner, VECTORS) == found.chosen
    at = int(np.argmin(np.abs(found.sinks - found.chosen)))
    assert found.claimed[at] < 0.4 < found.claimed[-1]


def test_without_strangers_it_goes_as_low_as_it_may() -> None:
    learner = learner_of(1, 2, named=2)
    found = sweep_sinks(learner, VECTORS)
    assert found is not None
    assert found.cliff is None
    assert found.chosen == pytest.approx(found.sinks[USUAL] / 10**RANGE_DECADES)
