"""Files of a data set: batches of rows, parts that are sketched apart, and files like them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from labelwalk.distributed.places import Found, blamed, check_unchanged
from labelwalk.io.rows import InputError

ROWS, FEWEST, BATCH_BYTES = 1 << 14, 1 << 8, 1 << 24  # a batch: fewer rows where they are wide
GROUP, GROUP_BYTES = 1 << 17, 1 << 26  # rows that are written at once, and how much they may be
PART = 1 << 20  # rows that are sketched apart, at least, and by less than half as many more
AT_ONCE = 16  # files that are looked at
BUFFER = 1 << 20  # bytes read at a time, of each column
ANSWERS = {"label": pa.string(), "confidence": pa.float64(), "outlier": pa.bool_()}
KINDS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow"}


class Part(NamedTuple):
    """Some groups of rows of a file."""

    groups: tuple[int, ...]
    first: int  # how many rows come before


class Footer(NamedTuple):
    """What a file says of itself: its columns, and how many rows each group has."""

    schema: pa.Schema
    sizes: tuple[int, ...]


def kind_of(file: Found) -> str:
    """Return the format of a file, by its name.

    Raises
    ------
    InputError
        Its name says nothing of the kind.
    """
    for ending, kind in KINDS.items():
        if file.name.endswith(ending):
            return kind
    raise InputError(
        f"{file.name}: only {', '.join(KINDS)} can be read here. Leave it out by a pattern such as "
        "'folder/*.parquet', or turn it into Parquet first."
    )


def footer_of(file: Found) -> Footer:
    """Return what a file says of itself."""
    with blamed(file.name), _opened(file) as content:
        if isinstance(content, pq.ParquetFile):
            sizes = (content.metadata.row_group(i).num_rows for i in range(content.num_row_groups))
            return Footer(content.schema_arrow, tuple(sizes))
        with _opened(file, included_fields=[0]) as narrow:  # a file of Arrow counts no rows itself
            sizes = (narrow.get_batch(i).num_rows for i in range(narrow.num_record_batches))
            return Footer(content.schema, tuple(sizes))


def footers_of(files: Sequence[Found]) -> list[Footer]:
    """Return what files say of themselves, several at a time: they may be far away."""
    with ThreadPoolExecutor(AT_ONCE) as readers:
        return list(readers.map(footer_of, files))


def with_answers(schema: pa.Schema, prefix: str) -> pa.Schema:
    """Return the columns of a file and those of its verdicts.

    Raises
    ------
    InputError
        A column is called like a new one.
    """
    for name, kind in ANSWERS.items():
        if prefix + name in schema.names:
            raise InputError(
                f"there is a column {prefix + name!r} already. Give the new ones another --prefix."
            )
        schema = schema.append(pa.field(prefix + name, kind))
    return schema


def parts_of(footer: Footer) -> list[Part]:
    """Return the parts of a file, none of them small beside others; they depend on it alone."""
    parts: list[Part] = []
    groups: list[int] = []
    first, rows, left = 0, 0, sum(footer.sizes)
    for group, size in enumerate(footer.sizes):
        groups.append(group)
        rows, left = rows + size, left - size
        if rows >= PART and left >= PART // 2:
            parts.append(Part(tuple(groups), first))
            first, rows, groups = first + rows, 0, []
    return [*parts, Part(tuple(groups), first)]


def batches_of(file: Found, part: Part | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, or of a part of it, in batches of moderate size."""
    with blamed(file.name), _opened(file) as content:
        if isinstance(content, pq.ParquetFile):
            groups = range(content.num_row_groups) if part is None else part.groups
            size = sum(content.metadata.row_group(i).total_byte_size for i in groups)
            rows = sum(content.metadata.row_group(i).num_rows for i in groups)
            some = _rows_at_once(rows, size)
            yield from content.iter_batches(some, row_groups=list(groups), use_threads=False)
            return
        groups = range(content.num_record_batches) if part is None else part.groups
        for group in groups:
            whole = content.get_batch(group)
            some = _rows_at_once(whole.num_rows, whole.nbytes)
            for start in range(0, whole.num_rows, some):
                yield whole.slice(start, some)


def _rows_at_once(rows: int, size: int) -> int:
    return max(FEWEST, min(ROWS, BATCH_BYTES * rows // max(1, size)))


def write_like(file: Found, schema: pa.Schema, tables: Iterable[pa.Table], out: Any) -> None:
    """Write tables to an open file, in the format of another."""
    with _writer(file, schema, out) as writer:
        for group in _grouped(tables):
            writer.write_table(group)


def _writer(file: Found, schema: pa.Schema, out: Any) -> Any:
    if kind_of(file) != "parquet":
        return pa.ipc.new_file(out, schema)
    repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(out, schema, use_dictionary=repeated)  # numbers hardly repeat


def _grouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield tables joined into groups of some size; small ones are slow to read again."""
    some: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        some.append(table)
        rows, size = rows + len(table), size + table.nbytes
        if rows >= GROUP or size >= GROUP_BYTES:
            yield pa.concat_tables(some)
            some, rows, size = [], 0, 0
    if some:
        yield pa.concat_tables(some)


def _opened(file: Found, **of_arrow: Any) -> Any:
    check_unchanged([file])
    system, path = file.place
    if kind_of(file) == "parquet":
        return pq.ParquetFile(system.open_input_file(path), pre_buffer=False, buffer_size=BUFFER)
    source = pa.memory_map(path) if file.place.is_local else system.open_input_file(path)
    return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(**of_arrow))
