"""Sketches of batches: rows and labels apart, merged in any tree, and back from a table."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner
from labelwalk.distributed.cover import Cover, build_cover, empty_cover
from labelwalk.distributed.job_tasks import label
from labelwalk.distributed.model import model_of
from labelwalk.distributed.sketches import (
    Sketch,
    from_arrow,
    merge,
    sketch,
    sketch_from_bytes,
    sketch_to_bytes,
    to_arrow,
)
from labelwalk.io.examples import ColumnError, Columns
from labelwalk.io.rows import InputError


def shard(n: int, seed: int, labelled: int = 3) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    who = random.integers(0, 2, n)
    rows = 6.0 * who[:, None] + random.normal(size=(n, 2))
    names = [("low", "high")[one] if i < labelled else None for i, one in enumerate(who)]
    columns = {"a": rows[:, 0], "b": rows[:, 1], "label": pa.array(names, pa.string())}
    return pa.RecordBatch.from_pydict({**columns, "truth": who})


COLUMNS = Columns(drop=("truth",))


def same(one: Sketch, other: Sketch) -> bool:
    def alike(a: Cover, b: Cover) -> bool:
        return all(map(np.array_equal, vars(a).values(), vars(b).values()))

    return (
        one.features == other.features
        and list(one.taught) == list(other.taught)
        and len(one.held) == len(other.held)
        and all(map(alike, one.held, other.held))
        and all(map(alike, one.covers.values(), other.covers.values()))
    )


def test_rows_and_labels_are_covered_apart() -> None:
    batch = shard(200, 0)
    found = sketch([batch], 50, columns=COLUMNS)
    rows = np.stack([batch.column(name).to_numpy() for name in ("a", "b")], axis=1)
    expected = build_cover([rows[3:]], 50)
    assert np.array_equal(found.cover.points, expected.points)
    assert found.features == ("a", "b")
    assert found.n_seen == 200
    assert sum(len(cover) for cover in found.taught.values()) == 3


@given(st.integers(0, 1000), st.lists(st.integers(0, 60), max_size=3))
def test_how_batches_are_cut_does_not_matter(seed: int, cuts: list[int]) -> None:
    batch = shard(60, seed)
    edges = [0, *sorted(cuts), 60]
    parts = [batch.slice(a, b - a) for a, b in pairwise(edges)]
    assert same(sketch([batch], 20, columns=COLUMNS), sketch(parts, 20, columns=COLUMNS))


@given(st.integers(1, 80), st.integers(0, 30), st.integers(0, 1000))
def test_a_table_gives_a_sketch_back(n: int, labelled: int, seed: int) -> None:
    found = sketch([shard(n, seed, labelled)], 20, columns=COLUMNS, labels_per_class=5)
    assert same(from_arrow(to_arrow(found)), found)
    assert same(sketch_from_bytes(sketch_to_bytes(found)), found)


def test_tables_are_batches_too() -> None:
    parts = [shard(30, seed) for seed in range(3)]
    table = pa.Table.from_batches(parts)
    assert same(sketch([table], 20, columns=COLUMNS), sketch(parts, 20, columns=COLUMNS))


def test_labels_of_all_shards_are_kept_within_their_budget() -> None:
    shards = [sketch([shard(40, seed, 20)], 30, columns=COLUMNS) for seed in range(5)]
    merged = merge(shards, 30, labels_per_class=8)
    assert list(merged.taught) == ["high", "low"]
    assert all(len(cover) <= 8 for cover in merged.taught.values())
    assert sum(cover.n_seen for cover in merged.taught.values()) == 100
    assert merged.n_seen == 200


def test_shards_without_rows_change_nothing() -> None:
    one = sketch([shard(40, 1)], 30, columns=COLUMNS)
    nothing = sketch([shard(0, 2)], 30, columns=COLUMNS)
    assert nothing.n_seen == 0
    assert same(merge([nothing, one, sketch([], 30)], 30), one)
    assert merge([], 30).n_seen == 0
    assert same(from_arrow(to_arrow(merge([], 30))), merge([], 30))


def test_rows_come_out_with_their_verdicts() -> None:
    batches = [shard(300, seed, labelled=4 if seed == 0 else 0) for seed in range(3)]
    found = merge([sketch([batch], 60, columns=COLUMNS) for batch in batches], 60)
    model = model_of(found, OnlineLearner(60).settings)
    tables = list(label(batches, model, columns=COLUMNS, prefix="predicted_"))
    whole = pa.concat_tables(tables)
    assert whole.column_names[-3:] == [
        f"predicted_{one}" for one in ("label", "confidence", "outlier")
    ]
    said, truth = whole["predicted_label"].to_pylist(), whole["truth"].to_pylist()
    right = [("low", "high")[true] == word for word, true in zip(said, truth, strict=True)]
    assert np.mean(right) > 0.97
    assert whole["predicted_confidence"].to_pylist()[:4] == [1.0] * 4


def test_labels_alone_make_a_model() -> None:
    found = sketch([shard(10, 0, labelled=10)], 20, columns=COLUMNS)
    assert len(found.cover) == 0
    model = model_of(found, OnlineLearner(20).settings)
    assert model.label(np.array([[0.0, 0.0], [6.0, 6.0]])).label.tolist() == ["low", "high"]


def test_nothing_is_named_without_labels() -> None:
    found = sketch([shard(10, 0, labelled=0)], 20, columns=COLUMNS)
    with pytest.raises(InputError, match=r"no row has a label.*Label a few rows"):
        model_of(found, OnlineLearner(20).settings)


def broken(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"a": [1.0, 2.0], "b": [1.0, 2.0], **columns})


@pytest.mark.parametrize(
    ("batch", "columns", "error", "said"),
    [
        (broken(b=[1.0, None]), Columns(), InputError, "row 2.*'b'.*missing"),
        (broken(b=["1", "x"]), Columns(), InputError, "row 2.*'b'.*'x'.*not a number"),
        (broken(b=[1.0, float("nan")]), Columns(), InputError, "row 2.*'b'.*finite"),
        (broken(), Columns(features=("z",)), ColumnError, "'z'"),
    ],
)
def test_what_is_no_number_is_told_by_row_and_column(
    batch: pa.RecordBatch, columns: Columns, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        sketch([batch], 10, columns=columns)


def test_shards_of_other_columns_do_not_merge() -> None:
    one = sketch([broken()], 10)
    other = sketch([pa.RecordBatch.from_pydict({"a": [1.0], "c": [1.0]})], 10)
    with pytest.raises(ValueError, match=r"\['a', 'b'\].*\['a', 'c'\]"):
        merge([one, other], 10)
    with pytest.raises(ColumnError, match="column 'b'"):
        sketch([pa.RecordBatch.from_pydict({"a": [1.0], "c": [1.0]})], 10, features=("a", "b"))
    with pytest.raises(ValueError, match="not a sketch"):
        from_arrow(broken())


def test_what_is_no_batch_is_told() -> None:
    for wrong in ([{"a": 1.0}], broken(), pa.Table.from_batches([broken()])):
        with pytest.raises(TypeError, match=r"batches contains \w+\. .*\[batch\]"):
            sketch(wrong, 10)


@pytest.mark.parametrize(
    "content", [b"", b"not at all", sketch_to_bytes(Sketch(empty_cover(0)))[:-20]]
)
def test_bytes_of_something_else_are_told(content: bytes) -> None:
    with pytest.raises(InputError, match=r"\d+ bytes are not a sketch.*sketch_to_bytes"):
        sketch_from_bytes(content)
