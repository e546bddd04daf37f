"""Nobody but its owner can read a file of the service, at any time, whatever its folder allows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.faces.frames import Box
from labelwalk.faces.people_store import CropStore
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.snapshots import restore
from tests.service.store_writer import EVERY, K, events
from tests.service.test_server import ENVIRONMENT, served

pytestmark = [pytest.mark.shell, pytest.mark.slow]


@pytest.fixture(params=[0o022, 0o000], ids=oct)
def mask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Let files be made as by a process that hides nothing by itself."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def open_folder(folder: Path) -> Path:
    folder.mkdir()
    folder.chmod(0o755)
    return folder


@contextmanager
def watched(folder: Path) -> Iterator[dict[str, int]]:
    """Note what each file in a folder ever allowed, while something happens there."""
    modes, stop = dict[str, int](), threading.Event()

    def look() -> None:
        while not stop.is_set():
            note(folder, modes)
            time.sleep(0.001)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield modes
    finally:
        stop.set()
        watcher.join()
        note(folder, modes)


def note(folder: Path, modes: dict[str, int]) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                mode = os.stat(os.path.join(place, name)).st_mode & 0o777
            except FileNotFoundError:
                continue
            modes[name] = modes.get(name, 0) | mode


def check_private(folder: Path, modes: dict[str, int], *expected: str) -> None:
    assert {*expected} <= {*modes}
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o177} == {}
    assert folder.stat().st_mode & 0o777 == 0o755, "the folder is not ours to change"


def test_files_of_a_keeper(tmp_path: Path, mask: int, passphrase: str | None) -> None:
    folder = open_folder(tmp_path / "kept")
    with watched(folder) as modes:
        store = LearnerStore(str(folder), snapshot_every=EVERY, passphrase=passphrase)
        number = store.create("a", OnlineLearner(K)).result()
        for event in islice(events(0), 60):
            store.submit(number, event)
        store.query(number, lambda managed: None).result()
        name = store.back_up()
        store.erase(number, examples=[3]).result()
        crops = CropStore(str(folder), store.cipher)
        crops.cache(1, np.zeros((40, 40, 3), np.uint8), Box(0, 0, 20, 20))
        crops.persist(1)
        store.close()
    check_private(folder, modes, "journal.db", "journal.db-wal", "witness", "owner", name)


def test_files_of_a_copy_that_is_brought_back(tmp_path: Path, mask: int) -> None:
    store = LearnerStore(str(tmp_path / "kept"), snapshot_every=EVERY)
    number = store.create("a", OnlineLearner(K)).result()
    for event in islice(events(0), 200):
        store.submit(number, event).result()
    backup = tmp_path / "kept" / "backups" / store.back_up()
    store.close()
    backup.chmod(0o644)
    folder = open_folder(tmp_path / "again")
    with watched(folder) as modes:
        restore(str(backup), str(folder))
    check_private(folder, modes, "journal.db", "witness")


def test_a_copy_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        restore(str(tmp_path / "nowhere.db"), str(tmp_path / "again"))
    assert list((tmp_path / "again").iterdir()) == []


def test_files_that_others_could_read_before(tmp_path: Path, mask: int) -> None:
    """Those of an earlier version, which was killed in its first run."""
    folder = open_folder(tmp_path / "kept")
    write = (
        "import os, sys; from labelwalk import OnlineLearner;"
        "from labelwalk.service.learner_store import LearnerStore;"
        "LearnerStore(sys.argv[1]).create('a', OnlineLearner(9)).result(); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", write, str(folder)], env=ENVIRONMENT)
    assert killed.returncode == -signal.SIGKILL
    for path in folder.glob("journal.db*"):
        path.chmod(0o666)
    modes: dict[str, int] = {}
    store = LearnerStore(str(folder))
    note(folder, modes)
    store.close()
    check_private(folder, modes, "journal.db", "journal.db-wal")
    assert store.find_id("a") == 1


def test_files_of_a_server(tmp_path: Path, mask: int) -> None:
    folder = open_folder(tmp_path / "kept")
    under = ["sh", "-c", f'umask {mask:04o}; exec "$@"', "sh"]
    with watched(folder) as modes:
        with served(folder, under=under) as one:
            one.http.post("/api/learners", json={"name": "a", "settings": {"n_centroids": K}})
            rows = {"rows": [[0.0], [9.0]], "labels": ["low", "high"]}
            assert one.http.post("/api/learners/a/teach", json=rows).status_code == 200
            one.end(signal.SIGKILL)
        with served(folder, under=under) as one:
            name = one.http.post("/api/backups").json()["name"]
            assert one.http.post("/api/learners/a/forget", json={"label": "low"}).is_success
            one.end(signal.SIGTERM)
    check_private(folder, modes, "journal.db", "journal.db-wal", "tokens.json", name)
