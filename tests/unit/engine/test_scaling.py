"""Features in units of their own spread: measured on the first examples, then frozen."""

from __future__ import annotations

import math
import pickle
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelwalk import (
    Gaussian,
    LabelConflictWarning,
    ModelFileError,
    OnlineLearner,
    QuantizedHarmonicClassifier,
    load,
)
from labelwalk.arrays import Floats, Ints
from labelwalk.engine.scaling import FARTHEST, WARM_UP, Scale, measured
from labelwalk.storage import model_file
from tests.reference import scaling as reference
from tests.support.streams import costly

NAMES = ("a", 7, "c")
Row = tuple[Floats, str | int | None]


LEARNERS: dict[str, Callable[[], OnlineLearner]] = {
    "default": lambda: OnlineLearner(10, scale="robust"),
    "prior": lambda: OnlineLearner(10, scale="robust", prior="uniform"),
    "gaussian": lambda: OnlineLearner(10, scale="robust", similarity=Gaussian("scale")),
    "at the vertex": lambda: OnlineLearner(
        10, scale="robust", readout="vertex", representative="founder", labelled="absorb"
    ),
}
learners = st.sampled_from(sorted(LEARNERS)).map(LEARNERS.__getitem__)


def made_stream(seed: int, n: int, d: int = 3, taught: float = 0.1) -> list[Row]:
    """Clusters whose features have units of their own, some of them nearly constant."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=3.0, size=(3, d))
    which = rng.integers(0, 3, n)
    rows = (centres[which] + rng.normal(size=(n, d))) * 10.0 ** rng.integers(-3, 4, d)
    rows[:, rng.random(d) < 0.2] = 5.0
    known = rng.random(n) < taught
    return [(x, NAMES[c] if k else None) for x, c, k in zip(rows, which, known, strict=True)]


streams = st.builds(
    made_stream,
    st.integers(0, 2**32 - 1),
    st.integers(1, 150),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.1, 1.0]),
)


def fed(learner: OnlineLearner, stream: list[Row], cuts: Collection[int] = ()) -> list[Any]:
    """Feed runs of taught and observed rows, cut also elsewhere; return what was said."""
    said: list[Any] = []
    start = 0
    for stop in range(1, len(stream) + 1):
        inside = stop < len(stream) and stop not in cuts
        if inside and (stream[stop][1] is None) == (stream[start][1] is None):
            continue
        rows = np.array([x for x, _ in stream[start:stop]])
        labels = [label for _, label in stream[start:stop] if label is not None]
        if labels:
            learner.teach(rows, labels)
        else:
            said += [
                (verdict.label, verdict.probabilities.tobytes(), verdict.bound)
                for verdict in learner.observe(rows)
            ]
        start = stop
    return said


def rows_of(stream: list[Row]) -> Floats:
    return np.array([x for x, _ in stream])


columns = st.lists(
    st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e9]) | st.floats(-1e6, 1e6, width=32),
    min_size=1,
    max_size=40,
)


class TestMeasuring:
    @given(columns)
    def test_it_is_its_twin(self, column: list[float]) -> None:
        centre, spread = measured(np.array(column)[:, None])
        assert centre[0] == reference.median(column)
        assert spread[0] == pytest.approx(reference.spread(column), rel=1e-12)

    @given(
        arrays(
            np.float64,
            st.tuples(st.integers(1, 40), st.integers(1, 3)),
            elements=st.floats(-1e150, 1e150) | st.sampled_from([0.0, 5e-324, 1e-310]),
        )
    )
    def test_whatever_comes_it_is_finite_and_positive(self, rows: Floats) -> None:
        centre, spread = measured(rows)
        assert np.isfinite(centre).all()
        assert np.isfinite(spread).all()
        assert (spread > 0.0).all()
        scale = Scale(centre, spread)
        far = np.vstack([rows, np.full(rows.shape[1], 1e150), np.full(rows.shape[1], -1e150)])
        assert (np.abs(scale.scaled(far)) <= FARTHEST * (1 + 1e-15)).all()
        assert np.isfinite(scale.original(scale.scaled(far))).all()

    @pytest.mark.parametrize(
        ("column", "spread"),
        [
            ([3.0], 1.0),
            ([3.0] * 50, 1.0),
            ([0.0] * 50 + [7.0], 1.0),
            ([0.0] * 50 + [1e9], 1.0),
            ([0.0, 4.0], 2.0),
            ([0.0] * 90 + [2.0] * 10, 0.6),
            ([0.0] * 90 + [2.0] * 10 + [1e9] * 9, 0.6),
            ([-1.0, 1.0] * 40 + [-1e9, 1e9] * 39, 1.0),
        ],
    )
    def test_by_hand(self, column: list[float], spread: float) -> None:
        """Constants, a single accident, two values, a rare one, many accidents."""
        assert measured(np.array(column)[:, None])[1][0] == pytest.approx(spread)

    @pytest.mark.parametrize("seed", range(20))
    @pytest.mark.parametrize("kind", ["normal", "uniform", "clusters", "flags"])
    def test_one_value_of_1e9_changes_the_spread_by_at_most_five_percent(
        self, kind: str, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(WARM_UP, 50))
        if kind == "uniform":
            rows = rng.uniform(size=(WARM_UP, 50))
        elif kind == "clusters":
            rows += rng.choice([-3.0, 0.0, 4.0], (WARM_UP, 50))
        elif kind == "flags":
            rows = (rng.random((WARM_UP, 50)) < 0.3).astype(float)
        wild = rows.copy()
        wild[rng.integers(WARM_UP), :] = rng.choice([-1e9, 1e9], 50)
        np.testing.assert_allclose(measured(wild)[1], measured(rows)[1], rtol=0.05)

    @given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(-60, 60))
    def test_a_power_of_two_is_taken_out_exactly(self, seed: int, n: int, power: int) -> None:
        rows = np.random.default_rng(seed).normal(size=(n, 3))
        one, other = Scale(*measured(rows)), Scale(*measured(rows * 2.0**power))
        np.testing.assert_array_equal(one.scaled(rows), other.scaled(rows * 2.0**power))


class TestWarmUp:
    @costly
    @given(learners, streams, st.data())
    def test_any_cuts_give_the_same_bytes(
        self, make: Callable[[], OnlineLearner], stream: list[Row], data: st.DataObject
    ) -> None:
        cuts = data.draw(st.sets(st.integers(0, len(stream)), max_size=10))
        one, other = make(), make()
        assert fed(one, stream) == fed(other, stream, cuts)
        assert one.digest() == other.digest()

    @pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
    def test_one_row_at_a_time_gives_the_same_bytes(
        self, make: Callable[[], OnlineLearner]
    ) -> None:
        stream = made_stream(1, 300)
        one, other = make(), make()
        assert fed(one, stream) == fed(other, stream, set(range(300)))
        assert one.digest() == other.digest()

    @costly
    @given(learners, streams, st.data())
    def test_a_learner_loaded_at_any_cut_goes_on_identically(
        self, make: Callable[[], OnlineLearner], stream: list[Row], data: st.DataObject
    ) -> None:
        cut = data.draw(st.integers(0, len(stream)))
        untouched, learner = make(), make()
        said = fed(learner, stream[:cut])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.labelwalk"
            learner.save(path)
            back = load(path)
        unpickled = pickle.loads(pickle.dumps(learner))
        assert back.digest() == learner.digest() == unpickled.digest()
        rest = fed(back, stream[cut:])
        assert fed(unpickled, stream[cut:]) == rest
        assert said + rest == fed(untouched, stream)
        assert back.digest() == unpickled.digest() == untouched.digest()

    @given(streams)
    def test_the_scale_is_that_of_the_twin(self, stream: list[Row]) -> None:
        learner = OnlineLearner(10, scale="robust")
        fed(learner, stream)
        rows = rows_of(stream)
        expected = reference.scaled(rows.tolist(), *reference.scale_after(rows.tolist()))
        np.testing.assert_allclose(learner.scaled(rows), expected, rtol=1e-9, atol=1e-9)

    @given(streams)
    def test_what_is_learned_is_what_a_learner_of_scaled_rows_learns(
        self, stream: list[Row]
    ) -> None:
        """As if the scale had been known from the beginning, but for what was said."""
        learner, plain = OnlineLearner(10, scale="robust"), OnlineLearner(10)
        fed(learner, stream)
        scaled = learner.scaled(rows_of(stream))
        fed(plain, [(x, label) for x, (_, label) in zip(scaled, stream, strict=True)])
        mine, theirs = learner.vertices, plain.vertices
        for name in ("bandwidth", "count", "weight", "reach", "label", "probabilities"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), name)
        assert learner.radius == plain.radius
        assert learner.distortion == plain.distortion
        rows = rows_of(stream)
        size = np.abs(rows).max(axis=0) + 1.0
        for mine_points, their_points in ((mine.points, theirs.points), (mine.means, theirs.means)):
            np.testing.assert_allclose(learner.scaled(mine_points), their_points, atol=1e-9)
            assert (np.abs(mine_points) <= size * (1 + 1e-9)).all()
        queries = rows * 1.25
        np.testing.assert_array_equal(
            learner.predict(queries).probabilities,
            plain.predict(learner.scaled(queries)).probabilities,
        )

    def test_after_128_examples_it_is_frozen_and_the_first_ones_are_gone(self) -> None:
        learner = OnlineLearner(10, scale="robust")
        rng = np.random.default_rng(2)
        learner.observe(rng.normal(size=(127, 2)))
        before = learner.scaled([[1.0, 1.0]])
        held = learner._engine.scale.nbytes
        learner.observe(rng.normal(size=(1, 2)))
        after = learner.scaled([[1.0, 1.0]])
        assert not np.array_equal(before, after)
        assert learner._engine.scale.nbytes < held / 20
        learner.observe(1e6 * rng.normal(size=(500, 2)))
        np.testing.assert_array_equal(learner.scaled([[1.0, 1.0]]), after)

    @pytest.mark.compiled
    def test_predicting_and_asking_change_nothing(self) -> None:
        stream = made_stream(3, 150)
        learner, curious = (OnlineLearner(10, scale="robust") for _ in range(2))
        for i, row in enumerate(stream):
            before = curious.scaled(rows_of(stream))
            curious.predict(rows_of(stream) * 10.0**i if i < 30 else rows_of(stream))
            _ = curious.vertices, curious.certificate, curious.nbytes
            np.testing.assert_array_equal(curious.scaled(rows_of(stream)), before)
            fed(curious, [row])
        fed(learner, stream)
        assert learner.digest() == curious.digest()

    def test_freezing_keeps_the_state_and_ends_the_measuring(self) -> None:
        stream = made_stream(4, 100)
        learner = OnlineLearner(10, scale="robust")
        fed(learner, stream)
        scaled, table = learner.scaled(rows_of(stream)), learner.vertices
        learner._engine.scale.freeze()
        np.testing.assert_array_equal(learner.scaled(rows_of(stream)), scaled)
        np.testing.assert_array_equal(learner.vertices.points, table.points)
        learner.observe(1000.0 * rows_of(stream))
        np.testing.assert_array_equal(learner.scaled(rows_of(stream)), scaled)

    def test_frozen_before_anything_came_rows_stay_as_they_are(self, tmp_path: Path) -> None:
        learner = OnlineLearner(10, scale="robust")
        learner._engine.scale.freeze()
        learner.observe([[1000.0, 1.0], [2000.0, 2.0]])
        np.testing.assert_array_equal(learner.scaled([5.0, 6.0]), [[5.0, 6.0]])
        learner.save(tmp_path / "a.labelwalk")
        assert load(tmp_path / "a.labelwalk").digest() == learner.digest()

    def test_rows_are_left_alone_and_not_held(self) -> None:
        learner = OnlineLearner(10, scale="robust")
        rows = np.random.default_rng(5).normal(size=(5, 2))
        mine = rows.copy()
        learner.observe(mine[:1])
        learner.observe(mine[1:])
        np.testing.assert_array_equal(mine, rows)
        before = learner.digest()
        mine[:] = 1e9
        assert learner.digest() == before


def two_blobs(seed: int, n: int = 400) -> tuple[Floats, Ints]:
    """Two classes that lie apart in the first feature alone."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    rows: Floats = rng.normal(size=(n, 2)) * [0.4, 2.0] + np.outer(truth, [3.0, 0.0])
    return rows, truth


