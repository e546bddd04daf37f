"""Protocols, measures and results: against loops, against scikit-learn, and after accidents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from labelwalk import OnlineLearner
from paper.evaluation import (
    NOBODY,
    OUTSIDER,
    CurvePoint,
    Outcome,
    Stream,
    accuracy,
    calibration_error,
    confusion,
    cumulative_accuracy,
    evaluate,
    labels_at_first_appearance,
    labels_at_random,
    labels_first,
    precision_at_recall,
    precision_recall,
    precision_recall_curve,
    results,
    windowed_accuracy,
)
from paper.evaluation.running import CHUNK
from tests.reference import prequential

pytestmark = pytest.mark.shell


class Parrot:
    """Says the label it was taught last, and writes down all that reaches it."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.last: int | None = None

    def teach(self, X: Any, labels: list[int]) -> None:
        for row, label in zip(X, labels, strict=True):
            self.teach_one(row, label)

    def teach_one(self, row: Any, label: int) -> None:
        self.heard.append(("taught", *row, label))
        self.last = label

    def observe_one(self, row: Any) -> int | None:
        self.heard.append(("asked", *row))
        return self.last

    def observe(self, X: Any) -> Any:
        said = [self.observe_one(row) for row in X]
        label = np.array([*said, None], dtype=object)[:-1]
        return Sayings(label, np.where(label == None, 0.3, 0.5))  # noqa: E711


class Sayings:
    def __init__(self, label: Any, confidence: Any) -> None:
        self.label, self.confidence = label, confidence


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    n = draw(st.integers(1, 12))
    truth = np.array(draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
    delays = draw(st.lists(st.sampled_from([None, 0, 1, 3]), min_size=n, max_size=n))
    delays[-1] = None  # somebody must be asked
    told = [-1 if d is None or i + d >= n or truth[i] < 0 else i + d for i, d in enumerate(delays)]
    return Stream(np.arange(n, dtype=float)[:, None], truth, np.array(told))


@given(streams())
def test_a_learner_meets_a_stream_as_one_by_one(stream: Stream) -> None:
    blocks, single = Parrot(), Parrot()
    outcome = evaluate(blocks, stream)
    said = prequential.meet(single, stream.rows, stream.truth.tolist(), stream.told_at)
    assert blocks.heard == single.heard
    assert outcome.said.tolist() == [NOBODY if label is None else label for label in said]
    assert outcome.truth.tolist() == stream.truth[stream.answered].tolist()
    assert not outcome.confidence[outcome.said == NOBODY].any()


@given(streams())
def test_only_labels_that_are_told_reach_a_learner(stream: Stream) -> None:
    parrot = Parrot()
    evaluate(parrot, stream)
    told = np.flatnonzero(stream.told_at >= 0)
    heard = sorted(entry[1:] for entry in parrot.heard if entry[0] == "taught")
    assert heard == [(stream.rows[i, 0], stream.truth[i]) for i in told]


def test_an_offline_learner_is_given_all_rows_at_once() -> None:
    parrot = Parrot()
    parrot.online = False  # type: ignore[attr-defined]
    calls: list[int] = []
    observe = parrot.observe
    parrot.observe = lambda X: (calls.append(len(X)), observe(X))[1]  # type: ignore[method-assign, func-returns-value]
    n = 3 * CHUNK
    evaluate(parrot, labels_at_random(np.zeros((n, 1)), np.zeros(n, int), share=0.1, delay=5))
    assert calls == [n - 1]
    assert [entry[0] for entry in parrot.heard[:2]] == ["taught", "asked"]


def test_progress_is_reported_up_to_the_end() -> None:
    seen: list[int] = []
    n = 2 * CHUNK + 10
    evaluate(Parrot(), labels_first(np.zeros((n, 1)), np.zeros(n, int)), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == n - 4


def test_labels_first_is_the_whole_stream_reordered() -> None:
    X, y = np.arange(20.0)[:, None], np.arange(20) % 3
    stream = labels_first(X, y, per_class=2, seed=1)
    assert sorted(stream.rows[:, 0]) == X[:, 0].tolist()
    assert (stream.truth == stream.rows[:, 0] % 3).all()
    assert np.bincount(stream.truth[:6]).tolist() == [2, 2, 2]
    assert stream.answered.tolist() == [False] * 6 + [True] * 14


def test_outsiders_are_never_taught() -> None:
    y = np.array([OUTSIDER, 0, OUTSIDER, 0, 0, 1])
    X = np.zeros((6, 1))
    for stream in (
        labels_first(X, y, per_class=2),
        labels_at_first_appearance(X, y),
        labels_at_random(X, y, share=1.0),
    ):
        assert (stream.truth[stream.told_at >= 0] >= 0).all()


def test_a_learner_reached_by_delayed_labels_learns_from_them() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    rng.shuffle(y)
    X = rng.normal(size=(400, 2)) + 8.0 * y[:, None]
    outcome = evaluate(OnlineLearner(50), labels_at_random(X, y, share=0.05, delay=20, seed=3))
    assert accuracy(outcome) > 0.95
    assert outcome.nbytes > 0
    assert (outcome.seconds > 0).all()


outcomes = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.floats(0, 1)), min_size=1, max_size=30
).map(
    lambda rows: Outcome(
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        np.array([row[2] for row in rows]),
        np.zeros(len(rows)),
        0,
    )
)


