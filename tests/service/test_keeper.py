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
from labelwalk.rows import NamedRows
from labelwalk.service import learning
from labelwalk.service.changes import UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.events import Observe, Teach, TeachLater
from labelwalk.service.inbox import BusyError, Inbox
from labelwalk.service.journal import Journal
from labelwalk.service.keeper import Keeper
from labelwalk.service.keys import KeyReusedError
from labelwalk.service.learning import NoLearnerError
from labelwalk.service.pupil import Pupil
from tests.service import test_journal
from tests.service.keeper_writer import EVERY, D, K, events
from tests.service.seeded_bugs import BUGS_OF_KEEPING
from tests.service.sizes import Sizes

pytestmark = pytest.mark.shell

WRITER = [sys.executable, "-m", "tests.service.keeper_writer"]


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    keeper = Keeper(str(tmp_path / "kept"), every=EVERY)
    yield keeper
    keeper.close()


def digest(keeper: Keeper, number: int) -> str:
    found: str = keeper.look(number, lambda pupil: pupil.learner.digest()).result()
    return found


def alone(seed: int, n: int) -> OnlineLearner:
    """Return a learner to which the first events have happened, by Python alone."""
    learner = OnlineLearner(K)
    for event in islice(events(seed), n):
        event.happen(learner)
    return learner


def test_names_of_columns_last(tmp_path: Path, passphrase: str | None) -> None:
    """Also after a restart, a repetition, and erasing what named them first."""
    folder, rows = str(tmp_path / "kept"), np.array([[0.0, 5.0], [9.0, 5.0]])
    teach = Teach(NamedRows(rows, ("x", "y")), ("low", "high"))
    turned = Observe(NamedRows(rows[:, ::-1].copy(), ("y", "x")))
    keeper = Keeper(folder, passphrase=passphrase)
    number = keeper.create("one", OnlineLearner(K)).result()
    keeper.change(number, teach, "first").result()
    told = keeper.change(number, turned, "second").result()
    assert told.columns["label"] == ["low", "high"]
    other = Observe(NamedRows(rows[:, ::-1].copy(), ("x", "y")))
    for _ in range(2):
        assert keeper.change(number, teach, "first").result().first == 0
        assert keeper.change(number, turned, "second").result() == told
        with pytest.raises(ValueError, match=r"missing are \['y'\]"):
            keeper.change(number, Observe(NamedRows(rows, ("x", "z")))).result()
        with pytest.raises(KeyReusedError):
            keeper.change(number, other, "second").result()
        before = digest(keeper, number)
        keeper.close()
        keeper = Keeper(folder, passphrase=passphrase)
        assert digest(keeper, number) == before
    keeper.erase(number, examples=[0, 1]).result()
    assert keeper.pupil(number).learner.feature_names == ("x", "y")
    assert keeper.pupil(number).learner.remembered.row.tolist() == rows.tolist()
    keeper.close()


def test_it_is_as_if_they_were_alone(tmp_path: Path, passphrase: str | None) -> None:
    folder, numbers, done = str(tmp_path / "kept"), list[int](), 0
    for size in (30, 1, 60, 45):
        keeper = Keeper(folder, every=EVERY, passphrase=passphrase)
        if not numbers:
            numbers = [keeper.create(f"of {i}", OnlineLearner(K)).result() for i in range(2)]
        answers = [
            keeper.change(number, event)
            for some in zip(*(islice(events(s), done, done + size) for s in range(2)), strict=True)
            for number, event in zip(numbers, some, strict=True)
        ]
        done += size
        assert [digest(keeper, n) for n in numbers] == [alone(s, done).digest() for s in range(2)]
        assert all(answer.done() for answer in answers)
        keeper.close()


def test_answers_are_those_of_the_learner(keeper: Keeper) -> None:
    number, learner = keeper.create("a", OnlineLearner(K)).result(), OnlineLearner(K)
    for event in islice(events(0), 40):
        first, said = learner.n_seen, event.happen(learner)
        told = keeper.change(number, event).result()
        assert told.first == first
        assert told.columns.get("label") == (None if said is None else said.label.tolist())