def accuracy(rows: Floats, truth: Ints, **parameters: Any) -> float:
    learner = OnlineLearner(100, **parameters)
    first = [int(np.flatnonzero(truth == c)[i]) for c in (0, 1) for i in range(4)]
    learner.teach(rows[first], truth[first])
    return float((learner.observe(rows).label == truth).mean())


class TestUse:
    @pytest.mark.slow
    @costly
    @given(st.integers(0, 2**32 - 1), st.integers(-30, 30), st.integers(-8, 8))
    def test_powers_of_two_and_shifts_of_a_feature_change_no_label(
        self, seed: int, power: int, shift: int
    ) -> None:
        stream = made_stream(seed, 150, d=3)
        rows = np.round(rows_of(stream) * 2.0**20) / 2.0**20  # so that shifts are exact
        labels = [label for _, label in stream]
        moved = rows.copy()
        moved[:, 0] = (moved[:, 0] + shift) * 2.0**power
        one, other = (OnlineLearner(20, scale="robust") for _ in range(2))
        said = fed(one, list(zip(rows, labels, strict=True)))
        assert fed(other, list(zip(moved, labels, strict=True))) == said

    @pytest.mark.compiled
    @pytest.mark.parametrize("seed", range(3))
    def test_a_column_in_other_units_costs_nothing(self, seed: int) -> None:
        rows, truth = two_blobs(seed)
        before = accuracy(rows, truth)
        assert before > 0.95
        assert accuracy(rows * [1.0, 1000.0], truth) < 0.8
        assert accuracy(rows * [1.0, 1000.0], truth, scale="robust") >= before - 0.01

    def test_one_accident_in_the_warm_up_costs_nothing(self) -> None:
        rows, truth = two_blobs(3)
        wild = rows.copy()
        wild[50] = 1e9
        clean = accuracy(rows, truth, scale="robust")
        assert accuracy(wild, truth, scale="robust") >= clean - 0.01

    def test_bandwidth_and_radius_are_in_scaled_units(self) -> None:
        rows = np.random.default_rng(7).normal(size=(500, 2))
        one, other = (OnlineLearner(20, scale="robust") for _ in range(2))
        one.observe(rows)
        other.observe(rows * 1024.0)
        assert one.radius == other.radius > 0.0
        assert one.distortion == other.distortion < 10.0
        np.testing.assert_allclose(other.vertices.points, 1024.0 * one.vertices.points)
        np.testing.assert_allclose(other.vertices.means, 1024.0 * one.vertices.means)

    @pytest.mark.parametrize("value", [1e150, -1e150, 5e-324])
    def test_extreme_values(self, value: float, tmp_path: Path) -> None:
        learner = OnlineLearner(10, scale="robust")
        rows = np.random.default_rng(8).choice([0.0, 5e-324, value], size=(200, 3))
        learner.teach(rows[:20], ["a", "b"] * 10)
        verdicts = learner.observe(rows)
        assert np.isfinite(verdicts.probabilities).all()
        assert np.isfinite(learner.predict([[1e150, -1e150, 0.0]]).probabilities).all()
        assert np.isfinite(learner.vertices.points).all()
        learner.save(tmp_path / "a.labelwalk")
        assert load(tmp_path / "a.labelwalk").digest() == learner.digest()

    def test_the_paper_scales_nothing(self) -> None:
        assert OnlineLearner.paper().settings.scale == "none"
        assert OnlineLearner().settings.scale == "none"

    @pytest.mark.parametrize("value", ["Robust", "", None, True, 1.0, ["robust"], b"none"])
    def test_other_words_are_refused(self, value: Any) -> None:
        with pytest.raises(ValueError, match=r"scale=.*Choose none or robust"):
            OnlineLearner(scale=value)

    def test_the_classifier_hands_it_on(self) -> None:
        rows, truth = two_blobs(4)
        y = np.where(np.arange(len(truth)) < 10, truth, -1)
        model = QuantizedHarmonicClassifier(100, scale="robust").fit(rows * [1.0, 1000.0], y)
        assert model.learner_.settings.scale == "robust"
        assert model.score(rows * [1.0, 1000.0], truth) > 0.95

    def test_the_classifier_finds_the_nearest_label_in_scaled_units(self) -> None:
        """Nothing is similar, so that the nearest labelled vertex decides."""
        model = QuantizedHarmonicClassifier(
            scale="robust", similarity=Gaussian(1e-3), unreached="abstain"
        )
        rows = np.array([[0.0, 0.0], [0.0, 1000.0], [9.0, 0.0], [9.0, 1000.0]])
        model.fit(rows, [0, 0, 1, 1])
        assert model.predict([[1.0, 500.0], [8.0, 400.0]]).tolist() == [0, 1]


