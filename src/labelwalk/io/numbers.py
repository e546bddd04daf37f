"""Columns of a table as numbers, and where they are none."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Floats
from labelwalk.io.arrow_arrays import from_numpy, to_floats
from labelwalk.rows import LARGEST

MISSING = "is missing: fill it in, or leave the row out"
NO_NUMBER = (
    "is not a number: repair it, leave the column out by --drop, or say that it holds labels by "
    "--label-column"
)
NOT_FINITE = f"is not a finite number of at most {LARGEST:g}: repair it, or leave the row out"
OTHER_WIDTH = "numbers where {width} are expected"


class BadValue(NamedTuple):
    """A value that is no number: its row, itself as text, and what is wrong."""

    row: int
    value: str | None
    problem: str


def column_width(column: pa.ChunkedArray) -> int | None:
    """Return how many numbers the first list of a column holds; 0: no lists; None: all missing."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lengths = _lengths(column).drop_null()
        return lengths[0].as_py() if len(lengths) else None
    return 0


def column_numbers(column: pa.ChunkedArray, width: int) -> tuple[Floats, list[BadValue]]:
    """Return a column as a matrix, and what is no number in it.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    width : int
        How many numbers a list holds; 0 where the column holds plain numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers, bad = column_numbers(pa.chunked_array([["1.5", " 2 ", "x"]]), 0)
    >>> numbers.tolist(), bad[0].value
    ([[1.5], [2.0], [nan]], 'x')
    """
    if pa.types.is_dictionary(column.type):
        return column_numbers(column.cast(column.type.value_type), width)
    return _from_lists(column, width) if width else _from_values(column)


def beyond(numbers: Floats) -> list[tuple[int, int]]:
    """Return the places of all numbers that are not finite, or too large to be compared."""
    # NaN fails the comparison too: one pass where all is well
    if numbers.size == 0 or np.abs(numbers).max() <= LARGEST:
        return []
    return [(int(i), int(j)) for i, j in np.argwhere(~(np.abs(numbers) <= LARGEST))]


def _from_values(column: pa.ChunkedArray) -> tuple[Floats, list[BadValue]]:
    values, bad = _as_doubles(column)
    numbers = to_floats(values).reshape(-1, 1)
    if values.null_count:
        known = {one.row for one in bad}
        empty = [i for i, value in enumerate(column) if not value.is_valid and i not in known]
        bad += [BadValue(i, None, MISSING) for i in empty]
    refused = {one.row for one in bad}
    bad += [
        BadValue(i, str(column[i].as_py()), NOT_FINITE)
        for i, _ in beyond(numbers)
        if i not in refused
    ]
    return numbers, sorted(bad, key=lambda one: one.row)


def _as_doubles(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[BadValue]]:
    """Convert at once where all is well; else value by value, by the same rules."""
    if column.type == pa.float64():
        return column, []
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    try:
        return column.cast(pa.float64(), safe=text), []
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _one_by_one(column) if text else _none_at_all(column)


def _none_at_all(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[BadValue]]:
    problem = f"of type {column.type} is not a number: leave the column out by --drop"
    bad = [BadValue(i, str(value.as_py()), problem) for i, value in enumerate(column)]
    return pa.chunked_array([pa.nulls(len(column), pa.float64())]), bad


def _one_by_one(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[BadValue]]:
    values: list[float | None] = []
    bad: list[BadValue] = []
    trimmed = _computing().utf8_trim_whitespace(column)
    try:
        return trimmed.cast(pa.float64()), bad
    except pa.ArrowInvalid:
        pass
    for i, value in enumerate(trimmed):
        try:
            values.append(value.cast(pa.float64()).as_py())
        except pa.ArrowInvalid:
            values.append(None)
            text = column[i].as_py()
            bad.append(BadValue(i, text, NO_NUMBER) if text.strip() else BadValue(i, None, MISSING))
    return pa.chunked_array([pa.array(values, pa.float64())]), bad


def _from_lists(column: pa.ChunkedArray, width: int) -> tuple[Floats, list[BadValue]]:
    lengths = to_floats(_lengths(column).cast(pa.float64()))
    right = lengths == width
    bad = [
        BadValue(int(i), None, MISSING)
        if np.isnan(lengths[i])
        else BadValue(int(i), f"{lengths[i]:.0f}", OTHER_WIDTH.format(width=width))
        for i in np.flatnonzero(~right)
    ]
    numbers = np.full((len(column), width), np.nan)
    inside, worse = _from_values(pa.chunked_array([_flat(column.filter(from_numpy(right)))]))
    places = np.flatnonzero(right)
    numbers[right] = inside.reshape(-1, width)
    first: dict[int, BadValue] = {}
    for one in worse:
        row = int(places[one.row // width])
        first.setdefault(row, one._replace(row=row))
    return numbers, sorted([*bad, *first.values()], key=lambda one: one.row)


def _flat(column: pa.ChunkedArray) -> Any:
    return _computing().list_flatten(column).combine_chunks()


def _lengths(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return _computing().list_value_length(column)


def _computing() -> Any:
    """Return Arrow's functions, which take 8 MiB that a table of doubles can do without."""
    from pyarrow import compute

    return compute