class TestKeys:
    ROWS = np.zeros((2, D))

    def test_a_repetition_changes_nothing(self, tmp_path: Path, passphrase: str | None) -> None:
        folder = str(tmp_path / "kept")
        keeper = Keeper(folder, passphrase=passphrase)
        number = keeper.create("a", OnlineLearner(K)).result()
        keeper.change(number, Teach(np.ones((1, D)), ("x",)))
        answers = [keeper.change(number, Observe(self.ROWS), key="k") for _ in range(3)]
        told = answers[0].result()
        assert all(answer.result() == told for answer in answers)
        keeper.close()
        again = Keeper(folder, passphrase=passphrase)
        assert again.change(number, Observe(self.ROWS), key="k").result() == told
        assert again.look(number, lambda pupil: pupil.learner.n_seen).result() == 3
        with pytest.raises(KeyReusedError, match="key 'k' was used for something else"):
            again.change(number, Observe(self.ROWS + 1), key="k").result()
        again.close()


class TestRefused:
    def test_what_cannot_be_done_leaves_no_trace(self, keeper: Keeper, tmp_path: Path) -> None:
        number = keeper.create("a", OnlineLearner(K)).result()
        keeper.change(number, Teach(np.ones((1, D)), ("x",))).result()
        before = digest(keeper, number)
        for event in (
            Observe(np.full((1, D), np.nan)),
            Observe(np.zeros((1, D + 1))),
            TeachLater(99, "x"),
        ):
            with pytest.raises(ValueError, match=r"."):
                keeper.change(number, event).result()
        with pytest.raises(NoLearnerError):
            keeper.change(99, Observe(np.zeros((1, D)))).result()
        with pytest.raises(ValueError, match="a learner 'a' already"):
            keeper.create("a", OnlineLearner(K)).result()
        assert digest(keeper, number) == before

    def test_deleted(self, keeper: Keeper) -> None:
        number = keeper.create("a", OnlineLearner(K)).result()
        keeper.delete(number).result()
        with pytest.raises(NoLearnerError):
            keeper.delete(number).result()
        assert keeper.create("a", OnlineLearner(K)).result() != number

    def test_too_much(self) -> None:
        inbox: Inbox[int] = Inbox(10)
        inbox.put(1, 50)  # alone, it may be as large as it likes
        with pytest.raises(BusyError, match="50 examples wait"):
            inbox.put(2, 1)
        assert inbox.take(1) == [1]
        inbox.close()
        with pytest.raises(BusyError, match="closed"):
            inbox.put(3, 1)
        assert inbox.take(1) == []

    def test_nothing_is_answered_after_the_disk_has_failed(self, tmp_path: Path) -> None:
        keeper = Keeper(str(tmp_path / "kept"))
        number = keeper.create("a", OnlineLearner(K)).result()
        keeper.change(number, Observe(np.zeros((1, D)))).result()
        with keeper._journal.database.writing() as connection:
            connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(DiskError, match="full"):
            keeper.change(number, Observe(np.zeros((5000, D)))).result()
        with pytest.raises(DiskError):
            digest(keeper, number)
        keeper.close()
        again = Keeper(str(tmp_path / "kept"))
        assert again.look(number, lambda pupil: pupil.learner.n_seen).result() == 1
        again.close()


def test_who_stops_waiting_stops_nothing(keeper: Keeper) -> None:
    number = keeper.create("a", OnlineLearner(K)).result()

    async def impatient() -> None:
        waiting = asyncio.wrap_future(keeper.change(number, Observe(np.zeros((2000, D)))))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(impatient())
    assert keeper.look(number, lambda pupil: pupil.learner.n_seen).result(timeout=60) == 2000


def test_erased_examples_never_were() -> None:
    pupil = Pupil("a", OnlineLearner(K))
    pupil.happen(Observe(np.arange(6.0).reshape(3, 2)))
    pupil.pass_over(3, [True, False])
    pupil.happen(Observe(np.ones((1, 2))))
    assert pupil.n_numbered == 5
    pupil.happen(TeachLater(4, "a"))
    with pytest.raises(ValueError, match="example 3 was erased"):
        pupil.happen(TeachLater(3, "a"))


