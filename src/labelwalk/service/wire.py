"""Examples in a request's body: JSON for people, raw numbers and Arrow for machines."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from labelwalk.arrays import Label
from labelwalk.rows import NamedRows
from labelwalk.service.bodies import LARGEST
from labelwalk.service.commands import Rows

JSON, RAW = "application/json", "application/octet-stream"
ARROW = "application/vnd.apache.arrow.stream"
MOST_ROWS = 100_000  # in a request
MOST_FEATURES = 65_536  # of a row: a learner has room for many rows from the first on
TYPES: dict[str, Any] = {"f4": np.dtype("<f4"), "f8": np.dtype("<f8")}
NAMED = ("label", "source")  # columns of an Arrow stream that are no features
BUFFER = struct.Struct("<qq")  # where one of an Arrow stream begins, and how long it is

LONGEST_KEY = 200  # characters of an idempotency key


class BodyError(ValueError):
    """A body that cannot be understood."""


class TooManyRowsError(BodyError):
    """A body that holds more than is done at once."""


@dataclass(frozen=True)
class Body:
    """Examples, and what goes with them.

    Attributes
    ----------
    rows : matrix, with the names of its columns where it came as Arrow
    labels, sources : tuples
        One for each row, or none at all.
    """

    rows: Rows
    labels: tuple[Label, ...] = ()
    sources: tuple[Label, ...] = ()


def understood(content: bytes, kind: str, asked: Mapping[str, str], *wanted: str) -> Body:
    """Return the examples of a body.

    Parameters
    ----------
    content : bytes
    kind : str
        Its content type.
    asked : mapping
        For raw numbers: `type`, f4 or f8, and `features`, how many a row has.
    *wanted : str
        "label", "source" or both: such columns of an Arrow stream are decoded, others are not.

    Raises
    ------
    BodyError
    TooManyRowsError

    Examples
    --------
    >>> understood(b'{"rows": [[1, 2]], "labels": ["cat"]}', "application/json", {})
    Body(rows=array([[1., 2.]]), labels=('cat',), sources=())
    >>> numbers = np.array([[1, 2], [3, 4]], "<f4").tobytes()
    >>> understood(numbers, "application/octet-stream", {"type": "f4", "features": "2"}).rows
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    body = _parsed(content, kind, asked, wanted)
    if not body.rows.size:
        raise BodyError("the body has no numbers. Send at least one row of at least one feature.")
    return body


def _parsed(content: bytes, kind: str, asked: Mapping[str, str], wanted: tuple[str, ...]) -> Body:
    plain = kind.partition(";")[0].strip().lower()
    if plain == RAW:
        return Body(raw_rows(content, asked.get("type", ""), asked.get("features", "")))
    _width(asked.get("type", "f4"), asked.get("features", "1"))
    if plain == JSON:
        return _from_json(content)
    if plain == ARROW:
        return _from_arrow(content, wanted)
    raise BodyError(f"content-type {kind!r} is not understood. Send {JSON}, {RAW} or {ARROW}.")


