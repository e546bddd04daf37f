"""Parquet and Arrow files: tables that come in batches of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from labelwalk.io.batch import Batch, Position
from labelwalk.io.blocks import cannot_read
from labelwalk.io.fault import InputError
from labelwalk.io.standard import standard_input
from labelwalk.io.tables import TableRows

ROWS = 1 << 13  # a batch
MAGIC = b"ARROW1"
BUFFER = 1 << 17  # bytes read at a time, of each column: groups of rows may be larger than memory


@dataclass(frozen=True)
class Parquet:
    """A Parquet file."""

    path: str

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches of rows; the position counts rows."""
        with _blaming(self.path):
            file = pq.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER)
            group, skipped = _group_of(file, _done(position))
            groups = range(group, file.num_row_groups)
            yield from _batches(
                _of_groups(file, list(groups)),
                skipped,
                _done(position),
                file.metadata.num_rows,
            )


@dataclass(frozen=True)
class ArrowFile:
    """An Arrow IPC file, or a stream of such a format; "-" is standard input."""

    path: str

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches of rows; the position counts rows."""
        with _blaming(self.path):
            yield from _batches(_record_batches(self.path), 0, _done(position), None)


def _of_groups(file: pq.ParquetFile, groups: list[int]) -> Iterator[pa.RecordBatch]:
    yield _no_rows(file.schema_arrow)
    yield from file.iter_batches(ROWS, row_groups=groups, use_threads=False)


def _record_batches(path: str) -> Iterator[pa.RecordBatch]:
    if path == "-":
        if standard_input().peek(6).startswith(MAGIC):
            raise InputError(
                "an Arrow file cannot come through a pipe. Give its path, or a stream."
            )
        yield from _of_stream(pa.ipc.open_stream(standard_input()))
        return
    with pa.OSFile(path) as source:
        if source.read(len(MAGIC)) == MAGIC:
            file = pa.ipc.open_file(source)
            yield _no_rows(file.schema)
            yield from (file.get_batch(i) for i in range(file.num_record_batches))
        else:
            source.seek(0)
            yield from _of_stream(pa.ipc.open_stream(source))


def _of_stream(stream: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    yield _no_rows(stream.schema)
    yield from stream


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows: a file without any has columns still."""
    columns = [pa.nulls(0, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _done(position: Position | None) -> int:
    return 0 if position is None else int(position["rows"])


def _group_of(file: pq.ParquetFile, row: int) -> tuple[int, int]:
    """Return the group of rows that a row is in, and how many rows come before that group."""
    before = 0
    for group in range(file.num_row_groups):
        n = file.metadata.row_group(group).num_rows
        if row < before + n:
            return group, before
        before += n
    return file.num_row_groups, before


def _batches(
    found: Iterator[pa.RecordBatch], first: int, done: int, total: int | None
) -> Iterator[Batch]:
    """Yield what comes after the rows that are done, in batches of moderate size."""
    row = first
    for whole in found:
        if whole.num_rows == 0:
            yield table_batch(pa.Table.from_batches([whole]), max(row, done), total)
        for start in range(0, whole.num_rows, ROWS):
            some = whole.slice(start, ROWS)
            skip = min(max(0, done - row), some.num_rows)
            row += some.num_rows
            if skip < some.num_rows:
                table = pa.Table.from_batches([some.slice(skip)])
                yield table_batch(table, row - some.num_rows + skip, total)
    if row < done:
        raise InputError(
            f"there are {row} rows, but {done} were read before. Bring the whole file back, or "
            "begin anew by deleting the checkpoint."
        )


def table_batch(table: pa.Table, first: int, total: int | None) -> Batch:
    """Return a batch of a table whose first row has so many before it."""
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"there are two columns named {twice[0]!r}. Rename one.")
    return Batch(
        TableRows(table),
        where=lambda i: f"row {first + i + 1}",
        after=lambda n: {"rows": first + (table.num_rows if n is None else n)},
        share=None if total is None else (first + table.num_rows) / max(total, 1),
    )


@contextmanager
def _blaming(path: str) -> Iterator[None]:
    """Name the file in every error."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{path} is not what its name says, or damaged ({error}). Bring it again, or say what "
            "it is by --format."
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error