@given(outcomes)
def test_measures_are_their_reference_implementations(outcome: Outcome) -> None:
    truth, said = outcome.truth.tolist(), outcome.said.tolist()
    assert precision_recall(outcome) == pytest.approx(prequential.precision_and_recall(truth, said))
    right = outcome.right & outcome.answered
    expected = prequential.calibration_error(outcome.confidence.tolist(), right.tolist(), 10)
    assert calibration_error(outcome) == pytest.approx(expected, abs=1e-12)
    assert windowed_accuracy(right, 3) == pytest.approx(prequential.windowed(right.tolist(), 3))
    assert cumulative_accuracy(right) == pytest.approx(windowed_accuracy(right, len(right)))


@given(outcomes)
def test_confusion_is_that_of_scikit_learn(outcome: Outcome) -> None:
    classes, counts = confusion(outcome)
    names = [*classes.tolist(), -1, -2]  # one more than there is: it warns of a single label
    expected = confusion_matrix(outcome.truth, outcome.said, labels=names)[:-1, :-1]
    assert counts.tolist() == expected.tolist()


def test_a_curve_trades_precision_for_recall() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + 2.0 * y[:, None]
    stream = labels_first(X, y, per_class=2)
    curve = precision_recall_curve(lambda a: OnlineLearner(50, abstain_below=a), [0.0, 0.9], stream)
    assert curve[0].recall > curve[1].recall
    assert curve[0].precision < curve[1].precision
    assert precision_at_recall(curve, 1.1) is None
    assert precision_at_recall([CurvePoint(1, 0.5, 0.9)], 0.9) == 0.5


class Mute(Parrot):
    def observe(self, X: Any) -> Any:
        return Sayings(np.array([None], dtype=object), np.zeros(1))


def one_each(n: int) -> Stream:
    return labels_first(np.zeros((n, 1)), np.zeros(n, int), per_class=1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: evaluate(Mute(), one_each(3)), "learner=Mute gave 1 answers to 2 rows"),
        (lambda: evaluate(Parrot(), one_each(1)), "no example to be answered"),
        (
            lambda: Stream(np.zeros((2, 1)), np.zeros(2, int), np.array([-1, 0])),
            r"told_at=.*-1,  0",
        ),
        (lambda: Stream(np.zeros((2, 1)), np.zeros(2, int), np.array([2, -1])), r"told_at=.*2, -1"),
        (lambda: labels_first([[0.0]], [0.5]), r"y=\[0.5\]"),
        (lambda: labels_first([[0.0]], [-2]), r"y=\[-2\]"),
        (lambda: labels_first([[0.0]], [0, 1]), r"y has shape \(2,\) for 1 rows"),
        (lambda: labels_first([[0.0]], [0], per_class=0), "per_class=0"),
        (lambda: labels_at_random([[0.0]], [0], share=2.0), "share=2.0"),
        (lambda: labels_at_random([[0.0]], [0], share=0.5, delay=-1), "delay=-1"),
        (lambda: windowed_accuracy(np.ones(3, bool), 0), "window=0"),
    ],
)
def test_bad_input_is_refused_by_name(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_results_come_back_as_written_and_twice_the_same(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"k": [1, 2], "error": np.array([0.5, 0.25]), "name": ["a", "b"]}
    for name in ("one", "two-0.5"):
        results.write(tmp_path / "deep" / name, columns, {"seed": 3})
    read = results.read(tmp_path / "deep" / "one")
    assert read is not None
    assert read.columns == {"k": [1, 2], "error": [0.5, 0.25], "name": ["a", "b"]}
    assert read.about["seed"] == 3
    assert read.about["versions"]["numpy"] == np.__version__
    for suffix in (".parquet", ".json"):
        files = [tmp_path / "deep" / f"{name}{suffix}" for name in ("one", "two-0.5")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_results_that_were_cut_short_do_not_count(tmp_path: Path) -> None:
    results.write(tmp_path / "one", {"k": [1]}, {})
    (tmp_path / "one.parquet").write_bytes(b"PAR1")
    assert results.read(tmp_path / "one") is None
    results.write(tmp_path / "one", {"k": [1]}, {})
    (tmp_path / "one.json").write_text("{")
    assert results.read(tmp_path / "one") is None
    (tmp_path / "one.json").unlink()
    assert results.read(tmp_path / "one") is None
    assert json.loads(json.dumps(results.versions()))["python"]
