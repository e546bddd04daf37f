"""Columns of Arrow as arrays of NumPy and back, and columns of any type parsed as numbers.

The conversions copy buffers, since those of pyarrow import pandas if it is installed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwalk._validation import MAX_VALUE
from labelwalk.arrays import Floats

MISSING = "is missing: fill it in, or remove the row"
NOT_A_NUMBER = (
    "is not a number: correct it, exclude the column with --drop, or declare it with "
    "--label-column or --id-column"
)
NOT_FINITE = f"is not a finite number of at most {MAX_VALUE:g}: correct it, or remove the row"
OTHER_WIDTH = "numbers where {width} are expected"


class BadValue(NamedTuple):
    """A value that is not a number: its text, and what is wrong."""

    value: str | None
    problem: str


BadValues = dict[int, BadValue]
"""The values of a column that are not numbers, by row."""


def from_numpy(values: NDArray[Any]) -> pa.Array:
    """Return a vector of numbers or truth values as an Arrow array.

    Examples
    --------
    >>> from_numpy(np.array([True, False])).to_pylist(), from_numpy(np.arange(2.0)).to_pylist()
    ([True, False], [0.0, 1.0])
    """
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, _pack_bits(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def from_matrix(values: NDArray[Any]) -> pa.Array:
    """Return the rows of a matrix of numbers as lists of one length."""
    return pa.FixedSizeListArray.from_arrays(from_numpy(values.ravel()), values.shape[1])


def from_text(texts: Sequence[str | None]) -> pa.Array:
    """Return texts as an Arrow array; None is null.

    Examples
    --------
    >>> from_text(["a", None, "", "é"]).to_pylist()
    ['a', None, '', 'é']
    """
    codes = {text: (text or "").encode("utf-8", "backslashreplace") for text in set(texts)}
    encoded = [codes[text] for text in texts]
    offsets = np.zeros(len(texts) + 1, dtype=np.int32)
    np.cumsum(list(map(len, encoded)), out=offsets[1:])
    is_valid = np.array([text is not None for text in texts], dtype=np.bool_)
    buffers = [_pack_bits(is_valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def to_floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return a column of doubles; NaN for null.

    Examples
    --------
    >>> to_floats(pa.chunked_array([[1.0, None], [3.0]])).tolist()
    [1.0, nan, 3.0]
    """
    values = np.empty(len(column))
    start = 0
    for chunk in column.chunks:
        validity, data = chunk.buffers()
        rows = slice(chunk.offset, chunk.offset + len(chunk))
        part = values[start : start + len(chunk)]
        part[:] = np.frombuffer(data, np.float64, count=rows.stop)[rows] if len(chunk) else []
        if validity is not None:
            bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
            part[~bits.astype(np.bool_)[rows]] = np.nan
        start += len(chunk)
    return values


def _pack_bits(values: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def read_width(column: pa.ChunkedArray) -> int | None:
    """Return the length of the first list of a column; 0: no lists; None: all values missing."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lengths = _compute().list_value_length(column).drop_null()
        return lengths[0].as_py() if len(lengths) else None
    return 0


def parse_numbers(column: pa.ChunkedArray, width: int) -> tuple[Floats, BadValues]:
    """Return a column as a matrix, and the values that are not numbers.

    `width` is the length of its lists; 0 if the column holds single numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers, bad = parse_numbers(pa.chunked_array([["1.5", " 2 ", "x"]]), 0)
    >>> numbers.tolist(), bad[2].value
    ([[1.5], [2.0], [nan]], 'x')
    """
    if pa.types.is_dictionary(column.type):
        return parse_numbers(column.cast(column.type.value_type), width)
    return _parse_lists(column, width) if width else _parse_values(column)


def add_not_finite(bad: BadValues, numbers: Floats, get_text: Callable[[int], str]) -> None:
    """Add the numbers of a vector that are not finite, or too large to be compared."""
    # NaN fails the comparison too: a single pass if all numbers are usable
    if numbers.size == 0 or np.abs(numbers).max() <= MAX_VALUE:
        return
    for i in np.flatnonzero(~(np.abs(numbers) <= MAX_VALUE)).tolist():
        if i not in bad:
            bad[i] = BadValue(get_text(i), NOT_FINITE)


def _parse_values(column: pa.ChunkedArray) -> tuple[Floats, BadValues]:
    values, bad = _cast_to_doubles(column)
    numbers = to_floats(values)
    if values.null_count:
        for i, value in enumerate(column):
            if not value.is_valid:
                bad.setdefault(i, BadValue(None, MISSING))
    add_not_finite(bad, numbers, lambda i: str(column[i].as_py()))
    return numbers.reshape(-1, 1), bad


def _cast_to_doubles(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, BadValues]:
    """Convert the column as a whole if possible, else value by value, by the same rules."""
    if column.type == pa.float64():
        return column, {}
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    try:
        return column.cast(pa.float64(), safe=is_text), {}
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if is_text:
            return _cast_each(column)
    problem = f"of type {column.type} is not a number: exclude the column with --drop"
    bad = {i: BadValue(str(value.as_py()), problem) for i, value in enumerate(column)}
    return pa.chunked_array([pa.nulls(len(column), pa.float64())]), bad


def _cast_each(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, BadValues]:
    values: list[float | None] = []
    bad: BadValues = {}
    trimmed = _compute().utf8_trim_whitespace(column)
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
            bad[i] = BadValue(text, NOT_A_NUMBER) if text.strip() else BadValue(None, MISSING)
    return pa.chunked_array([pa.array(values, pa.float64())]), bad


def _parse_lists(column: pa.ChunkedArray, width: int) -> tuple[Floats, BadValues]:
    lengths = to_floats(_compute().list_value_length(column).cast(pa.float64()))
    has_width = lengths == width
    bad: BadValues = {}
    for i in np.flatnonzero(~has_width).tolist():
        other_width = BadValue(f"{lengths[i]:.0f}", OTHER_WIDTH.format(width=width))
        bad[i] = BadValue(None, MISSING) if np.isnan(lengths[i]) else other_width
    flat = _compute().list_flatten(column.filter(from_numpy(has_width))).combine_chunks()
    elements, bad_elements = _parse_values(pa.chunked_array([flat]))
    places = np.flatnonzero(has_width)
    numbers = np.full((len(column), width), np.nan)
    numbers[places] = elements.reshape(-1, width)
    for i in sorted(bad_elements):  # only the first of a row counts
        bad.setdefault(int(places[i // width]), bad_elements[i])
    return numbers, bad


def _compute() -> Any:
    """Return `pyarrow.compute`, which takes 8 MiB: a table of doubles does not need it."""
    from pyarrow import compute

    return compute
