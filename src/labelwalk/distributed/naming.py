"""The tasks after a model is there: rows are named, a file at once or in parts that are joined."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from labelwalk.distributed.labelling import labelled
from labelwalk.distributed.model import Model, model_from_bytes
from labelwalk.distributed.places import Found, Place, blamed
from labelwalk.distributed.shards import (
    ANSWERS,
    Part,
    batches_of,
    footer_of,
    with_answers,
    write_like,
)
from labelwalk.distributed.tasks import Reading
from labelwalk.distributed.whole import write_whole
from labelwalk.io.task import RunStats

STORED_COUNTS = {  # name in `RunStats`: name in the files of a job
    "rows": "rows",
    "taught": "taught",
    "answered": "answered",
    "outliers": "outliers",
    "skipped": "skipped",
    "judged": "judged",
    "right": "right",
}
FEW = 5  # outliers of a file whose rows are told


class Outliers(NamedTuple):
    """The outliers of a file."""

    file: str
    total: int
    rows: tuple[int, ...]  # the numbers of the first few, the first row of the file being 1


class Naming(NamedTuple):
    """How rows are named."""

    reading: Reading
    prefix: str
    model: Place
    sign: str  # of the model
    aside: Place  # a folder for files that are not whole yet


class LabelRows(NamedTuple):
    """Name the rows of a file; or those of a part of it, and write the verdicts alone."""

    file: Found
    part: Part | None
    naming: Naming
    out: Place
    counts: Place

    @property
    def leaves(self) -> tuple[Place, ...]:
        """What is there when it is done."""
        return self.out, self.counts


class JoinParts(NamedTuple):
    """Join the rows of a file and the verdicts of its parts."""

    file: Found
    naming: Naming
    verdicts: tuple[tuple[Part, Place], ...]
    out: Place
    mark: Place

    @property
    def leaves(self) -> tuple[Place, ...]:
        """What is there when it is done."""
        return self.out, self.mark


def label_rows(task: LabelRows) -> int:
    """Name the rows of a file or of a part, and return how many there are."""
    tally, outliers = RunStats(), list[int]()
    schema = with_answers(footer_of(task.file).schema, task.naming.prefix)
    tables = _labelled(task, tally, outliers)

    def write(out: Any) -> None:
        if task.part is None:
            write_like(task.file, schema, tables, out)
        else:
            _write_verdicts(schema, tables, out)

    write_whole(task.out, write, task.naming.aside)
    told = json.dumps([tally_to_stored(tally), outliers]).encode()
    write_whole(task.counts, lambda out: out.write(told))
    return tally.rows


def join_parts(task: JoinParts) -> int:
    """Join the rows of a file and their verdicts, and return how many there are."""
    schema, n = with_answers(footer_of(task.file).schema, task.naming.prefix), 0

    def tables() -> Iterator[pa.Table]:
        nonlocal n
        for part, place in task.verdicts:
            with place.system.open_input_file(place.path) as file:
                verdicts = pa.ipc.open_file(file)
                for i, batch in enumerate(batches_of(task.file, part)):
                    columns = [*batch.columns, *verdicts.get_batch(i).columns]
                    n += batch.num_rows
                    yield pa.Table.from_batches(
                        [pa.RecordBatch.from_arrays(columns, schema=schema)]
                    )

    def write(out: Any) -> None:
        write_like(task.file, schema, tables(), out)

    write_whole(task.out, write, task.naming.aside)
    write_whole(task.mark, lambda out: out.write(b"joined"))
    return n


def _write_verdicts(schema: pa.Schema, tables: Iterable[pa.Table], out: Any) -> None:
    """Write the last columns of tables, one batch each."""
    added = pa.schema(list(schema)[-len(ANSWERS) :])
    with pa.ipc.new_file(out, added) as writer:
        for table in tables:
            (batch,) = table.select(added.names).combine_chunks().to_batches() or [
                pa.RecordBatch.from_pylist([], schema=added)
            ]
            writer.write_batch(batch)


def read_counts(tasks: Iterable[LabelRows]) -> tuple[RunStats, tuple[Outliers, ...]]:
    """Return the sum of what `label_rows` counted, and the outliers of each file that has any."""
    whole, outliers = Counter[str](), dict[str, Outliers]()
    for task in tasks:
        with blamed(task.counts.path):
            counts, rows = json.loads(task.counts.read())
        whole.update(counts)
        if rows:
            _, count, before = outliers.get(task.file.name, Outliers(task.file.name, 0, ()))
            rows = (*before, *rows)[:FEW]
            outliers[task.file.name] = Outliers(task.file.name, count + counts["outliers"], rows)
    return tally_from_stored(whole), tuple(outliers.values())


def tally_to_stored(tally: RunStats) -> dict[str, int]:
    """Return counts as files of a job have them; these names are a stored format."""
    return {stored: getattr(tally, name) for name, stored in STORED_COUNTS.items()}


def tally_from_stored(counts: Mapping[str, int]) -> RunStats:
    """Return counts that `tally_to_stored` wrote, or a sum of them; a missing one is 0."""
    return RunStats(**{name: counts.get(stored, 0) for name, stored in STORED_COUNTS.items()})


def _labelled(task: LabelRows, tally: RunStats, outliers: list[int]) -> Iterator[pa.Table]:
    """Yield rows with their verdicts, count them, and list the first few outliers."""
    naming, before = task.naming, task.part.first if task.part else 0
    examples = naming.reading.examples(task.file, task.part)
    model = _model(naming.model, naming.sign)
    for table in labelled(examples, model, naming.prefix, tally):
        far = np.flatnonzero(table[f"{naming.prefix}outlier"])[: FEW - len(outliers)]
        outliers += (before + 1 + far).tolist()
        before += len(table)
        yield table


_at_hand: dict[str, Model] = {}  # the last model, by its sign


def _model(place: Place, sign: str) -> Model:
    """Read a model once for all files that a process labels."""
    if sign not in _at_hand:
        with blamed(place.path):
            model = model_from_bytes(place.read())
        _at_hand.clear()
        _at_hand[sign] = model
    return _at_hand[sign]
