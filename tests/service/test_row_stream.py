"""Observing over a WebSocket: wrong first frames, and a store that cannot follow."""

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


HELLO = {"type": "f4", "features": 1, "session": "s"}
WRONG_VALUES: dict[str, list[Any]] = {
    "type": [["f4"], {"f4": 1}, 4, None, True, "", "f2", "f4" * 9999],
    "features": [
        *([1], [[[1]]], {}, None, True, 0, -1, 1.5, 1e300, 2**24, 10**999),
        *("", "one", "\u0661", "\ud800", "1" * 9999),
    ],
    "session": [["s"], {"s": 1}, 1, None, True, "", "s" * 101, "\n", "\ud800"],
}
WRONG_HELLOS = [
    *("", "f4", "null", "7", "[]", "{}", '"type"', '["type", "features", "session"]'),
    "[" * 100_000,
    json.dumps(HELLO | {"more": 1}),
    *(json.dumps({name: HELLO[name] for name in HELLO if name != absent}) for absent in HELLO),
    *(json.dumps(HELLO | {name: value}) for name in HELLO for value in WRONG_VALUES[name]),
    *(
        json.dumps(HELLO | {name: "?"}).replace('"?"', text)
        for name in HELLO
        for text in ("[" * 900 + "]" * 900, "1" * 5000, "1e999", "NaN")
    ),
]


def test_a_wrong_hello_is_refused_with_a_reason(tmp_path: Path) -> None:
    store = LearnerStore(str(tmp_path))
    number = store.create("a", OnlineLearner(20)).result()
    for hello in WRONG_HELLOS:
        received: list[Any] = [
            {"type": "websocket.connect"},
            {"type": "websocket.receive", "text": hello},
            {"type": "websocket.receive", "bytes": struct.pack("<Qf", 0, 1.0)},
        ]
        sent: list[Any] = []

        async def receive(received: list[Any] = received) -> Any:
            return received.pop(0)

        async def send(message: Any, sent: list[Any] = sent) -> None:
            sent.append(message)

        asyncio.run(
            RowStream(store)({"type": "websocket", "path_params": {"name": "a"}}, receive, send)
        )
        assert sent[0] == {"type": "websocket.accept"}
        assert sent[1]["code"] == 1008, (hello[:80], sent)
        assert sent[1]["reason"]
    assert store.query(number, lambda managed: managed.learner.n_seen).result() == 0
    store.close()
