"""The command line beside the same call in Python: rates, memory, start-up.

A stream of 16 features in 10 clusters, one label each, k = 200. The reference is a Python program
that teaches and observes the same rows from an array in memory and writes nothing but the learner;
it and the commands are timed whole, from start to end, with imports, reading and writing, in turns,
the fastest of three each. "The calls alone" leaves imports and the first use of the kernels out of
the reference, but not out of the command. Memory is the largest resident size of the process. Kafka
is librdkafka's mock cluster on loopback, topic to topic.

With --measurements, fewer rows, without Kafka, and seconds of the processor.

    scripts/bench streams [--rows 1000000] [--write docs/results/streams.md]
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from _report import Line, Measurement, make_parser, print_measurements, report

CLASSES, FEATURES, K = 10, 16, 200
KAFKA_ROWS = 20_000
COMMAND = [sys.executable, "-m", "labelwalk"]
OPTIONS = ["--features=f*", "--label-column=y", f"--n-centroids={K}", "--quiet"]
IN_PYTHON = """
import sys, time
import numpy as np
from labelwalk import OnlineLearner
X = np.load(sys.argv[1])
labels = [str(i) for i in range(10)]
learner = OnlineLearner(200)
learner.teach(X[:10], labels)
learner.observe(X[10:1000])
start = time.perf_counter()
learner.observe(X[1000:])
seconds = time.perf_counter() - start
learner.save(sys.argv[2])
print(seconds * len(X) / (len(X) - 1000))
"""
ROUNDS = 3
KINDS = ("csv", "parquet", "ndjson")
MIN_SHARES = {"csv": 0.5, "parquet": 0.9}


class CommandRun(NamedTuple):
    """A process that ended well."""

    seconds: float
    processor: float  # seconds
    mebibytes: float
    output: str


def run_command(command: list[str]) -> CommandRun:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return CommandRun(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def make_rows(n: int) -> tuple[Any, list[str | None]]:
    """Return rows, the first of each cluster in front, and labels for those."""
    rng = np.random.default_rng(0)
    centres = 4.0 * rng.normal(size=(CLASSES, FEATURES))
    kinds = np.concatenate([np.arange(CLASSES), rng.integers(CLASSES, size=n - CLASSES)])
    labels = [str(kind) if i < CLASSES else None for i, kind in enumerate(kinds)]
    return centres[kinds] + rng.normal(size=(n, FEATURES)), labels


def write(folder: Path, n: int) -> None:
    X, labels = make_rows(n)
    np.save(folder / "rows.npy", X)
    columns = {f"f{i}": X[:, i] for i in range(FEATURES)}
    table = pa.table(columns | {"y": pa.array(labels, pa.string())})
    pq.write_table(table, folder / "rows.parquet")
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    with open(folder / "rows.ndjson", "w") as file:
        for batch in table.to_batches(max_chunksize=10_000):
            file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


def _write_apart(folder: Path, n: int) -> None:
    """Write in another process: a child counts what its parent held as memory of its own."""
    writer = multiprocessing.get_context("spawn").Process(target=write, args=(folder, n))
    writer.start()
    writer.join()
    assert writer.exitcode == 0


def label(folder: Path, kind: str) -> CommandRun:
    source, out = str(folder / f"rows.{kind}"), str(folder / f"out.{kind}")
    model = folder / f"{kind}.lw"
    model.unlink(missing_ok=True)
    return run_command([*COMMAND, "label", source, "-o", out, *OPTIONS, f"--model={model}"])


def kafka_rate(folder: Path) -> float:
    from confluent_kafka import Producer

    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1"})
    brokers = cluster.list_topics(timeout=10).brokers
    address = ",".join(f"{one.host}:{one.port}" for one in brokers.values())
    producer = Producer({"bootstrap.servers": address})
    with open(folder / "rows.ndjson") as file:
        for line, _ in zip(file, range(KAFKA_ROWS), strict=False):
            producer.produce("rows", line.strip(), partition=0)
            producer.poll(0)
    producer.flush()
    source, out = f"kafka://{address}/rows", f"kafka://{address}/named"
    return KAFKA_ROWS / run_command([*COMMAND, "label", source, "-o", out, *OPTIONS]).seconds


def lines(n: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_apart(folder, n)
        label(folder, "csv")  # compiles, and warms the disk
        runs = [_round(folder) for _ in range(ROUNDS)]
        best = {kind: min(run[kind] for run in runs) for kind in runs[0]}  # by seconds
        program = best.pop("python")
        calls = min(float(run["python"].output) for run in runs)
        yield Line(f"in Python, {n:,} rows", f"{n / program.seconds:,.0f} rows/s")
        for kind, took in best.items():
            required = MIN_SHARES.get(kind, 0.0)
            share, alone = program.seconds / took.seconds, calls / took.seconds
            words = f"at least {required:.0%} of Python" if required else "reported"
            figure = f"{n / took.seconds:,.0f} rows/s, {share:.0%} ({alone:.0%} of the calls alone)"
            yield Line(f"label, {kind}", figure, words, share >= required)
        same = len({(folder / f"{kind}.lw").read_bytes() for kind in runs[0]}) == 1
        yield Line("the same learner, byte for byte", "yes" if same else "no", "yes", same)
        rate = f"{kafka_rate(folder):,.0f} rows/s"
        yield Line(f"label, kafka to kafka, {KAFKA_ROWS:,} rows", rate, "reported")
        _write_apart(folder, n // 10)
        for kind, long in best.items():
            short = label(folder, kind)
            apart = abs(long.mebibytes - short.mebibytes) / short.mebibytes
            figure = f"{long.mebibytes:.0f} MiB, {apart:.1%} apart from {n // 10:,} rows"
            held = long.mebibytes < 300 and apart < 0.05
            yield Line(f"memory, {kind}", figure, "under 300 MiB, under 5% apart", held)
        starts = [run_command([*COMMAND, "--help"]).seconds for _ in range(5)]
        yield Line("labelwalk --help", f"{min(starts):.2f} s", "under 0.5 s", min(starts) < 0.5)


def measurements(n: int) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        _write_apart(Path(name), n)
        runs = _round(Path(name))
    for kind, took in runs.items():
        what = "in Python" if kind == "python" else f"label, {kind}"
        yield Measurement(f"{what}: µs a row, whole process", 1e6 * took.seconds / n)
        yield Measurement(f"{what}: processor, µs a row", 1e6 * took.processor / n)
        yield Measurement(f"{what}: memory, MiB", took.mebibytes)
    starts = [run_command([*COMMAND, "--help"]).seconds for _ in range(3)]
    yield Measurement("labelwalk --help, s", min(starts))


def _round(folder: Path) -> dict[str, CommandRun]:
    program = [sys.executable, "-c", IN_PYTHON, str(folder / "rows.npy"), str(folder / "python.lw")]
    return {"python": run_command(program)} | {kind: label(folder, kind) for kind in KINDS}


if __name__ == "__main__":
    parser = make_parser(__doc__, measurements=True)
    parser.add_argument("--rows", type=int, help="1 000 000, or 100 000 with --measurements")
    arguments = parser.parse_args()
    if arguments.measurements:
        print_measurements(measurements(arguments.rows or 100_000))
        sys.exit()
    rows = arguments.rows or 1_000_000
    sys.exit(report("Streams", __doc__, lines(rows), arguments.write))
