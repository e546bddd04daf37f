"""Covers of rows: those of plain loops, within their laws, and merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from labelwalk.arrays import Floats
from labelwalk.distributed.cover import Cover, build_cover, coarsen_cover, empty_cover, merge_covers
from tests.reference import covers as reference

# few distinct values: ties, and rows at the same place
numbers = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, 1e-9, 1e6])
tied = arrays.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=numbers)
spread = st.builds(
    lambda seed, n, d: np.random.default_rng(seed).normal(size=(n, d)),
    *(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 5)),
)
rows_of_any_kind = tied | spread


def assert_same(cover: Cover, vertices: list[dict[str, Any]], radius: float) -> None:
    assert cover.radius == radius
    assert cover.points.tolist() == [list(vertex["point"]) for vertex in vertices]
    assert cover.examples.tolist() == [len(vertex["rows"]) for vertex in vertices]
    assert cover.reach.tolist() == [vertex["reach"] for vertex in vertices]
    means = [np.mean(vertex["rows"], axis=0) for vertex in vertices]
    np.testing.assert_allclose(cover.means, np.array(means), rtol=1e-9, atol=1e-9)


def assert_lawful(cover: Cover, rows: Floats, k: int) -> None:
    assert len(cover) <= k
    assert cover.n_seen == len(rows)
    apart = np.sqrt(((cover.points[:, None] - cover.points) ** 2).sum(axis=2))
    apart[np.diag_indices(len(cover))] = np.inf
    assert (apart >= cover.radius * (1 - 1e-12)).all()
    nearest = np.sqrt(((rows[:, None] - cover.points) ** 2).sum(axis=2)).min(axis=1)
    assert nearest.max() <= cover.distortion * (1 + 1e-12)
    total = cover.examples @ cover.means
    np.testing.assert_allclose(total, rows.sum(axis=0), rtol=1e-9, atol=1e-9 * np.abs(rows).sum())


def assert_adds_little(cover: Cover, parts: list[Cover]) -> None:
    """What many vertices lose by merging grows with their logarithm: docs/scale.md proves it."""
    many = sum(map(len, parts)) - len(cover) + 1
    loss = cover.radius * np.floor(np.log2(many))
    assert cover.distortion <= (max(part.distortion for part in parts) + loss) * (1 + 1e-12)


@given(rows_of_any_kind, st.integers(1, 12), st.sampled_from([1.1, 1.5, 4.0]))
def test_a_sketch_is_that_of_plain_loops(rows: Floats, k: int, growth: float) -> None:
    cover = build_cover([rows], k, growth)
    assert_same(cover, *reference.covered(rows.tolist(), k, growth))
    assert_lawful(cover, rows, k)
    furthest = cover.radius * np.floor(np.log2(cover.examples))
    assert (cover.reach <= furthest * (1 + 1e-12)).all()


@given(rows_of_any_kind, st.integers(1, 12), st.lists(st.integers(0, 40), max_size=4))
def test_how_rows_are_cut_does_not_matter(rows: Floats, k: int, cuts: list[int]) -> None:
    blocks = [block for block in np.split(rows, sorted(cuts)) if len(block)]
    whole, parts = build_cover([rows], k), build_cover(blocks, k)
    for one, other in zip(vars(whole).values(), vars(parts).values(), strict=True):
        assert np.array_equal(one, other)


@given(rows_of_any_kind, st.integers(1, 8), st.integers(1, 5))
def test_covers_merge_as_plain_loops_do(rows: Floats, k: int, shards: int) -> None:
    parts = [part for part in np.array_split(rows, shards) if len(part)]
    merged = merge_covers([build_cover([part], k) for part in parts], k)
    twins = [reference.covered(part.tolist(), k, 1.5) for part in parts]
    assert_same(merged, *reference.united(twins, k))
    assert_lawful(merged, rows, k)


def test_whoever_merges_goes_to_the_nearest_that_is_left() -> None:
    far = build_cover([np.array([[-2.0], [-5.0]])], 1)
    near = build_cover([np.array([[0.0], [1.0], [2.9]])], 3)
    merged = merge_covers([far, near], 2)
    assert merged.points.tolist() == [[-2.0], [2.9]]
    assert merged.examples.tolist() == [3, 2]  # 1 merged with 0, which merged with -2
    np.testing.assert_allclose(merged.reach, [3.0, 1.9])


@given(rows_of_any_kind, st.integers(1, 8), st.integers(1, 9), st.integers(2, 4))
def test_a_tree_of_merges_keeps_the_laws(rows: Floats, k: int, shards: int, fan_in: int) -> None:
    covers = [build_cover([part], k) for part in np.array_split(rows, shards) if len(part)]
    while len(covers) > 1:
        groups = [covers[i : i + fan_in] for i in range(0, len(covers), fan_in)]
        covers = [merge_covers(group, k) for group in groups]
        for cover, group in zip(covers, groups, strict=True):
            assert_adds_little(cover, group)
    assert_lawful(covers[0], rows, k)


@pytest.mark.compiled
def test_many_rows_and_coarsenings_keep_the_laws() -> None:
    random = np.random.default_rng(0)
    rows = np.concatenate([random.normal(size=(4000, 6)), 50.0 + random.normal(size=(4000, 6))])
    assert_lawful(build_cover([rows], 300), rows, 300)
    shards = [build_cover([part], 300) for part in np.array_split(rows, 7)]
    merged = merge_covers(shards, 300)
    assert_lawful(merged, rows, 300)
    assert_adds_little(merged, shards)


def test_values_of_all_sizes_are_told_apart() -> None:
    rows = np.array([[0.0], [1e-160], [2e-160], [1.0], [1e150], [-1e150], [1.0 + 1e-15]])
    cover = build_cover([rows[:3], rows[3:]], 7)
    assert cover.points.tolist() == rows.tolist()
    assert build_cover([rows], 3).n_seen == 7


def test_no_rows_and_no_covers() -> None:
    assert (
        len(build_cover([], 5))
        == len(merge_covers([], 5))
        == len(merge_covers([empty_cover(2)], 5))
        == 0
    )
    one = build_cover([np.ones((3, 2))], 5)
    merged = merge_covers([empty_cover(0), one, empty_cover(7)], 5)
    assert (len(merged), merged.n_seen) == (1, 3)


@pytest.mark.parametrize(("k", "growth", "name"), [(0, 1.5, "n_centroids"), (3, 1.0, "growth")])
def test_what_makes_no_sense_is_refused_by_name(k: int, growth: float, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}="):
        build_cover([np.ones((3, 2))], k, growth)


def test_rows_of_other_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="3 features, but this learner has 2"):
        build_cover([np.ones((3, 2)), np.ones((3, 3))], 5)
    with pytest.raises(ValueError, match="2 and 3 features"):
        merge_covers([build_cover([np.ones((1, d))], 5) for d in (2, 3)], 5)


@given(rows_of_any_kind, st.integers(1, 12))
def test_coarser_covers_are_covers_of_the_same_rows(rows: Floats, k: int) -> None:
    fine = build_cover([rows], 2 * k)
    found = coarsen_cover(fine, k)
    assert_lawful(found, rows, k)
    assert_adds_little(found, [fine])
