"""Limits of requests, tried against a real server."""

from __future__ import annotations

import asyncio
import inspect
import socket
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.types import Receive, Scope, Send
from websockets.exceptions import InvalidStatus

from labelwalk.cli.serve import serve
from labelwalk.service.errors import ErrorResponse
from labelwalk.service.limits import (
    BodyMiddleware,
    ConcurrencyMiddleware,
    Limits,
    LoadSheddingMiddleware,
)
from labelwalk.service.schemas import RAW
from tests.service.test_server import Served, frame, hello, served
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.shell, pytest.mark.slow]


def said(one: Served, request: bytes) -> bytes:
    """Send some bytes over a socket, and return what comes back until it is closed."""
    with socket.create_connection(("127.0.0.1", one.port), timeout=60) as wire:
        wire.sendall(request)
        pieces = []
        while piece := wire.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def head(one: Served, method: str, path: str, length: int) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{one.port}",
        f"Authorization: Bearer {one.token}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def test_options_have_the_defaults_of_limits() -> None:
    options = inspect.signature(serve).parameters
    for field in fields(Limits):
        if field.name != "body":  # no option
            assert options[field.name].default == field.default, field.name


def test_body_timeout(tmp_path: Path) -> None:
    with served(tmp_path / "kept", options=["--patience=0.5"]) as one:
        for path in ("/api/learners", "/api/learners/a/observe"):
            answer = said(one, head(one, "POST", path, 1000) + b'{"rows"')
            assert answer.startswith(b"HTTP/1.1 408"), answer
            assert b"The body was incomplete after 0.5 seconds" in answer
            assert b"nosniff" in answer
        assert one.http.get("/api/learners").json() == []


def test_body_size(tmp_path: Path) -> None:
    """However it is read: as a model, as rows, or as a file."""
    with served(tmp_path / "kept") as one:
        for method, path in (
            ("POST", "/api/learners"),
            ("POST", "/api/learners/a/observe"),
            ("PUT", "/api/learners/a"),
        ):
            answer = one.http.request(method, path, content=b" " * ((16 << 20) + 1))
            assert answer.status_code == 413
            assert "exceeds 16,777,216 bytes" in answer.json()["error"]


def test_rate_limit(tmp_path: Path) -> None:
    with served(tmp_path / "kept", options=["--rate=0.001"]) as one:
        assert one.http.get("/api/learners").status_code == 200
        for spelled in (f"Bearer {one.token}", f"bearer   {one.token}"):
            refused = one.http.get("/api/learners", headers={"authorization": spelled})
            assert refused.status_code == 429
            assert 0 < int(refused.headers["retry-after"]) <= 1000
        cookie = {"authorization": "", "cookie": f"labelwalk={one.token}"}
        assert one.http.get("/api/learners", headers=cookie).status_code == 429
        with pytest.raises(InvalidStatus) as refused_socket, one.stream("a"):
            pass
        assert refused_socket.value.response.status_code == 429
        assert one.http.get("/healthz").status_code == 200


def test_limit_of_websockets(tmp_path: Path) -> None:
    with served(tmp_path / "kept", options=["--sockets=2"]) as one:
        one.http.post("/api/learners", json={"name": "a"})
        with one.stream("a"), one.stream("a"):
            with pytest.raises(InvalidStatus) as refused, one.stream("a"):
                pass
            assert refused.value.response.status_code == 429
            assert b"2 WebSockets are open" in (refused.value.response.body or b"")
        wait_until(lambda: answers_a_frame(one))


def answers_a_frame(one: Served) -> bool:
    try:
        with one.stream("a") as stream:
            stream.send(hello())
            stream.send(frame(0))
            return bool(stream.recv(timeout=60))
    except InvalidStatus:
        return False


def test_response_timeout(tmp_path: Path) -> None:
    """The client hears of it in time; what it sent happens all the same, and once under a key."""
    rows = np.random.default_rng(0).normal(size=(100_000, 40)).astype("<f4")
    with served(tmp_path / "kept", options=["--timeout=0.1"]) as one:
        learner = {"name": "a"}
        wait_until(lambda: one.http.post("/api/learners", json=learner).status_code in (201, 409))
        path = "/api/learners/a/observe?type=f4&features=40"
        answer = one.http.post(path, content=rows.tobytes(), headers={"content-type": RAW})
        assert answer.status_code == 503
        assert "repeat it with the same idempotency key" in answer.json()["error"]
        assert answer.headers["retry-after"] == "1"
        told: list[int] = []

        def send_one() -> bool:
            headers = {"content-type": RAW, "idempotency-key": "k"}
            answer = one.http.post(path, content=rows[0].tobytes(), headers=headers)
            assert answer.status_code in (200, 429, 503)
            told.extend([answer.json()["first"]] if answer.status_code == 200 else [])
            return len(told) == 2

        wait_until(send_one)
        assert told == [100_000] * 2
        assert one.http.get("/api/learners/a").json()["examples"] == 100_001


def test_disconnect_during_a_body_changes_nothing() -> None:
    sent: list[Any] = []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    whole = BodyMiddleware(inner, max_bytes=100, timeout_s=1.0)
    asyncio.run(whole({"type": "http", "method": "POST"}, receive, send))
    assert sent[0]["status"] == 400


def test_limit_of_concurrent_requests() -> None:
    sent: list[Any] = []
    inside, leave = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        inside.set()
        await leave.wait()

    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    async def come() -> None:
        crowd = ConcurrencyMiddleware(slow, "http", 1, ErrorResponse(503, "there are others"))
        first = asyncio.create_task(crowd({"type": "http"}, receive, send))
        await inside.wait()
        await crowd({"type": "http"}, receive, send)
        leave.set()
        await first
        await crowd({"type": "http"}, receive, send)

    asyncio.run(come())
    assert [one.get("status") for one in sent] == [503, None]
    assert (b"retry-after", b"1") in sent[0]["headers"]


def test_load_shedding_rejects_examples_while_the_queue_is_full() -> None:
    sent: list[Any] = []
    passed: list[str] = []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope["path"])

    async def receive() -> Any:
        raise AssertionError("a body is not even read")

    async def send(message: Any) -> None:
        sent.append(message)

    async def come() -> None:
        for middleware in (
            LoadSheddingMiddleware(inner, lambda: True),
            LoadSheddingMiddleware(inner, lambda: False),
        ):
            for verb in ("observe", "predict"):
                scope = {"type": "http", "method": "POST", "path": f"/api/learners/a/{verb}"}
                await middleware(scope, receive, send)

    asyncio.run(come())
    assert [one.get("status") for one in sent] == [429, None]
    assert [path.rpartition("/")[2] for path in passed] == ["predict", "observe", "predict"]