@pytest.mark.slow
def test_kill_9(tmp_path: Path, sizes: Sizes, passphrase: str | None) -> None:
    """All that was acknowledged is there, once, and the state is that of an undisturbed learner."""
    folder, rng, told = str(tmp_path / "kept"), np.random.default_rng(0), -1
    for _ in range(sizes.keeper_kills):
        process = subprocess.Popen([*WRITER, folder, "5"], stdout=subprocess.PIPE)
        with process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(float(rng.uniform(0.1, 1.0)))
            process.send_signal(signal.SIGKILL)
            said = process.stdout.read().decode().splitlines()
        told = max([told, *(int(line.split()[0]) for line in said[:-1])])
        keeper = Keeper(folder, every=EVERY, passphrase=passphrase)
        (number, done), *_ = keeper.look_at_all(
            lambda pupils: [(n, pupil.n_numbered) for n, pupil in pupils.items()]
        ).result()
        happened = keeper._journal.last.sequence - 1
        assert happened > told
        assert digest(keeper, number) == alone(5, happened).digest()
        assert done == alone(5, happened).n_seen
        keeper.close()


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


@pytest.mark.parametrize("where", ["learn", "scribe"])
def test_an_error_that_nobody_expected_is_refused_and_leaves_nothing(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(str(tmp_path))
    number = keeper.create("a", OnlineLearner(K)).result()
    keeper.change(number, Observe(np.zeros((1, D)))).result()

    def fails(*args: object) -> None:
        raise RuntimeError("nobody expected it")

    if where == "learn":
        monkeypatch.setattr(learning.Learning, "_noted", fails)
        monkeypatch.setattr(learning, "runs", fails)
    else:
        monkeypatch.setattr(Journal, "append", fails)
    for _ in range(3):
        with pytest.raises(UnfinishedError, match="Try again"):
            keeper.change(number, Observe(np.ones((1, D))), key="k").result()
    assert keeper.failure is None
    monkeypatch.undo()
    assert keeper.look(number, lambda pupil: pupil.learner.n_seen).result() == 1
    for _ in range(2):
        assert keeper.change(number, Observe(np.ones((1, D))), key="k").result().first == 1
    keeper.close()
    again = Keeper(str(tmp_path))
    assert again.look(number, lambda pupil: pupil.learner.n_seen).result() == 2
    again.close()


def waited(hold: threading.Event, pupils: dict[int, Pupil]) -> None:
    hold.wait()


def test_what_waits_together_is_answered_as_if_alone(tmp_path: Path) -> None:
    keeper = Keeper(str(tmp_path))
    number = keeper.create("a", OnlineLearner(K)).result()
    rng = np.random.default_rng(8)
    rows = 6.0 * rng.integers(2, size=(300, 1)) + rng.normal(size=(300, D))
    alone = OnlineLearner(K)
    event = Teach(rows[:2], ("low", "high"))
    event.happen(alone)
    keeper.change(number, event)
    for size in (1, 3, 1):
        hold = threading.Event()
        keeper.look_at_all(partial(waited, hold))
        start = alone.n_seen
        blocks = [rows[start + i * size :][:size] for i in range(40)]
        keys = [f"{start} {i}" if i % 3 else "" for i in range(40)]
        answers = [
            keeper.change(number, Observe(x), key) for x, key in zip(blocks, keys, strict=True)
        ]
        bad = keeper.change(number, Observe(np.full((1, D), np.nan)))
        wide = keeper.change(number, Observe(np.zeros((1, D + 1))))
        again = keeper.change(number, Observe(blocks[1]), keys[1])
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
    digest = keeper.look(number, lambda pupil: pupil.to_bytes()).result()
    assert keeper.look(number, lambda pupil: pupil.learner.digest()).result() == alone.digest()
    keeper.close()
    restarted = Keeper(str(tmp_path))
    assert restarted.look(number, lambda pupil: pupil.to_bytes()).result() == digest
    restarted.close()


def test_who_asked_may_leave(keeper: Keeper) -> None:
    number, gone = keeper.create("a", OnlineLearner(K)).result(), []

    async def ask_and_leave() -> None:
        for event in islice(events(1), 50):
            asking = asyncio.wrap_future(keeper.change(number, event))
            gone.append(asking.cancel())
            await asyncio.sleep(0)

    asyncio.run(ask_and_leave())
    assert all(gone)
    assert digest(keeper, number) == alone(1, 50).digest()
