"""Rows for learners that are lost at any moment: each counts once, and what is kept stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.distributed.keyed_learners import (
    KeyedLearners,
    LostError,
    PositionedLearners,
    ReplayFeeder,
)
from labelwalk.verdicts import Verdicts
from tests.unit.distributed.test_keyed import SETTINGS, digests, stream

EVERY = 7
Blocks = list[tuple[str, int, bool]]
blocks_of_any_kind = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 9), st.booleans()), max_size=20
)


class Mortal(PositionedLearners[Verdicts]):
    """Learners whose process dies when a coin says so, before a call or after it.

    After it is the worse one: the rows are learned, and perhaps kept, and nobody is told. As an
    engine does, it gives the call to the next process.
    """

    def __init__(self, folder: Path, coin: Callable[[], bool]) -> None:
        self.folder, self.coin, self.every = folder, coin, EVERY
        self.begin()

    def begin(self) -> None:
        self.learners = KeyedLearners(self.folder, SETTINGS, every=EVERY, at_hand=2)

    def _call(self, method: str, key: str, *arguments: Any) -> Any:
        for _ in range(3):
            if self.coin():
                self.begin()
            answer = getattr(self.learners, method)(key, *arguments)
            if not self.coin():
                return answer
            self.begin()
        return getattr(self.learners, method)(key, *arguments)


def feed(feeder: ReplayFeeder[Verdicts], blocks: Blocks) -> dict[str, int]:
    went = dict.fromkeys("abc", 0)
    for key, n, taught in blocks:
        rows = stream(ord(key), 200)[went[key] : went[key] + n]
        if taught:
            feeder.teach(key, rows, ["low" if row[0] < 0 else "high" for row in rows])
        else:
            assert len(feeder.observe(key, rows)) == n
        went[key] += n
    return went


@given(blocks_of_any_kind, st.integers(0, 10**6), st.sampled_from([1, 15, 1000]))
def test_each_row_counts_once_whoever_dies(
    tmp_path_factory: pytest.TempPathFactory, blocks: Blocks, seed: int, most: int
) -> None:
    folder = tmp_path_factory.mktemp("fed")
    random = np.random.default_rng(seed)
    mortal = Mortal(folder / "some", lambda: bool(random.random() < 0.2))
    went = feed(feeder := ReplayFeeder(mortal, most), blocks)
    kept = feeder.save()
    assert all(kept[key] == went[key] for key in kept)
    whole = KeyedLearners(folder / "whole", SETTINGS)
    feed(plain := ReplayFeeder(whole), blocks)
    plain.save()
    assert digests(folder / "some") == digests(folder / "whole")


def test_no_more_rows_wait_than_is_said(tmp_path: Path) -> None:
    feeder = ReplayFeeder(KeyedLearners(tmp_path, SETTINGS, every=10), most=40)
    for i in range(30):
        for key in "abc":
            feeder.observe(key, stream(i)[:4])
            waiting = sum(line.position - line.saved for line in feeder._streams.values())
            assert waiting == feeder._n_rows
            assert waiting <= 40 + 4
            assert feeder._streams[key].position - feeder._streams[key].saved < 2 * 10 + 4


def test_a_new_feeder_goes_on_where_the_learner_stands(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    ReplayFeeder(learners).observe("a", stream(0)[:20])
    feeder = ReplayFeeder(learners)  # nobody has the first rows any more
    assert feeder.position("a") == 20
    assert learners.durable_position("a") == 20  # so they must not be lost
    feeder.observe("a", stream(0)[20:])
    assert feeder.save() == {"a": 60}


def test_a_buffer_that_is_used_again_changes_nothing(tmp_path: Path) -> None:
    mortal = Mortal(tmp_path / "some", lambda: False)
    feeder, buffer = ReplayFeeder(mortal), np.empty((3, 2))
    for at in range(0, 6, 3):
        buffer[:] = stream(0)[at : at + 3]
        feeder.observe("a", buffer)
    mortal.begin()
    feeder.save()
    whole = KeyedLearners(tmp_path / "whole", SETTINGS)
    whole.observe("a", stream(0)[:6], 0)
    whole.save()
    assert digests(tmp_path / "some") == digests(tmp_path / "whole")


def test_bad_rows_change_nothing(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    feeder = ReplayFeeder(learners)
    feeder.observe("a", stream(0)[:5])
    for bad in ([[1.0]], [[np.nan, 1.0]], []):
        with pytest.raises(ValueError, match=r"X"):
            feeder.observe("a", bad)
    with pytest.raises(ValueError, match="labels has 1 entries for 2 rows"):
        feeder.teach("a", stream(0)[:2], ["low"])
    feeder.observe("a", stream(0)[5:])
    assert feeder.position("a") == learners.position("a") == 60
    with pytest.raises(ValueError, match="key=3 must be a string"):
        feeder.observe(3, stream(0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="most=0"):
        ReplayFeeder(learners, most=0)


def test_a_block_that_was_learned_without_an_answer_is_given_again(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)

    class Mute(PositionedLearners[Verdicts]):
        every, is_mute = EVERY, False

        def _call(self, method: str, key: str, *arguments: Any) -> Any:
            answer = getattr(learners, method)(key, *arguments)
            if self.is_mute:
                raise ConnectionError("the answer is lost")
            return answer

    feeder = ReplayFeeder(mute := Mute())
    feeder.observe("a", stream(0)[:5])
    mute.is_mute = True
    with pytest.raises(ConnectionError):
        feeder.observe("a", stream(0)[5:9])
    mute.is_mute = False
    with pytest.raises(ValueError, match=r"at position 5 was learned.*Send that block again"):
        feeder.observe("a", stream(0)[9:20])
    assert len(feeder.observe("a", stream(0)[5:9])) == 4
    feeder.observe("a", stream(0)[9:20])
    assert learners.position("a") == feeder.position("a") == 20


def test_a_folder_that_is_not_shared_is_told(tmp_path: Path) -> None:
    mortal = Mortal(tmp_path / "here", lambda: False)
    feeder = ReplayFeeder(mortal)
    feeder.observe("a", stream(0)[:20])
    feeder.save()
    shutil.rmtree(tmp_path / "here")
    mortal.begin()
    with pytest.raises(LostError, match=r"at position 0, but was saved at 20.*all machines"):
        feeder.observe("a", stream(0)[20:30])


def test_two_who_feed_one_key_are_told(tmp_path: Path) -> None:
    learners = KeyedLearners(tmp_path, SETTINGS)
    one, other = ReplayFeeder(learners), ReplayFeeder(learners)
    assert (one.position("a"), other.position("a")) == (0, 0)
    one.observe("a", stream(0)[:20])
    other.observe("a", stream(0)[:5])
    with pytest.raises(LostError, match=r"is at position 20, but received 5 rows.*only one feeder"):
        other.save()


def test_only_learners_that_have_learned_since_are_asked(tmp_path: Path) -> None:
    asked = []

    class Watched(KeyedLearners):
        def save_key(self, key: str) -> int:
            asked.append(key)
            return super().save_key(key)

    feeder = ReplayFeeder(Watched(tmp_path, SETTINGS))
    for key in "abc":
        feeder.observe(key, stream(0)[:5])
    feeder.save()
    feeder.observe("b", stream(0)[5:9])
    asked.clear()
    assert feeder.save() == {"a": 5, "b": 9, "c": 5}
    assert asked == ["b"]


def test_a_key_that_was_refused_is_not_asked_for_again(tmp_path: Path) -> None:
    feeder = ReplayFeeder(KeyedLearners(tmp_path, SETTINGS))
    feeder.observe("a", stream(0)[:5])
    with pytest.raises(ValueError, match="key=3 must be a string"):
        feeder.observe(3, stream(0))  # type: ignore[arg-type]
    assert feeder.save() == {"a": 5}


@pytest.mark.parametrize("at_hand", [1, 100])
def test_several_threads_feed_their_keys(tmp_path: Path, at_hand: int) -> None:
    feeder = ReplayFeeder(KeyedLearners(tmp_path / "some", SETTINGS, every=EVERY, at_hand=at_hand))
    whole = ReplayFeeder(KeyedLearners(tmp_path / "whole", SETTINGS))

    def one(feeder: ReplayFeeder[Verdicts], key: str) -> None:
        for at in range(0, 60, 6):
            feeder.observe(key, stream(ord(key))[at : at + 6])

    keys = "abcdef"
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda key: one(feeder, key), keys))
    for key in keys:
        one(whole, key)
    assert feeder.save() == whole.save() == dict.fromkeys(keys, 60)
    assert digests(tmp_path / "some") == digests(tmp_path / "whole")
