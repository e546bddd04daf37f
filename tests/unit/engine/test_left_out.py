"""Each label left out, read as a verdict; and the tables of what is remembered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner
from tests.reference.leave_one_out import held_out


def begun(seed: int, **made: Any) -> OnlineLearner:
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=3.0, size=(3, 2))
    learner = OnlineLearner(15, **made)
    kinds = rng.integers(3, size=60)
    learner.observe(centres[kinds[:30]] + rng.normal(size=(30, 2)))
    learner.teach(centres[kinds[:9]] + rng.normal(size=(9, 2)), [f"of {k}" for k in kinds[:9]])
    learner.observe(centres[kinds[30:]] + rng.normal(size=(30, 2)))
    return learner


@given(seed=st.integers(0, 2**32 - 1), guess=st.booleans())
def test_it_is_the_graph_without_that_label(seed: int, guess: bool) -> None:
    learner = begun(seed, unreached="nearest" if guess else "abstain", calibrate=False)
    now, n = learner._engine.state, learner.n_vertices
    codes = now.vertices.label[:n]
    places = np.flatnonzero(codes >= 0).tolist()
    one_hot = np.eye(len(learner.classes))[codes[places]]
    system = now.system
    wanted = held_out(
        system.w[:n, :n].copy(), system.v[:n].copy(), system.g[:n].copy(), places, one_hot
    )
    several = [i for i, p in enumerate(places) if (codes == codes[p]).sum() > 1]
    label, verdicts = learner.left_out()
    assert label.tolist() == [learner.classes[codes[places[i]]] for i in several]
    assert np.allclose(verdicts.probabilities, wanted[several], atol=1e-8)
    for i, verdict in zip(several, verdicts, strict=True):
        if not guess and wanted[i].max() > 1e-6:
            best = wanted[i].max()
            assert verdict.label in {
                learner.classes[c] for c in np.flatnonzero(wanted[i] > best - 1e-7)
            }
        if guess:
            assert verdict.label is not None


def test_it_abstains_as_the_learner_does() -> None:
    learner = begun(1)
    before = learner.digest()
    learner.left_out()
    assert learner.digest() == before
    learner.adjust(abstain_below=1.0)
    _, verdicts = learner.left_out()
    sure = verdicts.confidence >= 1.0
    assert [label is not None for label in verdicts.label] == sure.tolist()


@pytest.mark.parametrize("labels", [[], ["a"], ["a", "b", "c"]])
def test_labels_that_are_alone_are_not_asked(labels: list[str]) -> None:
    learner = OnlineLearner(20)
    if labels:
        learner.teach(np.arange(2.0 * len(labels)).reshape(-1, 2), labels)
    label, verdicts = learner.left_out()
    assert (len(label), len(verdicts)) == (0, 0)


@pytest.mark.parametrize("scale", ["none", "robust"])
def test_what_is_remembered(scale: Any) -> None:
    rng = np.random.default_rng(5)
    given_rows = rng.normal(size=(30, 2)) * [1.0, 1000.0]
    learner = OnlineLearner(50, remember=10, scale=scale)
    assert len(learner.remembered) == 0
    learner.observe(given_rows)
    learner.teach_later(25, "x")
    kept = learner.remembered
    assert kept.id.tolist() == [*range(21, 30), 25]
    assert kept.label.tolist() == [None] * 9 + ["x"]
    assert np.allclose(kept.row, given_rows[kept.id])
    table = learner.vertices
    assert np.all(kept.vertex < len(table))
    assert table.label[kept.vertex[-1]] == "x"
    learner.retract(25)
    assert set(learner.remembered.label) == {None}


def test_what_waits() -> None:
    learner = OnlineLearner(50)
    learner.observe(np.random.default_rng(6).normal(size=(200, 2)))
    assert len(learner.quarantined) == 0
    learner.observe([[1e4, 1e4], [-1e4, 0.0]])
    assert sorted(learner.quarantined.tolist()) == [[-1e4, 0.0], [1e4, 1e4]]