def raw_rows(content: bytes, kind: str, features: str) -> Rows:
    """Return rows of little-endian numbers.

    Raises
    ------
    BodyError
    """
    width = _width(kind, features)
    if len(content) % width:
        raise BodyError(f"{len(content)} bytes are no whole rows of {width}. Send whole rows.")
    _check_size(len(content) // width, int(features))
    rows: Rows = np.frombuffer(content, TYPES[kind]).reshape(-1, int(features))
    return rows


def _check_size(rows: int, features: int) -> None:
    if rows > MOST_ROWS or features > MOST_FEATURES:
        raise TooManyRowsError(
            f"{rows:,} rows of {features:,} features are more than {MOST_ROWS:,} or "
            f"{MOST_FEATURES:,}. Send fewer rows at once."
        )


def _width(kind: str, features: str) -> int:
    """Return how many bytes a row has."""
    if kind not in TYPES:
        raise BodyError(f"type={kind!r} is not understood. Give f4 or f8.")
    if not features.isascii() or not features.isdigit() or not 0 < int(features) < 2**24:
        raise BodyError(f"features={features!r} is no number of features. Give as in features=64.")
    return int(features) * int(TYPES[kind].itemsize)


def _from_json(content: bytes) -> Body:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BodyError(f"the body is not JSON ({error}). Send an object with rows.") from None
    if not isinstance(found, dict) or "rows" not in found:
        raise BodyError("the body has no rows. Send an object such as {'rows': [[1.0, 2.0]]}.")
    unknown = sorted(set(found) - {"rows", "labels", "sources"})
    if unknown:
        raise BodyError(f"{unknown[0]!r} is not understood. Send rows, labels and sources only.")
    return Body(
        _matrix(found["rows"]),
        _names("labels", found.get("labels", [])),
        _names("sources", found.get("sources", [])),
    )


def _matrix(rows: Any) -> Rows:
    lists = isinstance(rows, list) and bool(rows) and all(isinstance(row, list) for row in rows)
    if not lists or len({len(row) for row in rows}) != 1:
        raise BodyError("rows is no list of lists of one length. Send as in [[1.0, 2.0]].")
    _check_size(len(rows), len(rows[0]))
    for row in rows:
        if not all(type(value) in (int, float) for value in row):
            raise BodyError("rows holds something that is no number. Send numbers only.")
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        raise BodyError("rows holds a number that is too large. Send finite ones.") from None


def _names(what: str, given: Any) -> tuple[Label, ...]:
    if not isinstance(given, list) or not all(type(name) in (str, int) for name in given):
        raise BodyError(f"{what} is no list of strings and integers. Send one for each row.")
    return tuple(given)


def _from_arrow(content: bytes, wanted: tuple[str, ...]) -> Body:
    try:
        schema = pa.ipc.open_stream(content).schema
        _check_size(_rows_of_batches(content), len(schema))  # before anything is made of them
        for field in schema:
            _check_type(field)
        chosen = [i for i, name in enumerate(schema.names) if name in wanted or name not in NAMED]
        options = pa.ipc.IpcReadOptions(included_fields=chosen)
        table = pa.ipc.open_stream(content, options=options).read_all()
        table.validate(full=True)  # else a made-up offset is followed wherever it leads
        return _of_table(table)
    except (pa.ArrowException, OSError, UnicodeDecodeError, struct.error) as error:
        raise BodyError(f"the body is no Arrow stream ({error}).") from None


def _check_type(field: pa.Field) -> None:
    """See that a column has no more in it than its bytes, but for repetitions in a dictionary."""
    types, kind = pa.types, field.type
    if field.name in NAMED:
        plain = kind.value_type if types.is_dictionary(kind) else kind
        is_read = types.is_integer(plain) or types.is_string(plain) or types.is_large_string(plain)
        fix = "Cast it to string or int64."
    else:
        is_read = types.is_integer(kind) or types.is_floating(kind)
        fix = "Cast it to float64, or leave it out."
    if not is_read:
        raise BodyError(f"column {field.name!r:.60} of type {kind!s:.60} cannot be read. {fix}")


def _of_table(table: pa.Table) -> Body:
    names = dict[str, list[Any]](label=[], source=[])
    numbers = [i for i, name in enumerate(table.schema.names) if name not in NAMED]
    rows = np.empty((table.num_rows, len(numbers)))
    for to, i in enumerate(numbers):
        rows[:, to] = table.column(i).cast(pa.float64()).fill_null(np.nan).to_numpy()
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if name in NAMED:
            _check_text(name, column)
            names[name] = column.to_pylist()
    features = tuple(table.schema.names[i] for i in numbers)
    return Body(NamedRows(rows, features), *(_names(name, names[name]) for name in NAMED))


def _check_text(name: str, column: pa.ChunkedArray) -> None:
    """See that the rows of a dictionary do not repeat too much."""
    if pa.types.is_dictionary(column.type) and not pa.types.is_integer(column.type.value_type):
        sizes = (pc.binary_length(one.dictionary).take(one.indices) for one in column.chunks)
        size = sum(pc.sum(some).as_py() or 0 for some in sizes)
        if size > LARGEST:
            reason = f"column {name!r} has {size:,} bytes of text in its rows, over {LARGEST:,}"
            raise TooManyRowsError(f"{reason}. Send fewer rows at once, or shorter names.")


def _rows_of_batches(content: bytes) -> int:
    """Return how many rows a stream says it has, unless a few of its bytes may become very many.

    Arrow itself does not tell; it stands in the FlatBuffer that a message begins with.
    """
    n_rows, n_read, sizes = 0, 0, dict[int, int]()
    for message in pa.ipc.MessageReader.open_stream(content):
        if message.type not in ("record batch", "dictionary"):
            continue
        data, size = message.metadata.to_pybytes(), len(message.body or b"")
        head = batch = _inside(data, _field(data, _inside(data, 0), 2))
        if message.type == "dictionary":
            if _number(data, _field(data, head, 2), 1):
                raise BodyError("the Arrow stream has dictionaries in parts. Send them whole.")
            sizes[_number(data, _field(data, head, 0), 8)] = size
            batch = _inside(data, _field(data, head, 1))
        else:
            n_rows, n_read = (
                n_rows + _number(data, _field(data, head, 0), 8),
                n_read + sum(sizes.values()),
            )
        if _field(data, batch, 3):
            raise BodyError("the Arrow stream is compressed. Send it as it is.")
        buffers = _inside(data, _field(data, batch, 2))
        end = buffers + 4 + BUFFER.size * _number(data, buffers, 4)
        if sum(abs(n) for _, n in BUFFER.iter_unpack(data[buffers + 4 : end])) > size:
            raise BodyError("columns of the Arrow stream share their bytes. Give each its own.")
    if n_read > LARGEST:
        reason = f"dictionaries have {n_read:,} bytes, counted for each batch of the Arrow stream"
        raise TooManyRowsError(f"{reason}, more than {LARGEST:,}. Send fewer batches.")
    return n_rows


def _field(data: bytes, table: int, index: int) -> int:
    """Return where a field of a table stands; 0 where it is not there."""
    names = table - int.from_bytes(data[table : table + 4], "little", signed=True)
    known = 4 + 2 * index < _number(data, names, 2)
    offset = _number(data, names + 4 + 2 * index, 2) if known else 0
    return table + offset if offset else 0


def _inside(data: bytes, place: int) -> int:
    return place + int.from_bytes(data[place : place + 4], "little")


def _number(data: bytes, place: int, size: int) -> int:
    """Return what stands at a place; 0 where that of a field is not there."""
    return int.from_bytes(data[place : place + size], "little") if place else 0
