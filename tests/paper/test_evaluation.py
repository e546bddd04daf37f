"""Streams, evaluation and measures: against loops and after every kind of order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner
from labelwalk.evaluation import calibration_error, cumulative_accuracy, windowed_accuracy
from paper.datasets import UNKNOWN_CLASS
from paper.evaluation import (
    ABSTAINED,
    CurvePoint,
    EvaluationResult,
    Stream,
    evaluate,
    labels_at_first_appearance,
    labels_first,
    precision_at_recall,
    precision_recall_curve,
)
from tests.reference import prequential

pytestmark = pytest.mark.shell


class Parrot:
    """Answers with the label it was taught last, and records all that reaches it."""

    def __init__(self, online: bool = True) -> None:
        self.online = online
        self.log: list[tuple[Any, ...]] = []
        self.last: int | None = None

    def teach(self, X: Any, labels: list[int]) -> None:
        for row, label in zip(X, labels, strict=True):
            self.teach_one(row, label)

    def teach_one(self, row: Any, label: int) -> None:
        self.log.append(("taught", *row, label))
        self.last = label

    def observe_one(self, row: Any) -> int | None:
        self.log.append(("asked", *row))
        return self.last

    def observe(self, X: Any) -> Any:
        answers = [self.observe_one(row) for row in X]
        label = np.array([*answers, None], dtype=object)[:-1]
        return Answers(label, np.where(label == None, 0.3, 0.5))  # noqa: E711


class Answers:
    def __init__(self, label: Any, confidence: Any) -> None:
        self.label, self.confidence = label, confidence


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    n = draw(st.integers(1, 12))
    truth = np.array(draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
    taught = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))) & (truth >= 0)
    taught[-1] = False
    return Stream(np.arange(n, dtype=float)[:, None], truth, taught)


@given(streams())
def test_a_learner_meets_a_stream_as_one_by_one(stream: Stream) -> None:
    blocks, single = Parrot(), Parrot()
    result = evaluate(blocks, stream)
    step = np.where(stream.taught, np.arange(len(stream.rows)), -1)
    answers = prequential.meet(single, stream.rows, stream.truth.tolist(), step)
    assert blocks.log == single.log
    assert result.labels.tolist() == [ABSTAINED if label is None else label for label in answers]
    assert result.truth.tolist() == stream.truth[stream.answered].tolist()
    assert not result.confidence[result.labels == ABSTAINED].any()


@given(streams())
def test_an_offline_learner_is_taught_first(stream: Stream) -> None:
    parrot = Parrot(online=False)
    evaluate(parrot, stream)
    kinds = [entry[0] for entry in parrot.log]
    n_taught = int(stream.taught.sum())
    assert kinds == ["taught"] * n_taught + ["asked"] * (len(kinds) - n_taught)
    assert [entry[1] for entry in parrot.log[n_taught:]] == stream.rows[stream.answered, 0].tolist()


def test_labels_first_is_the_whole_stream_reordered() -> None:
    X, y = np.arange(20.0)[:, None], np.arange(20) % 3
    stream = labels_first(X, y, per_class=2, seed=1)
    assert sorted(stream.rows[:, 0]) == X[:, 0].tolist()
    assert (stream.truth == stream.rows[:, 0] % 3).all()
    assert np.bincount(stream.truth[:6]).tolist() == [2, 2, 2]
    assert stream.answered.tolist() == [False] * 6 + [True] * 14


def test_an_unknown_class_is_never_taught() -> None:
    y = np.array([UNKNOWN_CLASS, 0, UNKNOWN_CLASS, 0, 0, 1])
    for stream in (labels_first(np.zeros((6, 1)), y), labels_at_first_appearance(np.eye(6), y)):
        assert (stream.truth[stream.taught] >= 0).all()


def test_a_learner_is_timed_and_measured() -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], 100))
    X = rng.normal(size=(200, 2)) + 8.0 * y[:, None]
    result = evaluate(OnlineLearner(50), labels_first(X, y))
    assert result.accuracy > 0.95
    assert result.nbytes > 0
    assert (result.seconds > 0).all()


results = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.floats(0, 1)), min_size=1, max_size=30
).map(
    lambda rows: EvaluationResult(
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        np.array([row[2] for row in rows]),
        np.zeros(len(rows)),
        0,
    )
)


@given(results)
def test_measures_are_their_reference_implementations(result: EvaluationResult) -> None:
    truth, labels = result.truth.tolist(), result.labels.tolist()
    expected = prequential.precision_and_recall(truth, labels)
    assert (result.precision, result.recall) == pytest.approx(expected)
    correct = result.correct & result.answered
    ece = prequential.calibration_error(result.confidence.tolist(), correct.tolist(), 10)
    assert calibration_error(result.confidence, correct) == pytest.approx(ece, abs=1e-12)
    assert windowed_accuracy(correct, 3) == pytest.approx(prequential.windowed(correct.tolist(), 3))
    assert cumulative_accuracy(correct) == pytest.approx(windowed_accuracy(correct, len(correct)))


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


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="no example to answer"):
        evaluate(Parrot(), labels_first(np.zeros((1, 1)), np.zeros(1, int), per_class=1))
    with pytest.raises(ValueError, match="window=0"):
        windowed_accuracy(np.ones(3, bool), 0)
