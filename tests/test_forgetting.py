"""What is old fades with a half-life or leaves a window, and nothing else changes."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner, Pairwise, SelfTuning, load
from labelwalk.arrays import Floats
from labelwalk.engine import forgetting
from labelwalk.kernels.memory import OUT
from tests.reference.harmonic import quantized_row_form
from tests.streams import costly

seeds = st.integers(0, 2**32 - 1)
forgetful = st.sampled_from([{"window": 1}, {"window": 20}, {"window": 90}, {"half_life": 16}])


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
    gone = int(learner._engine.now.here.n_gone)
    assert learner.vertices.count.sum() + learner.n_outliers + gone == learner.n_seen


def cover(learner: OnlineLearner) -> list[list[Any]]:
    table = learner.vertices
    columns = (table.points, table.means, table.count, table.weight, table.reach, table.label)
    return [column.tolist() for column in columns]


class TestWindow:
    @costly
    @given(seeds, st.sampled_from([3, 15, None]), st.integers(1, 150), st.integers(1, 60))
    def test_vertices_stand_for_examples_of_the_window_alone(
        self, seed: int, k: int | None, window: int, extra: int
    ) -> None:
        learner = started(seed, k, window=window)  # type: ignore[arg-type]
        learner.observe(clouds(seed + 1, 200)[:extra])
        memory, n_seen = learner._engine.now.memory, learner.n_seen
        table, step = learner.vertices, max(1, window // 64)
        recent = range(n_seen - window, n_seen)
        sure = range(n_seen - window + step - 1, n_seen)
        rows_of: dict[int, list[Floats]] = {}
        for number in range(max(0, n_seen - len(memory.seen_vertex)), n_seen):
            place = number % len(memory.seen_vertex)
            vertex = int(memory.seen_vertex[place])
            if vertex >= 0 and memory.seen_label[place] < 0:
                assert number in recent
                rows_of.setdefault(vertex, []).append(memory.seen_rows[place])
            elif number in sure:
                assert vertex == OUT or memory.seen_label[place] >= 0
        for i in range(len(table)):
            if table.label[i] is not None:
                continue
            rows = np.array(rows_of[i])
            assert table.count[i] == len(rows)
            np.testing.assert_allclose(table.means[i], rows.mean(axis=0), atol=1e-9)
            assert np.linalg.norm(rows - table.points[i], axis=1).max() <= table.reach[i] + 1e-12
        assert_all_are_counted(learner)

    @costly
    @given(seeds)
    def test_a_window_that_holds_everything_changes_nothing(self, seed: int) -> None:
        assert cover(started(seed, window=500)) == cover(started(seed))

    def test_outliers_let_time_pass_too(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        similarity = Gaussian(1.0, threshold=1e-3)
        learner = OnlineLearner(50, window=30, similarity=similarity, quarantine=None, remember=0)
        learner.observe(rng.normal(size=(30, 2)))
        learner.observe(1e3 + rng.normal(size=(200, 2)))
        learner.save(tmp_path / "a.labelwalk")
        load(tmp_path / "a.labelwalk")
        assert learner.vertices.count.sum() <= 30
        learner.observe(rng.normal(size=(61, 2)))
        assert learner.vertices.count.sum() <= 30
        assert_all_are_counted(learner)

    @pytest.mark.parametrize(("apart", "together"), [(60, False), (10, True)])
    def test_far_examples_do_not_wait_longer_than_the_window(
        self, apart: int, together: bool
    ) -> None:
        rng = np.random.default_rng(0)
        learner = OnlineLearner(20, window=50)
        learner.observe(rng.normal(size=(300, 2)))
        for _ in range(5):
            learner.observe(rng.normal(size=(apart, 2)))
            learner.observe([1e3, 1e3])
        assert (learner.vertices.points == 1e3).any() == together

    def test_labels_stay(self) -> None:
        learner = started(0, window=10)
        assert learner.vertices.label.tolist().count("left") == 1
        assert learner.vertices.label.tolist().count("right") == 1

    def test_r_and_reach_come_down_again(self) -> None:
        rng = np.random.default_rng(0)
        learner = OnlineLearner(50, window=500, similarity=Gaussian(1.0, threshold=0.0))
        learner.teach([0.0, 0.0], "a")
        learner.observe(100.0 * rng.normal(size=(1000, 2)))
        wide, far = learner.radius, learner.distortion
        learner.observe(rng.normal(size=(1500, 2)))
        assert learner.radius < wide / 20
        assert learner.distortion < far / 20
        assert learner.vertices.count.max() < 100

    @pytest.mark.parametrize("growth", [1.25, 1.4])
    @pytest.mark.slow
    def test_r_that_has_come_down_all_the_way_grows_again(self, growth: float) -> None:
        """One vertex alone lets R fall for ever, and no product with `growth` may stand still."""
        wide = Gaussian(1.0, threshold=0.0)
        learner = OnlineLearner(
            5, window=10, growth=growth, coarsening="doubling", similarity=wide, quarantine=None
        )
        rows = np.random.default_rng(0).normal(size=(40, 2))
        learner.observe(rows[:20])
        learner.observe(np.zeros((5000, 2)))
        assert learner.radius == 0.0
        learner.observe(rows[20:])
        assert 0.1 < learner.radius < 10.0
        assert_all_are_counted(learner)

    def test_an_example_taught_late_leaves_no_more(self) -> None:
        learner = started(0, window=50)
        learner.teach_later(learner.n_seen - 5, "late")
        learner.observe(clouds(3))
        assert "late" in learner.vertices.label
        assert_all_are_counted(learner)

    def test_learners_with_a_window_do_not_merge(self) -> None:
        one, other = started(0, window=50), started(1, window=50)
        with pytest.raises(ValueError, match="window=50: of two streams"):
            one.merge(other)


class TestHalfLife:
    @costly
    @given(seeds, st.sampled_from([8, 40, 100.5, 1000]))
    def test_an_example_weighs_half_after_its_half_life(self, seed: int, half_life: float) -> None:
        learner = started(seed, half_life=half_life)
        memory, n_seen = learner._engine.now.memory, learner.n_seen
        step = max(1, round(half_life / 16))
        fresh = np.zeros(learner.n_vertices)
        for number in range(n_seen):
            vertex = memory.seen_vertex[number]
            if vertex >= 0 and memory.seen_label[number] < 0:
                fadings = sum(number < at for at in range(step, n_seen + 1, step))
                fresh[vertex] += 0.5 ** (fadings * step / half_life)
        free = learner.vertices.label == None  # noqa: E711
        own = learner._engine.now.vertices.fresh[: learner.n_vertices]
        np.testing.assert_allclose(own[free], fresh[free], rtol=1e-9)
        assert (own[~free] == 1.0).all()
        assert_all_are_counted(learner)

    def test_outliers_let_time_pass_too(self) -> None:
        similarity = Gaussian(1.0, threshold=1e-3)
        learner = OnlineLearner(50, half_life=100, similarity=similarity, quarantine=None)
        learner.observe(np.random.default_rng(0).normal(size=(100, 2)))
        before = learner._engine.now.here.load
        learner.observe(np.full((100, 2), 1e3))
        assert learner._engine.now.here.load <= 0.55 * before

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
        load = learner._engine.now.here.load
        assert learner.vertices.weight[free].sum() == pytest.approx(load, rel=1e-9)

    def test_without_end_nothing_fades(self) -> None:
        for half_life in (1e9, 1e100):
            assert cover(started(0, half_life=half_life)) == cover(started(0))

    @costly
    @given(seeds, st.sampled_from([0.0, 1e-4, 1e-2]))
    def test_no_answer_jumps_further_than_is_reported(self, seed: int, sink: float) -> None:
        learner = started(seed, 40, half_life=100, sink=max(sink, 1e-6))
        now = copy.deepcopy(learner._engine.now)
        n = now.n
        before = solution(learner, now)
        now.system.f[1:, :n] = before.T
        free = np.flatnonzero(now.vertices.label[:n] < 0)
        gone = np.random.default_rng(seed).choice(free, len(free) // 4, replace=False)
        stay = np.setdiff1d(np.arange(n), gone)
        forgetting.fade_away(now, gone, learner.settings.sink)
        after = solution(learner, now)
        assert np.abs(after - before[stay]).max() <= now.here.leap + 1e-9

    def test_what_vertices_leave_behind_joins_the_others(self) -> None:
        """A chain of examples fades link by link, and its ends still reach their labels."""
        learner = OnlineLearner(60, half_life=30, similarity=Gaussian(0.4))
        learner.teach([0.0], "low")
        for x in np.linspace(0.2, 8.0, 200):
            verdict = learner.observe([x])
            assert verdict.label == "low"
        assert (learner.vertices.points[1:] > 2.0).all()
        assert learner._engine.now.system.mesh.max() > 0.0
        assert 0.0 < learner._engine.now.here.leap < 1.0

    def test_similarities_stay_symmetric_to_the_bit(self) -> None:
        rows = 3.0 * np.random.default_rng(0).normal(size=(600, 2))
        learner = OnlineLearner(40, half_life=60, similarity=Gaussian(1.5, threshold=0.0))
        learner.teach([[-5.0, 0.0], [5.0, 0.0]], ["left", "right"])
        learner.observe(rows)
        assert learner._engine.now.system.mesh.max() > 0.0
        assert_symmetric(learner)

    @pytest.mark.parametrize("settings", [{"similarity": Gaussian("cover")}, {}])
    def test_a_merged_learner_keeps_what_was_left_behind(self, settings: dict[str, Any]) -> None:
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
    n, system = learner.n_vertices, learner._engine.now.system
    for square in (system.w[:n, :n], *system.mesh[:, :n, :n]):
        np.testing.assert_array_equal(square, square.T)
        assert (square >= 0).all()
        assert not np.diagonal(square).any()


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
    exact = solution(learner, learner._engine.now)
    table = learner.vertices
    assert np.abs(table.probabilities - exact).max() <= learner.certificate + 1e-9
    assert learner.observe(clouds(seed + 5)).bound.max() <= learner.settings.tolerance


@costly
@given(seeds, forgetful)
def test_with_a_distance_of_ones_own(seed: int, settings: dict[str, Any]) -> None:
    def taxi(x: Floats, rows: Floats) -> Floats:
        return np.asarray(np.abs(rows - x).sum(axis=1))

    learner = started(seed, 8, similarity=SelfTuning(distance=taxi), **settings)
    assert_all_are_counted(learner)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 0}, "window=0 is not a whole number"),
        ({"window": 2.5}, "window=2.5 is not a whole number"),
        ({"window": 10**9}, "window=1000000000 is not a whole number from 1 to 9999999"),
        ({"half_life": 0.5}, "half_life=0.5 is not a number from 1"),
        ({"half_life": float("nan")}, "half_life=nan"),
        ({"half_life": 10, "window": 10}, "exclude each other"),
        ({"half_life": 10, "label_weight": None}, "half_life=10 needs a label_weight"),
        ({"half_life": 10, "similarity": Pairwise(lambda x, r: r[:, 0])}, "Give window="),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnlineLearner(**settings)
