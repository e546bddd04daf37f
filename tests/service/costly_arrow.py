"""Arrow streams of at most a few megabytes that take gigabytes where they are read carelessly.

Each comes with what it is refused for; None: it may be read, and must stay small.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from labelwalk.service.request_bodies import _find_field, _follow, _read_integer

N = 100_000  # rows
LONG = "é" * 10_000  # times N: 2 GB
PATCHED = struct.Struct("<qq")


def stream(table: Any, **options: Any) -> bytes:
    return in_batches(table.schema, table.to_batches(), **options)


def in_batches(schema: Any, batches: Any, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def beside(column: Any, name: str = "label") -> bytes:
    """Return rows of a single number, with another column."""
    return stream(pa.table({"x": np.zeros(len(column), "i1"), name: column}))


def repeated(values: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(N, "i1")), values)


def views(kind: Any) -> Any:
    """Return rows all of which view the same bytes."""
    text = LONG.encode()
    view = struct.pack("<i4sii", len(text), text[:4], 0, 0)
    buffers = [None, pa.py_buffer(view * N), pa.py_buffer(text)]
    return pa.Array.from_buffers(kind, N, buffers)


def parts() -> bytes:
    """Return batches of a row each, before each of which a long dictionary grows by a word."""
    words, batches = [LONG * 10], []
    for i in range(100):
        words.append(str(i))
        column = pa.DictionaryArray.from_arrays(pa.array([i], pa.int32()), pa.array(words))
        batches.append(pa.record_batch({"x": [0.0], "label": column}))
    return in_batches(batches[0].schema, batches, emit_dictionary_deltas=True)


def shared(n_columns: int, n_said: int = N) -> bytes:
    """Return columns all of which have the same bytes; a batch says that it has `n_said` rows."""
    one = np.zeros(1)
    batch = pa.record_batch([one] * n_columns, names=[f"x{i}" for i in range(n_columns)])
    message, size = bytearray(batch.serialize()), 8 * N
    data = bytes(message[8:])
    header = _follow(data, _find_field(data, _follow(data, 0), 2))
    message_size = 8 + _read_integer(bytes(message), 4, 4)
    patches = {_find_field(data, _follow(data, 0), 3): size, _find_field(data, header, 0): n_said}
    for place, value in patches.items():
        struct.pack_into("<q", message, 8 + place, value)
    nodes, buffers = (_follow(data, _find_field(data, header, i)) + 4 for i in (1, 2))
    for i in range(n_columns):
        PATCHED.pack_into(message, 8 + nodes + 16 * i, n_said, 0)
        PATCHED.pack_into(message, 8 + buffers + 32 * i + 16, 0, size)
    schema: bytes = batch.schema.serialize().to_pybytes()
    end = b"\xff\xff\xff\xff\0\0\0\0"
    return schema + bytes(message[:message_size]) + bytes(size) + end


def nested(depth: int) -> Any:
    kind = pa.int8()
    for _ in range(depth):
        kind = pa.list_(kind)
    return pa.nulls(1, kind)


def run_ends() -> Any:
    return pa.RunEndEncodedArray.from_arrays(pa.array([N], pa.int32()), pa.array([LONG]))


def empty_lists() -> bytes:
    column = pa.nulls(N, pa.list_(pa.int8(), 0))
    return stream(pa.table({"x": column}))


MANY = pa.record_batch({"x": pa.array([], pa.int8()), "y": pa.array([], pa.int8())})
WHOLE = pa.record_batch({"x": [0.0], "label": pa.array([LONG * 100]).dictionary_encode()})
FEW = pa.array(np.zeros(1, "i1"))
COSTLY: dict[str, tuple[Callable[[], bytes], str | None]] = {
    "a dictionary of one text": (lambda: beside(repeated(pa.array([LONG]))), "16,777,216"),
    "sources": (lambda: beside(repeated(pa.array([LONG])), "source"), "16,777,216"),
    "a dictionary of a large text": (
        lambda: beside(repeated(pa.array([LONG], pa.large_string()))),
        "16,777,216",
    ),
    "a dictionary of views": (
        lambda: beside(repeated(pa.array([LONG], pa.string_view()))),
        "'label' of type dictionary<values=string_view",
    ),
    "views of one text": (lambda: beside(views(pa.string_view())), "'label' of type string_view"),
    "binary views": (
        lambda: beside(views(pa.binary_view())),
        "'label' of type binary_view is not supported",
    ),
    "a dictionary of bytes": (
        lambda: beside(repeated(pa.array([LONG.encode()]))),
        "'label' of type dictionary<values=binary",
    ),
    "a dictionary of lists": (
        lambda: beside(repeated(pa.array([[LONG]]))),
        "'label' of type dictionary<values=list",
    ),
    "a run of one text": (lambda: beside(run_ends()), "'label' of type run_end_encoded"),
    "a run of one number": (
        lambda: stream(
            pa.table({"x": pa.RunEndEncodedArray.from_arrays(pa.array([N], pa.int32()), FEW)})
        ),
        "'x' of type run_end_encoded",
    ),
    "numbers in a dictionary": (
        lambda: stream(pa.table({"x": repeated(pa.array([1.0]))})),
        "'x' of type dictionary",
    ),
    "lists of a dictionary": (
        lambda: stream(
            pa.table({"x": pa.FixedSizeListArray.from_arrays(repeated(pa.array([LONG])), 10)})
        ),
        "'x' of type fixed_size_list",
    ),
    "lists of nothing": (empty_lists, "'x' of type fixed_size_list"),
    "a structure": (
        lambda: beside(pa.StructArray.from_arrays([repeated(pa.array([LONG]))], ["a"])),
        "'label' of type struct",
    ),
    "lists in lists": (lambda: stream(pa.table({"x": nested(60)})), "'x' of type list"),
    "rows of nothing": (
        lambda: stream(pa.table({"x": pa.nulls(2**31 - 1), "y": pa.nulls(2**31 - 1)})),
        "2,147,483,647 rows",
    ),
    "names of nothing": (lambda: beside(pa.nulls(N)), "'label' of type null is not supported"),
    "an extension": (
        lambda: stream(pa.table({"x": pa.ExtensionArray.from_storage(pa.bool8(), FEW)})),
        "'x' of type extension",
    ),
    "a dictionary in parts": (parts, "delta dictionaries"),
    "a dictionary for many batches": (
        lambda: in_batches(WHOLE.schema, [WHOLE] * 20_000),
        "batches",
    ),
    "columns that share their bytes": (lambda: shared(2000), "share buffers"),
    "columns of a row that share their bytes": (lambda: shared(2000, 1), "share buffers"),
    "compressed by zstd": (
        lambda: stream(pa.table({"x": np.zeros(10 * N)}), compression="zstd"),
        "is compressed",
    ),
    "compressed names": (
        lambda: stream(
            pa.table({"x": [0.0], "label": pa.array([LONG * 1000]).dictionary_encode()}),
            compression="lz4",
        ),
        "is compressed",
    ),
    "empty batches": (lambda: in_batches(MANY.schema, [MANY] * 20_000), "no numbers"),
    "text beside a schema": (
        lambda: stream(pa.table({"x": [1.0, 2.0]}).replace_schema_metadata({"a": LONG * 500})),
        None,
    ),
    "small numbers": (
        lambda: stream(pa.table({str(i): np.zeros(N, "i1") for i in range(100)})),
        None,
    ),
}
