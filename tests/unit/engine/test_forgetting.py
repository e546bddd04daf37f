"""What is old fades with a half-life, and nothing else changes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner, load
from labelwalk.arrays import Floats
from tests.reference.harmonic import quantized_row_form
from tests.support.streams import costly

seeds = st.integers(0, 2**32 - 1)
forgetful = st.sampled_from([{"half_life": 1.0}, {"half_life": 16}, {"half_life": 50}])


def clouds(seed: int, n: int = 200) -> Floats:
    """Rows from three clouds, or, for every third seed, of a small grid, with many twins."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        return rng.integers(-3, 4, size=(n, 2)) / 2.0
    return 4.0 * rng.normal(size=(3, 2))[rng.integers(0, 3, n)] + rng.normal(size=(n, 2))


def started(seed: int, k: int = 15, **settings: Any) -> OnlineLearner:
    learner = OnlineLearner(k, **settings)
    learner.teach([[-5.0, 0.0], [5.0, 0.0]], ["left", "right"])
    learner.observe(clouds(seed))
    return learner


def assert_all_are_counted(learner: OnlineLearner) -> None:
    gone = int(learner._engine.state.counters.n_removed)
    assert learner.vertices.count.sum() + learner.n_outliers + gone == learner.n_seen


def cover(learner: OnlineLearner) -> list[list[Any]]:
    table = learner.vertices
    columns = (table.points, table.means, table.count, table.weight, table.reach, table.label)
    return [column.tolist() for column in columns]


class TestHalfLife:
    def test_labels_stay(self) -> None:
        labels = started(0, half_life=4).vertices.label.tolist()
        assert (labels.count("left"), labels.count("right")) == (1, 1)

    @pytest.mark.compiled
    def test_the_radius_comes_down_again(self) -> None:
        rng = np.random.default_rng(0)
        learner = OnlineLearner(50, half_life=100, similarity=Gaussian(1.0, threshold=0.0))
        learner.teach([0.0, 0.0], "a")
        learner.observe(100.0 * rng.normal(size=(1000, 2)))
        wide = learner.radius
        learner.observe(rng.normal(size=(2500, 2)))
        assert learner.radius < wide / 20

    @pytest.mark.parametrize("growth", [1.25, 1.4])
    @pytest.mark.slow
    def test_a_radius_that_has_come_down_all_the_way_grows_again(self, growth: float) -> None:
        """One vertex alone lets R fall for ever, and no product with `growth` may stand still."""
        wide = Gaussian(1.0, threshold=0.0)
        learner = OnlineLearner(
            5, half_life=4, growth=growth, coarsening="doubling", similarity=wide, quarantine=None
        )
        rows = np.random.default_rng(0).normal(size=(40, 2))
        learner.observe(rows[:20])
        learner.observe(np.zeros((5000, 2)))
        assert learner.radius == 0.0
        learner.observe(rows[20:])
        assert 0.1 < learner.radius < 10.0
        assert_all_are_counted(learner)

    def test_an_example_taught_late_stays(self) -> None:
        learner = started(0, half_life=20)
        learner.teach_later(learner.n_seen - 5, "late")
        learner.observe(clouds(3))
        assert "late" in learner.vertices.label
        assert_all_are_counted(learner)

    @costly
    @given(seeds, st.sampled_from([8, 40, 100.5, 1000]))
    def test_an_example_weighs_half_after_its_half_life(self, seed: int, half_life: float) -> None:
        learner = started(seed, half_life=half_life)
        memory, n_seen = learner._engine.state.memory, learner.n_seen
        step = max(1, round(half_life / 16))
        fresh = np.zeros(learner.n_vertices)
        for number in range(n_seen):
            vertex = memory.seen_vertex[number]
            if vertex >= 0 and memory.seen_label[number] < 0:
                fadings = sum(number < at for at in range(step, n_seen + 1, step))
                fresh[vertex] += 0.5 ** (fadings * step / half_life)
        free = learner.vertices.label == None  # noqa: E711
        own = learner._engine.state.vertices.decayed_count[: learner.n_vertices]
        np.testing.assert_allclose(own[free], fresh[free], rtol=1e-9)
        assert (own[~free] == 1.0).all()
        assert_all_are_counted(learner)

    def test_outliers_let_time_pass_too(self) -> None:
        similarity = Gaussian(1.0, threshold=1e-3)
        learner = OnlineLearner(50, half_life=100, similarity=similarity, quarantine=None)
        learner.observe(np.random.default_rng(0).normal(size=(100, 2)))
        before = learner._engine.state.counters.total_weight
        learner.observe(np.full((100, 2), 1e3))
        assert learner._engine.state.counters.total_weight <= 0.55 * before

    @pytest.mark.parametrize(("apart", "together"), [(110, False), (10, True)])
    def test_far_examples_do_not_wait_until_they_would_be_light(
        self, apart: int, together: bool
    ) -> None:
        rng = np.random.default_rng(0)
        learner = OnlineLearner(20, half_life=50)
        learner.observe(rng.normal(size=(300, 2)))
        for _ in range(5):
            learner.observe(rng.normal(size=(apart, 2)))
            learner.observe([1e3, 1e3])
        assert (learner.vertices.points == 1e3).any() == together

    @costly
    @given(seeds)
    def test_weights_add_up(self, seed: int) -> None:
        learner = started(seed, half_life=40)
        free = learner.vertices.label == None  # noqa: E711
        load = learner._engine.state.counters.total_weight
        assert learner.vertices.weight[free].sum() == pytest.approx(load, rel=1e-9)

    def test_without_end_nothing_fades(self) -> None:
        for half_life in (1e9, 1e100):
            assert cover(started(0, half_life=half_life)) == cover(started(0))

    @pytest.mark.parametrize("settings", [{"similarity": Gaussian("cover")}, {}])
    def test_a_merged_learner_goes_on(self, settings: dict[str, Any]) -> None:
        one, other = (started(seed, half_life=30, **settings) for seed in (0, 1))
        one.merge(other)
        assert one.certificate <= 1.0
        one.observe(clouds(2))
        assert_all_are_counted(one)
        assert_symmetric(one)


