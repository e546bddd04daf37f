"""Rows that are far from all others: held, never lost, and no harm to those that are not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwalk import OnlineLearner
from labelwalk.arrays import Bools, Floats
from labelwalk.distributed import dataset, merge, model_of, sketch
from labelwalk.distributed.job import Job, run
from labelwalk.distributed.sketches import (
    METADATA_KEY,
    Budget,
    SketchBuilder,
    decide_held,
    from_arrow,
    to_arrow,
)
from tests.unit.distributed.test_sketch import same

pytestmark = pytest.mark.compiled

K, D, FILES, ROWS, KINDS = 100, 8, 8, 250, 4
CENTRES = 3.0 * np.random.default_rng(7).normal(size=(KINDS, D))


def good_rows(seed: int, n: int = FILES * ROWS) -> tuple[Floats, Any]:
    random = np.random.default_rng(seed)
    kinds = random.integers(0, KINDS, n)
    rows: Floats = CENTRES[kinds] + random.normal(size=(n, D))
    return rows, kinds


def scattered(random: np.random.Generator, n: int) -> Floats:
    rows: Floats = random.normal(size=(n, D))
    rows *= 5e4 / np.linalg.norm(rows, axis=1)[:, None]
    return rows


def identical(random: np.random.Generator, n: int) -> Floats:
    return np.tile(scattered(random, 1), (n, 1))


def two_clusters(random: np.random.Generator, n: int) -> Floats:
    return scattered(random, 2)[random.integers(0, 2, n)] + 0.3 * random.normal(size=(n, D))


def of_all_sizes(random: np.random.Generator, n: int) -> Floats:
    return scattered(random, n) * 10.0 ** random.uniform(-1, 25, n)[:, None]


def in_one_feature(random: np.random.Generator, n: int) -> Floats:
    rows, _ = good_rows(int(random.integers(1000)), n)
    rows[:, 3] = 1e4 * random.normal(size=n)
    return rows


def scaled(size: float) -> Callable[[np.random.Generator, int], Floats]:
    return lambda random, n: scattered(random, n) / 5e4 * size


def marked(random: np.random.Generator, n: int) -> Floats:
    rows, _ = good_rows(int(random.integers(1000)), n)
    rows[:, 3] = -9999.0
    return rows


class Shard:
    """Good rows of one file, and others among them."""

    def __init__(self, rows: Floats, kinds: Any, taught: Bools, garbage: Floats, where: str):
        n, random = len(rows), np.random.default_rng(len(garbage))
        places = {"first": -np.ones(len(garbage)), "last": np.full(len(garbage), float(n))}
        place = places.get(where, random.integers(0, n + 1, len(garbage)) - 0.5)
        order = np.argsort(np.r_[np.arange(n), place], kind="stable")
        self.rows = np.concatenate([rows, garbage])[order]
        self.kinds = np.r_[kinds, np.full(len(garbage), -1)][order]
        self.taught = np.r_[taught, np.zeros(len(garbage), dtype=np.bool_)][order]

    @property
    def batch(self) -> pa.RecordBatch:
        names = [str(k) if t else None for k, t in zip(self.kinds, self.taught, strict=True)]
        columns: dict[str, Any] = {f"x{i}": self.rows[:, i] for i in range(D)}
        return pa.RecordBatch.from_pydict(columns | {"label": pa.array(names, pa.string())})


def shards_with(
    garbage: Callable[[np.random.Generator, int], Floats],
    n: int,
    where: str = "among",
    files: Sequence[int] = (3,),
    by_kind: bool = False,
) -> list[Shard]:
    rows, kinds = good_rows(0)
    taught = np.zeros(len(rows), dtype=np.bool_)
    for kind in range(KINDS):
        taught[np.flatnonzero(kinds == kind)[:8]] = True
    order = np.argsort(kinds, kind="stable") if by_kind else np.arange(len(rows))
    random, shards = np.random.default_rng(1), []
    for i, some in enumerate(np.array_split(order, FILES)):
        bad = garbage(random, n) if n and i in files else np.empty((0, D))
        shards.append(Shard(rows[some], kinds[some], taught[some], bad, where))
    return shards


class Named:
    """What becomes of shards: how many good rows are right, and which others are outliers."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.whole = merge([sketch([shard.batch], K) for shard in shards], K)
        self.founded = decide_held(self.whole, K)
        model = model_of(self.whole, OnlineLearner(K).settings)
        said = [model.label(shard.rows) for shard in shards]
        kinds = np.concatenate([shard.kinds for shard in shards])
        asked = (kinds >= 0) & ~np.concatenate([shard.taught for shard in shards])
        names = np.concatenate([verdicts.label for verdicts in said]).astype(str)
        outlier = np.concatenate([verdicts.outlier for verdicts in said])
        self.right = float((names[asked] == kinds[asked].astype(str)).mean())
        self.n_rows, self.flagged = len(kinds), outlier[kinds < 0]
        self.good_flagged = int(outlier[asked].sum())


