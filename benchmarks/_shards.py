"""Rows cut into shards, and what comes of them: sketched here, or by a job on files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.distributed import Job, Sketch, merge, run, sketch
from labelwalk.distributed.job import Pool
from labelwalk.settings import Settings

IN_ORDER, SORTED = "in stream order", "sorted by class"


class Given(NamedTuple):
    """Rows, who they are, and which of them have labels."""

    rows: Floats
    truth: Ints
    taught: Bools


def shards(given: Given, cut: str, n: int) -> list[Ints]:
    """Return which rows lie in each shard."""
    order = np.arange(len(given.rows))
    if cut == SORTED:
        order = np.argsort(given.truth, kind="stable")
    return np.array_split(order, n)


def batch(given: Given, some: Ints) -> pa.RecordBatch:
    """Return rows as a batch, in single precision where that loses nothing."""
    rows = given.rows.astype(np.float32)
    if not np.array_equal(rows, given.rows):
        rows = given.rows
    columns: dict[str, Any] = {f"x{i}": rows[some, i] for i in range(rows.shape[1])}
    names = [str(given.truth[i]) if given.taught[i] else None for i in some]
    return pa.RecordBatch.from_pydict(columns | {"label": pa.array(names, pa.string())})


def sketched(given: Given, parts: Sequence[Ints], settings: Settings) -> Sketch:
    """Sketch each shard by itself, and merge in the tree of a job."""
    k, labels, growth = settings.n_centroids, settings.labels_per_class, float(settings.growth)
    assert k is not None
    sketches = [
        sketch([batch(given, some)], k, labels_per_class=labels, growth=growth) for some in parts
    ]
    return merge(sketches, k, labels)


class Backwards:
    """Does the last task of each step first."""

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        return map(function, reversed(tasks))


def written(given: Given, parts: Sequence[Ints], folder: Path) -> Path:
    """Write a file for each shard."""
    folder.mkdir()
    for i, some in enumerate(parts):
        pq.write_table(pa.Table.from_batches([batch(given, some)]), folder / f"{i:02}.parquet")
    return folder


def done(rows: Path, out: Path, settings: Settings, pool: Pool | None = None) -> dict[str, bytes]:
    """Do a job; return the files it wrote."""
    run(Job(str(rows), str(out), settings), pool)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def answers(out: Path, parts: Sequence[Ints]) -> Any:
    """Return what a job said of each row."""
    said = np.empty(sum(map(len, parts)), dtype=object)
    for i, some in enumerate(parts):
        table = pq.read_table(out / f"{i:02}.parquet", columns=["predicted_label"])
        said[some] = table["predicted_label"].to_pylist()
    return said
