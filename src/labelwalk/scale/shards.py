"""Files of a data set: batches of rows, parts that are sketched apart, and files like them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from labelwalk.scale.places import Found, blamed
from labelwalk.streams.fault import InputError

ROWS = 1 << 14  # a batch
GROUP = 1 << 17  # rows that are written at once
PART = 1 << 20  # rows that are sketched apart, or as few more as come in one group
BUFFER = 1 << 20  # bytes read at a time, of each column
ANSWERS = {"label": pa.string(), "confidence": pa.float64(), "outlier": pa.bool_()}
KINDS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow"}


@dataclass(frozen=True)
class Part:
    """Some groups of rows of a file."""

    file: int
    groups: tuple[int, ...]
    first: int


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


def schema_of(file: Found) -> pa.Schema:
    """Return the columns of a file, without reading any row."""
    with blamed(file.name), _opened(file) as content:
        return content.schema_arrow if kind_of(file) == "parquet" else content.schema


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


def parts_of(number: int, file: Found) -> list[Part]:
    """Return the parts of a file; they depend on the file alone."""
    with blamed(file.name), _opened(file) as content:
        sizes = _group_sizes(content)
    parts: list[Part] = []
    groups: list[int] = []
    rows = first = 0
    for group, size in enumerate(sizes):
        groups.append(group)
        rows += size
        if rows >= PART:
            parts.append(Part(number, tuple(groups), first))
            first, rows, groups = first + rows, 0, []
    if groups or not parts:
        parts.append(Part(number, tuple(groups), first))
    return parts


def batches_of(file: Found, part: Part | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, or of a part of it, in batches of moderate size."""
    with blamed(file.name), _opened(file) as content:
        if isinstance(content, pq.ParquetFile):
            groups = range(content.num_row_groups) if part is None else part.groups
            yield from content.iter_batches(ROWS, row_groups=list(groups), use_threads=False)
            return
        groups = range(content.num_record_batches) if part is None else part.groups
        for group in groups:
            whole = content.get_batch(group)
            for start in range(0, whole.num_rows, ROWS):
                yield whole.slice(start, ROWS)


def write_like(file: Found, schema: pa.Schema, tables: Iterable[pa.Table], out: Any) -> None:
    """Write tables to an open file, in the format of another."""
    make = pq.ParquetWriter if kind_of(file) == "parquet" else pa.ipc.new_file
    with make(out, schema) as writer:
        for group in _grouped(tables):
            writer.write_table(group)


def _grouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield tables joined into groups of some size; small ones are slow to read again."""
    some: list[pa.Table] = []
    for table in tables:
        some.append(table)
        if sum(map(len, some)) >= GROUP:
            yield pa.concat_tables(some)
            some = []
    if some:
        yield pa.concat_tables(some)


def _opened(file: Found) -> Any:
    source = file.place.system.open_input_file(file.place.path)
    if kind_of(file) == "parquet":
        return pq.ParquetFile(source, pre_buffer=False, buffer_size=BUFFER)
    return pa.ipc.open_file(source)


def _group_sizes(content: Any) -> list[int]:
    if isinstance(content, pq.ParquetFile):
        return [content.metadata.row_group(i).num_rows for i in range(content.num_row_groups)]
    return [content.get_batch(i).num_rows for i in range(content.num_record_batches)]
