"""kill -9 of the whole service, under the hands of several clients who go on afterwards."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.learner import from_bytes
from labelwalk.service.commands import (
    Command,
    Observe,
    Retract,
    Teach,
    TeachLater,
    apply_command,
    decode_command,
)
from labelwalk.service.journal import Journal
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.snapshots import CREATE
from tests.service.restless_client import RestlessClient
from tests.service.sizes import Sizes
from tests.service.test_server import Served, served

pytestmark = [pytest.mark.shell, pytest.mark.slow]

K = 20
SHARED = "shared"


class Undisturbed:
    """Learners to which everything happens that a journal holds, by Python alone."""

    def __init__(self) -> None:
        self.learners: dict[int, OnlineLearner] = {}
        self.done: set[str] = set()
        self.kinds: set[str] = set()
        self._last = 0

    def follow(self, folder: Path, clients: list[RestlessClient]) -> None:
        """Let happen what is new, and see that each was sent, and is there once."""
        sent = {key: one for client in clients for key, one in client.sent.items()}
        journal = Journal(str(folder))
        for event in journal.reader.read_events(after=self._last):
            if event.kind == CREATE:
                self.learners[event.sequence] = OnlineLearner(K)
                continue
            assert event.key not in self.done, f"{event.key} happened twice"
            self.done.add(event.key)
            self.kinds.add(event.kind)
            happening = decode_command(event.kind, event.about, journal.reader.decrypt(event).parts)
            assert happening is not None
            assert said(happening) == sent[event.key], f"{event.key} was not sent like this"
            apply_command(happening, self.learners[event.learner])
        self._last = journal.last.sequence
        journal.close()


def said(event: Command) -> tuple[str, dict[str, Any]]:
    """Return an event as a client says it."""
    if isinstance(event, Observe):
        return "observe", {"rows": event.rows.tolist()}
    if isinstance(event, Teach):
        return "teach", {"rows": event.rows.tolist(), "labels": list(event.labels)}
    if isinstance(event, TeachLater):
        return "teach_later", {"example": event.example, "label": event.label}
    assert isinstance(event, Retract)
    return "retract", {"example": event.example}


def test_nothing_is_lost_made_up_or_done_twice(tmp_path: Path, sizes: Sizes) -> None:
    folder, rng = tmp_path / "kept", np.random.default_rng(4)
    clients = [
        RestlessClient(f"client {i}", [SHARED, f"own-{i}"], np.random.default_rng(i))
        for i in range(4)
    ]
    alone = Undisturbed()
    for turn in range(sizes.service_kills):
        with served(folder) as one:
            if turn == 0:
                for name in [SHARED, *(client.learners[1] for client in clients)]:
                    wanted = {"name": name, "settings": {"n_centroids": K}}
                    one.http.post("/api/learners", json=wanted)
            kill_under_load(one, clients, float(rng.uniform(0, 1.5)))
        as_left = tmp_path / f"left-{turn}"  # so that the service itself recovers what it left
        shutil.copytree(folder, as_left)
        alone.follow(as_left, clients)
        answered = {key for client in clients for key in client.answered}
        assert answered <= alone.done
        assert not alone.done & {key for client in clients for key in client.refused}
        assert digests(as_left) == {n: one.digest() for n, one in alone.learners.items()}
        shutil.rmtree(as_left)
    with served(folder) as one:
        exported = [
            from_bytes(one.http.get(f"/api/learners/{learner['name']}/export").content).digest()
            for learner in one.http.get("/api/learners").json()
        ]
    assert exported == [learner.digest() for learner in alone.learners.values()]
    assert alone.kinds == {"observe", "teach", "teach-later", "retract"}
    rows = sum(learner.n_seen for learner in alone.learners.values())
    print(
        f"{sizes.service_kills} times kill -9 of the service, {len(answered)} requests answered, "
        f"{len(alone.done)} done, {rows} examples: none lost, made up or twice"
    )


def kill_under_load(one: Served, clients: list[RestlessClient], seconds: float) -> None:
    """Let all clients send, and end the server some time after each was answered."""
    going = [threading.Event() for _ in clients]
    threads = [
        threading.Thread(
            target=client.until_it_breaks, args=(str(one.http.base_url), one.token, event)
        )
        for client, event in zip(clients, going, strict=True)
    ]
    for thread in threads:
        thread.start()
    assert all(event.wait(120) for event in going)
    time.sleep(seconds)  # the moment is what is drawn
    one.end(signal.SIGKILL)
    for thread in threads:
        thread.join()


def digests(folder: Path) -> dict[int, str]:
    store = LearnerStore(str(folder))
    found: dict[int, str] = store.query_all(
        lambda learners: {number: managed.learner.digest() for number, managed in learners.items()}
    ).result()
    store.close()
    return found
