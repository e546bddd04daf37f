"""Copies made while the service is in use, and brought back."""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path
from shutil import which

import pytest

from labelwalk import OnlineLearner
from labelwalk.service.commands import apply_command
from labelwalk.service.database import DamagedError
from labelwalk.service.journal import JOURNAL_FILE, MARK_FILE
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.snapshots import restore
from tests.service.recorded_disk import Disk, recorded
from tests.service.store_writer import EVERY, K, digest, events

pytestmark = pytest.mark.shell


def digest_of(folder: Path, passphrase: str | None) -> str:
    store = LearnerStore(str(folder), passphrase=passphrase)
    value = digest(store, 1)
    store.close()
    return value


def test_a_copy_is_of_one_moment(tmp_path: Path, passphrase: str | None) -> None:
    store = LearnerStore(str(tmp_path / "kept"), snapshot_every=EVERY, passphrase=passphrase)
    number = store.create("a", OnlineLearner(K)).result()
    answers = [store.submit(number, event) for event in islice(events(0), 60)]
    done = sum(answer.done() for answer in answers)
    name = store.back_up()
    for answer in answers:
        answer.result()
    store.close()
    n = restore(str(tmp_path / "kept" / "backups" / name), str(tmp_path / "again"))
    assert done <= n - 1 <= 60
    alone = OnlineLearner(K)
    for event in islice(events(0), n - 1):
        apply_command(event, alone)
    assert digest_of(tmp_path / "again", passphrase) == alone.digest()
    with pytest.raises(FileExistsError, match="already contains learners"):
        restore(str(tmp_path / "kept" / "backups" / name), str(tmp_path / "again"))


@pytest.mark.skipif(which("strace") is None, reason="strace records the calls")
def test_a_copy_is_on_disk_before_its_mark(tmp_path: Path) -> None:
    """Whatever a power cut leaves, it is a folder with all events, or one that is refused."""
    store, folder = LearnerStore(str(tmp_path / "kept")), tmp_path / "again"
    number = store.create("a", OnlineLearner(K)).result()
    for event in islice(events(0), 20):
        store.submit(number, event).result()
    backup = tmp_path / "kept" / "backups" / store.back_up()
    store.close()
    program = "import sys; from labelwalk.service.snapshots import restore; restore(*sys.argv[1:])"
    command = [sys.executable, "-c", program, str(backup), str(folder)]
    disk, n_marks = Disk(), 0
    for call in recorded(command, folder, tmp_path / "calls"):
        disk.do(call)
        if call.name == "write" and call.path == str(folder / MARK_FILE):
            n_marks += 1
            assert disk.sure[str(folder / JOURNAL_FILE)] == backup.read_bytes()
    assert n_marks == 2


def test_a_spoilt_copy_is_not_brought_back(tmp_path: Path, passphrase: str | None) -> None:
    store = LearnerStore(str(tmp_path / "kept"), snapshot_every=EVERY, passphrase=passphrase)
    number = store.create("a", OnlineLearner(K)).result()
    for event in islice(events(0), 60):
        store.submit(number, event)
    store.query(number, lambda managed: None).result()
    path = tmp_path / "kept" / "backups" / store.back_up()
    store.close()
    content = bytearray(path.read_bytes())
    refused = 0
    for place in range(100, len(content), len(content) // 25):
        content[place] ^= 8
        path.write_bytes(content)
        content[place] ^= 8
        folder = tmp_path / f"from {place}"
        try:
            restore(str(path), str(folder))
        except DamagedError:
            refused += 1
            assert not list(folder.iterdir())
    assert refused


def test_what_a_start_does_not_need_is_looked_through(tmp_path: Path) -> None:
    store = LearnerStore(str(tmp_path), snapshot_every=EVERY)
    number = store.create("a", OnlineLearner(K)).result()
    for event in islice(events(0), 60):
        store.submit(number, event)
    before = digest(store, number)
    with store._journal.database.transaction() as connection:
        connection.execute("UPDATE events SET at = at + 1 WHERE sequence = 3")
    store.close()
    again = LearnerStore(str(tmp_path), snapshot_every=EVERY)
    assert digest(again, number) == before
    end = time.monotonic() + 30
    while again.damage is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "event 3 was changed" in again.damage
    again.close()
