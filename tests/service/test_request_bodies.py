"""Arrow from strangers: understood or refused, and never a way into the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from labelwalk.service.errors import BodyError, TooManyRowsError
from labelwalk.service.request_bodies import RowsBody, parse_rows
from labelwalk.service.schemas import ARROW
from tests.service.costly_arrow import COSTLY, FEW, N, beside, in_batches, repeated, stream, views
from tests.service.sizes import Sizes
from tests.service.test_server import served

pytestmark = pytest.mark.shell

WORDS = pa.array(["a", "b", "a"]).dictionary_encode()
TABLE = pa.table(
    {"x": [0.0, 9.0, 3.0], "y": [1, 8, None], "label": ["low", "high", "é"], "source": WORDS}
)


def taken(content: bytes) -> RowsBody:
    return parse_rows(content, ARROW, {}, "label", "source")


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
        taken(stream(table, compression=compression))


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


@pytest.mark.parametrize("kind", COSTLY)
def test_what_would_take_much_memory(kind: str) -> None:
    made, reason = COSTLY[kind]
    if reason is None:
        assert taken(made()).rows.size
        return
    with pytest.raises(BodyError) as refused:
        taken(made())
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.slow
def test_a_token_for_reading_takes_no_gigabytes(tmp_path: Path) -> None:
    """In a server's memory: where names are not wanted they are not decoded, whatever they are."""
    with served(tmp_path / "kept") as one:
        tokens = json.loads((one.folder / "tokens.json").read_text())
        one.http.post("/api/learners", json={"name": "a", "settings": {"n_centroids": 20}})
        one.http.post("/api/learners/a/teach", json={"rows": [[0.0]], "labels": ["low"]})
        plain = {"content-type": ARROW, "authorization": f"Bearer {tokens['read']}"}
        few = one.http.post("/api/learners/a/predict", content=beside(FEW), headers=plain)
        assert few.json()["label"] == ["low"]
        before, answers = one.memory_bytes(), dict[str, int]()
        for kind, (made, _) in COSTLY.items():
            answer = one.http.post("/api/learners/a/predict", content=made(), headers=plain)
            answers[kind] = answer.status_code
        assert set(answers.values()) == {200, 413, 422}
        assert answers["a dictionary of one text"] == answers["text beside a schema"] == 200
        for verb, kind in (("teach", "a dictionary of one text"), ("observe", "sources")):
            content, headers = COSTLY[kind][0](), {"content-type": ARROW}
            answer = one.http.post(f"/api/learners/a/{verb}", content=content, headers=headers)
            assert answer.status_code == 413
            assert "Send fewer" in answer.json()["error"]
        assert one.http.get("/api/learners/a").json()["examples"] == 1
        assert one.memory_bytes() - before < 256 << 20


NUMBERS = [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.float16(), pa.float32(), pa.float64()]


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_numbers_of_any_width(kind: Any) -> None:
    column = pa.array(np.array([1, 2, 3]).astype(kind.to_pandas_dtype()), kind)
    assert taken(stream(pa.table({"x": column, "y": column}))).rows.tolist() == [
        [1.0, 1.0],
        [2.0, 2.0],
        [3.0, 3.0],
    ]


@pytest.mark.parametrize("index", [pa.int8(), pa.uint16(), pa.int64()], ids=str)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.int64()], ids=str)
def test_names_in_a_dictionary(kind: Any, index: Any) -> None:
    """Of ordinary sizes, also where batches have dictionaries of their own."""
    words: list[Any] = [1, 2, 3] if pa.types.is_integer(kind) else ["a", "b", "c"]
    batches = []
    for known in (words[:2], words[1:], words[1:]):
        indices = pa.array([1, 0, 1], index)
        column = pa.DictionaryArray.from_arrays(indices, pa.array(known, kind))
        batches.append(pa.record_batch({"x": [1.0, 2.0, 3.0], "label": column}))
    a, b, c = words
    body = taken(in_batches(batches[0].schema, batches))
    assert body.labels == (b, a, b, c, b, c, c, b, c)
    assert body.rows.shape == (9, 1)


def test_many_names_in_a_dictionary() -> None:
    words = pa.array([f"class {i}" for i in range(1000)])
    column = pa.DictionaryArray.from_arrays(pa.array(np.arange(N) % 1000), words)
    assert taken(beside(column)).labels[999:1001] == ("class 999", "class 0")


def test_names_that_are_not_wanted_are_left_out() -> None:
    """Whatever they hold; but columns that nobody could want are refused."""
    nothing = pa.array([None, "a", None])
    content = stream(pa.table({"x": [1.0, 2.0, 3.0], "label": nothing, "source": WORDS}))
    body = parse_rows(content, ARROW, {}, "source")
    assert (body.labels, body.sources) == ((), ("a", "b", "a"))
    assert parse_rows(content, ARROW, {}).sources == ()
    with pytest.raises(BodyError, match="label must be a list"):
        taken(content)
    assert parse_rows(beside(repeated(pa.array(["é" * 10_000]))), ARROW, {}).labels == ()
    for column in (views(pa.string_view()), pa.array([["a"]])):
        with pytest.raises(BodyError, match=r"'label' of type .* Cast it to string or int64"):
            parse_rows(beside(column), ARROW, {})


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
