"""Labels that come late, are taken back, contradict each other or are struck out."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, LabelConflictWarning, OnlineLearner, load
from labelwalk.arrays import Floats, Ints
from labelwalk.engine.state import PARTS, State, merge_states, recode_classes, resize
from labelwalk.kernels.assign import OUTLIER_SLOT, REMOVED
from tests.reference.harmonic import quantized_row_form

seeds = st.integers(0, 2**32 - 1)


def cubes(seed: int, n: int) -> tuple[Floats, Ints]:
    """Rows from three clouds, some of them twice, and which cloud each is from."""
    rng = np.random.default_rng(seed)
    cloud = rng.integers(0, 3, n)
    rows = 4.0 * rng.normal(size=(3, 2))[cloud] + rng.normal(size=(n, 2))
    rows[1::7] = rows[0::7][: len(rows[1::7])]
    return rows, cloud


PROFILES: dict[str, dict[str, Any]] = {
    "default": {},
    "prior": {"prior": "uniform"},
    "one bandwidth": {"similarity": Gaussian("cover")},
    "scale": {"similarity": Gaussian("scale"), "representative": "founder"},
    "absorbing": {"labelled": "absorb", "coarsening": "doubling"},
    "counts": {"label_weight": None, "readout": "vertex"},
}
profiles = st.sampled_from(sorted(PROFILES))


SAVED = PROFILES | {
    "robust": {"scale": "robust", "labels_per_class": 2},
    "fading": {"half_life": 20},
}
CHANGES: dict[str, Callable[[OnlineLearner, Floats, int], Any]] = {
    "observe": lambda learner, rows, i: learner.observe(rows[: 1 + i]),
    "teach": lambda learner, rows, i: learner.teach(rows[: 1 + i % 9], ["a"] * (1 + i % 9)),
    "teach another": lambda learner, rows, i: learner.teach(rows[i], f"class {i % 3}"),
    "teach later": lambda learner, rows, i: learner.teach_later(learner.n_seen - 1 - i % 30, "b"),
    "retract": lambda learner, rows, i: learner.retract(learner.n_seen - 1 - i % 9),
    "retract a class": lambda learner, rows, i: learner.retract(label="a"),
    "forget": lambda learner, rows, i: learner.forget("b"),
}
changes = st.tuples(st.sampled_from(sorted(CHANGES)), st.integers(0, 260))


def reloaded(learner: OnlineLearner) -> OnlineLearner:
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "a.labelwalk")
        return load(Path(folder) / "a.labelwalk")


def started(profile: str, seed: int, k: int = 15, n: int = 60) -> tuple[OnlineLearner, Floats]:
    rows, cloud = cubes(seed, 2 * n)
    learner = OnlineLearner(k, **PROFILES[profile])
    learner.teach(rows[:6], [f"cloud {c}" for c in cloud[:6]])
    learner.observe(rows[6:n])
    return learner, rows[n:]


def cover_and_weights(learner: OnlineLearner) -> dict[str, bytes]:
    now, n = learner._engine.state, learner.n_vertices
    columns = now.vertices._asdict() | {"v": now.system.v, "g": now.system.g}
    squares = ("distance", "mean_distances")
    arrays = {name: columns[name][..., :n] for name in columns if name not in squares}
    arrays |= {name: columns[name][:n, :n] for name in squares}
    arrays["w"] = now.system.w[:n, :n]
    scalars = (
        "radius",
        "mean_weight",
        "sigma",
        "width",
        "evenness",
        "typical",
        "n_unlabelled",
        "n_absorbed",
    )
    arrays |= {name: np.asarray(now.counters[name]) for name in scalars}
    return {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}


def assert_all_are_counted(learner: OnlineLearner) -> None:
    gone = int(learner._engine.state.counters.n_removed)
    assert learner.vertices.count.sum() + learner.n_outliers + gone == learner.n_seen


class TestRetract:
    @given(profiles, seeds, st.integers(1, 12), st.data())
    def test_taught_and_taken_back_leaves_no_trace(
        self, profile: str, seed: int, n: int, data: st.DataObject
    ) -> None:
        learner, more = started(profile, seed)
        before = cover_and_weights(learner)
        half = n // 2
        ids = [*learner.teach(more[:half], ["new"] * half, ids=True)] if half else []
        ids += [*learner.teach(more[half:n], ["cloud 0"] * (n - half), ids=True)]
        for number in data.draw(st.permutations(ids)):
            learner.retract(example_id=number)
        assert cover_and_weights(learner) == before
        assert_all_are_counted(learner)

    @given(profiles, seeds, st.lists(st.booleans(), min_size=1, max_size=5), st.booleans())
    def test_a_new_class_taken_back_as_a_whole_leaves_no_trace(
        self, profile: str, seed: int, late: list[bool], forgotten: bool
    ) -> None:
        learner, more = started(profile, seed)
        before = cover_and_weights(learner)
        for i, later in enumerate(late):
            if later:
                learner.teach_later(40 + i, "new")
            else:
                learner.teach(more[i], "new")
        if forgotten:
            learner.forget("new")
        else:
            learner.retract(label="new")
        assert cover_and_weights(learner) == before
        assert ("new" in learner.classes) is not forgotten
        assert_all_are_counted(learner)

    @given(seeds)
    def test_a_class_that_was_known_before_takes_its_old_labels_along(self, seed: int) -> None:
        learner, more = started("default", seed)
        learner.teach(more[0], "new")
        ids = learner.teach(more[1:4], ["cloud 0"] * 3, ids=True)
        learner.retract(label="cloud 0")
        assert "cloud 0" not in learner.vertices.label
        learner.retract(label="new")
        assert "new" not in learner.vertices.label
        assert learner._engine.find_label(ids[0]) == -1
        assert_all_are_counted(learner)

    @given(seeds)
    def test_from_a_learner_that_was_saved_in_between(self, seed: int) -> None:
        learner, more = started("default", seed)
        before = cover_and_weights(learner)
        ids = learner.teach(more[:3], ["new"] * 3, ids=True)
        learner.retract(ids[0])
        back = reloaded(learner)
        for number in ids[1:]:
            learner.retract(number)
            back.retract(number)
        assert cover_and_weights(back) == before
        assert back.digest() == learner.digest()

    def test_across_the_end_of_a_block(self) -> None:
        """What is taken back was counted when the block was judged, and the file must say so."""
        learner = OnlineLearner(20)
        rows = np.random.default_rng(0).normal(size=(260, 2))
        learner.teach(rows[:2], ["a", "b"])
        learner.observe(rows[2:252])
        for number in learner.teach(rows[252:], ["a"] * 8, ids=True):
            learner.retract(number)
        assert reloaded(learner).digest() == learner.digest()

    @pytest.mark.filterwarnings("error")
    @given(st.sampled_from(sorted(SAVED)), seeds, st.lists(changes, max_size=12))
    def test_whatever_came_before_a_learner_can_be_saved(
        self, profile: str, seed: int, made: list[tuple[str, int]]
    ) -> None:
        learner, more = OnlineLearner(8, **SAVED[profile]), cubes(seed, 300)[0]
        for name, i in made:
            with contextlib.suppress(ValueError, LabelConflictWarning):
                CHANGES[name](learner, more, i)
        assert reloaded(learner).digest() == learner.digest()

    @given(seeds, st.sampled_from([3, 8, 15]))
    def test_with_a_stream_in_between_the_cover_is_that_of_one_never_taught(
        self, seed: int, k: int
    ) -> None:
        """Given a bandwidth that lets everybody in, so that no label decides who is an outlier."""
        rows, _ = cubes(seed, 80)
        wide = Gaussian(1.5, threshold=0.0)
        learner, never = (OnlineLearner(k, similarity=wide, calibrate=False) for _ in range(2))
        for each in (learner, never):
            each.teach([[-4.0, -4.0], [4.0, 4.0]], ["low", "high"])
            each.observe(rows[:30])
        number = learner.teach(rows[30], "mistake", ids=True)
        for each in (learner, never):
            each.observe(rows[31:])
        learner.retract(number)
        mine, theirs = cover_and_weights(learner), cover_and_weights(never)
        for name in ("points", "means", "examples", "reach", "label", "v", "w", "radius"):
            assert mine[name] == theirs[name], name
        taught, untaught = learner.predict(rows), never.predict(rows)
        known = untaught.probabilities.shape[1]
        off = np.abs(taught.probabilities[:, :known] - untaught.probabilities).max(axis=1)
        assert (off <= taught.bound + untaught.bound).all()
        assert (taught.probabilities[:, known:] <= taught.bound[:, None]).all()

    def test_by_label(self) -> None:
        learner, more = started("default", 3)
        learner.teach(more[:4], ["x", "y", "x", "y"])
        learner.observe(more[4:40])
        learner.retract(label="x")
        assert "x" in learner.classes
        assert "x" not in learner.vertices.label
        assert (learner.vertices.label == "y").sum() == 2
        assert_all_are_counted(learner)
        assert "x" not in learner.observe(more[40:]).label

    def test_of_one_that_was_taught_twice_takes_one(self) -> None:
        learner = OnlineLearner()
        first = learner.teach([1.0, 1.0], "a", ids=True)
        second = learner.teach([1.0, 1.0], "a", ids=True)
        learner.retract(first)
        assert learner.vertices.count.tolist() == [1]
        with pytest.raises(ValueError, match="is not a labelled example"):
            learner.retract(first)
        learner.retract(second)
        assert learner.n_vertices == 0

    def test_long_after_the_example_was_forgotten(self) -> None:
        learner, more = started("default", 5)
        number = learner.teach(more[0], "odd", ids=True)
        learner.observe(np.repeat(more[1:], 30, axis=0))
        assert learner.n_seen > number + learner.settings.remember
        learner.retract(number)
        assert "odd" not in learner.vertices.label

    @pytest.mark.compiled
    def test_the_scale_of_the_features_is_taken_back_too(self) -> None:
        rows, _ = cubes(0, 400)
        similarity = Gaussian("scale")
        learner = OnlineLearner(50, similarity=similarity, labels_per_class=1000)
        never = OnlineLearner(50, similarity=similarity, labels_per_class=1000)
        for each in (learner, never):
            each.observe(rows[:100])
        for number in learner.teach(rows[100:], ["a"] * 300, ids=True):
            learner.retract(number)
        for each in (learner, never):
            each.observe(rows[:150])
        assert learner.bandwidth == pytest.approx(never.bandwidth, rel=0.1)

    def test_at_the_place_of_a_founder_whose_mean_has_moved(self) -> None:
        learner = OnlineLearner(2, labelled="absorb", coarsening="doubling")
        learner.teach([0.0], "a")
        learner.observe([[5.0], [9.0], [9.5], [0.1]])
        before = learner.vertices
        learner.retract(learner.teach([0.0], "a", ids=True))
        np.testing.assert_allclose(learner.vertices.means, before.means, rtol=1e-12)
        np.testing.assert_array_equal(learner.vertices.count, before.count)

    @given(st.sampled_from(["pure", "absorb"]), seeds, st.integers(1, 4))
    def test_at_a_founder_whose_mean_has_moved_only_the_mean_is_rounded(
        self, labelled: Any, seed: int, n: int
    ) -> None:
        learner, rows = OnlineLearner(8, labels_per_class=2, labelled=labelled), cubes(seed, 40)[0]
        learner.teach(rows[:6], ["a", "a", "a", "b", "b", "b"])
        learner.observe(rows[6:])
        before, means = cover_and_weights(learner), learner.vertices.means
        i = int(np.flatnonzero(learner.vertices.label == "a")[0])
        again = np.repeat(learner.vertices.points[[i]], n, axis=0)
        for number in learner.teach(again, ["a"] * n, ids=True):
            learner.retract(number)
        np.testing.assert_allclose(learner.vertices.means, means, rtol=1e-9, atol=1e-12)
        assert cover_and_weights(learner) | {"means": b""} == before | {"means": b""}

    def test_out_of_a_vertex_that_was_drawn_with_it(self) -> None:
        """Two labels have merged, and the distances to both are left as those to one."""
        learner = OnlineLearner(labels_per_class=1)
        ids = learner.teach([[0.0], [1.0], [5.0]], ["a", "a", "b"], ids=True)
        learner.observe([[2.0], [3.0], [4.0]])
        learner.retract(ids[1])
        now = learner._engine.state
        assert now.vertices.means[0, : now.n].tolist() == [0.0, 5.0, 2.0, 3.0, 4.0]
        assert now.vertices.mean_distances[0, : now.n].tolist() == [0.0, 5.0, 2.0, 3.0, 4.0]
        s = now.vertices.bandwidth[: now.n]
        expected = np.exp(-0.5 * now.vertices.mean_distances[0, : now.n] ** 2 / (s[0] * s))
        expected[(expected < 1e-4) | (now.vertices.mean_distances[0, : now.n] == 0.0)] = 0.0
        np.testing.assert_allclose(now.graph.w[0], expected, rtol=1e-9)

    @pytest.mark.slow
    @given(seeds, st.integers(0, 40))
    def test_after_a_fading_too(self, seed: int, n: int) -> None:
        learner, more = OnlineLearner(15, half_life=8), cubes(seed, 200)[0]
        learner.teach(more[:3], ["a", "b", "c"])
        learner.observe(more[3 : 100 + n])
        before = cover_and_weights(learner)
        spoiled = learner.n_seen + 1 >= learner._engine.state.counters.forget_at
        learner.retract(learner.teach(more[-1], "new", ids=True))
        assert spoiled or cover_and_weights(learner) == before

    def test_everything(self) -> None:
        learner = OnlineLearner()
        ids = learner.teach([[0.0], [1.0]], ["a", "b"], ids=True)
        for number in ids:
            learner.retract(number)
        assert learner.n_vertices == 0
        assert learner.predict([0.0]).label is None
        assert learner.observe([0.5]).label is None
        learner.teach([0.5], "c")
        assert learner.observe([0.5]).label == "c"


class TestTeachLater:
    @given(profiles, seeds, st.integers(0, 53))
    def test_it_is_as_good_as_teaching_the_example_now(
        self, profile: str, seed: int, back: int
    ) -> None:
        later, more = started(profile, seed)
        at_once, _ = started(profile, seed)
        number = later.n_seen - 1 - back
        x = later._engine.state.memory.seen_rows[number % 1000].copy()
        later.teach_later(number, "late")
        at_once.teach(x, "late")
        mine, theirs = cover_and_weights(later), cover_and_weights(at_once)
        assert mine.pop("founder") != theirs.pop("founder")
        assert mine == theirs
        i = int(np.flatnonzero(later.vertices.label == "late")[0])
        np.testing.assert_array_equal(later.vertices.points[i], x)
        assert later.vertices.founder[i] == number
        for rows in (more[:10], more[10:]):
            ours, others = later.observe(rows), at_once.observe(rows)
            np.testing.assert_array_equal(ours.probabilities, others.probabilities)
        assert_all_are_counted(later)

    @given(profiles, seeds)
    def test_it_can_be_taken_back_by_its_id(self, profile: str, seed: int) -> None:
        learner, _ = started(profile, seed)
        before = cover_and_weights(learner)
        learner.teach_later(30, "late")
        learner.retract(30)
        assert cover_and_weights(learner) == before
        assert_all_are_counted(learner)

    def test_an_outlier_is_let_in(self) -> None:
        learner, _ = started("default", 1, n=150)
        _, number = learner.observe([1e6, 1e6], ids=True)
        assert learner.n_outliers == 1
        learner.teach_later(number, "far")
        assert learner.predict([1e6, 1e6]).label == "far"
        assert_all_are_counted(learner)

    def test_a_wrong_label_is_corrected(self) -> None:
        learner, _ = started("default", 2)
        number = learner.n_seen - 3
        learner.teach_later(number, "wrong")
        learner.teach_later(number, "wrong")
        before = learner.digest()
        with pytest.raises(ValueError, match="was taught as 'wrong' before, not as 'right'"):
            learner.teach_later(number, "right")
        assert learner.digest() == before
        learner.retract(number)
        learner.teach_later(number, "right")
        assert (learner.vertices.label == "right").sum() == 1
        assert_all_are_counted(learner)

    @pytest.mark.parametrize(
        ("example_id", "message"),
        [
            (60, r"example_id=60 is not an example of this learner, which has seen 60"),
            (-1, "example_id=-1 is not an example"),
            (0.5, "example_id=0.5 is not an integer"),
            ("3", "example_id='3' is not an integer"),
            (True, "example_id=True is not an integer"),
            (2**70, "is not an example"),
        ],
    )
    def test_an_unknown_example_is_named(self, example_id: Any, message: str) -> None:
        learner, _ = started("default", 0)
        before = learner.digest()
        with pytest.raises(ValueError, match=message):
            learner.teach_later(example_id, "a")
        assert learner.digest() == before

    def test_one_that_is_no_longer_remembered(self) -> None:
        rows, _ = cubes(0, 60)
        learner = OnlineLearner(remember=10)
        learner.observe(rows)
        before = learner.digest()
        with pytest.raises(
            ValueError, match=r"example_id=49 is not remembered.*oldest remembered id is 50"
        ):
            learner.teach_later(49, "a")
        assert learner.digest() == before
        learner.teach_later(50, "a")
        forgetful = OnlineLearner(remember=0)
        forgetful.observe(rows)
        with pytest.raises(ValueError, match="example_id=59 is not remembered"):
            forgetful.teach_later(59, "a")


class TestMemory:
    @given(profiles, seeds, st.integers(2, 12), st.data())
    def test_each_example_lies_within_the_reach_of_its_vertex(
        self, profile: str, seed: int, k: int, data: st.DataObject
    ) -> None:
        learner, more = started(profile, seed, k=k)
        learner.observe(more[:20])
        learner.teach_later(data.draw(st.integers(6, 70)), "late")
        learner.observe(more[20:30])
        memory, table = learner._engine.state.memory, learner.vertices
        for number in range(learner.n_seen):
            vertex = memory.seen_vertex[number % 1000]
            assert vertex >= REMOVED
            if vertex >= 0:
                far = np.linalg.norm(table.points[vertex] - memory.seen_rows[number % 1000])
                assert far <= table.reach[vertex] * (1 + 1e-12)

    def test_counts_are_those_of_the_examples_remembered(self) -> None:
        learner, more = started("default", 7, k=10)
        learner.observe(more)
        memory = learner._engine.state.memory
        held = memory.seen_vertex[: learner.n_seen]
        counts = np.bincount(held[held >= 0], minlength=learner.n_vertices)
        assert counts.tolist() == learner.vertices.count.tolist()
        assert (held == OUTLIER_SLOT).sum() == learner.n_outliers

    def test_a_merged_learner_starts_its_memory_anew(self) -> None:
        one, more = started("default", 1)
        other, _ = started("default", 2)
        one.merge(other)
        with pytest.raises(ValueError, match="is not remembered"):
            one.teach_later(59, "a")
        _, ids = one.observe(more[:2], ids=True)
        assert ids.tolist() == [120, 121]
        one.teach_later(121, "a")

    def test_merging_leaves_no_pointers_behind(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        fine, coarse = OnlineLearner(10), OnlineLearner(10)
        fine.observe(0.001 * rng.normal(size=(10, 2)))
        coarse.observe(rng.normal(size=(200, 2)))
        fine.merge(coarse)
        fine.save(tmp_path / "a.labelwalk")
        back = load(tmp_path / "a.labelwalk")
        number = back.teach([0.0, 0.0], "a", ids=True)
        back.retract(number)
        assert_all_are_counted(back)

    def test_an_empty_learner_shares_nothing_with_the_one_it_took_in(self) -> None:
        one, other = OnlineLearner(10), OnlineLearner(10)
        one.teach([[0.0, 0.0], [1.0, 1.0]], ["a", "b"])
        other.merge(one)
        before = one.digest()
        other.observe([0.5, 0.5])
        other.retract(0)
        assert one.digest() == before


class TestForget:
    @given(profiles, seeds)
    def test_the_others_are_answered_without_it(self, profile: str, seed: int) -> None:
        learner, more = started(profile, seed)
        learner.teach(more[:2], ["x", "y"])
        learner.observe(more[2:20])
        names = learner.classes
        for name in (names[0], "x"):
            learner.forget(name)
        assert learner.classes == tuple(n for n in names if n not in (names[0], "x"))
        assert_all_are_counted(learner)
        now, n = learner._engine.state, learner.n_vertices
        table = learner.vertices
        labelled = [i for i in range(n) if table.label[i] is not None]
        targets = np.eye(len(learner.classes))[
            [learner.classes.index(table.label[i]) for i in labelled]
        ]
        w, v, g = now.system.w[:n, :n], now.system.v[:n], now.system.g[:n]
        exact = quantized_row_form(w, v, labelled, targets, g)
        assert np.abs(table.probabilities - exact).max() <= learner.certificate + 1e-9
        learner.observe(more[20:40])
        learner.teach(more[41], "x")
        assert learner.classes[-1] == "x"

    def test_an_unknown_label_is_named(self) -> None:
        learner, _ = started("default", 0)
        for call in (learner.forget, lambda label: learner.retract(label=label)):
            with pytest.raises(ValueError, match=r"label='dog' is not a class.*Choose one of"):
                call("dog")
            for wrong in ([1], True, 1.0):
                with pytest.raises(ValueError, match="label"):
                    call(wrong)  # type: ignore[arg-type]


class TestConflicts:
    def test_two_labels_of_one_example_are_reported_and_both_kept(self) -> None:
        learner = OnlineLearner()
        learner.teach([1.0], "a")
        with pytest.warns(LabelConflictWarning, match=r"label 'b'.*label 'a'.*example_id=1"):
            learner.teach([1.0], "b")
        assert learner.vertices.label.tolist() == ["a", "b"]
        learner.retract(1)
        assert learner.vertices.label.tolist() == ["a"]

    def test_the_labels_just_taught_are_named(self) -> None:
        learner = OnlineLearner()
        with pytest.warns(LabelConflictWarning):
            learner.teach([[0.0], [0.0], [5.0], [5.0]], ["a", "b", "c", "d"])
        with pytest.warns(LabelConflictWarning) as caught:
            learner.teach([0.0], "a")
        assert [str(one.message)[:62] for one in caught] == [
            "label 'b' was taught to an example that already has label 'a'."
        ]
        assert caught[0].filename == __file__

    def test_only_new_conflicts_are_reported(self) -> None:
        learner = OnlineLearner()
        learner.teach([[0.0], [5.0], [9.0]], ["a", "a", "a"])
        for x in (0.0, 5.0, 9.0):
            with pytest.warns(LabelConflictWarning) as caught:
                learner.teach([x], "b")
            assert len(caught) == 1
            younger = int(learner.vertices.founder[-1])
            assert f"retract(example_id={younger})" in str(caught[0].message)
        _, number = learner.observe([2.0], ids=True)
        learner.teach([2.0], "a")
        with pytest.warns(LabelConflictWarning) as caught:
            learner.teach_later(number, "b")
        assert [one.filename for one in caught] == [__file__]

    def test_the_same_label_twice_is_no_conflict(self) -> None:
        learner = OnlineLearner()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learner.teach([[1.0], [1.0]], ["a", "a"])
            learner.teach([[1.5], [1.5 + 1e-12]], ["a", "b"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "pass exactly one"),
        ({"example_id": 1, "label": "a"}, "pass exactly one"),
        ({"example_id": 7}, "example_id=7 is not a labelled example"),
        ({"example_id": 10**6}, "is not an example of this learner"),
        ({"label": ["cloud 0"]}, r"label=\['cloud 0'\] is neither a string nor an integer"),
        ({"example_id": "a"}, "is not an integer"),
    ],
)
def test_a_bad_retraction_is_named_and_changes_nothing(
    arguments: dict[str, Any], message: str
) -> None:
    learner, _ = started("default", 0)
    before = learner.digest()
    with pytest.raises(ValueError, match=message):
        learner.retract(**arguments)
    assert learner.digest() == before


@pytest.mark.parametrize("label", [["cloud 0"], {"cloud 0"}, None, 1.5, True])
def test_only_one_label_at_a_time_is_forgotten_or_told_late(label: Any) -> None:
    learner, _ = started("default", 0)
    before = learner.digest()
    with pytest.raises(ValueError, match="is neither a string nor an integer"):
        learner.forget(label)
    with pytest.raises(ValueError, match="is neither a string nor an integer"):
        learner.teach_later(50, label)
    assert learner.digest() == before


def share_an_array(one: State, other: State) -> bool:
    arrays, others = (
        [state.progress, *(array for part in PARTS for array in getattr(state, part))]
        for state in (one, other)
    )
    return any(np.shares_memory(array, another) for array in arrays for another in others)


def assert_nothing_is_shared(one: State, other: State) -> None:
    assert not share_an_array(one, other)
    assert not np.shares_memory(one.before_progress, other.before_progress)
    assert one.events is not other.events
    assert one.events.events is not other.events.events
    assert one.events.failing is not other.events.failing


def test_the_union_of_states_shares_no_array() -> None:
    ours, theirs = (started("default", seed)[0]._engine.state for seed in (0, 1))
    ours = resize(ours, ours.n + theirs.n, theirs.n_classes)  # already of the size of the union
    union = merge_states(ours, theirs)
    assert not share_an_array(union, ours)
    assert_nothing_is_shared(union, theirs)


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("is_first_empty", [False, True])
def test_merged_learners_share_no_array(profile: str, is_first_empty: bool) -> None:
    other, _ = started(profile, 1)
    one = OnlineLearner(15, **PROFILES[profile]) if is_first_empty else started(profile, 0)[0]
    digest = other.digest()
    one.merge(other)
    assert_nothing_is_shared(one._engine.state, other._engine.state)
    assert other.digest() == digest


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_states_with_other_class_codes_share_no_array(n_classes: int) -> None:
    learner, _ = started("default", 0)
    state, digest = learner._engine.state, learner.digest()
    codes = np.arange(state.n_classes, dtype=np.int32)[::-1].copy()
    if n_classes < state.n_classes:
        learner.retract(label=learner.classes[0])
        state, digest = learner._engine.state, learner.digest()
        codes = np.arange(-1, state.n_classes - 1, dtype=np.int32)
    copy = recode_classes(state, codes, n_classes)
    assert_nothing_is_shared(copy, state)
    assert learner.digest() == digest


def test_after_a_merge_nothing_of_before_is_remembered() -> None:
    learner, _ = started("default", 0)
    learner.merge(started("default", 1)[0])
    with pytest.raises(ValueError, match="example_id=3 is not remembered: no example is"):
        learner.teach_later(3, "late")
