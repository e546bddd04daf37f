"""Live updates of the page; no page delays the service."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.service import live_updates
from labelwalk.service.commands import Observe, Teach
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.live_updates import (
    HISTORY_TICKS,
    MAX_HISTORY_POINTS,
    MAX_SAMPLED_VERDICTS,
    STATUS_TICKS,
    TICK_S,
    EventDiff,
    LiveUpdates,
    PageSampler,
)
from tests.service.asking import Asking
from tests.service.test_server import Served, served

pytestmark = pytest.mark.shell

PATH = "/api/learners/a/live"


def rows(seed: int, n: int = 7) -> Any:
    return np.random.default_rng(seed).normal(size=(n, 3))


@contextmanager
def events(one: Served) -> Iterator[Iterator[tuple[str, Any]]]:
    """Yield what a page is told, event by event."""
    with one.http.stream("GET", PATH) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _parsed(answer.iter_lines())


def _parsed(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in lines:
        kind, _, content = line.partition(": ")
        if kind == "event":
            name = content
        elif kind == "data":
            yield name, json.loads(content)


def until(told: Iterator[tuple[str, Any]], name: str) -> Any:
    return next(data for kind, data in told if kind == name)


def open_page(one: Served) -> socket.socket:
    """Open a page that asks, and reads nothing unless it is told to."""
    page = socket.create_connection(("127.0.0.1", one.port))
    host = f"host: 127.0.0.1:{one.port}\r\nauthorization: Bearer {one.token}\r\n"
    page.sendall(f"GET {PATH} HTTP/1.1\r\n{host}\r\n".encode())
    return page


def status_of(page: socket.socket) -> int:
    return int(page.recv(12).split()[1])


@pytest.mark.slow
def test_events_until_the_server_stops(tmp_path: Path) -> None:
    with served(tmp_path / "kept") as one:
        one.http.post("/api/learners", json={"name": "a"})
        with events(one) as told:
            first = until(told, "map")
            assert first == {"version": 0, "examples": 0}
            one.http.post("/api/learners/a/observe", json={"rows": rows(1, 30).tolist()})
            assert until(told, "map") == {"version": 1, "examples": 30}
            said = until(told, "verdicts")
            assert said["passed"] == 30
            assert [verdict["example"] for verdict in said["verdicts"]] == list(range(29, 9, -1))
            recent = one.http.get("/api/learners/a/recent?n=20").json()["verdicts"]
            assert said["verdicts"] == recent
            standing = until(told, "standing")
            while standing["examples"] < 30:
                standing = until(told, "standing")
            assert set(standing) == {
                *("examples", "rate", "latency_ms", "memory_mib", "waiting", "vertices"),
                *("radius", "alarms"),
            }
            assert standing["latency_ms"]["p50"] > 0
            assert "sink" in standing["alarms"]
            assert standing["memory_mib"] > 10
            one.http.post("/api/learners/a/teach", json={"rows": [[0, 0, 0]], "labels": ["x"]})
            assert until(told, "map")["version"] == 2
            with closing(open_page(one)):  # one that is dead to all it is told
                one.process.send_signal(signal.SIGTERM)
                list(told)  # ends, and not by an error
                one.end(signal.SIGTERM)
        assert one.process.returncode == 0


@pytest.mark.slow
def test_limit_of_pages(tmp_path: Path) -> None:
    with served(tmp_path / "kept") as one, ExitStack() as pages:
        one.http.post("/api/learners", json={"name": "a"})
        opened = [
            pages.enter_context(closing(open_page(one))) for _ in range(live_updates.MAX_PAGES)
        ]
        assert {status_of(page) for page in opened} == {200}
        with closing(open_page(one)) as more:
            assert status_of(more) == 503
        assert one.http.get("/readyz").status_code == 200
        opened[0].close()
        while True:  # until the server has seen that a page is gone
            with closing(open_page(one)) as more:
                if status_of(more) == 200:
                    break
        with events_of_deleted(one, opened[1]) as left:
            assert left.endswith(b"0\r\n\r\n")


@contextmanager
def events_of_deleted(one: Served, page: socket.socket) -> Iterator[bytes]:
    """Yield all that a page is told until its learner is deleted."""
    one.http.delete("/api/learners/a")
    told = b""
    while not told.endswith(b"\r\n0\r\n\r\n"):
        piece = page.recv(1 << 16)
        assert piece
        told += piece
    yield told


def test_a_browser_that_does_not_read_is_disconnected(
    store: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_updates, "SEND_TIMEOUT_S", 0.05)
    number, sampler = store.create("a", OnlineLearner(20)).result(), PageSampler(store)

    async def never(message: Any = None) -> Any:
        await asyncio.Event().wait()

    answer = LiveUpdates(sampler, number)
    assert sampler.n_pages == 1
    asyncio.run(answer({"type": "http"}, never, never))
    assert sampler.n_pages == 0


def test_a_slow_page_gets_fewer_events(store: LearnerStore) -> None:
    number, sampler = store.create("a", OnlineLearner(20)).result(), PageSampler(store)
    sampler.open_page(number)
    fast, slow = EventDiff(0), EventDiff(0)
    known = sampler.get(number)
    assert known is not None
    sampler.tick()
    assert list(fast.list_new(known))
    assert list(slow.list_new(known))
    for seed in range(4):
        store.submit(number, Observe(rows(seed))).result()
        sampler.tick()
        verdicts = _told(fast, known)["verdicts"]
        assert (verdicts["passed"], len(verdicts["verdicts"])) == (7, 7)
    verdicts = _told(slow, known)["verdicts"]
    assert (verdicts["passed"], len(verdicts["verdicts"])) == (28, MAX_SAMPLED_VERDICTS)
    assert _told(slow, known) == {}
    store.submit(number, Teach(rows(9, 1), ("x",))).result()
    sampler.tick()
    assert set(_told(slow, known)) == {"map"}


def _told(differ: EventDiff, known: Any) -> dict[str, Any]:
    """Return what is new, but for the standing, which does not wait for news."""
    said = dict(_parsed(iter("".join(differ.list_new(known)).split("\n"))))
    said.pop("standing", None)
    return said


def test_history(store: LearnerStore) -> None:
    ask = Asking(store)
    ask("POST", "/api/learners", json={"name": "a"})
    assert ask("GET", "/api/learners/a/history").json()["at"] == []
    number = store.find_id("a")
    for point in range(3):
        store.submit(number, Observe(rows(point))).result()
        for _ in range(HISTORY_TICKS):
            ask.sampler.tick()
    told = ask("GET", "/api/learners/a/history").json()
    for name in ("at", "rate", "latency_ms", "memory_mib"):
        assert len(told[name]) == 3
    assert {len(values) for values in told["signs"].values()} == {3}
    assert "recent outliers" in told["signs"]
    assert MAX_HISTORY_POINTS * HISTORY_TICKS * TICK_S == 3600.0
    assert STATUS_TICKS * TICK_S == 1.0
    ask("DELETE", "/api/learners/a")
    ask.sampler.tick()
    assert ask("GET", "/api/learners/a/history").status_code == 404


def test_learners_without_a_page_are_not_sampled(store: LearnerStore) -> None:
    number, sampler = store.create("a", OnlineLearner(20)).result(), PageSampler(store)
    for _ in range(HISTORY_TICKS - 1):
        store.submit(number, Observe(rows(1))).result()
        sampler.tick()
    known = sampler.get(number)
    assert known is not None
    assert known.sample is None
    assert known.n_statuses == 1  # that of the history