@pytest.fixture(scope="module")
def without() -> dict[bool, Named]:
    return {by_kind: Named(shards_with(scattered, 0, by_kind=by_kind)) for by_kind in (False, True)}


def assert_harmless(named: Named, without: Named) -> None:
    assert named.whole.n_seen == named.founded.n_seen == named.n_rows
    assert named.right >= without.right - 0.003
    assert named.founded.cover.radius <= 1.1 * without.founded.cover.radius
    assert named.good_flagged <= without.good_flagged


@pytest.mark.parametrize("where", ["first", "among", "last"])
@pytest.mark.parametrize("n", [20, 100, 400, 1000])
@pytest.mark.parametrize("garbage", [scattered, identical, two_clusters])
def test_far_rows_of_one_file_harm_nobody(
    garbage: Any, n: int, where: str, without: dict[bool, Named]
) -> None:
    named = Named(shards_with(garbage, n, where))
    assert_harmless(named, without[False])
    assert named.flagged.all() or garbage is not scattered
    if garbage is not scattered:
        assert named.founded.n_held == 0  # together they are believed, and not outliers


@pytest.mark.parametrize("files", [(0,), (7,), (0, 1), (2, 5, 6), range(FILES)])
@pytest.mark.parametrize("by_kind", [False, True])
def test_in_whichever_files_they_are(
    files: Sequence[int], by_kind: bool, without: dict[bool, Named]
) -> None:
    named = Named(shards_with(scattered, 150, "first", files, by_kind))
    assert_harmless(named, without[by_kind])
    assert named.flagged.all()


@pytest.mark.parametrize("where", ["first", "among"])
@pytest.mark.parametrize(
    "garbage",
    [*map(scaled, (1e3, 1e6, 1e12, 1e30, 1e80, 1e149)), of_all_sizes, in_one_feature],
    ids=["1e3", "1e6", "1e12", "1e30", "1e80", "1e149", "all sizes", "one feature"],
)
def test_however_far_they_are(garbage: Any, where: str, without: dict[bool, Named]) -> None:
    named = Named(shards_with(garbage, 300, where))
    assert_harmless(named, without[False])
    assert named.flagged.mean() > 0.97  # five values of one feature may lie close together


def test_a_mark_in_one_feature_is_a_cluster_of_its_own(without: dict[bool, Named]) -> None:
    named = Named(shards_with(marked, 100))
    assert named.right >= without[False].right - 0.01
    assert named.founded.n_held == 0


def test_a_file_of_nothing_else(without: dict[bool, Named]) -> None:
    shards = shards_with(scattered, 0)
    rows = scattered(np.random.default_rng(2), 600)
    nobody = np.zeros(600, dtype=np.bool_)
    alone = Shard(rows, np.full(600, -1), nobody, np.empty((0, D)), "last")
    for some in ([alone, *shards], [*shards, alone]):
        named = Named(some)
        assert_harmless(named, without[False])
        assert named.flagged.all()


@pytest.mark.parametrize("n", [90, 300, 1500])
def test_one_shard_that_begins_with_them(n: int) -> None:
    rows, kinds = good_rows(0)
    taught = np.zeros(len(rows), dtype=np.bool_)
    taught[:40] = True
    garbage = scattered(np.random.default_rng(3), n)
    named = Named([Shard(rows, kinds, taught, garbage, "first")])
    assert_harmless(named, Named([Shard(rows, kinds, taught, garbage[:0], "first")]))
    assert named.flagged.all()


def test_rows_of_all_files_support_each_other() -> None:
    rows, kinds = good_rows(0)
    taught = np.zeros(len(rows), dtype=np.bool_)
    taught[:40] = True
    rare = np.full((1, D), 1e4) + 0.1 * np.random.default_rng(0).normal(size=(2 * FILES, D))
    shards = [
        Shard(rows[some], kinds[some], taught[some], rare[2 * i : 2 * i + 2], "among")
        for i, some in enumerate(np.array_split(np.arange(len(rows)), FILES))
    ]
    parts = [sketch([shard.batch], K) for shard in shards]
    assert sum(part.n_held for part in parts) > 0
    named = Named(shards)
    assert named.founded.n_held == 0
    assert not named.flagged.any()


@pytest.mark.parametrize("k", [20, 100])
@pytest.mark.parametrize("by_kind", [False, True])
def test_clusters_far_from_each_other_are_all_believed(k: int, by_kind: bool) -> None:
    random = np.random.default_rng(0)
    kinds = random.choice(10, 4000, p=[0.95, *[0.05 / 9] * 9])
    if by_kind:
        kinds.sort()
    rows = 1e4 * np.eye(10)[kinds] + random.normal(size=(4000, 10))
    batches = [
        pa.RecordBatch.from_pydict({f"x{i}": part[:, i] for i in range(10)})
        for part in np.array_split(rows, 8)
    ]
    whole = decide_held(merge([sketch([batch], k) for batch in batches], k), k)
    assert whole.n_held == 0
    gaps = np.linalg.norm(whole.cover.points[:, None] - 1e4 * np.eye(10), axis=2)
    assert (gaps.min(axis=0) < 20).all()


