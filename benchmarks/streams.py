"""The command line beside the same call in Python: rates, memory, start-up.

A stream of 16 features in 10 clusters, one label each, k = 200. "In Python" is teach and observe on
an array, compiled before the clock starts. A command is timed whole, from its start to its end,
start-up, reading and writing included, on the same rows in the same order. Memory is the largest
resident size of the process. Kafka is librdkafka's mock cluster on loopback, topic to topic.

    python benchmarks/streams.py [--rows 1000000] [--write docs/results/streams.md]
"""

from __future__ import annotations

import argparse
import json
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
from _report import Line, report

CLASSES, FEATURES, K = 10, 16, 200
KAFKA_ROWS = 20_000
COMMAND = [sys.executable, "-m", "labelwalk"]
OPTIONS = ["--features=f*", "--label-column=y", f"--n-centroids={K}", "--quiet"]
IN_PYTHON = """
import sys, time
import numpy as np
from labelwalk import OnlineLearner
X = np.load(sys.argv[1])
OnlineLearner(200).observe(X[:1000])
warm = OnlineLearner(200)
warm.teach(X[:10], [str(i) for i in range(10)])
warm.observe(X[10:1000])
learner = OnlineLearner(200)
start = time.perf_counter()
learner.teach(X[:10], [str(i) for i in range(10)])
learner.observe(X[10:])
print(time.perf_counter() - start, learner.digest())
"""


class Ran(NamedTuple):
    """A process that ended well."""

    seconds: float
    mebibytes: float
    output: str


def ran(command: list[str]) -> Ran:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Ran(seconds, usage.ru_maxrss / 1024, output)


def made(n: int) -> tuple[Any, list[str | None]]:
    """Return rows, the first of each cluster in front, and labels for those."""
    rng = np.random.default_rng(0)
    centres = 4.0 * rng.normal(size=(CLASSES, FEATURES))
    kinds = np.concatenate([np.arange(CLASSES), rng.integers(CLASSES, size=n - CLASSES)])
    labels = [str(kind) if i < CLASSES else None for i, kind in enumerate(kinds)]
    return centres[kinds] + rng.normal(size=(n, FEATURES)), labels


def write(folder: Path, n: int) -> None:
    X, labels = made(n)
    np.save(folder / "rows.npy", X)
    columns = {f"f{i}": X[:, i] for i in range(FEATURES)}
    table = pa.table(columns | {"y": pa.array(labels, pa.string())})
    pq.write_table(table, folder / "rows.parquet")
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    with open(folder / "rows.ndjson", "w") as file:
        for start in range(0, n, 10_000):
            some = table.slice(start, 10_000).to_pylist()
            file.writelines(json.dumps(row) + "\n" for row in some)


def label(folder: Path, kind: str) -> Ran:
    source, out = str(folder / f"rows.{kind}"), str(folder / f"out.{kind}")
    model = folder / f"{kind}.lw"
    model.unlink(missing_ok=True)
    return ran([*COMMAND, "label", source, "-o", out, *OPTIONS, f"--model={model}"])


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
    took = ran(
        [*COMMAND, "label", f"kafka://{address}/rows", "-o", f"kafka://{address}/named", *OPTIONS]
    )
    return KAFKA_ROWS / took.seconds


def lines(n: int) -> Iterator[Line]:
    ran([*COMMAND, "label", "--help"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, n)
        label(folder, "csv")  # compiles, and warms the disk
        in_python = ran([sys.executable, "-c", IN_PYTHON, str(folder / "rows.npy")])
        seconds, digest = in_python.output.split()
        rate = n / float(seconds)
        yield Line(f"in Python, {n:,} rows", f"{rate:,.0f} rows/s", "", True)
        for kind, asked in (("csv", 0.5), ("parquet", 0.9), ("ndjson", 0.0)):
            took = label(folder, kind)
            share = n / took.seconds / rate
            words = f"at least {asked:.0%} of Python" if asked else "to be reported"
            figure = f"{n / took.seconds:,.0f} rows/s, {share:.0%}"
            yield Line(f"label, {kind}", figure, words, share >= asked)
            if kind == "csv":
                long = took
        same = _same(folder, digest)
        yield Line("the same learner, byte for byte", "yes" if same else "no", "yes", same)
        yield Line(
            "label, kafka to kafka, 20,000 rows",
            f"{kafka_rate(folder):,.0f} rows/s",
            "to be reported",
            True,
        )
        write(folder, n // 10)
        short = label(folder, "csv")
        apart = abs(long.mebibytes - short.mebibytes) / short.mebibytes
        yield Line(
            f"memory, csv, {n:,} rows",
            f"{long.mebibytes:.0f} MiB",
            "under 300 MiB",
            long.mebibytes < 300,
        )
        yield Line(
            f"the same for {n // 10:,} rows", f"{apart:.1%} apart", "under 5 %", apart < 0.05
        )
        starts = [ran([*COMMAND, "--help"]).seconds for _ in range(5)]
        yield Line("labelwalk --help", f"{min(starts):.2f} s", "under 0.5 s", min(starts) < 0.5)


def _same(folder: Path, digest: str) -> bool:
    from labelwalk import load

    return all(
        load(folder / f"{kind}.lw").digest() == digest for kind in ("csv", "parquet", "ndjson")
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    arguments = parser.parse_args()
    sys.exit(report("Streams", str(__doc__), lines(arguments.rows), arguments.write))