class TestChangesOfThePast:
    def started(self) -> tuple[OnlineLearner, Floats]:
        learner, rows = OnlineLearner(20, scale="robust"), rows_of(made_stream(3, 40)) * 1000.0
        learner.teach(rows[:2], ["a", "b"])
        learner.observe(rows[2:])
        return learner, rows

    @pytest.mark.parametrize(
        "change",
        [
            lambda learner: learner.teach_later(30, "late"),
            lambda learner: learner.retract(0),
            lambda learner: learner.retract(label="a"),
            lambda learner: learner.forget("a"),
        ],
        ids=["late", "retract", "retract a class", "forget"],
    )
    def test_end_the_warm_up(self, change: Any) -> None:
        learner, rows = self.started()
        spread = learner._engine.scale.spread
        change(learner)
        labels = sorted(str(label) for label in learner.vertices.label)
        learner.observe(np.tile(rows, (3, 1)))
        assert learner._engine.scale.frozen
        assert learner._engine.scale.spread is spread
        assert sorted(str(label) for label in learner.vertices.label if label) == [
            label for label in labels if label != "None"
        ]

    @pytest.mark.filterwarnings("error")
    def test_a_label_that_contradicts_ends_the_warm_up_too(self) -> None:
        learner, rows = self.started()
        learner.teach(rows[30], "a")
        with pytest.raises(LabelConflictWarning):
            learner.teach_later(30, "late")
        assert learner._engine.scale.frozen
        learner.observe(np.tile(rows, (3, 1)))
        assert "late" in learner.vertices.label

    def test_questions_and_reasons_are_in_the_units_examples_came_in(self) -> None:
        learner, rows = self.started()
        question = learner.ask()[0]
        np.testing.assert_allclose(question.example, rows[question.example_id], rtol=1e-9)
        for end in learner.explain(rows[5]).met:
            np.testing.assert_allclose(end.point, rows[end.example_id], rtol=1e-9)


