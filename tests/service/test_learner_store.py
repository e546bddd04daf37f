"""Learners in the service: as if they had been alone, whatever happens to the process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk._validation import NamedRows
from labelwalk.service import worker
from labelwalk.service.commands import Observe, Teach, TeachLater, UnfinishedError, apply_command
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.journal import Journal
from labelwalk.service.journal_writer import KeyReusedError
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.worker import BoundedQueue, BusyError, NoLearnerError
from tests.service import test_journal
from tests.service.seeded_bugs import BUGS_OF_KEEPING
from tests.service.sizes import Sizes
from tests.service.store_writer import EVERY, D, K, digest, events

pytestmark = pytest.mark.shell

WRITER = [sys.executable, "-m", "tests.service.store_writer"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LearnerStore]:
    store = LearnerStore(str(tmp_path / "kept"), snapshot_every=EVERY)
    yield store
    store.close()


def alone(seed: int, n: int) -> OnlineLearner:
    """Return a learner to which the first events have happened, by Python alone."""
    learner = OnlineLearner(K)
    for event in islice(events(seed), n):
        apply_command(event, learner)
    return learner


def test_names_of_columns_last(tmp_path: Path, passphrase: str | None) -> None:
    """Also after a restart, a repetition, and erasing what named them first."""
    folder, rows = str(tmp_path / "kept"), np.array([[0.0, 5.0], [9.0, 5.0]])
    teach = Teach(NamedRows(rows, ("x", "y")), ("low", "high"))
    turned = Observe(NamedRows(rows[:, ::-1].copy(), ("y", "x")))
    store = LearnerStore(folder, passphrase=passphrase)
    number = store.create("one", OnlineLearner(K)).result()
    store.submit(number, teach, "first").result()
    told = store.submit(number, turned, "second").result()
    assert told.columns["label"] == ["low", "high"]
    other = Observe(NamedRows(rows[:, ::-1].copy(), ("x", "y")))
    for _ in range(2):
        assert store.submit(number, teach, "first").result().first == 0
        assert store.submit(number, turned, "second").result() == told
        with pytest.raises(ValueError, match=r"missing \['y'\]"):
            store.submit(number, Observe(NamedRows(rows, ("x", "z")))).result()
        with pytest.raises(KeyReusedError):
            store.submit(number, other, "second").result()
        before = digest(store, number)
        store.close()
        store = LearnerStore(folder, passphrase=passphrase)
        assert digest(store, number) == before
    store.erase(number, examples=[0, 1]).result()
    assert store.get(number).learner.feature_names == ("x", "y")
    assert store.get(number).learner.remembered.row.tolist() == rows.tolist()
    store.close()


def test_it_is_as_if_they_were_alone(tmp_path: Path, passphrase: str | None) -> None:
    folder, numbers, done = str(tmp_path / "kept"), list[int](), 0
    for size in (30, 1, 60, 45):
        store = LearnerStore(folder, snapshot_every=EVERY, passphrase=passphrase)
        if not numbers:
            numbers = [store.create(f"of {i}", OnlineLearner(K)).result() for i in range(2)]
        answers = [
            store.submit(number, event)
            for some in zip(*(islice(events(s), done, done + size) for s in range(2)), strict=True)
            for number, event in zip(numbers, some, strict=True)
        ]
        done += size
        assert [digest(store, n) for n in numbers] == [alone(s, done).digest() for s in range(2)]
        assert all(answer.done() for answer in answers)
        store.close()


def test_answers_are_those_of_the_learner(store: LearnerStore) -> None:
    number, learner = store.create("a", OnlineLearner(K)).result(), OnlineLearner(K)
    for event in islice(events(0), 40):
        first, said = learner.n_seen, apply_command(event, learner)
        told = store.submit(number, event).result()
        assert told.first == first
        assert told.columns.get("label") == (None if said is None else said.label.tolist())


class TestKeys:
    ROWS = np.zeros((2, D))

    def test_a_repetition_changes_nothing(self, tmp_path: Path, passphrase: str | None) -> None:
        folder = str(tmp_path / "kept")
        store = LearnerStore(folder, passphrase=passphrase)
        number = store.create("a", OnlineLearner(K)).result()
        store.submit(number, Teach(np.ones((1, D)), ("x",)))
        answers = [store.submit(number, Observe(self.ROWS), key="k") for _ in range(3)]
        told = answers[0].result()
        assert all(answer.result() == told for answer in answers)
        store.close()
        again = LearnerStore(folder, passphrase=passphrase)
        assert again.submit(number, Observe(self.ROWS), key="k").result() == told
        assert again.query(number, lambda managed: managed.learner.n_seen).result() == 3
        with pytest.raises(KeyReusedError, match="key 'k' was used for another command"):
            again.submit(number, Observe(self.ROWS + 1), key="k").result()
        again.close()


class TestRefused:
    def test_what_cannot_be_done_leaves_no_trace(self, store: LearnerStore, tmp_path: Path) -> None:
        number = store.create("a", OnlineLearner(K)).result()
        store.submit(number, Teach(np.ones((1, D)), ("x",))).result()
        before = digest(store, number)
        for event in (
            Observe(np.full((1, D), np.nan)),
            Observe(np.zeros((1, D + 1))),
            TeachLater(99, "x"),
        ):
            with pytest.raises(ValueError, match=r"."):
                store.submit(number, event).result()
        with pytest.raises(NoLearnerError):
            store.submit(99, Observe(np.zeros((1, D)))).result()
        with pytest.raises(ValueError, match="a learner named 'a' already"):
            store.create("a", OnlineLearner(K)).result()
        assert digest(store, number) == before

    def test_deleted(self, store: LearnerStore) -> None:
        number = store.create("a", OnlineLearner(K)).result()
        store.delete(number).result()
        with pytest.raises(NoLearnerError):
            store.delete(number).result()
        assert store.create("a", OnlineLearner(K)).result() != number

    def test_too_much(self) -> None:
        queue: BoundedQueue[int] = BoundedQueue(10)
        queue.put(1, 50)  # alone, it may be as large as it likes
        with pytest.raises(BusyError, match="50 examples are waiting"):
            queue.put(2, 1)
        assert queue.take(1) == [1]
        queue.close()
        with pytest.raises(BusyError, match="shutting down"):
            queue.put(3, 1)
        assert queue.take(1) == []

    def test_nothing_is_answered_after_the_disk_has_failed(self, tmp_path: Path) -> None:
        store = LearnerStore(str(tmp_path / "kept"))
        number = store.create("a", OnlineLearner(K)).result()
        store.submit(number, Observe(np.zeros((1, D)))).result()
        with store._journal.database.transaction() as connection:
            connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(DiskError, match="full"):
            store.submit(number, Observe(np.zeros((5000, D)))).result()
        with pytest.raises(DiskError):
            digest(store, number)
        store.close()
        again = LearnerStore(str(tmp_path / "kept"))
        assert again.query(number, lambda managed: managed.learner.n_seen).result() == 1
        again.close()


def test_who_stops_waiting_stops_nothing(store: LearnerStore) -> None:
    number = store.create("a", OnlineLearner(K)).result()

    async def impatient() -> None:
        waiting = asyncio.wrap_future(store.submit(number, Observe(np.zeros((2000, D)))))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(impatient())
    assert store.query(number, lambda managed: managed.learner.n_seen).result(timeout=60) == 2000


def test_erased_examples_never_were() -> None:
    managed = ManagedLearner("a", OnlineLearner(K))
    managed.apply(Observe(np.arange(6.0).reshape(3, 2)))
    managed.reserve_erased(3, [True, False])
    managed.apply(Observe(np.ones((1, 2))))
    assert managed.next_example_id == 5
    managed.apply(TeachLater(4, "a"))
    with pytest.raises(ValueError, match="example 3 was erased"):
        managed.apply(TeachLater(3, "a"))


@pytest.mark.slow
def test_kill_9(tmp_path: Path, sizes: Sizes, passphrase: str | None) -> None:
    """All that was acknowledged is there, once, and the state is that of an undisturbed learner."""
    folder, rng, told = str(tmp_path / "kept"), np.random.default_rng(0), -1
    for _ in range(sizes.store_kills):
        process = subprocess.Popen([*WRITER, folder, "5"], stdout=subprocess.PIPE)
        with process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(float(rng.uniform(0.1, 1.0)))
            process.send_signal(signal.SIGKILL)
            said = process.stdout.read().decode().splitlines()
        told = max([told, *(int(line.split()[0]) for line in said[:-1])])
        store = LearnerStore(folder, snapshot_every=EVERY, passphrase=passphrase)
        (number, done), *_ = store.query_all(
            lambda learners: [(n, managed.next_example_id) for n, managed in learners.items()]
        ).result()
        happened = store._journal.last.sequence - 1
        assert happened > told
        assert digest(store, number) == alone(5, happened).digest()
        assert done == alone(5, happened).n_seen
        store.close()


@pytest.mark.parametrize("bug", BUGS_OF_KEEPING)
def test_mistakes_are_caught(bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS_OF_KEEPING[bug](monkeypatch.setattr)
    with pytest.raises((AssertionError, DamagedError, pytest.fail.Exception)):
        try_everything(tmp_path)


def try_everything(tmp_path: Path) -> None:
    test_journal.TestJournal().test_nothing_is_accepted_after_a_failure(tmp_path / "zero")
    TestRefused().test_nothing_is_answered_after_the_disk_has_failed(tmp_path / "one")
    TestKeys().test_a_repetition_changes_nothing(tmp_path / "two", None)
    test_it_is_as_if_they_were_alone(tmp_path / "three", None)


@pytest.mark.parametrize("where", ["worker", "journal-writer"])
def test_an_error_that_nobody_expected_is_refused_and_leaves_nothing(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LearnerStore(str(tmp_path))
    number = store.create("a", OnlineLearner(K)).result()
    store.submit(number, Observe(np.zeros((1, D)))).result()

    def fails(*args: object) -> None:
        raise RuntimeError("nobody expected it")

    if where == "worker":
        monkeypatch.setattr(worker.LearnerWorker, "_create_entry", fails)
        monkeypatch.setattr(worker, "split_batches", fails)
    else:
        monkeypatch.setattr(Journal, "append", fails)
    for _ in range(3):
        with pytest.raises(UnfinishedError, match="Try again"):
            store.submit(number, Observe(np.ones((1, D))), key="k").result()
    assert store.failure is None
    monkeypatch.undo()
    assert store.query(number, lambda managed: managed.learner.n_seen).result() == 1
    for _ in range(2):
        assert store.submit(number, Observe(np.ones((1, D))), key="k").result().first == 1
    store.close()
    again = LearnerStore(str(tmp_path))
    assert again.query(number, lambda managed: managed.learner.n_seen).result() == 2
    again.close()


def waited(hold: threading.Event, learners: dict[int, ManagedLearner]) -> None:
    hold.wait()


def test_what_waits_together_is_answered_as_if_alone(tmp_path: Path) -> None:
    store = LearnerStore(str(tmp_path))
    number = store.create("a", OnlineLearner(K)).result()
    rng = np.random.default_rng(8)
    rows = 6.0 * rng.integers(2, size=(300, 1)) + rng.normal(size=(300, D))
    alone = OnlineLearner(K)
    event = Teach(rows[:2], ("low", "high"))
    apply_command(event, alone)
    store.submit(number, event)
    for size in (1, 3, 1):
        hold = threading.Event()
        store.query_all(partial(waited, hold))
        start = alone.n_seen
        blocks = [rows[start + i * size :][:size] for i in range(40)]
        keys = [f"{start} {i}" if i % 3 else "" for i in range(40)]
        answers = [
            store.submit(number, Observe(x), key) for x, key in zip(blocks, keys, strict=True)
        ]
        bad = store.submit(number, Observe(np.full((1, D), np.nan)))
        wide = store.submit(number, Observe(np.zeros((1, D + 1))))
        again = store.submit(number, Observe(blocks[1]), keys[1])
        hold.set()
        for x, answer in zip(blocks, answers, strict=True):
            told, expected = answer.result(), alone.observe(x)
            assert told.columns["label"] == expected.label.tolist()
            assert told.columns["confidence"] == expected.confidence.tolist()
            assert told.first == alone.n_seen - len(x)
        assert again.result() == answers[1].result()
        for refused in (bad, wide):
            with pytest.raises(ValueError, match=r"nan|features"):
                refused.result()
    content = store.query(number, lambda managed: managed.to_bytes()).result()
    assert digest(store, number) == alone.digest()
    store.close()
    restarted = LearnerStore(str(tmp_path))
    assert restarted.query(number, lambda managed: managed.to_bytes()).result() == content
    restarted.close()


def test_who_asked_may_leave(store: LearnerStore) -> None:
    number, gone = store.create("a", OnlineLearner(K)).result(), []

    async def ask_and_leave() -> None:
        for event in islice(events(1), 50):
            asking = asyncio.wrap_future(store.submit(number, event))
            gone.append(asking.cancel())
            await asyncio.sleep(0)

    asyncio.run(ask_and_leave())
    assert all(gone)
    assert digest(store, number) == alone(1, 50).digest()
