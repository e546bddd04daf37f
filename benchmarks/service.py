"""The service under load: durable rates over WebSockets and HTTP, and predictions beside them.

A server in a process of its own, k = 500 and 64 features, on a disk; clients in this process, on
the same machine. Every answer that is counted was on the disk before it came. Floors, on two cores.

    python benchmarks/service.py [--seconds 10] [--write docs/results/service.md]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from _report import Line, report
from websockets.asyncio.client import ClientConnection, connect

FEATURES, K, CLASSES = 64, 500, 10
WARM = 30_000  # examples before a clock starts
WINDOW = 32  # frames that a client has under way
CLIENTS = 32


class Server:
    """A server that has learned enough to be in its stride."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        command = [sys.executable, "-m", "labelwalk", "serve", str(folder), f"--port={self.port}"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{self.port}"
        while True:
            try:
                httpx.get(f"{self.url}/readyz")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        token = json.loads((folder / "tokens.json").read_text())["write"]
        self.headers = {"authorization": f"Bearer {token}"}
        httpx.post(f"{self.url}/api/learners", json=NEW, headers=self.headers)

    def stream(self) -> connect:
        address = f"ws://127.0.0.1:{self.port}/api/learners/a/stream"
        return connect(address, additional_headers=self.headers, compression=None)

    def mebibytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


NEW = {"name": "a", "settings": {"n_centroids": K}}


def made(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    centres = 4.0 * np.random.default_rng(0).normal(size=(CLASSES, FEATURES))
    kinds = rng.integers(CLASSES, size=n)
    return (centres[kinds] + rng.normal(size=(n, FEATURES))).astype("<f4")


async def begin(stream: ClientConnection) -> None:
    session = os.urandom(8).hex()
    await stream.send(json.dumps({"type": "f4", "features": FEATURES, "session": session}))


async def observe(server: Server, rows: Any, size: int, window: int, end: float) -> int:
    """Send blocks until the time is over; return how many examples were answered."""
    answered = sent = 0
    async with server.stream() as stream:
        await begin(stream)
        while answered < sent or time.monotonic() < end:
            while sent - answered < window and time.monotonic() < end:
                at = sent * size % (len(rows) - size)
                await stream.send(struct.pack("<Q", sent) + rows[at : at + size].tobytes())
                sent += 1
            if answered < sent:
                await stream.recv()
                answered += 1
    return answered * size


async def predict(server: Server, rows: Any, rate: float, end: float) -> list[float]:
    """Ask at a steady rate; return how long each answer took, from when it was due."""
    took: list[float] = []
    headers = server.headers | {"content-type": "application/octet-stream"}
    url = f"{server.url}/api/learners/a/predict?type=f4&features={FEATURES}"
    async with httpx.AsyncClient(headers=headers, timeout=30) as client:

        async def one(due: float, row: bytes) -> None:
            await client.post(url, content=row)
            took.append(time.monotonic() - due)

        tasks, due = [], time.monotonic()
        while due < end:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            tasks.append(asyncio.create_task(one(due, rows[len(tasks) % len(rows)].tobytes())))
            due += 1.0 / rate
        await asyncio.gather(*tasks)
    return took


async def over_http(server: Server, rows: Any, end: float) -> int:
    headers = server.headers | {"content-type": "application/octet-stream"}
    url = f"{server.url}/api/learners/a/observe?type=f4&features={FEATURES}"
    n = 0

    async def client() -> None:
        nonlocal n
        async with httpx.AsyncClient(headers=headers, timeout=30) as one:
            while time.monotonic() < end:
                await one.post(url, content=rows[n % len(rows)].tobytes())
                n += 1

    await asyncio.gather(*(client() for _ in range(8)))
    return n


async def measured(server: Server, seconds: float) -> list[Line]:
    rows = made(20_000, 1)
    await observe(server, made(WARM, 2), 100, WINDOW, time.monotonic() + 4)
    lines = []
    n = await observe(server, rows, 100, WINDOW, time.monotonic() + seconds)
    rate = n / seconds
    lines.append(Line("one WebSocket, blocks of 100", f"{rate:,.0f}/s", "10,000/s", rate >= 10_000))
    end = time.monotonic() + seconds
    counts = await asyncio.gather(*(observe(server, rows, 1, 1, end) for _ in range(CLIENTS)))
    rate = sum(counts) / seconds
    name = f"{CLIENTS} WebSockets, single rows, each waits for its answer"
    lines.append(Line(name, f"{rate:,.0f}/s", "4,000/s", rate >= 4000))
    rate = await over_http(server, rows, time.monotonic() + seconds) / seconds
    lines.append(Line("HTTP, single rows, 8 clients", f"{rate:,.0f}/s", "to be reported", True))
    end = time.monotonic() + seconds
    took, n = await asyncio.gather(
        predict(server, rows, 500, end), observe(server, rows, 10, 4, end)
    )
    late = 1000 * float(np.quantile(took, 0.99))
    figure = f"p99 {late:.1f} ms, beside {n / seconds:,.0f} examples/s"
    lines.append(Line("500 predictions a second", figure, "under 20 ms", late < 20))
    lines.append(Line("memory of the server", f"{server.mebibytes():.0f} MiB", "", True))
    return lines


def lines(seconds: float) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(dir=".") as name:
        server = Server(Path(name))
        try:
            yield from asyncio.run(measured(server, seconds))
        finally:
            server.process.send_signal(signal.SIGTERM)
            server.process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    arguments = parser.parse_args()
    sys.exit(report("The service", str(__doc__), lines(arguments.seconds), arguments.write))