class TestMerging:
    def test_learners_of_one_file_can_be_merged(self, tmp_path: Path) -> None:
        stream = made_stream(9, 400)
        learner = OnlineLearner(20, scale="robust")
        fed(learner, stream[:130])
        learner.save(tmp_path / "a.labelwalk")
        other = load(tmp_path / "a.labelwalk")
        fed(learner, stream[130:250])
        fed(other, stream[250:])
        learner.merge(other)
        assert learner.n_seen == 400 + 130
        learner.save(tmp_path / "a.labelwalk")
        assert load(tmp_path / "a.labelwalk").digest() == learner.digest()

    def test_two_scales_are_refused_and_leave_no_trace(self) -> None:
        one, other = (OnlineLearner(20, scale="robust") for _ in range(2))
        fed(one, made_stream(10, 50))
        fed(other, made_stream(11, 50))
        before = one.digest()
        with pytest.raises(ValueError, match=r"different scale.*Save one learner"):
            one.merge(other)
        assert one.digest() == before

    @pytest.mark.parametrize("n", [20, 200])
    def test_an_empty_learner_takes_the_scale_over(self, n: int) -> None:
        stream = made_stream(12, 300)
        learner, other = (OnlineLearner(20, scale="robust") for _ in range(2))
        fed(other, stream[:n])
        learner.merge(other)
        other.merge(OnlineLearner(20, scale="robust"))
        assert learner.digest() == other.digest()
        assert fed(learner, stream[n:]) == fed(other, stream[n:])
        assert learner.digest() == other.digest()

    def test_merging_ends_the_warm_up(self) -> None:
        stream = made_stream(13, 20)
        one, other = (OnlineLearner(20, scale="robust") for _ in range(2))
        fed(one, stream)
        fed(other, stream)
        one.merge(other)
        scaled = one.scaled(rows_of(stream))
        one.observe(1e6 * rows_of(stream))
        np.testing.assert_array_equal(one.scaled(rows_of(stream)), scaled)
        assert one.n_seen == 60


