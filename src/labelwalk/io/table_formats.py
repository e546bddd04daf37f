"""Parquet, Arrow and NumPy sources, and Parquet and Arrow sinks, in batches of rows."""

import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy

from labelwalk.arrays import Floats
from labelwalk.io.arrow_columns import from_matrix, from_numpy, from_text
from labelwalk.io.output import RowSink
from labelwalk.io.rows import Batch, InputError, Rows, TableRows
from labelwalk.io.text_records import describe_read_error, name_path_in_errors, open_stdin
from labelwalk.storage.atomic_write import open_atomic

TABLE_BATCH_ROWS = 1 << 13
PARQUET_TABLE_ROWS = 1 << 15  # written at a time
PARQUET_BUFFER_BYTES = 1 << 17  # row groups may be larger than memory
ARROW_FILE_MAGIC = b"ARROW1"
ARROW_STREAM_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def read_parquet(path: str, n_read: int = 0) -> Iterator[Batch]:
    """Yield the rows of a Parquet file after the first `n_read`."""
    with name_path_in_errors(path):
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=PARQUET_BUFFER_BYTES)
        group, first_row = _find_row_group(file, n_read)
        groups = list(range(group, file.num_row_groups))
        batches = file.iter_batches(TABLE_BATCH_ROWS, row_groups=groups, use_threads=False)
        batches = chain([_make_empty_batch(file.schema_arrow)], batches)
        yield from _split_batches(path, batches, first_row, n_read, file.metadata.num_rows)


def read_arrow(path: str, n_read: int = 0) -> Iterator[Batch]:
    """Yield the rows of an Arrow IPC file or stream after the first `n_read`.

    The path "-" is standard input.
    """
    with name_path_in_errors(path):
        yield from _split_batches(path, _read_arrow_batches(path), 0, n_read, None)


def _find_row_group(file: pq.ParquetFile, row: int) -> tuple[int, int]:
    """Return the row group of a row, and the number of rows before that group."""
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    ends = np.cumsum([0, *sizes])
    group = int(np.searchsorted(ends[1:], row, side="right"))
    return group, int(ends[group])


def _read_arrow_batches(path: str) -> Iterator[pa.RecordBatch]:
    with ExitStack() as files:
        if path == "-":
            source: Any = open_stdin()
            if source.peek(len(ARROW_FILE_MAGIC)).startswith(ARROW_FILE_MAGIC):
                raise InputError(
                    "An Arrow file cannot be read from a pipe. Give its path, or an Arrow stream."
                )
        else:
            source = files.enter_context(pa.OSFile(path))
            if source.read(len(ARROW_FILE_MAGIC)) == ARROW_FILE_MAGIC:
                file = pa.ipc.open_file(source)
                yield _make_empty_batch(file.schema)
                yield from (file.get_batch(i) for i in range(file.num_record_batches))
                return
            source.seek(0)
        stream = pa.ipc.open_stream(source)
        yield _make_empty_batch(stream.schema)
        yield from stream


def _make_empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows, for the columns of a file without rows."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _split_batches(
    path: str, batches: Iterator[pa.RecordBatch], row: int, n_read: int, total: int | None
) -> Iterator[Batch]:
    """Yield the rows after the first `n_read`, in batches of moderate size."""
    for large in batches:
        if large.num_rows == 0:
            yield batch_of_table(pa.Table.from_batches([large]), max(row, n_read), total)
        for start in range(0, large.num_rows, TABLE_BATCH_ROWS):
            batch = large.slice(start, TABLE_BATCH_ROWS)
            n_skipped = min(max(0, n_read - row), batch.num_rows)
            row += batch.num_rows
            if n_skipped < batch.num_rows:
                table = pa.Table.from_batches([batch.slice(n_skipped)])
                yield batch_of_table(table, row - table.num_rows, total)
    if row < n_read:
        raise InputError(
            f"{path} has {row} rows, but {n_read} rows were read before. Restore the whole file, "
            "or delete the checkpoint to start over."
        )


def batch_of_table(table: pa.Table, first: int, total: int | None) -> Batch:
    """Return a table as a batch; `first` is the number of rows before it."""
    names = table.column_names
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise InputError(f"There are two columns named {duplicates[0]!r}. Rename one.")
    return Batch(
        TableRows(table),
        where=lambda i: f"row {first + i + 1}",
        after=lambda n: {"rows": first + (table.num_rows if n is None else n)},
        share=None if total is None else (first + table.num_rows) / max(total, 1),
    )


def read_arrays(path: str, n_read: int = 0, is_npy: bool = False) -> Iterator[Batch]:
    """Yield the rows of arrays after the first `n_read`.

    The arrays are the columns of an .npz file, or the matrix "X" of an .npy file. Matrices hold
    features that belong together.
    """
    with ExitStack() as files:
        try:
            arrays = _open_arrays(path, files, is_npy=is_npy)
            columns = {name: _ArrayReader(file, name) for name, file in arrays}
        except OSError as error:
            raise describe_read_error(path, error) from error
        except (ValueError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{path} cannot be read as arrays ({error}). Save it with np.save or np.savez, "
                "without objects."
            ) from error
        lengths = {name: column.length for name, column in columns.items()}
        if len(set(lengths.values())) != 1:
            raise InputError(
                f"{path} has arrays of different lengths, {lengths}. Use arrays of equal length."
            )
        total = next(iter(lengths.values()))
        yield from _split_batches(path, _read_array_batches(columns, total), 0, n_read, total)


