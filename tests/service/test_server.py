"""The service as a process: started by its command, spoken to over sockets, killed and stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from labelwalk import OnlineLearner
from labelwalk.learner import from_bytes
from tests.service.sizes import Sizes
from tests.support.waiting import wait_until

pytestmark = pytest.mark.shell

D, K = 3, 20
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class Served:
    """A server that runs, and how to speak to it."""

    def __init__(
        self,
        folder: Path,
        port: int | None = None,
        under: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> None:
        self.port = port or free_port()
        command = [sys.executable, "-m", "labelwalk", "serve", str(folder), f"--port={self.port}"]
        folder.parent.mkdir(exist_ok=True)
        self._said = folder.with_suffix(".said")
        with open(self._said, "w") as stderr:
            self.process = subprocess.Popen(
                [*under, *command, *options], env=ENVIRONMENT, stderr=stderr
            )
        self.folder = folder
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)
        wait_until(self._is_ready)
        self.token = json.loads((folder / "tokens.json").read_text())["write"]
        self.http.headers["authorization"] = f"Bearer {self.token}"

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self._said.read_text()
        return is_ready(self.port)

    def stream(self, name: str, **headers: str) -> ClientConnection:
        given = {"authorization": f"Bearer {self.token}"} | headers
        address = f"ws://127.0.0.1:{self.port}/api/learners/{name}/stream"
        return connect(address, additional_headers=given, compression=None)

    def memory_bytes(self) -> int:
        """Return the most that it ever had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) << 10

    def end(self, number: int) -> str:
        self.process.send_signal(number)
        self.process.wait(timeout=60)
        self.http.close()
        return self._said.read_text()


def is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def served(
    folder: Path, under: Sequence[str] = (), options: Sequence[str] = ()
) -> Iterator[Served]:
    one = Served(folder, under=under, options=options)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)


def rows(seed: int, n: int = 7) -> Any:
    rng = np.random.default_rng(seed)
    return (6.0 * rng.integers(2, size=(n, 1)) + rng.normal(size=(n, D))).astype("<f4")


def hello(session: str = "s") -> str:
    return json.dumps({"type": "f4", "features": D, "session": session})


def frame(number: int) -> bytes:
    content: bytes = struct.pack("<Q", number) + rows(number).tobytes()
    return content


@pytest.mark.slow
def test_a_stream_of_frames(tmp_path: Path) -> None:
    alone = OnlineLearner(K)
    with served(tmp_path / "kept") as one:
        one.http.post("/api/learners", json={"name": "a", "settings": {"n_centroids": K}})
        points, names = [[0.0] * D, [6.0] * D], ["low", "high"]
        one.http.post("/api/learners/a/teach", json={"rows": points, "labels": names})
        alone.teach(points, names)
        with one.stream("a") as stream:
            stream.send(hello())
            for number in range(30):
                stream.send(frame(number))
            for number in range(30):
                answer = stream.recv()
                assert isinstance(answer, bytes)
                assert struct.unpack_from("<QQ", answer) == (number, 2 + 7 * number)
                said = alone.observe(rows(number))
                codes = np.frombuffer(answer, "<i4", 7, 16)
                assert [("low", "high")[code] for code in codes] == said.label.tolist()
                sure = np.frombuffer(answer, "<f4", 7, 16 + 28)
                assert np.allclose(sure, said.confidence)
        assert "labelwalk_events_total 32" in one.http.get("/metrics").text
        said = one.end(signal.SIGTERM)
        assert "tokens.json" in said
        assert one.process.returncode == 0
    with served(tmp_path / "kept") as one:
        kept = one.http.get("/api/learners/a/export").content
        assert from_bytes(kept).digest() == alone.digest()
        assert one.token not in one.end(signal.SIGINT)


@pytest.mark.slow
def test_frames_that_cannot_be_understood(tmp_path: Path) -> None:
    with served(tmp_path / "kept") as one:
        one.http.post("/api/learners", json={"name": "a"})
        wrong: list[list[str | bytes]] = [["{"], ["{}"], ["[1]"]]
        wrong += [[hello(), b"123"], [hello(), bytes(9)], [hello("\ud800"), bytes(20)]]
        for sent in wrong:
            with one.stream("a") as stream, pytest.raises(ConnectionClosed) as closed:
                answered(stream, sent)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008
        for headers in ({"authorization": "Bearer x"}, {"origin": "http://evil.example"}):
            with pytest.raises(InvalidStatus):
                one.stream("a", **headers)
        with pytest.raises(InvalidStatus, match="404"):
            one.stream("nobody")
        assert one.http.get("/api/learners/a").json()["examples"] == 0


def answered(stream: ClientConnection, sent: Sequence[str | bytes]) -> str | bytes:
    """Send messages, the later ones perhaps to a stream that was closed, and return an answer."""
    for message in sent:
        stream.send(message)
    return stream.recv(timeout=30)


@pytest.mark.slow
def test_a_second_process_is_turned_away(tmp_path: Path) -> None:
    with served(tmp_path / "kept"):
        second = refused(tmp_path / "kept", free_port())
        assert second.returncode == 1
        assert "is in use by process" in second.stderr


@pytest.mark.slow
def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        second = refused(tmp_path / "kept", other.getsockname()[1])
    assert second.returncode == 1
    assert "Choose another --port" in second.stderr
    assert not (tmp_path / "kept").exists()


def refused(folder: Path, port: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "labelwalk", "serve", str(folder), f"--port={port}"]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)


@pytest.mark.slow
def test_kill_9_under_load(tmp_path: Path, sizes: Sizes) -> None:
    """Frames that were answered are there, none twice, and the state is an undisturbed one's."""
    folder, rng, answered = tmp_path / "kept", np.random.default_rng(3), 0
    for turn in range(sizes.service_kills):
        with served(folder) as one:
            if turn == 0:
                one.http.post("/api/learners", json={"name": "a", "settings": {"n_centroids": K}})
            seconds = float(rng.uniform(0.2, 1.0))
            answered = send_until_killed(one, answered, time.monotonic() + seconds)
    with served(folder) as one, one.stream("a") as stream:
        stream.send(hello())
        for number in range(answered + 16):  # again from the beginning: nothing is learned twice
            stream.send(frame(number))
            stream.recv(timeout=30)
        kept = from_bytes(one.http.get("/api/learners/a/export").content)
    alone = OnlineLearner(K)
    for number in range(answered + 16):
        alone.observe(rows(number))
    assert kept.digest() == alone.digest()


def send_until_killed(one: Served, answered: int, after: float) -> int:
    """Keep sixteen frames under way, kill the server at some time; return what was answered."""
    try:
        with one.stream("a") as stream:
            stream.send(hello())
            for number in range(answered, answered + 16):
                stream.send(frame(number))
            while True:
                answer = stream.recv(timeout=30)
                assert isinstance(answer, bytes)
                assert struct.unpack_from("<Q", answer)[0] == answered
                answered += 1
                stream.send(frame(answered + 15))
                if time.monotonic() > after and one.process.poll() is None:
                    one.end(signal.SIGKILL)
    except ConnectionClosed:
        return answered
