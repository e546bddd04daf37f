"""Rows in a request body: JSON, raw numbers or an Arrow stream."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from labelwalk._validation import NamedRows
from labelwalk.arrays import Label
from labelwalk.service.commands import Rows
from labelwalk.service.errors import BodyError, TooManyRowsError
from labelwalk.service.limits import MAX_BODY_BYTES
from labelwalk.service.schemas import ARROW, JSON, RAW

MAX_ROWS = 100_000  # per request
MAX_FEATURES = 65_536  # a learner allocates memory for many rows when it gets the first one
NUMBER_TYPES: dict[str, Any] = {"f4": np.dtype("<f4"), "f8": np.dtype("<f8")}
LABEL_COLUMNS = ("label", "source")  # of an Arrow stream; the other columns are features
ARROW_BUFFER = struct.Struct("<qq")  # offset and length
MAX_KEY_LENGTH = 200  # characters of an idempotency key


@dataclass(frozen=True)
class RowsBody:
    """The rows of a request with their labels or sources: one per row, or none.

    Rows from Arrow have the names of their columns.
    """

    rows: Rows
    labels: tuple[Label, ...] = ()
    sources: tuple[Label, ...] = ()


def parse_rows(content: bytes, kind: str, query: Mapping[str, str], *columns: str) -> RowsBody:
    """Parse a request body, or raise `BodyError`.

    The query of raw numbers has their `type`, f4 or f8, and `features`, the numbers per row. Of the
    columns "label" and "source" of an Arrow stream, those listed are decoded.
    """
    media = kind.partition(";")[0].strip().lower()
    if media == RAW:
        rows = parse_raw_rows(content, query.get("type", ""), query.get("features", ""))
        body = RowsBody(rows)
    else:
        _compute_row_size(query.get("type", "f4"), query.get("features", "1"))
        if media == JSON:
            body = _parse_json(content)
        elif media == ARROW:
            body = _parse_arrow(content, columns)
        else:
            raise BodyError(f"Unsupported content type {kind!r}. Send {JSON}, {RAW} or {ARROW}.")
    if not body.rows.size:
        raise BodyError("The body has no numbers. Send at least one row with at least one feature.")
    return body


def parse_raw_rows(content: bytes, kind: str, features: str) -> Rows:
    """Parse rows of little-endian numbers."""
    row_size = _compute_row_size(kind, features)
    if len(content) % row_size:
        raise BodyError(
            f"The body length {len(content)} is not a multiple of the row size ({row_size} bytes)."
        )
    _check_size(len(content) // row_size, int(features))
    rows: Rows = np.frombuffer(content, NUMBER_TYPES[kind]).reshape(-1, int(features))
    return rows


def _check_size(rows: int, features: int) -> None:
    if rows > MAX_ROWS or features > MAX_FEATURES:
        raise TooManyRowsError(
            f"{rows:,} rows of {features:,} features exceed the limit of {MAX_ROWS:,} rows or "
            f"{MAX_FEATURES:,} features per request. Send fewer."
        )


def _compute_row_size(kind: str, features: str) -> int:
    """Return the bytes of a row."""
    if kind not in NUMBER_TYPES:
        raise BodyError(f"type={kind!r} is not supported. Use f4 or f8.")
    if not features.isascii() or not features.isdigit() or not 0 < int(features) < 2**24:
        raise BodyError(
            f"features={features!r} is not a valid number of features. Example: features=64."
        )
    return int(features) * int(NUMBER_TYPES[kind].itemsize)


def _parse_json(content: bytes) -> RowsBody:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BodyError(f"The body is not JSON ({error}). Send an object with rows.") from None
    if not isinstance(body, dict) or "rows" not in body:
        raise BodyError("The body has no rows. Send an object such as {'rows': [[1.0, 2.0]]}.")
    unknown = sorted(set(body) - {"rows", "labels", "sources"})
    if unknown:
        raise BodyError(f"Unknown field {unknown[0]!r}. Send only rows, labels and sources.")
    return RowsBody(
        _parse_matrix(body["rows"]),
        _parse_labels("labels", body.get("labels", [])),
        _parse_labels("sources", body.get("sources", [])),
    )


def _parse_matrix(rows: Any) -> Rows:
    is_nested = isinstance(rows, list) and bool(rows) and all(isinstance(row, list) for row in rows)
    if not is_nested or len({len(row) for row in rows}) != 1:
        raise BodyError("rows must be a list of lists of equal length, such as [[1.0, 2.0]].")
    _check_size(len(rows), len(rows[0]))
    for row in rows:
        if not all(type(value) in (int, float) for value in row):
            raise BodyError("rows contains a value that is not a number. Send only numbers.")
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        raise BodyError("rows contains a number that is too large for a float.") from None


def _parse_labels(name: str, values: Any) -> tuple[Label, ...]:
    if not isinstance(values, list) or not all(type(value) in (str, int) for value in values):
        raise BodyError(f"{name} must be a list of strings and integers, one per row.")
    return tuple(values)


def _parse_arrow(content: bytes, columns: tuple[str, ...]) -> RowsBody:
    try:
        schema = pa.ipc.open_stream(content).schema
        _check_size(_count_rows(content), len(schema))  # before memory is allocated for them
        for field in schema:
            _check_type(field)
        included = [
            i for i, name in enumerate(schema.names) if name in columns or name not in LABEL_COLUMNS
        ]
        options = pa.ipc.IpcReadOptions(included_fields=included)
        table = pa.ipc.open_stream(content, options=options).read_all()
        table.validate(full=True)  # a forged offset would read other memory
        return _convert_table(table)
    except (pa.ArrowException, OSError, UnicodeDecodeError, struct.error) as error:
        raise BodyError(f"The body is not a valid Arrow stream ({error}).") from None


def _check_type(field: pa.Field) -> None:
    """Reject types whose values take more memory than their bytes, except dictionaries."""
    types, kind = pa.types, field.type
    if field.name in LABEL_COLUMNS:
        value = kind.value_type if types.is_dictionary(kind) else kind
        is_valid = types.is_integer(value) or types.is_string(value) or types.is_large_string(value)
        fix = "Cast it to string or int64."
    else:
        is_valid = types.is_integer(kind) or types.is_floating(kind)
        fix = "Cast it to float64, or omit it."
    if not is_valid:
        raise BodyError(f"Column {field.name!r:.60} of type {kind!s:.60} is not supported. {fix}")


def _convert_table(table: pa.Table) -> RowsBody:
    labels = dict[str, list[Any]](label=[], source=[])
    features = [i for i, name in enumerate(table.schema.names) if name not in LABEL_COLUMNS]
    rows = np.empty((table.num_rows, len(features)))
    for position, i in enumerate(features):
        rows[:, position] = table.column(i).cast(pa.float64()).fill_null(np.nan).to_numpy()
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if name in LABEL_COLUMNS:
            _check_text_size(name, column)
            labels[name] = column.to_pylist()
    names = tuple(table.schema.names[i] for i in features)
    return RowsBody(
        NamedRows(rows, names), *(_parse_labels(name, labels[name]) for name in LABEL_COLUMNS)
    )


def _check_text_size(name: str, column: pa.ChunkedArray) -> None:
    """Limit the text that a dictionary column expands to."""
    if pa.types.is_dictionary(column.type) and not pa.types.is_integer(column.type.value_type):
        lengths = (
            pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks
        )
        size = sum(pc.sum(chunk).as_py() or 0 for chunk in lengths)
        if size > MAX_BODY_BYTES:
            raise TooManyRowsError(
                f"Column {name!r} expands to {size:,} bytes of text, more than {MAX_BODY_BYTES:,}. "
                "Send fewer rows per request, or shorter names."
            )


def _count_rows(content: bytes) -> int:
    """Return the number of rows of a stream; reject one that expands to much more than its bytes.

    Arrow has no function for that: the numbers are read from the FlatBuffer of each message.
    """
    n_rows, n_read, sizes = 0, 0, dict[int, int]()
    for message in pa.ipc.MessageReader.open_stream(content):
        if message.type not in ("record batch", "dictionary"):
            continue
        data, size = message.metadata.to_pybytes(), len(message.body or b"")
        head = batch = _follow(data, _find_field(data, _follow(data, 0), 2))
        if message.type == "dictionary":
            if _read_integer(data, _find_field(data, head, 2), 1):
                raise BodyError(
                    "The Arrow stream has delta dictionaries. Send complete dictionaries."
                )
            sizes[_read_integer(data, _find_field(data, head, 0), 8)] = size
            batch = _follow(data, _find_field(data, head, 1))
        else:
            n_rows += _read_integer(data, _find_field(data, head, 0), 8)
            n_read += sum(sizes.values())
        if _find_field(data, batch, 3):
            raise BodyError("The Arrow stream is compressed. Send it without compression.")
        buffers = _follow(data, _find_field(data, batch, 2))
        end = buffers + 4 + ARROW_BUFFER.size * _read_integer(data, buffers, 4)
        if sum(abs(n) for _, n in ARROW_BUFFER.iter_unpack(data[buffers + 4 : end])) > size:
            raise BodyError(
                "Columns of the Arrow stream share buffers. Copy the columns before writing."
            )
    if n_read > MAX_BODY_BYTES:
        raise TooManyRowsError(
            f"The dictionaries have {n_read:,} bytes, counted once per batch, more than "
            f"{MAX_BODY_BYTES:,}. Send fewer batches."
        )
    return n_rows


def _find_field(data: bytes, table: int, index: int) -> int:
    """Return the position of a field of a FlatBuffer table; 0 if it is missing."""
    vtable = table - int.from_bytes(data[table : table + 4], "little", signed=True)
    is_present = 4 + 2 * index < _read_integer(data, vtable, 2)
    offset = _read_integer(data, vtable + 4 + 2 * index, 2) if is_present else 0
    return table + offset if offset else 0


def _follow(data: bytes, position: int) -> int:
    """Return the target of an offset."""
    return position + int.from_bytes(data[position : position + 4], "little")


def _read_integer(data: bytes, position: int, size: int) -> int:
    """Return an integer; 0 for a field that is missing."""
    return int.from_bytes(data[position : position + size], "little") if position else 0