def _open_arrays(path: str, files: ExitStack, *, is_npy: bool) -> Iterator[tuple[str, IO[bytes]]]:
    if is_npy:
        yield "X", files.enter_context(open(path, "rb"))  # noqa: SIM115
        return
    archive = files.enter_context(zipfile.ZipFile(path))
    for name in archive.namelist():
        yield name.removesuffix(".npy"), files.enter_context(archive.open(name))


def _read_array_batches(columns: dict[str, "_ArrayReader"], total: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, total, TABLE_BATCH_ROWS):
        n = min(TABLE_BATCH_ROWS, total - first)
        yield pa.RecordBatch.from_pydict({name: c.read(n) for name, c in columns.items()})


class _ArrayReader:
    """An array in a file, read some rows at a time."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        version = npy.read_magic(file)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, is_fortran, self._dtype = header(file)
        is_numeric = self._dtype.kind in "fiub" and self._dtype.itemsize <= 8
        is_text = self._dtype.kind == "U" and len(shape) == 1
        if is_fortran or len(shape) not in (1, 2) or 0 in shape[1:] or not (is_numeric or is_text):
            raise ValueError(
                f"array {name!r} has shape {shape} and dtype {self._dtype}"
                f"{' in Fortran order' if is_fortran else ''}; a column is a vector of numbers or "
                "text, or a matrix of numbers in C order"
            )
        self.length = int(shape[0])
        self._file, self._width = file, shape[1:]

    def read(self, n: int) -> pa.Array:
        """Return the next rows."""
        size = n * math.prod(self._width) * self._dtype.itemsize
        try:
            raw = self._file.read(size)
        except zipfile.BadZipFile as error:
            raise InputError(f"An array is damaged ({error}). Download the file again.") from error
        if len(raw) != size:
            raise InputError("An array ends before its last row: the file is truncated.")
        values = np.frombuffer(raw, self._dtype).reshape(n, *self._width)
        values = values.astype(values.dtype.newbyteorder("="))
        if values.dtype.kind == "U":
            return from_text(values.tolist())
        return from_numpy(values) if values.ndim == 1 else from_matrix(values)


class ArrowSink(RowSink):
    """A stream of Arrow IPC."""

    def __init__(self, path: str, size: int | None) -> None:
        super().__init__(path, size)
        self._schema: pa.Schema | None = None
        if size:
            with pa.memory_map(path) as content:
                self._schema = pa.ipc.open_stream(content).schema

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Write rows as a record batch; the first rows decide the types of the columns."""
        table = _decode_dictionaries(rows.to_table(features, added))
        if self._schema is None:
            self._schema = table.schema
            self._file.write(memoryview(table.schema.serialize()))
        if table.schema != self._schema:
            try:
                table = table.cast(self._schema)
            except (pa.ArrowInvalid, ValueError) as error:
                raise InputError(f"The types of the columns change ({error}).") from error
        for batch in table.combine_chunks().to_batches():
            self._file.write(memoryview(batch.serialize()))

    def finalize(self) -> None:
        """End the stream."""
        self._file.write(ARROW_STREAM_END)
        super().finalize()


class ParquetSink(ArrowSink):
    """Parquet, which is complete only at its end: until then the rows are in an Arrow stream.

    The stream is in the same folder, under the name of the output and ".part".
    """

    def __init__(self, path: str, size: int | None) -> None:
        self._path, self._part = path, f"{path}.part"
        super().__init__(self._part, size)

    def finalize(self) -> None:
        """Write the rows as Parquet, and replace the output with it."""
        super().finalize()
        if self._schema is None:
            raise InputError(f"There are no rows and no columns to write to {self._path}.")
        with (
            pa.OSFile(self._part) as part,
            open_atomic(self._path, f"{self._path}.part.tmp") as output,
        ):
            write_parquet(pa.ipc.open_stream(part), output)

    def cleanup(self) -> None:
        """Remove the stream."""
        Path(self._part).unlink(missing_ok=True)


def write_parquet(rows: pa.RecordBatchReader, file: IO[bytes]) -> None:
    """Write rows as Parquet; numbers without a dictionary, since they hardly ever repeat."""
    text_columns = [column.name for column in rows.schema if pa.types.is_string(column.type)]
    tables = (pa.Table.from_batches([batch]) for batch in rows)
    with pq.ParquetWriter(file, rows.schema, use_dictionary=text_columns) as writer:
        for table in join_tables(tables, PARQUET_TABLE_ROWS):
            writer.write_table(table)


def join_tables(
    tables: Iterable[pa.Table], max_rows: int, max_bytes: float = math.inf
) -> Iterator[pa.Table]:
    """Yield tables joined up to a size, since small ones are slow to write and to read."""
    group: list[pa.Table] = []
    n_rows = n_bytes = 0
    for table in tables:
        group.append(table)
        n_rows, n_bytes = n_rows + len(table), n_bytes + table.nbytes
        if n_rows >= max_rows or n_bytes >= max_bytes:
            yield pa.concat_tables(group)
            group, n_rows, n_bytes = [], 0, 0
    if group:
        yield pa.concat_tables(group)


def _decode_dictionaries(table: pa.Table) -> pa.Table:
    """Return the table without dictionaries, so that a batch can be read without the others."""
    for i, column in enumerate(table.schema):
        kind = _type_without_dictionaries(column.type)
        if kind != column.type:
            try:
                table = table.set_column(i, column.name, table[i].cast(kind))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise InputError(
                    f"Column {column.name!r} of type {column.type} cannot be written in this "
                    "format. Write .ndjson, or remove the column from the input."
                ) from error
    return table


def _type_without_dictionaries(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make_list = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make_list(_type_without_dictionaries(kind.value_type))
    return kind
