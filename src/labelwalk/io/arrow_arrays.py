"""Between NumPy and Arrow by buffers: pyarrow's own ways import pandas where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def from_numpy(values: NDArray[Any]) -> pa.Array:
    """Return a vector of numbers or truth values as an array of Arrow.

    Examples
    --------
    >>> from_numpy(np.array([True, False])).to_pylist(), from_numpy(np.arange(2.0)).to_pylist()
    ([True, False], [0.0, 1.0])
    """
    if values.dtype == np.bool_:
        return _array(pa.bool_(), len(values), [None, _bits(values)])
    kind = pa.from_numpy_dtype(values.dtype)
    return _array(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def to_floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return a column of doubles; NaN where it is null.

    Examples
    --------
    >>> to_floats(pa.chunked_array([[1.0, None], [3.0]])).tolist()
    [1.0, nan, 3.0]
    """
    values = np.empty(len(column))
    start = 0
    for chunk in column.chunks:
        there, numbers = chunk.buffers()
        some = slice(chunk.offset, chunk.offset + len(chunk))
        part = values[start : start + len(chunk)]
        part[:] = np.frombuffer(numbers, np.float64, count=some.stop)[some] if len(chunk) else []
        if there is not None:
            part[~_unpacked(there)[some]] = np.nan
        start += len(chunk)
    return values


def from_matrix(values: NDArray[Any]) -> pa.Array:
    """Return the rows of a matrix of numbers as lists of one length."""
    return pa.FixedSizeListArray.from_arrays(from_numpy(values.ravel()), values.shape[1])


def from_words(words: Sequence[str | None]) -> pa.Array:
    """Return text as an array of Arrow; None is null.

    Examples
    --------
    >>> from_words(["a", None, "", "é"]).to_pylist()
    ['a', None, '', 'é']
    """
    codes = {word: (word or "").encode("utf-8", "backslashreplace") for word in set(words)}
    encoded = [codes[word] for word in words]
    offsets = np.zeros(len(words) + 1, dtype=np.int32)
    np.cumsum(list(map(len, encoded)), out=offsets[1:])
    there = np.array([word is not None for word in words], dtype=np.bool_)
    buffers = [_bits(there), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return _array(pa.string(), len(words), buffers)


def _array(kind: pa.DataType, n: int, buffers: list[pa.Buffer | None]) -> pa.Array:
    return pa.Array.from_buffers(kind, n, buffers)


def _unpacked(bits: pa.Buffer) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little").astype(np.bool_)


def _bits(values: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))
