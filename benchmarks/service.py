"""The service under load: durable rates, predictions beside them, too much of it, and for long.

A server in a process of its own, k = 500 and 64 features, ten classes with a label each, on a disk;
the clients in this process, on the same machine. Every answer that is counted was on the disk
before it came. Floors, on two cores.

With --measurements, rates alone, each for a shorter time, and what the server's processor spends
on an example, which the clients do not disturb.

    scripts/bench service [--seconds 10] [--examples 1000000] [--write FILE.md]
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from _against import THREAD_VARIABLES
from _lean_clients import Address, Http, Stream
from _report import Line, Measurement, make_parser, print_measurements, report
from _stopwatch import read_memory

FEATURES, K, CLASSES = 64, 500, 10
WARM = 20_000  # examples before a clock starts
WINDOW = 32  # frames that a client has under way
CLIENTS, HTTP_CLIENTS = 32, 16
BESIDE = 10_000  # examples a second beside predictions
TIMES = 5  # what is offered, as a multiple of what can be done
BLOCK = 100
RAW = f"?type=f4&features={FEATURES}"
BLOCKS = f"one WebSocket, blocks of {BLOCK}"
SINGLES = f"{CLIENTS} WebSockets, single rows, each waits for its answer"
HTTP = f"HTTP, single rows, {HTTP_CLIENTS} clients"
LATE, STEADY = "500 predictions a second, p99 ms", "examples beside them"


def make_rows(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (centres()[rng.integers(CLASSES, size=n)] + rng.normal(size=(n, FEATURES))).astype("<f4")


def centres() -> Any:
    return 4.0 * np.random.default_rng(0).normal(size=(CLASSES, FEATURES))


def block_of(rows: Any, number: int, size: int) -> bytes:
    """Return a block of rows; after the last one they begin again."""
    start = number * size % (len(rows) - size)
    return rows[start : start + size].tobytes()


class Server:
    """A server in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> float:
        """Start it, and return after how many seconds it answered."""
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        began = time.monotonic()
        command = [sys.executable, "-m", "labelwalk", "serve", str(self.folder), f"--port={port}"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{port}"
        while not self._is_ready():
            if self.process.poll() is not None:
                raise SystemExit(f"{' '.join(command)} ended with {self.process.returncode}")
            time.sleep(0.02)
        took = time.monotonic() - began
        token = json.loads((self.folder / "tokens.json").read_text())["write"]
        self.address = Address(port, token)
        return took

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait()

    def ask(self, path: str, body: Any = None) -> Any:
        headers = {"authorization": f"Bearer {self.address.token}"}
        content = None if body is None else json.dumps(body).encode()
        headers |= {} if body is None else {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, content, headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def prepare(self) -> None:
        self.ask("/api/learners", {"name": "a", "settings": {"n_centroids": K}})
        labels = [f"class {i}" for i in range(CLASSES)]
        self.ask("/api/learners/a/teach", {"rows": centres().tolist(), "labels": labels})

    def n_examples(self) -> int:
        return int(self.ask("/api/learners/a")["examples"])

    def processor_microseconds(self) -> float:
        """What the processor has spent on the server."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return 1e6 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def mebibytes(self) -> float:
        return read_memory(self.process.pid)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz") as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError):
            return False


@contextmanager
def running_server() -> Iterator[Server]:
    """Run a server with a learner in a folder that is removed."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        server = Server(Path(name))
        try:
            server.prepare()
            yield server
        finally:
            server.stop()


async def pace(rate: float, end: float) -> AsyncIterator[float]:
    """Yield so many times a second, when each is due, until the end."""
    due = time.monotonic()
    while due < end:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        yield due
        due += 1.0 / rate


async def observe(server: Server, rows: Any, size: int, window: int, end: float) -> int:
    """Send blocks until the time is over; return how many examples were answered."""
    answered = sent = 0
    stream = await Stream.begin(server.address, "a", FEATURES)
    while answered < sent or time.monotonic() < end:
        while sent - answered < window and time.monotonic() < end:
            stream.observe(sent, block_of(rows, sent, size))
            sent += 1
        if answered < sent:
            await stream.answer()
            answered += 1
    stream.close()
    return answered * size


async def observe_singles(server: Server, rows: Any, end: float) -> int:
    """Send single rows on many streams; return how many examples were answered."""
    streams = (observe(server, rows, 1, 1, end) for _ in range(CLIENTS))
    return sum(await asyncio.gather(*streams))


async def observe_steadily(server: Server, rows: Any, rate: float, end: float) -> int:
    """Send blocks at a rate; return how many examples were answered in time."""
    stream = await Stream.begin(server.address, "a", FEATURES)
    answered = sent = 0

    async def count() -> None:
        nonlocal answered
        while True:
            await stream.answer()
            answered += 1

    counting = asyncio.create_task(count())
    async for _ in pace(rate / BLOCK, end):
        stream.observe(sent, block_of(rows, sent, BLOCK))
        sent += 1
    counting.cancel()
    stream.close()
    return answered * BLOCK


async def predict(server: Server, rows: Any, rate: float, end: float) -> list[float]:
    """Ask at a rate, over 16 connections; return how long each took, from when it was due."""
    took: list[float] = []
    waiting: asyncio.Queue[float | None] = asyncio.Queue()

    async def client() -> None:
        http = await Http.open(server.address)
        while (due := await waiting.get()) is not None:
            row = block_of(rows, len(took), 1)
            status, _, _ = await http.post(f"/api/learners/a/predict{RAW}", row)
            assert status == 200
            took.append(time.monotonic() - due)
        http.close()

    clients = [asyncio.create_task(client()) for _ in range(HTTP_CLIENTS)]
    async for due in pace(rate, end):
        waiting.put_nowait(due)
    for _ in clients:
        waiting.put_nowait(None)
    await asyncio.gather(*clients)
    return took


async def observe_over_http(server: Server, rows: Any, size: int, end: float) -> int:
    """Post blocks, each client one after the other; return how many examples were answered."""
    done = 0

    async def client() -> None:
        nonlocal done
        http = await Http.open(server.address)
        while time.monotonic() < end:
            body = block_of(rows, done // size, size)
            status, _, _ = await http.post(f"/api/learners/a/observe{RAW}", body)
            done += size if status == 200 else 0
        http.close()

    await asyncio.gather(*(client() for _ in range(HTTP_CLIENTS)))
    return done


class Flood:
    """More than can be done: blocks that are due, whether or not earlier ones were answered."""

    def __init__(self, server: Server, rows: Any) -> None:
        self.server, self.rows = server, rows
        self.done = self.refused = self.wrong = 0
        self.idle: list[Http] = []
        self.most = 0.0  # mebibytes

    async def run(self, rate: float, seconds: float) -> None:
        look = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            async for due in pace(rate / BLOCK, look + seconds):
                tasks.create_task(self._post())
                if due > look:
                    self.most, look = max(self.most, self.server.mebibytes()), look + 0.5

    async def _post(self) -> None:
        body = block_of(self.rows, self.done // BLOCK, BLOCK)
        while True:
            http = self.idle.pop() if self.idle else await Http.open(self.server.address)
            try:
                status, says_when, _ = await http.post(f"/api/learners/a/observe{RAW}", body)
                break
            except (asyncio.IncompleteReadError, ConnectionError):
                http.close()  # it had been idle for too long
        self.idle.append(http)
        self.done += BLOCK if status == 200 else 0
        is_refused = status in (429, 503) and says_when
        self.refused += is_refused
        self.wrong += status != 200 and not is_refused


async def measure_rates(server: Server, seconds: float) -> dict[str, tuple[float, float]]:
    """Return figures, and microseconds of the server's processor for an example."""
    rows, figures = make_rows(20_000, 1), dict[str, tuple[float, float]]()
    await observe(server, rows, BLOCK, WINDOW, time.monotonic() + seconds / 3)
    while server.n_examples() < WARM:
        await observe(server, rows, BLOCK, WINDOW, time.monotonic() + 1)
    for name, work in (
        (BLOCKS, lambda end: observe(server, rows, BLOCK, WINDOW, end)),
        (SINGLES, lambda end: observe_singles(server, rows, end)),
        (HTTP, lambda end: observe_over_http(server, rows, 1, end)),
    ):
        before = server.processor_microseconds()
        n = await work(time.monotonic() + seconds)
        figures[name] = n / seconds, (server.processor_microseconds() - before) / n
    before, end = server.processor_microseconds(), time.monotonic() + seconds
    both = predict(server, rows, 500, end), observe_steadily(server, rows, BESIDE, end)
    took, n = await asyncio.gather(*both)
    spent = (server.processor_microseconds() - before) / (n + len(took))
    figures[LATE] = 1000 * float(np.quantile(took, 0.99)), spent
    figures[STEADY] = n / seconds, 0.0
    return figures


def rate_lines(figures: dict[str, tuple[float, float]]) -> Iterator[Line]:
    for name, floor in ((BLOCKS, 10_000), (SINGLES, 4_000), (HTTP, 0)):
        rate = figures[name][0]
        required = f"{floor:,}/s" if floor else "reported"
        yield Line(name, f"{rate:,.0f}/s", required, rate >= floor)
    late, beside = figures[LATE][0], figures[STEADY][0]
    figure = f"p99 {late:.1f} ms, beside {beside:,.0f} examples/s"
    yield Line("500 predictions a second", figure, "under 20 ms", late < 20)


def measurements(seconds: float) -> Iterator[Measurement]:
    with running_server() as server:
        figures = asyncio.run(measure_rates(server, seconds))
        mebibytes = server.mebibytes()
        server.stop(signal.SIGKILL)
        restart = server.start()
    for what, (figure, spent) in figures.items():
        yield Measurement(what, figure, "lower" if what == LATE else "higher")
        if spent:
            name = what.removesuffix(", p99 ms")
            yield Measurement(f"{name}: the server's processor, µs an example", spent)
    yield Measurement("memory of the server, MiB", mebibytes)
    yield Measurement("restart after kill -9, s", restart)


async def measure_flood(server: Server, seconds: float) -> list[Line]:
    rows = make_rows(20_000, 3)
    await observe_over_http(server, rows, BLOCK, time.monotonic() + 2)
    peak = await observe_over_http(server, rows, BLOCK, time.monotonic() + seconds) / seconds
    before, calm = server.n_examples(), server.mebibytes()
    flood = Flood(server, rows)
    began = time.monotonic()
    await flood.run(TIMES * peak, 2 * seconds)
    rate = flood.done / (time.monotonic() - began)
    server.stop(signal.SIGKILL)
    server.start()
    there = server.n_examples() - before
    answers = f"{flood.refused:,} refusals say when to try again, {flood.wrong} other answers"
    share = f"{100 * rate / peak:.0f} % of {peak:,.0f}/s; {answers}"
    durable = f"{flood.done:,} acknowledged, {there:,} there after kill -9"
    return [
        Line(f"goodput at {TIMES} times the peak over HTTP", share, "80 %", rate >= 0.8 * peak),
        Line("what was acknowledged then", durable, "all", there >= flood.done),
        Line("refusals then", f"{flood.refused:,}", "some", flood.refused > 0 and not flood.wrong),
        Line("memory then", f"{calm:.0f} to {flood.most:.0f} MiB", "bounded"),
    ]


async def observe_for_long(server: Server, n: int) -> list[Line]:
    """Observe n examples, and see that memory stays and a restart is quick."""
    rows, begun = make_rows(20_000, 4), server.n_examples()
    sizes: list[list[float]] = [[] for _ in range(5)]
    while (seen := server.n_examples() - begun) < n:
        await observe(server, rows, BLOCK, WINDOW, time.monotonic() + 0.5)
        sizes[5 * seen // n].append(server.mebibytes())
    warm, last = float(np.median(sizes[1])), float(np.median(sizes[-1]))
    growth = last / warm - 1
    server.stop(signal.SIGKILL)
    took = server.start()
    with tempfile.TemporaryDirectory(dir=".") as name:
        empty = Server(Path(name))
        empty.stop()
        bare = empty.start()
        empty.stop()
    figure = f"{warm:.0f} to {last:.0f} MiB, {100 * growth:.1f} %"
    restart = f"{took - bare:.2f} s beyond {bare:.2f} s"
    return [
        Line(f"memory from the second to the last fifth of {n:,}", figure, "2 %", growth < 0.02),
        Line("restart after kill -9", restart, "2 s", took - bare <= 2.0),
    ]


def lines(seconds: float, examples: int) -> Iterator[Line]:
    with running_server() as server:
        yield from rate_lines(asyncio.run(measure_rates(server, seconds)))
        yield from asyncio.run(measure_flood(server, seconds))
        yield from asyncio.run(observe_for_long(server, examples))


if __name__ == "__main__":
    os.environ |= dict.fromkeys(THREAD_VARIABLES, "1")
    parser = make_parser(__doc__, measurements=True)
    parser.add_argument("--seconds", type=float, help="of each rate (10; 2 with --measurements)")
    parser.add_argument("--examples", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if arguments.measurements:
        print_measurements(measurements(arguments.seconds or 2.0))
        sys.exit()
    found = lines(arguments.seconds or 10.0, arguments.examples)
    sys.exit(report("The service", __doc__, found, arguments.write))
