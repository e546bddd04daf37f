"""Streams on a cluster: actors that are killed at random moments or moved change nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.distributed.keyed_learners import GapError, KeyedLearners, ReplayFeeder
from labelwalk.distributed.sketches import Budget, SketchBuilder, merge
from tests.unit.distributed.test_ray import processes
from tests.unit.distributed.test_sketch import same

pytest.importorskip("ray")
from labelwalk.distributed.ray_actors import KeyedActors, SharedLearnerActors, start_keyed_actors
from labelwalk.distributed.ray_executor import join

# isort: split
import ray

pytestmark = pytest.mark.slow
SETTINGS = OnlineLearner(40, labels_per_class=8).settings
KEYS, NAMES = [f"camera {i}" for i in range(4)], ["a", "b"]
ROWS, BLOCK, EVERY, KILLS = 80 * 23, 23, 150, 4


@pytest.fixture(scope="module")
def here() -> Iterator[None]:
    join(n_workers=2)
    yield
    ray.shutdown()


def rows_of(key: str) -> np.ndarray:
    random = np.random.default_rng(list(key.encode()))
    who = random.integers(0, 2, ROWS)
    return 6.0 * who[:, None] + random.normal(size=(ROWS, 3))


def feed(feeder: ReplayFeeder[Any], key: str, until: int = ROWS) -> list[Any]:
    """Give all rows of a key that its learner lacks; every tenth block has labels."""
    said = []
    for at in range(feeder.position(key), until, BLOCK):
        rows = rows_of(key)[at : min(at + BLOCK, until)]
        if (at // BLOCK) % 10 == 0:
            feeder.teach(key, rows, labels_of(rows))
        else:
            said.append(feeder.observe(key, rows))
    return said


def feed_all(feeder: ReplayFeeder[Any], keys: list[str]) -> None:
    with ThreadPoolExecutor(len(keys)) as threads:
        list(threads.map(lambda key: feed(feeder, key), keys))


def labels_of(rows: np.ndarray) -> list[str]:
    return ["low" if row[0] < 3 else "high" for row in rows]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file byte for byte; what killed writers left is none."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")}
    return {name: content for name, content in found.items() if not name.endswith(".tmp")}


def is_ours(process: Path) -> bool:
    """Say whether we began a process, or one that began it: others may use Ray here too."""
    while process.name not in ("0", "1", str(os.getpid())):
        try:
            status = (process / "status").read_text()
        except OSError:
            return False
        process = Path("/proc") / status.partition("PPid:")[2].split()[0]
    return process.name == str(os.getpid())


@contextmanager
def killing(feeder: ReplayFeeder[Any], of: int, *names: bytes) -> Iterator[list[bytes]]:
    """Kill processes so called, at random moments of a stream of so many rows."""
    random, done, killed = np.random.default_rng(of), threading.Event(), list[bytes]()
    moments = np.sort(random.uniform(0, 0.9 * of, KILLS))

    def kill() -> None:
        for i, moment in enumerate(moments):
            while not done.wait(0.003):
                some = [one for one in processes(names[i % len(names)]) if is_ours(one)]
                if some and sum(line.position for line in feeder._streams.values()) >= moment:
                    done.wait(random.uniform(0, 0.03))
                    victim = some[random.integers(len(some))]
                    killed.append((victim / "cmdline").read_bytes().partition(b"\0")[0])
                    os.kill(int(victim.name), signal.SIGKILL)
                    break

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        done.set()
        killer.join()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of keyed learners where nothing goes wrong, in one process."""
    folder = tmp_path_factory.mktemp("whole")
    feeder = ReplayFeeder(KeyedLearners(folder, SETTINGS, EVERY))
    for key in KEYS:
        feed(feeder, key)
    feeder.save()
    return contents(folder)


