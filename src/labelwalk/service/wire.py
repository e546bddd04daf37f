"""Examples in a request's body: JSON for people, raw numbers and Arrow for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Label
from labelwalk.rows import NamedRows
from labelwalk.service.events import Rows

JSON, RAW = "application/json", "application/octet-stream"
ARROW = "application/vnd.apache.arrow.stream"
MOST_ROWS = 100_000  # in a request
MOST_FEATURES = 65_536  # of a row: a learner has room for many rows from the first on
TYPES: dict[str, Any] = {"f4": np.dtype("<f4"), "f8": np.dtype("<f8")}


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


def understood(content: bytes, kind: str, asked: Mapping[str, str]) -> Body:
    """Return the examples of a body.

    Parameters
    ----------
    content : bytes
    kind : str
        Its content type.
    asked : mapping
        For raw numbers: `type`, f4 or f8, and `features`, how many a row has.

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
    body = _parsed(content, kind, asked)
    if not body.rows.size:
        raise BodyError("the body has no numbers. Send at least one row.")
    return body


def _parsed(content: bytes, kind: str, asked: Mapping[str, str]) -> Body:
    plain = kind.partition(";")[0].strip().lower()
    if plain == RAW:
        return Body(raw_rows(content, asked.get("type", ""), asked.get("features", "")))
    _width(asked.get("type", "f4"), asked.get("features", "1"))
    if plain == JSON:
        return _from_json(content)
    if plain == ARROW:
        return _from_arrow(content)
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


def _from_arrow(content: bytes) -> Body:
    try:
        if any(map(_is_compressed, pa.ipc.MessageReader.open_stream(content))):
            raise BodyError("the Arrow stream is compressed. Send it as it is.")
        table = pa.ipc.open_stream(content).read_all()
        table.validate(full=True)  # else a made-up offset is followed wherever it leads
        return _of_table(table)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BodyError(f"the body is no Arrow stream ({error}).") from None


def _of_table(table: pa.Table) -> Body:
    _check_size(table.num_rows, table.num_columns)  # before anything is made of them
    columns = list(zip(table.schema, table.columns, strict=True))
    names = {field.name: column for field, column in columns if field.name in ("label", "source")}
    numbers = [_numbers(field, column) for field, column in columns if field.name not in names]
    if not numbers:
        raise BodyError("the Arrow stream has no numbers. Send a column for each feature.")
    labels, sources = (
        _names(name, names[name].to_pylist() if name in names else [])
        for name in ("label", "source")
    )
    features = tuple(field.name for field, _ in columns if field.name not in names)
    return Body(NamedRows(np.stack(numbers, axis=1), features), labels, sources)


def _is_compressed(message: pa.Message) -> bool:
    """Return whether a message holds compressed rows: a few of its bytes may become very many.

    Arrow itself does not tell; the field stands in the FlatBuffer that a message begins with.
    """
    data = message.metadata.to_pybytes()
    if message.type not in ("record batch", "dictionary"):
        return False
    batch = _inside(data, _field(data, _number(data, 0, 4), 2))
    if message.type == "dictionary":
        batch = _inside(data, _field(data, batch, 1))
    return _field(data, batch, 3) > 0


def _field(data: bytes, table: int, index: int) -> int:
    """Return where a field of a table stands; 0 where it is not there."""
    names = table - int.from_bytes(data[table : table + 4], "little", signed=True)
    known = 4 + 2 * index < _number(data, names, 2)
    offset = _number(data, names + 4 + 2 * index, 2) if known else 0
    return table + offset if offset else 0


def _inside(data: bytes, place: int) -> int:
    return place + _number(data, place, 4)


def _number(data: bytes, place: int, size: int) -> int:
    return int.from_bytes(data[place : place + size], "little")


def _numbers(field: pa.Field, column: pa.ChunkedArray) -> Any:
    if not (pa.types.is_floating(field.type) or pa.types.is_integer(field.type)):
        raise BodyError(f"column {field.name!r} of type {field.type} holds no numbers.")
    return np.array(column.cast(pa.float64()).fill_null(np.nan).to_pylist())
