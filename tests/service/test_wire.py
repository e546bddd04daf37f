"""Arrow from strangers: understood or refused, and never a way into the process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from labelwalk.service.wire import ARROW, Body, BodyError, TooManyRowsError, understood
from tests.service.sizes import Sizes

pytestmark = pytest.mark.shell

WORDS = pa.array(["a", "b", "a"]).dictionary_encode()
TABLE = pa.table(
    {"x": [0.0, 9.0, 3.0], "y": [1, 8, None], "label": ["low", "high", "é"], "source": WORDS}
)


def stream(table: Any, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def taken(content: bytes) -> Body:
    return understood(content, ARROW, {})


def test_a_table() -> None:
    body = taken(stream(TABLE))
    assert str(body.rows.tolist()) == "[[0.0, 1.0], [9.0, 8.0], [3.0, nan]]"
    assert (body.labels, body.sources) == (("low", "high", "é"), ("a", "b", "a"))


def test_columns_of_one_name_are_columns() -> None:
    table = pa.table([pa.array([1.0]), pa.array([2])], names=["x", "x"])
    assert taken(stream(table)).rows.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("table", [TABLE, TABLE.select(["x"])])
@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_few_bytes_do_not_become_many(table: Any, compression: str) -> None:
    with pytest.raises(BodyError, match="is compressed"):
        taken(stream(table, compression))


def test_rows_without_bytes_are_counted_too() -> None:
    many = pa.table({"x": pa.nulls(10**9), "label": pa.nulls(10**9)})
    with pytest.raises(TooManyRowsError, match="1,000,000,000 rows"):
        taken(stream(many))


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"label": ["a"]}),
        pa.table({"x": ["1"]}),
        pa.table({"x": pa.array([2**63], pa.uint64())}),
        pa.table({"x": [1.0], "label": [1.5]}),
        pa.table({"x": pa.array([], pa.float64())}),
    ],
)
def test_tables_that_cannot_be_used(table: Any) -> None:
    with pytest.raises(BodyError):
        taken(stream(table))


def test_spoilt_streams(sizes: Sizes) -> None:
    """A made-up offset must not be followed."""
    rng, good, refused = np.random.default_rng(0), stream(TABLE), 0
    for _ in range(sizes.flips):
        content = bytearray(good)
        for place in rng.integers(len(good), size=rng.integers(1, 4)):
            content[place] = rng.integers(256)
        if rng.random() < 0.1:
            del content[rng.integers(len(good)) :]
        try:
            taken(bytes(content))
        except BodyError:
            refused += 1
    assert refused > sizes.flips / 2
