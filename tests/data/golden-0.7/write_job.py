"""Write what jobs and learners by key leave: `python write_job.py`.

The files beside this one were written with the sources of version 0.7.1 (4639d36), and a sketch
with those of 0.7.0 (2eac352), which did not hold rows that are far from all others:

    git archive COMMIT | tar x -C OLD
    PYTHONPATH=OLD/src NUMBA_CACHE_DIR=$(mktemp -d) python tests/data/golden-0.7/write_job.py
    PYTHONPATH=OLD/src NUMBA_CACHE_DIR=$(mktemp -d) python tests/data/golden-0.7/write_job.py 0.7.0

`job.tar.gz` holds input files, a finished job, one that was stopped while it labelled, a folder of
learners by key and one of a shared learner; `sketch-*.arrow` is a sketch as bytes.
"""

# mypy: ignore-errors
from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from labelwalk.scale import job as jobs
from labelwalk.scale import shards, sketch, sketch_to_bytes
from labelwalk.scale.centre import Centre
from labelwalk.scale.keyed import KeyedLearners
from labelwalk.scale.partitions import AtOnce, Partitions
from labelwalk.streams import Columns

from labelwalk import OnlineLearner

HERE = Path(__file__).resolve().parent
SETTINGS = OnlineLearner(20).settings
CHANGED = 1_700_000_000  # seconds since 1970, when the input files were written


class StopError(Exception):
    """The process ends here."""


class Stopping:
    """Runs so many tasks and stops."""

    def __init__(self, n_tasks: int) -> None:
        self.n_tasks = n_tasks

    def each(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        for task in tasks:
            if self.n_tasks == 0:
                raise StopError
            self.n_tasks -= 1
            yield function(task)


def rows_of(seed: int, n: int) -> Any:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, n)
    return 6.0 * truth[:, None] + random.normal(size=(n, 2)), truth


def batch_of(seed: int, n: int, n_labelled: int) -> pa.RecordBatch:
    rows, truth = rows_of(seed, n)
    names = [("low", "high")[own] if i < n_labelled else None for i, own in enumerate(truth)]
    columns = {"a": rows[:, 0], "b": rows[:, 1], "label": pa.array(names, pa.string())}
    return pa.RecordBatch.from_pydict({**columns, "truth": truth})


def write_sketch(version: str) -> None:
    """Write a sketch of rows with one that is far from all others."""
    far = pa.RecordBatch.from_pydict(
        {"a": [1e6], "b": [0.0], "label": pa.array([None], pa.string())}
    )
    batch = batch_of(5, 40, 3).select(["a", "b", "label"])
    (HERE / f"sketch-{version}.arrow").write_bytes(sketch_to_bytes(sketch([batch, far], 20)))


def write() -> None:
    """Write all others into the current folder."""
    Path("in").mkdir()
    for name, n, n_labelled in (("a", 300, 4), ("b", 90, 0)):
        table = pa.Table.from_batches([batch_of(n, n, n_labelled)])
        pq.write_table(table, f"in/{name}.parquet", row_group_size=100)
        os.utime(f"in/{name}.parquet", (CHANGED, CHANGED))
    jobs.release = lambda: "0.7.1"
    shards.PART = 150
    columns = Columns(drop=("truth",))
    jobs.run(jobs.Job("in", "finished", SETTINGS, columns))
    with suppress(StopError):
        jobs.run(jobs.Job("in", "begun", SETTINGS, columns), Stopping(3 + 2 + 1))
    rows, _ = rows_of(1, 40)
    learners = KeyedLearners("keyed", SETTINGS)
    learners.teach("door", [[0.0, 0.0], [6.0, 6.0]], ["low", "high"], position=0)
    learners.observe("door", rows, position=2)
    learners.save()
    partitions = Partitions(AtOnce(Centre("shared", ["left", "right"], SETTINGS)), SETTINGS, 50)
    partitions.teach("left", [[0.0, 0.0], [6.0, 6.0]], ["low", "high"], position=0)
    partitions.observe("right", rows, position=0)
    partitions.keep("right")


if __name__ == "__main__":
    write_sketch(sys.argv[1] if len(sys.argv) > 1 else "0.7.1")
    if len(sys.argv) > 1:
        sys.exit()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        write()
        with tarfile.open(HERE / "job.tar.gz", "w:gz") as archive:
            for file in sorted(os.listdir(name)):
                archive.add(file)