def test_where_nothing_is_far_nothing_changes() -> None:
    for shard in shards_with(scattered, 0):
        assert sketch([shard.batch], K).held == ()
    few = sketch([pa.RecordBatch.from_pydict({"x": [0.0, 1.0, 2.0, 1e9]})], 10)
    assert len(decide_held(few, 10).cover) == 4  # too few rows to tell


mixed = st.integers(0, 10**6).map(
    lambda seed: Shard(
        *good_rows(seed, 300),
        np.zeros(300, dtype=np.bool_),
        scattered(np.random.default_rng(seed), 100 + seed % 200),
        ("first", "among", "last")[seed % 3],
    )
)


@settings(max_examples=12)
@given(mixed, st.lists(st.integers(0, 500), max_size=6))
def test_how_batches_are_cut_does_not_matter(shard: Shard, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(shard.rows)) for cut in cuts), len(shard.rows)]
    parts = [shard.batch.slice(a, b - a) for a, b in pairwise(edges)]
    whole = sketch([shard.batch], 50)
    assert same(sketch(parts, 50), whole)
    assert whole.n_seen == len(shard.rows)
    assert same(from_arrow(to_arrow(whole)), whole)


@pytest.mark.slow
@settings(max_examples=8)
@given(st.lists(mixed, min_size=2, max_size=6), st.randoms())
def test_no_row_is_lost_or_counted_twice_in_any_tree(shards: list[Shard], random: Any) -> None:
    parts = [sketch([shard.batch], 50) for shard in shards]
    while len(parts) > 1:
        random.shuffle(parts)
        parts = [merge(parts[:2], 50), *parts[2:]]
    (whole,) = parts
    done = decide_held(whole, 50)
    n = sum(len(shard.rows) for shard in shards)
    total = np.concatenate([shard.rows for shard in shards]).sum(axis=0)
    for some in (whole, done):
        covers = [some.cover, *some.held]
        assert sum(cover.n_seen for cover in covers) == n
        summed = np.sum([cover.examples @ cover.means for cover in covers], axis=0)
        np.testing.assert_allclose(summed, total, atol=1e-6 * 5e4 * n)
    assert done.cover.radius < 10


def test_what_is_taken_up_goes_on() -> None:
    (shard,) = shards_with(scattered, 80, files=(0,))[:1]
    budget = Budget(50, 64, 1.5)
    whole, begun = SketchBuilder(budget), SketchBuilder(budget)
    whole.add_rows(shard.rows)
    begun.add_rows(shard.rows[:200])
    begun = SketchBuilder(budget, from_arrow(to_arrow(begun.sketch())))
    begun.add_rows(shard.rows[200:])
    assert whole.sketch().n_held > 0
    assert same(begun.sketch(), whole.sketch())


def test_tables_of_other_versions() -> None:
    plain = to_arrow(sketch([shards_with(scattered, 0)[0].batch], K))
    told = json.loads(plain.schema.metadata[METADATA_KEY])
    assert set(told) == {"features", "radius"}  # as labelwalk 0.7.0 wrote it
    assert from_arrow(plain).held == ()
    newer = plain.replace_schema_metadata({METADATA_KEY: json.dumps(told | {"format": 99})})
    with pytest.raises(ValueError, match=r"format 99.*newer version.*Upgrade"):
        from_arrow(newer)


@pytest.mark.parametrize("part", [10_000, 100])
def test_a_job_tells_the_file_and_the_row(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "PART_ROWS", part)
    (tmp_path / "in").mkdir()
    expected = {}
    for i, shard in enumerate(shards_with(scattered, 30, files=(2, 5))):
        name = f"{i}.parquet"
        table = pa.Table.from_batches([shard.batch])
        pq.write_table(table, tmp_path / "in" / name, row_group_size=100)
        bad = np.flatnonzero(shard.kinds < 0)
        if len(bad):
            expected[name] = (len(bad), tuple((bad[:5] + 1).tolist()))
    job = Job(str(tmp_path / "in"), str(tmp_path / "out"), OnlineLearner(K).settings)
    outcome = run(job)
    assert {own.file: (own.total, own.rows) for own in outcome.outliers} == expected
    assert outcome.held == outcome.tally.outliers == 60
    assert outcome.distortion < 20
    assert run(job) == outcome


def test_a_label_is_believed_however_far(without: dict[bool, Named]) -> None:
    shards = shards_with(scattered, 20)
    shards[3].taught |= shards[3].kinds < 0
    named = Named(shards)
    assert named.founded.n_held == 0
    assert len(named.founded.taught["-1"]) == 20
