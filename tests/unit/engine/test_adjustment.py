"""A learner that has begun is adjusted: same graph, new sink, prior, half-life or threshold."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner, load
from labelwalk.arrays import Floats
from labelwalk.learner import from_bytes
from tests.reference.balance import balanced
from tests.reference.harmonic import hard

D = 3
MAKERS: dict[str, dict[str, Any]] = {
    "default": {},
    "exact": {"tolerance": 0.0},
    "absorbing, few labels": {"labelled": "absorb", "labels_per_class": 2},
    "prior": {"prior": "uniform"},
    "fading": {"half_life": 40.0},
    "robust scale": {"scale": "robust"},
    "weights are counts": {"label_weight": None},
}
DIALS: list[dict[str, Any]] = [
    {"sink": 0.03},
    {"prior": "uniform"},
    {"prior": {"a": 0.7, "b": 0.2, "c": 0.1}},
    {"half_life": 30.0},
    {"half_life": 1e100},
    {"abstain_below": 0.4},
    {"sink": 1e-6, "prior": "uniform", "half_life": 500.0, "abstain_below": 0.2},
]

makers = pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS.keys())
seeds = st.integers(0, 2**32 - 1)


def rows(seed: int, n: int) -> Floats:
    rng = np.random.default_rng(seed)
    return 3.0 * rng.integers(3, size=(n, 1)) + rng.normal(size=(n, D))


def begun(seed: int, n: int = 150, **made: Any) -> OnlineLearner:
    learner = OnlineLearner(12, **made)
    learner.observe(rows(seed, n // 2))
    learner.teach([[0.0] * D, [3.0] * D, [6.0] * D], ["a", "b", "c"])
    learner.observe(rows(seed + 1, n - n // 2))
    return learner


def solved(learner: OnlineLearner, sink: float) -> Floats:
    """Solve the learner's graph with another sink, from the paper's matrices."""
    now = learner._engine.state
    n, system = now.n, now.system
    unit = 1.0 if learner.settings.label_weight is None else float(now.counters.mean_weight)
    codes = now.vertices.label[:n]
    labelled = np.flatnonzero(codes >= 0).tolist()
    flows = system.w[:n, :n] * system.v[:n]
    return hard(
        flows, labelled, np.eye(len(learner.classes))[codes[labelled]], np.full(n, unit * sink)
    )


@pytest.mark.slow
@makers
@given(seed=seeds, sink=st.sampled_from([1e-8, 1e-3, 0.5, 20.0]))
def test_a_new_sink_is_that_of_the_exact_solution(
    made: dict[str, Any], seed: int, sink: float
) -> None:
    learner = begun(seed, **made)
    wanted = solved(learner, sink)
    learner.adjust(sink=sink)
    assert np.allclose(learner.vertices.probabilities, wanted, atol=1e-7)
    assert learner.certificate < 1e-6
    row = rows(seed + 2, 1)[0]
    said = learner.predict(row)
    similar = learner._engine.similarities(row) * learner.vertices.weight
    if not said.outlier:
        extended = similar @ wanted / (similar.sum() + learner._engine.sink)
        assert np.allclose(said.probabilities, extended, atol=1e-6)


@pytest.mark.slow
@makers
@given(seed=seeds)
def test_what_was_adjusted_goes_on_and_is_kept(made: dict[str, Any], seed: int) -> None:
    learner = begun(seed, **made)
    learner.adjust(sink=0.02, abstain_below=0.3)
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "one.lw")
        again = load(Path(folder) / "one.lw")
    assert again.settings == learner.settings
    assert again.digest() == learner.digest()
    for one in (learner, again):
        one.observe(rows(seed + 3, 40))
    assert again.digest() == learner.digest()
    tolerance = max(learner.settings.tolerance, 1e-7)
    said = learner.predict(rows(seed + 4, 5))
    assert np.all(said.bound <= tolerance)
    assert np.all((said.confidence >= 0.3) | (said.label == None))  # noqa: E711


@pytest.mark.parametrize("dials", DIALS)
def test_a_fresh_learner_is_as_if_made_so(dials: dict[str, Any]) -> None:
    fresh, made = OnlineLearner(12), OnlineLearner(12, **dials)
    fresh.adjust(**dials)
    assert fresh.digest() == made.digest()
    for learner in (fresh, made):
        learner.observe(rows(5, 50))
        learner.teach([0.0] * D, "a")
        learner.observe(rows(6, 50))
    assert fresh.digest() == made.digest()


@pytest.mark.parametrize("dials", DIALS)
def test_a_learner_that_has_begun_can_be_saved_after_anything(dials: dict[str, Any]) -> None:
    learner = begun(7)
    learner.adjust(**dials)
    learner.observe(rows(8, 100))
    restored = OnlineLearner.__new__(OnlineLearner)
    restored.__setstate__(learner.__getstate__())
    assert restored.digest() == learner.digest()
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "one.lw")
        assert load(Path(folder) / "one.lw").digest() == learner.digest()


@given(seed=seeds)
def test_a_new_prior_begins_from_nothing(seed: int) -> None:
    learner = begun(seed, tolerance=0.0, calibrate=False, unreached="abstain")
    before = learner.digest()
    learner.adjust(prior={"a": 0.1, "b": 0.1, "c": 0.8})
    row = rows(seed + 2, 1)[0]
    said, table = learner.predict(row), learner.vertices
    free = [name is None for name in table.label]
    solved = learner._engine.settle(learner._shares())[0].f[1:, : len(table)].T
    f, counts = solved[free].tolist(), table.count[free].tolist()
    bias = np.array(balanced(f, counts, [1.0] * 3, [0.1, 0.1, 0.8]))
    if said.label is not None:
        expected = said.probabilities * bias
        expected /= expected.sum()
        np.testing.assert_allclose(said.scores / said.scores.sum(), expected, atol=1e-6)
        assert expected[learner.classes.index(said.label)] > expected.max() - 2e-6
    learner.adjust(prior=None)
    assert learner.digest() == before


def test_a_half_life_that_comes_later_fades_what_came_before() -> None:
    learner = begun(9)
    learner.adjust(half_life=20.0)
    assert learner.n_gone == 0
    learner.observe(50.0 + rows(10, 2000))
    near = np.abs(learner.vertices.means).max(axis=1) < 20
    assert all(name is not None for name in learner.vertices.label[near])
    shorter = learner.settings.half_life
    learner.adjust(half_life=40.0)
    assert (shorter, learner.settings.half_life) == (20.0, 40.0)
    with pytest.raises(ValueError, match="half_life=None cannot restore examples"):
        learner.adjust(half_life=None)


BAD: dict[str, dict[str, Any]] = {
    "sink": {"sink": 0.0},
    "sink, infinite": {"sink": float("inf")},
    "sink, text": {"sink": "much"},
    "abstain_below": {"abstain_below": 2.0},
    "prior": {"prior": "even"},
    "prior, empty": {"prior": {}},
    "label 'c'": {"prior": {"a": 0.5, "b": 0.5}},
    "half_life": {"half_life": 0.5},
    "growth": {"growth": 2.0},
    "sink, after a good one": {"abstain_below": 0.5, "sink": -1.0},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_values_change_nothing(name: str) -> None:
    learner = begun(11)
    before, settings = learner.digest(), learner.settings
    with pytest.raises(ValueError, match=name.partition(",")[0]):
        learner.adjust(**BAD[name])
    assert (learner.digest(), learner.settings) == (before, settings)


@makers
@pytest.mark.parametrize("sink", [1e-300, 1e-30, 1e100])
@pytest.mark.parametrize("far", [1.0, 1e8])
def test_extreme_sinks_stay_finite(made: dict[str, Any], sink: float, far: float) -> None:
    learner = OnlineLearner(12, **made)
    learner.observe(far * rows(13, 60))
    learner.teach([0.0] * D, "a")
    learner.adjust(sink=sink)
    learner.observe(far * rows(14, 60))
    assert np.all(np.isfinite(learner.predict(rows(15, 5)).probabilities))
    assert from_bytes(learner.to_bytes()).digest() == learner.digest()
