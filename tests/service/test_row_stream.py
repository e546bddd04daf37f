"""Observing over a WebSocket where the store cannot follow: the client is read more slowly."""

from __future__ import annotations

import asyncio
import json
import struct
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.service import worker
from labelwalk.service.fast_path import MAX_PENDING_FRAMES, RowStream
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner

pytestmark = pytest.mark.shell

FRAMES = 4 * MAX_PENDING_FRAMES


class Browser:
    """A client that has sent everything at once; what is read of it is counted."""

    def __init__(self) -> None:
        hello = {"type": "f8", "features": 2, "session": "s"}
        rows = np.random.default_rng(0).normal(size=(FRAMES, 2))
        self.messages: list[dict[str, Any]] = [
            {"type": "websocket.connect"},
            {"type": "websocket.receive", "text": json.dumps(hello)},
            *(
                {"type": "websocket.receive", "bytes": struct.pack("<Q", i) + row.tobytes()}
                for i, row in enumerate(rows)
            ),
        ]
        self.n_read = 0
        self.answered: list[int] = []

    async def receive(self) -> dict[str, Any]:
        if self.n_read < len(self.messages):
            self.n_read += 1
            return self.messages[self.n_read - 1]
        while len(self.answered) < FRAMES:
            await asyncio.sleep(0.001)
        return {"type": "websocket.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.send":
            self.answered.append(struct.unpack_from("<Q", message["bytes"])[0])


def held(hold: threading.Event, learners: dict[int, ManagedLearner]) -> None:
    hold.wait()


@pytest.mark.parametrize("room", [worker.MAX_WAITING, 5])
def test_what_cannot_be_learned_is_not_read(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MAX_WAITING", room)
    store = LearnerStore(str(tmp_path))
    number = store.create("a", OnlineLearner(20)).result()
    hold = threading.Event()
    store.query_all(partial(held, hold))
    browser = Browser()

    async def stream() -> int:
        scope = {"type": "websocket", "path_params": {"name": "a"}}
        serving = asyncio.create_task(RowStream(store)(scope, browser.receive, browser.send))
        n_read = -1
        while n_read != browser.n_read:  # until it reads no more
            n_read = browser.n_read
            await asyncio.sleep(0.1)
        hold.set()
        await serving
        return n_read

    n_read = asyncio.run(stream())
    assert n_read <= 2 + min(
        MAX_PENDING_FRAMES + 2, 2 * room + 1
    )  # some may be in the thread that learns
    assert browser.answered == list(range(FRAMES))
    assert store.query(number, lambda managed: managed.learner.n_seen).result() == FRAMES
    store.close()
