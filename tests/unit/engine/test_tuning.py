"""What is chosen by labels that are left out, and what the choice may not change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from labelwalk import OnlineLearner, SelfTuning
from labelwalk.arrays import Floats
from labelwalk.engine import bandwidth

seeds = st.integers(0, 2**32 - 1)


def blobs(seed: int, n: int = 300) -> tuple[Floats, list[int]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return rng.normal(size=(3, 4))[labels] * 3 + rng.normal(size=(n, 4)), labels.tolist()


def taught(seed: int, per_class: int = 4, **settings: object) -> tuple[OnlineLearner, Floats]:
    rows, labels = blobs(seed)
    learner = OnlineLearner(60, **settings)  # type: ignore[arg-type]
    for c in range(3):
        mine = [row for row, label in zip(rows, labels, strict=True) if label == c][:per_class]
        learner.teach(mine, [c] * len(mine))
    return learner, rows


@given(seeds)
def test_sharpness_changes_confidence_and_nothing_else(seed: int) -> None:
    fixed = SelfTuning(width=0.28, evenness=0.25)
    plain, rows = taught(seed, similarity=fixed, calibrate=False)
    sharp, _ = taught(seed, similarity=fixed)
    one, other = plain.observe(rows), sharp.observe(rows)
    assert one.label.tolist() == other.label.tolist()
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    np.testing.assert_allclose(one.scores.sum(axis=1), other.scores.sum(axis=1), rtol=1e-12)
    assert (other.confidence >= one.confidence * (1 - 1e-12)).all()


@given(seeds)
def test_what_is_chosen_is_one_of_the_pairs_and_of_the_powers(seed: int) -> None:
    learner, rows = taught(seed)
    learner.observe(rows)
    counters = learner._engine.state.counters
    assert (counters.width, counters.evenness) in SelfTuning().pairs
    assert counters.sharpness in bandwidth.SHARPNESS
    assert counters.choose_at_seen > counters.n_seen


def test_with_too_few_labels_the_usual_is_kept() -> None:
    learner, rows = taught(0, per_class=1)
    learner.observe(rows)
    counters = learner._engine.state.counters
    assert (counters.width, counters.evenness, counters.sharpness) == (0.28, 0.25, 1.0)


def test_what_is_given_is_not_chosen() -> None:
    assert SelfTuning(width=0.5, evenness=0.5).pairs == [(0.5, 0.5)]
    assert SelfTuning(evenness=0.0).pairs == [(0.28, 0.0), (0.34, 0.0)]
    assert SelfTuning(width=0.3).pairs == [(0.3, 0.25), (0.3, 0.0), (0.3, 1.0)]


def test_another_is_taken_only_where_it_is_clearly_better() -> None:
    usual = np.array([-1.0, -1.0, -1.0, -1.0])
    assert bandwidth._better([usual, usual]) == 0
    assert bandwidth._better([usual, usual + 0.1]) == 1
    assert bandwidth._better([usual, usual + np.array([4.0, -1.0, -1.0, -1.0])]) == 0
    assert bandwidth._better([usual, usual + 0.1, usual + 0.2]) == 2


@given(seeds, st.sampled_from(bandwidth.SHARPNESS))
def test_sharpened_answers_keep_their_sums_and_their_order(seed: int, power: float) -> None:
    rng = np.random.default_rng(seed)
    answers = rng.dirichlet(np.ones(4), size=6) * rng.random((6, 1))
    answers[0] = 0.0
    sharp = bandwidth._sharpen(answers, np.ones(4), power)
    np.testing.assert_allclose(sharp.sum(axis=1), answers.sum(axis=1), atol=1e-12)
    assert (sharp.argmax(axis=1) == answers.argmax(axis=1)).all()


@pytest.mark.compiled
def test_a_flat_but_right_graph_is_sharpened() -> None:
    """Left-out digits are nearly all named rightly, with little confidence: so confidence grows."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order], y[order]
    first = np.concatenate([np.flatnonzero(y == digit)[:4] for digit in range(10)])
    learner = OnlineLearner(200)
    learner.teach(X[first], y[first].tolist())
    learner.observe(np.delete(X, first, axis=0))
    assert learner._engine.state.counters.sharpness > 1.0


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_calibrate_is_true_or_false(value: object) -> None:
    with pytest.raises(ValueError, match="calibrate="):
        OnlineLearner(calibrate=value)  # type: ignore[arg-type]