def solution(learner: OnlineLearner, now: Any) -> Floats:
    n, system = now.n, now.system
    codes = now.vertices.label[:n]
    labelled = [int(i) for i in np.flatnonzero(codes >= 0)]
    targets = np.eye(len(learner.classes))[codes[labelled]]
    return quantized_row_form(system.w[:n, :n], system.v[:n], labelled, targets, system.g[:n])


def assert_symmetric(learner: OnlineLearner) -> None:
    n, system = learner.n_vertices, learner._engine.state.system
    np.testing.assert_array_equal(system.w[:n, :n], system.w[:n, :n].T)
    assert (system.w[:n, :n] >= 0).all()
    assert not np.diagonal(system.w[:n, :n]).any()


@costly
@given(seeds, forgetful, st.sampled_from([4, 15]), st.lists(st.integers(1, 199), max_size=4))
def test_any_chunks_and_any_saving_give_the_same_learner(
    seed: int, settings: dict[str, Any], k: int, cuts: list[int]
) -> None:
    whole = started(seed, k, **settings)
    parts = OnlineLearner(k, **settings)
    parts.teach([[-5.0, 0.0], [5.0, 0.0]], ["left", "right"])
    with tempfile.TemporaryDirectory() as folder:
        for rows in np.split(clouds(seed), sorted(set(cuts))):
            parts.observe(rows)
            parts.save(Path(folder) / "a.labelwalk")
            parts = load(Path(folder) / "a.labelwalk")
    assert parts.digest() == whole.digest()
    assert_symmetric(whole)


@pytest.mark.slow
@costly
@given(seeds, forgetful)
def test_answers_keep_their_bounds(seed: int, settings: dict[str, Any]) -> None:
    learner = started(seed, 15, **settings)
    exact = solution(learner, learner._engine.state)
    table = learner.vertices
    assert np.abs(table.probabilities - exact).max() <= learner.certificate + 1e-9
    assert learner.observe(clouds(seed + 5)).bound.max() <= learner.settings.tolerance


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"half_life": 0.5}, "half_life=0.5 is not a number from 1"),
        ({"half_life": float("nan")}, "half_life=nan"),
        ({"half_life": 10, "label_weight": None}, "half_life=10 requires a label_weight"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnlineLearner(**settings)
