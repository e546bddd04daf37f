"""Arrow streams, and Parquet, which is made of one at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from labelwalk.arrays import Floats
from labelwalk.io.batch import Rows
from labelwalk.io.fault import InputError
from labelwalk.io.paths import check_replaceable
from labelwalk.io.sinks import BytesSink

PIECE = 1 << 15  # rows at a time, where a file is made of another


class ArrowSink(BytesSink):
    """A stream of Arrow IPC."""

    END = b"\xff\xff\xff\xff\x00\x00\x00\x00"

    def __init__(self, path: str, mark: int | None) -> None:
        super().__init__(path, mark)
        self._schema: pa.Schema | None = None
        if mark:
            with pa.memory_map(path) as written:
                self._schema = pa.ipc.open_stream(written).schema

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Write rows as a record batch; the first ones decide of what types columns are."""
        table = _plain(rows.table(features, added))
        if self._schema is None:
            self._schema = table.schema
            self._out.write(memoryview(table.schema.serialize()))
        if table.schema != self._schema:
            try:
                table = table.cast(self._schema)
            except (pa.ArrowInvalid, ValueError) as error:
                raise InputError(f"the rows are not of one kind ({error}).") from error
        for batch in table.combine_chunks().to_batches():
            self._out.write(memoryview(batch.serialize()))

    def complete(self) -> None:
        """End the stream."""
        self._out.write(self.END)
        super().complete()


class ParquetSink(ArrowSink):
    """Parquet, which is only whole at its end: until then the rows lie in a stream beside it.

    Parameters
    ----------
    path : str
        Of the file to be made. The rows lie in the same folder, under this name and ".part".
    mark : int or None
        As in `LastingFile`.
    """

    def __init__(self, path: str, mark: int | None) -> None:
        check_replaceable(path)
        self._path, self._part = path, f"{path}.part"
        super().__init__(self._part, mark)

    def complete(self) -> None:
        """Make the file of the rows, and put it in its place at once."""
        super().complete()
        if self._schema is None:
            raise InputError(f"there are no rows and no columns to make {self._path} of.")
        temporary = f"{self._path}.part.tmp"
        with pa.OSFile(self._part) as source:
            make_parquet(pa.ipc.open_stream(source), temporary)
        with open(temporary, "rb") as made:
            os.fsync(made.fileno())
        os.replace(temporary, self._path)

    def tidy(self) -> None:
        """Remove the rows beside it."""
        Path(self._part).unlink(missing_ok=True)


def make_parquet(rows: pa.RecordBatchReader, path: str) -> None:
    """Write rows as Parquet, numbers plain: they hardly ever repeat."""
    words = [field.name for field in rows.schema if pa.types.is_string(field.type)]
    with pq.ParquetWriter(path, rows.schema, use_dictionary=words) as writer:
        for table in _pieces(rows):
            writer.write_table(table)


def _pieces(rows: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield larger tables of small batches."""
    waiting: list[pa.RecordBatch] = []
    n = 0
    for batch in rows:
        waiting.append(batch)
        n += batch.num_rows
        if n >= PIECE:
            yield pa.Table.from_batches(waiting)
            waiting, n = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _plain(table: pa.Table) -> pa.Table:
    """Return the table without dictionaries, so that every batch stands for itself."""
    for i, field in enumerate(table.schema):
        kind = _without_dictionaries(field.type)
        if kind != field.type:
            try:
                table = table.set_column(i, field.name, table[i].cast(kind))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise InputError(
                    f"column {field.name!r} of type {field.type} cannot be written here. Write "
                    ".ndjson, or leave it out of the input."
                ) from error
    return table


def _without_dictionaries(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind):
        return pa.list_(_without_dictionaries(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_without_dictionaries(kind.value_type))
    return kind