Forgery = Callable[[dict[str, Any], dict[str, Any]], object]


def last(name: str, value: Any) -> Forgery:
    def forge(header: dict[str, Any], saved: dict[str, Any]) -> None:
        saved[name] = saved[name].copy()
        saved[name].flat[-1] = value

    return forge


NAMES_IN_FILE = ("centre", "spread", "rows", "labels", "frozen")
FORGERIES: dict[str, Forgery] = {
    "a centre that is no number": last("scale.centre", math.nan),
    "a centre beyond 1e150": last("scale.centre", 1e200),
    "a spread of zero": last("scale.spread", 0.0),
    "a negative spread": last("scale.spread", -1.0),
    "an endless spread": last("scale.spread", math.inf),
    "a spread that is no number": last("scale.spread", math.nan),
    "a row that is no number": last("scale.rows", math.nan),
    "a row beyond 1e150": last("scale.rows", 1e200),
    "a label beyond the classes": last("scale.labels", 3),
    "a label below none": last("scale.labels", -3),
    "frozen with rows": last("scale.frozen", True),
    "features that are not scaled": lambda header, saved: header["settings"].update(scale="none"),
    "a row too few": lambda header, saved: saved.update({"scale.rows": saved["scale.rows"][:-1]}),
    "a column too few": lambda header, saved: saved.update(
        {"scale.rows": saved["scale.rows"][:, :-1]}
    ),
    "a label too few": lambda header, saved: saved.update(
        {"scale.labels": saved["scale.labels"][:-1]}
    ),
    "a centre too few": lambda header, saved: saved.update(
        {"scale.centre": saved["scale.centre"][:-1]}
    ),
    "a spread too few": lambda header, saved: saved.update(
        {"scale.spread": saved["scale.spread"][:-1]}
    ),
    "no scale at all": lambda header, saved: saved.update(
        {"scale.centre": np.zeros(0), "scale.spread": np.zeros(0)}
    ),
}
FORGERIES |= {
    f"no {name}": lambda header, saved, name=name: saved.pop(f"scale.{name}")  # type: ignore[misc]
    for name in NAMES_IN_FILE
}
FORGERIES |= {
    f"{name} of another type": lambda header, saved, name=name: saved.update(  # type: ignore[misc]
        {f"scale.{name}": saved[f"scale.{name}"].astype(np.int32)}
    )
    for name in NAMES_IN_FILE
}


class TestForgedFiles:
    @pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
    def test_parts_that_do_not_fit(self, forge: Forgery, tmp_path: Path) -> None:
        learner = OnlineLearner(10, scale="robust")
        fed(learner, made_stream(14, 20, taught=0.5))
        assert len(learner.classes) == 3
        header, saved = learner._contents()
        forge(header, saved)
        model_file.write(tmp_path / "a.labelwalk", header, saved)
        with pytest.raises(ModelFileError, match="does not contain a valid learner"):
            load(tmp_path / "a.labelwalk")
