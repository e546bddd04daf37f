"""Examples in a request's body: JSON for people, raw numbers and Arrow for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Label
from labelwalk.service.events import Rows

JSON, RAW = "application/json", "application/octet-stream"
ARROW = "application/vnd.apache.arrow.stream"
TYPES: dict[str, Any] = {"f4": np.dtype("<f4"), "f8": np.dtype("<f8")}


class BodyError(ValueError):
    """A body that cannot be understood."""


@dataclass(frozen=True)
class Body:
    """Examples, and what goes with them.

    Attributes
    ----------
    rows : matrix
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

    Examples
    --------
    >>> understood(b'{"rows": [[1, 2]], "labels": ["cat"]}', "application/json", {})
    Body(rows=array([[1., 2.]]), labels=('cat',), sources=())
    >>> numbers = np.array([[1, 2], [3, 4]], "<f4").tobytes()
    >>> understood(numbers, "application/octet-stream", {"type": "f4", "features": "2"}).rows
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    plain = kind.partition(";")[0].strip().lower()
    if plain == RAW:
        rows = raw_rows(content, asked.get("type", ""), asked.get("features", ""))
        if not len(rows):
            raise BodyError("the body is empty. Send at least one row.")
        return Body(rows)
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
    rows: Rows = np.frombuffer(content, TYPES[kind]).reshape(-1, int(features))
    return rows


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
        table = pa.ipc.open_stream(content).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise BodyError(f"the body is no Arrow stream ({error}).") from None
    present = [name for name in ("label", "source") if name in table.schema.names]
    names = {name: table[name].to_pylist() for name in present}
    numbers = table.select([n for n in table.schema.names if n not in names])
    if not numbers.num_columns or not numbers.num_rows:
        raise BodyError("the Arrow stream has no numbers. Send a column for each feature.")
    for field in numbers.schema:
        if not (pa.types.is_floating(field.type) or pa.types.is_integer(field.type)):
            raise BodyError(f"column {field.name!r} of type {field.type} holds no numbers.")
    columns = [
        np.array(column.cast(pa.float64()).fill_null(np.nan).to_pylist())
        for column in numbers.columns
    ]
    return Body(
        np.stack(columns, axis=1),
        _names("label", names.get("label", [])),
        _names("source", names.get("source", [])),
    )
