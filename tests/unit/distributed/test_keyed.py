"""One learner for each key: every row counts once, whatever happens in between."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner, load
from labelwalk.distributed.keyed_learners import GapError, KeyedLearners
from tests.support.interrupts import interrupt_at_event

SETTINGS = OnlineLearner(30).settings


def stream(seed: int, n: int = 60) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 2))


def digests(folder: Path) -> dict[str, str]:
    """Return what is in all files; their names say key and position."""
    return {
        str(path.relative_to(folder)): load(path).digest()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Disk:
    """Knows what a power cut leaves: what was synced of files, and of the names in a folder."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._files: set[int] = set()
        self._names: dict[int, list[str]] = {}
        self._sync = os.fsync
        patch.setattr(os, "fsync", self._synced)

    def _synced(self, descriptor: int) -> None:
        self._sync(descriptor)
        number = os.fstat(descriptor).st_ino
        if os.path.isdir(descriptor):
            self._names[number] = os.listdir(descriptor)
        else:
            self._files.add(number)

    def has(self, path: Path) -> bool:
        is_synced = path.is_dir() or path.stat().st_ino in self._files
        return is_synced and path.name in self._names.get(path.parent.stat().st_ino, [])


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
    (path,) = tmp_path.rglob("*.lw")
    assert load(path).n_seen == 30


def test_a_gap_is_told(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    with pytest.raises(GapError, match=r"position=5 of 'a', but .* is at position 0") as told:
        learners.observe("a", stream(0)[:3], 5)
    assert told.value.position == 0
    again = pickle.loads(pickle.dumps(told.value))  # as from another process
    assert (again.position, str(again)) == (0, str(told.value))
    assert learners.position("a") == 0
    for bad in (-1, 1.5):
        with pytest.raises(ValueError, match="position="):
            learners.observe("a", stream(0)[:3], bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", [7, None, b"door"])
def test_a_key_is_a_string(tmp_path: Path, key: object) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    with pytest.raises(ValueError, match=r"key=.* must be a string"):
        learners.observe(key, stream(0), 0)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_what_is_kept_is_told(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS, every=10)
    learners.observe("a", stream(0)[:6], 0)
    assert learners.durable_position("a") == 0
    learners.observe("a", stream(0)[6:12], 6)
    assert learners.durable_position("a") == 12
    learners.observe("a", stream(0)[12:15], 12)
    assert (learners.durable_position("a"), learners.position("a")) == (12, 15)
    assert learners.save_key("a") == 15
    assert KeyedLearners(tmp_path, SETTINGS).position("a") == 15


def test_what_is_kept_survives_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    learners = KeyedLearners(tmp_path / "new" / "cameras", SETTINGS)
    for key in "ab":
        learners.observe(key, stream(0)[:6], 0)
        learners.save_key(key)
        assert len(list(tmp_path.rglob("*"))) == 2 * "ab".index(key) + 4
        assert all(disk.has(path) for path in tmp_path.rglob("*"))


def test_a_folder_whose_name_could_not_be_kept_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, learners = Disk(monkeypatch), KeyedLearners(tmp_path, SETTINGS)
    learners.observe("a", stream(0)[:6], 0)

    def broken(_: int) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="the disk is gone"):
            learners.save_key("a")
    assert learners.durable_position("a") == 0
    assert learners.save_key("a") == 6
    assert all(disk.has(path) for path in tmp_path.rglob("*"))


def test_one_who_was_cut_off_takes_nothing_back(tmp_path: Path) -> None:
    old, rows = KeyedLearners(tmp_path, SETTINGS), stream(0)
    old.observe("a", rows[:20], 0)
    old.save_key("a")
    old.observe("a", rows[20:30], 20)
    new = KeyedLearners(tmp_path, SETTINGS)  # takes over while the old one is still there
    new.observe("a", rows[20:50], 20)
    assert new.save_key("a") == 50
    assert old.save_key("a") == 30
    assert KeyedLearners(tmp_path, SETTINGS).position("a") == 50
    new.observe("a", rows[50:], 50)
    new.save_key("a")
    (only,) = tmp_path.rglob("*.lw")
    assert only.name == "00000000000000000060.lw"


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    learners.observe("a", stream(0), 0)
    learners.save_key("a")
    (path,) = tmp_path.rglob("*.lw")
    shutil.copy(path, path.parent / ".labelwalk-0123.tmp")
    assert KeyedLearners(tmp_path, SETTINGS).position("a") == 60
    assert [own.name for own in path.parent.iterdir()] == [path.name]


def test_learning_that_is_broken_off_counts_what_was_learned(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    learners.observe("a", stream(0)[:5], 0)
    with interrupt_at_event(5), pytest.raises(KeyboardInterrupt):
        learners.observe("a", stream(0)[5:], 5)
    at = learners.position("a")
    assert 5 < at < 60
    learners.observe("a", stream(0)[5:], 5)  # the same block, given again
    learners.save_key("a")
    (path,) = tmp_path.rglob("*.lw")
    assert load(path).n_seen == 60
    assert KeyedLearners(tmp_path, SETTINGS).position("a") == 60
