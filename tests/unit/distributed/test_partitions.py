"""A shared learner fed by partitions: nothing counts twice, and no answer is older than stated."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner
from labelwalk.distributed.keyed_learners import GapError, PositionedLearners, ReplayFeeder
from labelwalk.distributed.shared_learner import (
    Coordinator,
    InProcessLink,
    ModelUpdate,
    Partitions,
    SharedAnswer,
    SketchUpdate,
)
from labelwalk.distributed.sketches import (
    Budget,
    Sketch,
    SketchBuilder,
    from_arrow,
    merge,
    to_arrow,
)
from tests.unit.distributed.test_keyed import Disk
from tests.unit.distributed.test_sketch import same

SETTINGS = OnlineLearner(8, labels_per_class=3).settings
BUDGET = Budget(8, 3, float(SETTINGS.growth))
NAMES, EVERY = ["a", "b", "c"], 6
TAUGHT, OBSERVED, ARRIVED, DIED = "teach", "observe", "arrive", "die"
steps = st.lists(
    st.tuples(
        st.sampled_from([OBSERVED] * 4 + [TAUGHT, ARRIVED, ARRIVED, DIED]),
        st.sampled_from(NAMES),
        st.integers(1, EVERY),
    ),
    max_size=40,
)


def rows_of(name: str, n: int = 300) -> np.ndarray:
    who = np.random.default_rng(ord(name)).integers(0, 2, n)
    return 6.0 * who[:, None] + np.random.default_rng(ord(name) + 1).normal(size=(n, 2))


def labels_of(rows: np.ndarray) -> list[str]:
    return ["low" if row[0] < 3 else "high" for row in rows]


class Slow:
    """A way on which what is sent arrives when it is told to, or when somebody waits for it."""

    def __init__(self, centre: Coordinator) -> None:
        self.centre, self.start = centre, centre.start
        self.sent: list[Arrival] = []
        self.told = ModelUpdate(-1, {}, None)  # what was asked for last

    def send(self, handed: SketchUpdate) -> Arrival:
        self.sent.append(Arrival(self.centre, handed))
        return self.sent[-1]

    def news(self, version: int) -> ModelUpdate:
        self.told = self.centre.news()
        return self.centre.news(version)


class Arrival:
    def __init__(self, centre: Coordinator, handed: SketchUpdate) -> None:
        self.centre, self.handed, self.kept, self.fails = centre, handed, -1, False

    def done(self) -> bool:
        return self.kept >= 0 or self.fails

    def result(self) -> int:
        if self.fails:
            raise OSError("lost on its way")
        if not self.done():
            self.kept = self.centre.hand_over(self.handed)
        return self.kept


class Host(PositionedLearners[SharedAnswer]):
    """A process with a partition, which dies and begins again."""

    def __init__(self, way: Slow) -> None:
        self.way, self.every = way, EVERY
        self.begin()

    def begin(self) -> None:
        self.partitions = Partitions(self.way, SETTINGS, EVERY)

    def _call(self, method: str, key: str, *arguments: Any) -> Any:
        return getattr(self.partitions, method)(key, *arguments)


def whole_sketch(name: str, went: list[tuple[int, bool]]) -> Sketch:
    """What stands for the rows of a partition where nothing went wrong."""
    sketching, at = SketchBuilder(BUDGET), 0
    for n, taught in went:
        rows = rows_of(name)[at : at + n]
        sketching.add_rows(rows, labels_of(rows) if taught else None)
        at += n
    return sketching.sketch()


@given(steps)
def test_no_answer_lacks_more_rows_than_is_stated(
    tmp_path_factory: pytest.TempPathFactory, schedule: list[tuple[str, str, int]]
) -> None:
    centre = Coordinator(tmp_path_factory.mktemp("centre"), NAMES, SETTINGS)
    ways = {name: Slow(centre) for name in NAMES}
    hosts = {name: Host(ways[name]) for name in NAMES}
    feeders = {name: ReplayFeeder(hosts[name]) for name in NAMES}
    went: dict[str, list[tuple[int, bool]]] = {name: [] for name in NAMES}
    at = dict.fromkeys(NAMES, 0)
    for what, name, n in schedule:
        if what == ARRIVED:
            ways[name].sent[0].result() if ways[name].sent else None
            ways[name].sent = ways[name].sent[1:]
            continue
        if what == DIED:  # with all that was on its way, or with some
            ways[name].sent = ways[name].sent[: n % 2]
            hosts[name].begin()
            continue
        rows = rows_of(name)[at[name] : at[name] + n]
        if what == TAUGHT:
            feeders[name].teach(name, rows, labels_of(rows))
        else:
            said = feeders[name].observe(name, rows)
            check_age(said, ways[name].told, {key: at[key] + n * (key == name) for key in NAMES})
        went[name].append((n, what == TAUGHT))
        at[name] += n
    for name in NAMES:
        feeders[name].save()
    check_whole(centre, went)


def test_a_partition_hands_over_every_so_many_rows(tmp_path: Path) -> None:
    way = Slow(Coordinator(tmp_path, NAMES, SETTINGS))
    partitions, at = Partitions(way, SETTINGS, EVERY), 0
    for n in (4, 2, 1, 6, 5, 3, 3, 6):
        partitions.observe("a", rows_of("a")[at : at + n], at)
        at += n
        handed = [0, *(one.handed.position for one in way.sent)]
        assert at - handed[-1] <= EVERY
    assert handed == [0, 6, 7, 13, 18, 24]


def check_age(said: SharedAnswer, told: ModelUpdate, taken: dict[str, int]) -> None:
    lacks = {name: max(0, taken[name] - told.positions[name]) for name in NAMES}
    assert said.version == told.version == sum(told.positions.values())
    assert max(lacks.values()) <= 2 * EVERY
    assert sum(lacks.values()) <= said.lag <= 2 * EVERY * len(NAMES)


def check_whole(centre: Coordinator, went: dict[str, list[tuple[int, bool]]]) -> None:
    """Every row counts once, and the sketch is that of partitions that never failed."""
    found = centre.sketch()
    parts = [whole_sketch(name, went[name]) for name in NAMES]
    assert found.n_seen == sum(n for some in went.values() for n, _ in some)
    assert centre.news().version == found.n_seen
    assert same(found, merge(parts, BUDGET.n_centroids, BUDGET.labels_per_class))


@given(st.integers(0, 10**6), st.lists(st.integers(0, 90), max_size=4))
def test_a_sketch_that_is_taken_up_again_goes_on_to_the_bit(seed: int, cuts: list[int]) -> None:
    random = np.random.default_rng(seed)
    rows = random.integers(-3, 4, (90, 2)) / random.choice([1.0, 7.0])
    labels = random.choice(["", "x", "y"], 90, p=[0.8, 0.1, 0.1])
    whole = SketchBuilder(BUDGET)
    sketch = whole.sketch()
    for a, b in pairwise([0, *sorted(cuts), 90]):
        parts = SketchBuilder(BUDGET, from_arrow(to_arrow(sketch)))
        for i in range(a, b):
            for sketching in (whole, parts):
                sketching.add_rows(rows[i : i + 1], [str(labels[i])] if labels[i] else None)
        sketch = parts.sketch()
    assert same(whole.sketch(), sketch)


def test_labels_taught_anywhere_are_in_the_next_model(tmp_path: Path) -> None:
    centre = Coordinator(tmp_path, NAMES, SETTINGS)
    way = Slow(centre)
    partitions = Partitions(way, SETTINGS, EVERY)
    rows = np.array([[0.0, 0.0], [6.0, 6.0]])
    assert partitions.observe("b", rows, 0).verdicts.label.tolist() == [None, None]
    partitions.teach("a", rows, ["low", "high"], 0)
    assert [one.handed.name for one in way.sent] == ["a"]  # at once
    assert partitions.observe("b", rows, 2).version == 0
    way.sent[0].result()
    said = partitions.observe("b", rows, 4)
    assert said.verdicts.label.tolist() == ["low", "high"]
    assert said.version == 2


def test_labels_that_could_not_be_handed_over_are_when_they_are_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    centre = Coordinator(tmp_path, NAMES, SETTINGS)
    feeder = ReplayFeeder(Partitions(InProcessLink(centre), SETTINGS, EVERY))
    first, rows = rows_of("a")[:3], rows_of("a")[3:6]
    feeder.teach("a", first, labels_of(first))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"Cannot write .*arrow \(No space left .*again"):
            feeder.teach("a", rows, labels_of(rows))
    assert centre.news().version == 3
    feeder.teach("a", rows, labels_of(rows))
    assert centre.news().version == centre.sketch().n_seen == 6


def test_labels_that_were_lost_on_their_way_are_handed_over_when_they_are_given_again(
    tmp_path: Path,
) -> None:
    way = Slow(centre := Coordinator(tmp_path, NAMES, SETTINGS))
    partitions, rows = Partitions(way, SETTINGS, EVERY), rows_of("a")[:3]
    partitions.teach("a", rows, labels_of(rows), 0)
    way.sent[0].fails = True
    with pytest.raises(OSError, match="lost on its way"):
        partitions.teach("a", rows, labels_of(rows), 0)
    partitions.teach("a", rows, labels_of(rows), 0)
    partitions.teach("a", rows, labels_of(rows), 0)  # nothing is new
    assert [one.handed.position for one in way.sent] == [3, 3]
    way.sent[1].result()
    assert centre.news().version == 3


def test_several_threads_feed_their_partitions(tmp_path: Path) -> None:
    centre = Coordinator(tmp_path, NAMES, SETTINGS)
    feeder = ReplayFeeder(Partitions(InProcessLink(centre), SETTINGS, EVERY))
    went = [(n, n == 2) for n in (2, 5, 1, 6, 4)] * 4

    def one(name: str) -> None:
        at = 0
        for n, taught in went:
            rows = rows_of(name)[at : at + n]
            feeder.teach(name, rows, labels_of(rows)) if taught else feeder.observe(name, rows)
            at += n

    with ThreadPoolExecutor(len(NAMES)) as threads:
        list(threads.map(one, NAMES))
    assert feeder.save() == dict.fromkeys(NAMES, 72)
    check_whole(centre, dict.fromkeys(NAMES, went))


def test_those_who_wait_together_are_in_one_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    centre = Coordinator(tmp_path, NAMES, SETTINGS)
    made: list[ModelUpdate] = []
    make = centre._make_model
    first_begun, go_on = threading.Event(), threading.Event()

    def watched() -> ModelUpdate:
        first_begun.set()
        news = make()
        go_on.wait(30)
        made.append(news)
        return news

    monkeypatch.setattr(centre, "_make_model", watched)

    def hand(name: str) -> threading.Thread:
        sketching = SketchBuilder(BUDGET)
        sketching.add_rows(rows_of(name, 20), None)
        handed = SketchUpdate(name, 20, sketching.sketch())
        thread = threading.Thread(target=centre.hand_over, args=(handed,))
        thread.start()
        return thread

    threads = [hand("a")]
    first_begun.wait(30)
    threads += [hand("b"), hand("c")]
    while len([one for one in centre._updates.values() if one.position]) < 3:
        assert centre.news().version == 0  # nobody who asks waits
    go_on.set()
    for thread in threads:
        thread.join()
    assert [news.version for news in made] == [20, 60]


def test_a_centre_that_is_made_again_knows_all(tmp_path: Path) -> None:
    first = Coordinator(tmp_path, NAMES, SETTINGS)
    feeder = ReplayFeeder(Partitions(InProcessLink(first), SETTINGS, EVERY))
    for name in NAMES:
        feeder.teach(name, rows_of(name)[:4], labels_of(rows_of(name)[:4]))
        feeder.observe(name, rows_of(name)[4:9])
    kept = feeder.save()
    again = Coordinator(tmp_path, NAMES, SETTINGS)
    assert again.news().positions == kept == dict.fromkeys(NAMES, 9)
    assert same(again.sketch(), first.sketch())
    one, other = (some.news().model for some in (first, again))
    assert one is not None
    assert other is not None
    told = one.label(rows_of("d")), other.label(rows_of("d"))
    assert np.array_equal(told[0].probabilities, told[1].probabilities)


def handed(name: str, n: int) -> SketchUpdate:
    return SketchUpdate(name, n, whole_sketch(name, [(n, False)]))


def test_what_is_handed_over_survives_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    centre = Coordinator(tmp_path / "new" / "doors", NAMES, SETTINGS)
    for n in (5, 9):
        centre.hand_over(handed("a", n))
        assert len(list(tmp_path.rglob("*"))) == 4
        assert all(disk.has(path) for path in tmp_path.rglob("*"))


KILLED = """
import os, signal, sys
from labelwalk.distributed.shared_learner import Coordinator
from tests.unit.distributed.test_partitions import NAMES, SETTINGS, handed
centre = Coordinator(sys.argv[1], NAMES, SETTINGS)
centre.hand_over(handed("a", 5))
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
centre.hand_over(handed("a", 9))
"""


def test_what_a_killed_centre_left_is_removed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2
    assert Coordinator(tmp_path, NAMES, SETTINGS).news().positions["a"] == 5
    (only,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert only.name == "00000000000000000005.arrow"


def test_whoever_asks_what_is_kept_disturbs_nobody_who_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    centre = Coordinator(tmp_path, NAMES, SETTINGS)
    sync, asking = os.fsync, list[threading.Thread]()

    def asked_meanwhile(descriptor: int) -> None:
        sync(descriptor)
        asking.append(threading.Thread(target=centre.start, args=("a",)))
        asking[-1].start()
        asking[-1].join(0.05)  # it waits, or it is done

    monkeypatch.setattr(os, "fsync", asked_meanwhile)
    assert centre.hand_over(handed("a", 5)) == 5
    for thread in asking:
        thread.join()
    assert centre.start("a").position == 5


def test_a_hand_over_that_is_repeated_or_late_changes_nothing(tmp_path: Path) -> None:
    centre = Coordinator(tmp_path, NAMES, SETTINGS)
    way = Slow(centre)
    partitions = Partitions(way, SETTINGS, EVERY)
    for at in range(0, 12, 6):
        partitions.teach("a", rows_of("a")[at : at + 6], ["low"] * 6, at)
    early, late = way.sent
    late.result()
    assert centre.news().positions["a"] == 12
    for again in (early, Arrival(centre, early.handed), Arrival(centre, late.handed)):
        again.result()
    assert centre.news().positions["a"] == 12
    assert centre.sketch().n_seen == 12


def test_a_gap_is_told_and_what_was_taken_is_not_taken_again(tmp_path: Path) -> None:
    centre = Coordinator(tmp_path, NAMES, SETTINGS)
    partitions = Partitions(InProcessLink(centre), SETTINGS, EVERY)
    partitions.observe("a", rows_of("a")[:5], 0)
    assert len(partitions.observe("a", rows_of("a")[2:8], 2).verdicts) == 6
    assert partitions.position("a") == 8
    with pytest.raises(GapError, match="position=9 of 'a', but its learner is at position 8"):
        partitions.observe("a", rows_of("a")[:2], 9)
    assert partitions.save_key("a") == 8


def bad(act: Callable[[Partitions], Any], said: str) -> Any:
    return pytest.param(act, said, id=said)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        bad(lambda own: own.observe("z", [[1.0, 1.0]], 0), "'z' is not a partition"),
        bad(lambda own: own.observe("a", [[1.0]], 2), "X has 1 features"),
        bad(
            lambda own: own.observe("a", np.ones((7, 2)), 2),
            "7 rows is larger than every=6",
        ),
        bad(lambda own: own.observe("a", [[1.0, 1.0]], -1), "position=-1"),
        bad(
            lambda own: own.teach("a", [[1.0, 1.0]], [3], 2),
            "labels contains 3, but",
        ),
        bad(lambda own: own.teach("a", [[1.0, 1.0]], [], 2), "labels has 0 entries"),
    ],
)
def test_what_cannot_be_taken_changes_nothing(
    tmp_path: Path, act: Callable[[Partitions], Any], said: str
) -> None:
    partitions = Partitions(InProcessLink(Coordinator(tmp_path, NAMES, SETTINGS)), SETTINGS, EVERY)
    partitions.teach("a", rows_of("a")[:2], ["low", "high"], 0)
    partitions.observe("b", rows_of("b")[:2], 0)
    with pytest.raises(ValueError, match=said):
        act(partitions)
    assert (partitions.position("a"), partitions.position("b")) == (2, 2)


def test_a_hand_over_of_other_columns_is_refused(tmp_path: Path) -> None:
    centre = Coordinator(tmp_path, NAMES, SETTINGS)
    way = Slow(centre)
    partitions = Partitions(way, SETTINGS, EVERY)
    partitions.observe("a", rows_of("a")[:2], 0)
    partitions.teach("b", [[1.0]], ["low"], 0)
    assert partitions.save_key("a") == 2
    with pytest.raises(
        ValueError, match="Rows have 1 features, but rows of other partitions have 2"
    ):
        partitions.save_key("b")
    assert centre.news().positions == {"a": 2, "b": 0, "c": 0}


@pytest.mark.parametrize("names", ["ab", [], ["a", "a"], [1, 2]])
def test_partitions_have_names(tmp_path: Path, names: Any) -> None:
    with pytest.raises(ValueError, match=r"names=.* must be a list of distinct strings"):
        Coordinator(tmp_path, names, SETTINGS)


def test_settings_that_covers_cannot_have_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="half_life=9"):
        Coordinator(tmp_path, NAMES, OnlineLearner(8, half_life=9).settings)
    with pytest.raises(ValueError, match="every=0"):
        Partitions(InProcessLink(Coordinator(tmp_path, NAMES, SETTINGS)), SETTINGS, 0)
