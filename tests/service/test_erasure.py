"""Erased means: as if it had never come, and nowhere on the disk."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.service.commands import Adjust, Command, Observe, Retract, Teach, TeachLater
from labelwalk.service.erasure import BackupError
from labelwalk.service.journal_writer import KeyReusedError
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.sealed_parts import decode_parts
from labelwalk.service.snapshots import read_first_id, restore
from tests.service.eraser import EVERY
from tests.service.store_writer import digest

pytestmark = pytest.mark.shell

K, D = 20, 3
LABELS = ("left", "right", "a name to be found in bytes")
UNWANTED = LABELS[2]


def events(seed: int) -> Iterator[tuple[Command, list[int]]]:
    """Yield what happens, and the numbers of the examples that it brings."""
    rng = np.random.default_rng(seed)
    n, fresh = 0, list[int]()
    taught: list[int] = []
    while True:
        codes = rng.integers(3, size=int(rng.integers(1, 9)))
        rows = 6.0 * codes[:, None] + rng.normal(size=(len(codes), D))
        kind = rng.random() if n else 1.0
        numbers = list(range(n, n + len(rows)))
        if kind < 0.6:
            fresh = list(numbers)
            yield Observe(rows if kind < 0.3 else rows.astype(np.float32)), numbers
        elif kind < 0.7 and fresh:
            taught.append(fresh.pop())
            numbers = [n]  # as if it came again
            yield TeachLater(taught[-1], LABELS[int(rng.integers(3))]), []
        elif kind < 0.75 and taught:
            numbers = []
            yield Retract(taught.pop()), []
        else:
            yield Teach(rows, tuple(LABELS[code] for code in codes)), numbers
        n += len(numbers)


class Told:
    """The reference implementation: remembers all, and tells a learner only what is wanted."""

    def __init__(self, story: list[tuple[Command, list[int]]]) -> None:
        self.story = story

    def members(self, label: str) -> set[int]:
        found, later = set[int](), set[int]()
        for event, numbers in self.story:
            if isinstance(event, Teach):
                found |= {n for n, name in zip(numbers, event.labels, strict=True) if name == label}
            if isinstance(event, TeachLater) and event.label == label:
                later.add(event.example)
            if isinstance(event, Retract) and event.example in later:
                later.remove(event.example)
        return found | later

    def taught_later(self) -> dict[int, Any]:
        standing = dict[int, Any]()
        for event, _ in self.story:
            if isinstance(event, TeachLater):
                standing[event.example] = event.label
            if isinstance(event, Retract):
                assert event.example is not None
                standing.pop(event.example, None)
        return standing

    def without(self, gone: set[int], label: str | None = None) -> OnlineLearner:
        learner, renamed = OnlineLearner(K), dict[int, int]()
        for event, numbers in self.story:
            if isinstance(event, TeachLater | Retract):
                assert event.example is not None
                if event.example in gone or (label is not None and event.label == label):
                    continue
                try:
                    if isinstance(event, TeachLater):
                        learner.teach_later(renamed[event.example], event.label)
                    else:
                        learner.retract(renamed[event.example])
                except ValueError:  # it was taught as what is gone
                    assert isinstance(event, Retract)
                continue
            stay = [i for i, n in enumerate(numbers) if n not in gone]
            if not stay:
                continue
            renamed |= {numbers[i]: learner.n_seen + place for place, i in enumerate(stay)}
            if isinstance(event, Teach):
                learner.teach(event.rows[stay], [event.labels[i] for i in stay])
            elif isinstance(event, Observe):
                learner.observe(event.rows[stay])
        return learner

    def rows(self, gone: set[int]) -> Iterator[bytes]:
        for event, numbers in self.story:
            if isinstance(event, Observe | Teach):
                for n, row in zip(numbers, event.rows, strict=True):
                    if n in gone:
                        yield row.tobytes()
                        yield row.astype(np.float64).tobytes()


def kept(
    folder: Path, seed: int, n: int = 120, passphrase: str | None = None
) -> tuple[LearnerStore, int, Told]:
    store = LearnerStore(str(folder), snapshot_every=EVERY, passphrase=passphrase)
    other = store.create("other", OnlineLearner(K)).result()
    number = store.create("one", OnlineLearner(K)).result()
    story = list(islice(events(seed), n))
    for i, (event, numbers) in enumerate(story):
        answer = store.submit(number, event, key=f"{i}" if i % 2 else "")
        store.submit(other, Observe(np.full((2, D), float(i))))
        if numbers:
            assert answer.result().first == numbers[0]
        if i == n // 2:
            answer.result()
            store.back_up()
    return store, number, Told(story)


def everything(folder: Path) -> dict[str, bytes]:
    found = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any("backups" in name for name in found)
    return found


def traces(store: LearnerStore, number: int, gone: set[int]) -> list[bytes]:
    """Return the bytes in which examples are kept, encrypted or not."""
    found = []
    for event in store._journal.reader.read_events():
        if event.learner == number and event.kind in (Observe.kind, Teach.kind):
            parts = decode_parts(event.payload)[: -1 if event.key else None]
            for i, part in enumerate(parts, read_first_id(event)):
                if i in gone and part.content is not None:
                    found.append(part.content)
    return found


def wanted(kind: str, told: Told) -> tuple[dict[str, Any], set[int]]:
    if kind == "a class":
        return {"label": UNWANTED}, told.members(UNWANTED)
    if kind == "a class and what belongs to it":
        more = {
            n
            for event, some in told.story
            if isinstance(event, Observe)
            for n, row in zip(some, event.rows, strict=True)
            if row[0] > 9.0
        }
        more -= {n for n, label in told.taught_later().items() if label != UNWANTED}
        belongs = {"belongs": lambda managed, rows: rows[:, 0] > 9.0}
        return {"label": UNWANTED} | belongs, told.members(UNWANTED) | more
    rng = np.random.default_rng(1)
    numbers = [n for _, some in told.story for n in some]
    gone = {int(n) for n in rng.choice(numbers, 40, replace=False)}
    return {"examples": gone}, gone


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a class", "a class and what belongs to it", "examples"])
@pytest.mark.parametrize("seed", range(4))
def test_as_if_never_seen(seed: int, kind: str, tmp_path: Path, passphrase: str | None) -> None:
    folder = tmp_path / "kept"
    store, number, told = kept(folder, seed, passphrase=passphrase)
    unwanted, gone = wanted(kind, told)
    before = store.query_all(
        lambda learners: [one.next_example_id for one in learners.values()]
    ).result()
    alone = told.without(gone, unwanted.get("label"))
    store.query(number, lambda managed: None).result()
    rows, left = list(told.rows(gone)), traces(store, number, gone)
    files = everything(folder)
    assert len(left) == len(gone)
    assert any(one in content for one in left for content in files.values())
    found = any(row in content for row in rows for content in files.values())
    assert found == (passphrase is None)

    erased = store.erase(number, **unwanted).result()
    assert (erased.examples, erased.older) == (len(gone), False)
    assert digest(store, number) == alone.digest()
    files = everything(folder)
    for name, content in files.items():
        assert not any(one in content for one in rows + left), name
        if kind != "examples":
            assert UNWANTED.encode() not in content, name

    after = store.query_all(
        lambda learners: [one.next_example_id for one in learners.values()]
    ).result()
    assert after == before  # others keep their numbers, and none is given again
    i = max(i for i, (_, some) in enumerate(told.story) if i % 2 and gone & set(some))
    with pytest.raises(KeyReusedError, match="has been erased"):
        store.submit(number, told.story[i][0], key=f"{i}").result()
    more = [event for event, _ in islice(events(seed + 100), 20) if isinstance(event, Observe)]
    for event in more:
        label = store.submit(number, event).result().columns["label"]
        assert label == alone.observe(event.rows).label.tolist()
    expected = digest(store, number)
    assert expected == alone.digest()
    store.close()

    again = LearnerStore(str(folder), snapshot_every=EVERY, passphrase=passphrase)
    assert digest(again, number) == expected
    again.close()


@pytest.mark.slow
def test_copies_are_cleansed_and_come_back(tmp_path: Path, passphrase: str | None) -> None:
    store, number, told = kept(tmp_path / "kept", 9, passphrase=passphrase)
    unwanted, gone = wanted("a class", told)
    store.erase(number, **unwanted).result()
    store.close()
    [copy] = (tmp_path / "kept" / "backups").iterdir()
    restore(str(copy), str(tmp_path / "again"))
    again = LearnerStore(str(tmp_path / "again"), passphrase=passphrase)
    early = Told(told.story[:61])
    assert digest(again, number) == early.without(gone, unwanted["label"]).digest()
    again.close()


def test_a_copy_from_before_the_learner_has_nothing_of_it(tmp_path: Path) -> None:
    store = LearnerStore(str(tmp_path))
    store.create("earlier", OnlineLearner(K)).result()
    store.back_up()
    number = store.create("later", OnlineLearner(K)).result()
    store.submit(number, Teach(np.zeros((1, D)), (UNWANTED,))).result()
    assert store.erase(number, label=UNWANTED).result() == (1, False)
    store.close()


def test_twice_and_after_a_restart(tmp_path: Path) -> None:
    store, number, told = kept(tmp_path / "kept", 5)
    first, second = {3, 4, 5}, {5, 6, 50}
    assert store.erase(number, examples=first).result().examples == 3
    store.close()
    store = LearnerStore(str(tmp_path / "kept"), snapshot_every=EVERY)
    assert store.erase(number, examples=second).result().examples == 2
    assert digest(store, number) == told.without(first | second).digest()
    with pytest.raises(ValueError, match="was erased"):
        store.submit(number, TeachLater(50, "left")).result()
    store.close()


def test_what_is_older_than_the_events_is_said(tmp_path: Path) -> None:
    learner = OnlineLearner(K)
    learner.teach([[0.0] * D, [6.0] * D], ["left", UNWANTED])
    store = LearnerStore(str(tmp_path))
    number = store.create("taken in", learner).result()
    store.submit(number, Teach(np.array([[1.0] * D, [7.0] * D]), ("left", UNWANTED))).result()
    assert store.erase(number, examples=[0]).result() == (0, True)
    assert store.erase(number, label=UNWANTED).result() == (1, True)
    assert store.get_classes("taken in") == ("left",)
    store.close()
    again = LearnerStore(str(tmp_path))
    assert again.get_classes("taken in") == ("left",)
    again.close()


def test_a_prior_that_names_the_class_goes_with_it(tmp_path: Path) -> None:
    store = LearnerStore(str(tmp_path))
    number = store.create("a", OnlineLearner(K)).result()
    store.submit(number, Teach(np.array([[0.0] * D, [9.0] * D]), ("left", UNWANTED))).result()
    store.submit(number, Adjust({"prior": [["left", 0.5], [UNWANTED, 0.5]]})).result()
    assert store.erase(number, label=UNWANTED).result() == (1, False)
    for path in tmp_path.iterdir():
        assert UNWANTED.encode() not in path.read_bytes(), path
    store.close()


def test_no_copy_is_made_of_what_is_being_erased(tmp_path: Path) -> None:
    store, number, told = kept(tmp_path, 7)
    erasing = store.erase(number, label=UNWANTED)
    while not erasing.done():
        store.back_up()
    store.back_up()
    assert erasing.result().older is False
    late = [path for path in (tmp_path / "backups").iterdir() if "-wal" not in path.name]
    early = [path for path in late if UNWANTED.encode() in path.read_bytes()]
    assert early == []
    assert told.members(UNWANTED)
    store.close()


def test_other_files_beside_copies_do_no_harm(tmp_path: Path) -> None:
    store, number, _ = kept(tmp_path, 8)
    backups = tmp_path / "backups"
    (backups / "README").write_text("mine")
    (backups / "x.db.part").write_bytes(UNWANTED.encode())
    assert store.erase(number, examples=[1]).result() == (1, False)
    assert (backups / "README").exists()
    assert not (backups / "x.db.part").exists()
    (backups / "spoilt.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(BackupError, match=r"spoilt\.db is damaged"):
        store.erase(number, examples=[2]).result()
    assert store.submit(number, Observe(np.zeros((1, D)))).result().first > 0
    store.close()


def test_the_journal_says_that_something_was_erased(tmp_path: Path) -> None:
    store, number, _ = kept(tmp_path, 2, n=20)
    store.erase(number, examples=[1, 2]).result()
    found = [
        json.loads(one.about) for one in store._journal.reader.read_events() if one.kind == "erase"
    ]
    assert found[0]["examples"] == 2
    store.close()


@pytest.mark.slow
def test_killed_while_it_erases(tmp_path: Path, passphrase: str | None) -> None:
    store, number, told = kept(tmp_path / "kept", 6, passphrase=passphrase)
    before = digest(store, number)
    left = traces(store, number, told.members(UNWANTED))
    store.close()
    gone = told.members(UNWANTED)
    after = told.without(gone, UNWANTED).digest()
    rng = np.random.default_rng(0)
    for i in range(10 if passphrase is None else 3):
        folder = tmp_path / f"{i}"
        shutil.copytree(tmp_path / "kept", folder)
        said = killed_eraser(folder, number, seconds=0.25 * rng.random())
        again = LearnerStore(str(folder), snapshot_every=EVERY, passphrase=passphrase)
        found = digest(again, number)
        assert found == after or (found == before and "erased" not in said)
        if found == before:
            again.erase(number, label=UNWANTED).result()
            assert digest(again, number) == after
        for name, content in everything(folder).items():
            assert UNWANTED.encode() not in content, name
            assert not any(one in content for one in [*told.rows(gone), *left]), name
        again.close()


def killed_eraser(folder: Path, number: int, seconds: float) -> str:
    command = [sys.executable, "-m", "tests.service.eraser", str(folder), str(number), UNWANTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        begun = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        return begun + process.stdout.read()
