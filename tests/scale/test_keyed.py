"""One learner for each key: every row counts once, whatever happens in between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner, load
from labelwalk.scale.keyed import GapError, KeyedLearners

SETTINGS = OnlineLearner(30).settings


def stream(seed: int, n: int = 60) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 2))


def digests(folder: Path) -> dict[str, str]:
    return {path.name: load(path).digest() for path in folder.glob("*.lw")}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), max_size=20), st.data())
def test_accidents_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[tuple[str, int]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("keyed")
    rows = {key: stream(ord(key), 200) for key in "abc"}
    went = dict.fromkeys("abc", 0)
    learners = KeyedLearners(folder / "some", SETTINGS, every=7, at_hand=2)
    for key, n in blocks:
        if data.draw(st.booleans()):  # the process is lost, and all that was in its memory
            learners = KeyedLearners(folder / "some", SETTINGS, every=7, at_hand=2)
        went[key] += n
        at = learners.position(key)
        assert at >= went[key] - n - 7  # no more than `every` have to be given again
        said = learners.observe(key, rows[key][at : went[key]], at)
        assert len(said) == went[key] - at
    for key, n in went.items():  # what was lost at the end is given again too
        at = learners.position(key)
        if at < n:
            learners.observe(key, rows[key][at:n], at)
    learners.save()
    whole = KeyedLearners(folder / "whole", SETTINGS)
    for key, n in went.items():
        if n:
            whole.observe(key, rows[key][:n], 0)
    whole.save()
    assert digests(folder / "some") == digests(folder / "whole")


def test_what_was_learned_is_answered_and_not_learned_again(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    rows = stream(0)
    learners.teach("a", rows[:2], ["low", "high"], 0)
    learners.teach("a", rows[:2], ["low", "high"], 0)
    learners.observe("a", rows[2:20], 2)
    again = learners.observe("a", rows[10:30], 10)
    assert len(again) == 20
    assert learners.position("a") == 30
    learners.save()
    (path,) = tmp_path.glob("*.lw")
    assert load(path).n_seen == 30


def test_a_gap_is_told(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    with pytest.raises(GapError, match="position=5 of 'a', but its learner stands at 0") as told:
        learners.observe("a", stream(0)[:3], 5)
    assert told.value.position == 0
    assert learners.position("a") == 0
    for bad in (-1, 1.5):
        with pytest.raises(ValueError, match="position="):
            learners.observe("a", stream(0)[:3], bad)  # type: ignore[arg-type]