def test_keyed_learners_that_are_killed_are_the_same_byte_for_byte(
    here: None, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    learners = start_keyed_actors(tmp_path, SETTINGS, EVERY, at_hand=2, n_actors=2)
    feeder = ReplayFeeder(learners)
    with killing(feeder, ROWS * len(KEYS), b"ray::KeyedLearners") as killed:
        feed_all(feeder, KEYS)
        kept = feeder.save()
    learners.close()
    assert len(killed) == KILLS
    assert kept == dict.fromkeys(KEYS, ROWS)
    assert contents(tmp_path) == whole


def test_another_driver_goes_on_with_another_number_of_actors(
    here: None, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    for n_actors, until in ((1, ROWS // 2), (2, ROWS)):
        learners = start_keyed_actors(tmp_path, SETTINGS, EVERY, n_actors=n_actors)
        feeder = ReplayFeeder(learners)
        for key in KEYS:
            feed(feeder, key, until)
        feeder.save()
        learners.close()
    assert contents(tmp_path) == whole


def test_an_actor_that_is_moved_goes_on(here: None, tmp_path: Path) -> None:
    learners = start_keyed_actors(tmp_path, SETTINGS, EVERY, n_actors=1)
    feeder = ReplayFeeder(learners)
    feed(feeder, "door", 230)
    ray.kill(learners.actors[0], no_restart=False)
    while learners.position("door") == 230:  # until it is killed
        time.sleep(0.05)
    with pytest.raises(GapError) as told:  # as one sees it who has no feeder
        learners.observe("door", rows_of("door")[:3], 1000)
    assert 0 < told.value.position < 230
    feed(feeder, "door", 460)
    assert feeder.save() == {"door": 460}
    learners.close()


def test_learners_are_passed_on_to_tasks(here: None, tmp_path: Path) -> None:
    learners = start_keyed_actors(tmp_path, SETTINGS, n_actors=1)

    def work(learners: Any, key: str) -> dict[str, int]:
        feeder = ReplayFeeder(learners)
        feeder.observe(key, np.ones((5, 2)))
        return feeder.save()

    task: Any = ray.remote(num_cpus=1)(work)
    told = ray.get([task.remote(learners, key) for key in "ab"])
    assert told == [{"a": 5}, {"b": 5}]
    learners.close()


def give_until_killed(feeder: ReplayFeeder[Any]) -> None:
    """Give rows to an actor that was let go: it may answer for a moment."""
    for _ in range(200):
        feeder.observe("door", [[1.0, 2.0]])
        time.sleep(0.05)


def test_what_is_wrong_is_told_as_here(here: None, tmp_path: Path) -> None:
    learners = start_keyed_actors(tmp_path, SETTINGS, n_actors=1)
    feeder = ReplayFeeder(learners)
    feeder.observe("door", [[1.0, 2.0]])
    with pytest.raises(ValueError, match="X has 1 features"):
        feeder.observe("door", [[1.0]])
    feeder.observe("door", [[1.0, 3.0]])
    assert feeder.position("door") == learners.position("door") == 2
    learners.close()
    with pytest.raises(ConnectionError, match="The worker of the learner of 'door' was lost"):
        give_until_killed(feeder)
    for wrong in ({"every": 0}, {"at_hand": 0}, {"n_actors": 0}):
        with pytest.raises(ValueError, match="=0 is not an integer"):
            start_keyed_actors(tmp_path, SETTINGS, **wrong)


def test_keys_go_where_they_went_before() -> None:
    learners: KeyedActors[Any] = KeyedActors(range(7), EVERY)
    assert learners._choose_actor("door") == 0x2534E2DE1DEC24FEDAB4C00266B55BA9 % 7


def shared(folder: Path) -> SharedLearnerActors:
    return SharedLearnerActors(folder, NAMES, SETTINGS, EVERY)


def whole_sketches() -> list[Any]:
    budget = Budget(40, 8, float(SETTINGS.growth))
    found = []
    for name in NAMES:
        sketching = SketchBuilder(budget)
        for at in range(0, ROWS, BLOCK):
            rows = rows_of(name)[at : at + BLOCK]
            sketching.add_rows(rows, None if (at // BLOCK) % 10 else labels_of(rows))
        found.append(sketching.sketch())
    return found


def test_every_row_counts_once_in_a_shared_learner(here: None, tmp_path: Path) -> None:
    learner = shared(tmp_path)
    feeder = ReplayFeeder(learner)
    with killing(feeder, ROWS * len(NAMES), b"ray::Partitions", b"ray::Coordinator") as killed:
        feed_all(feeder, NAMES)
        kept = feeder.save()
    news, sketch = learner.news(), learner.sketch()
    learner.close()
    assert len(killed) == KILLS
    assert kept == news.positions == dict.fromkeys(NAMES, ROWS)
    assert sketch.n_seen == news.version == ROWS * len(NAMES)
    assert same(sketch, merge(whole_sketches(), 40, 8))
    assert news.model is not None
    said = news.model.label(rows_of("d")).label.tolist()
    right = [own == word for own, word in zip(said, labels_of(rows_of("d")), strict=True)]
    assert np.mean(right) > 0.97


def test_answers_of_a_shared_learner_come_at_once_and_say_how_old_they_are(
    here: None, tmp_path: Path
) -> None:
    learner = shared(tmp_path)
    said = feed(ReplayFeeder(learner), "a")
    learner.close()
    versions = [one.version for one in said]
    assert versions == sorted(versions)
    assert len(set(versions)) > 5
    assert all(one.lag <= 2 * EVERY * len(NAMES) for one in said)
    with pytest.raises(ValueError, match="'z' is not a partition"):
        learner.observe("z", [[1.0]], 0)


ALONE = """
from labelwalk import OnlineLearner
from labelwalk.distributed.ray_actors import SharedLearnerActors, start_keyed_actors
settings = OnlineLearner(50).settings
starts = (
    lambda: start_keyed_actors("kept", settings),
    lambda: SharedLearnerActors("kept", ["a"], settings),
)
for begin in starts:
    try:
        begin()
    except RuntimeError as error:
        print(error)
"""


def test_no_cluster_begins_by_itself(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    message = "has not joined a cluster. Call labelwalk.distributed.ray_executor.join()"
    assert told.stdout.count(message) == 2
