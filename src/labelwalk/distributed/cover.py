"""Covers: at most k founders represent many rows, each with a bound on their distance.

Covers are built from rows, coarsened, merged, and split into near vertices and far ones. Far
vertices are not learned, because they are too far from all others and represent too few rows.
Distances are compared with the typical distance of neighbors among the densest rows; enough rows
close together are accepted wherever they are, as in the quarantine of a learner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from labelwalk._validation import MAX_PARAMETER, as_rows, check_number, check_whole
from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.engine.batch_predictor import PrefilterIndex
from labelwalk.engine.cover import TARGET_SHARE
from labelwalk.kernels import cover as kernel

DEFAULT_GROWTH = 1.5  # as in `labelwalk.settings`
MAX_LAYERS = 3  # covers whose distances are of another order of magnitude
LAYER_SHARE = 1 / 64  # of the rows, the densest, that have a layer of their own
SCREENED_ROWS = 256  # rows compared with all vertices at a time
MEASURED_VERTICES = 256  # vertices whose neighbors are measured at a time
STORED_NEIGHBORS = 4  # older vertices in the list of each vertex
MAX_SAMPLE_ROWS = 128  # rows from the whole stream that show whether a cover is too coarse
CHECK_SHIFT, MIN_CHECK_ROWS = 4, 64  # rows between checks: 2**-4 of a power of two, or 64
ACCEPTED_ROWS = 5  # rows close together that are accepted wherever they are
CLOSE_GAP, FAR_GAP = 8.0, 32.0  # typical distances: within which rows support, past which are far
TYPICAL_SHARE = 1 / 16  # of the rows, the densest, whose distances are typical while more come
MAX_MEASURED_VERTICES = 1024  # vertices from which the typical distance is estimated
VERTEX_COLUMNS = ("points", "means", "examples", "reach")  # of a cover, and of its builder


@dataclass(frozen=True, eq=False)
class Cover:
    """Vertices that represent rows, oldest first.

    Two vertices are at least `radius` apart, and every row is within the reach of its vertex.
    """

    points: Floats  # founders, which are rows themselves
    means: Floats  # of the rows of each vertex
    examples: Ints  # number of rows of each vertex
    reach: Floats  # largest possible distance of a row to its founder
    radius: float

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self.points.shape[1])

    @property
    def n_seen(self) -> int:
        """Number of rows that it represents."""
        return int(self.examples.sum())

    @property
    def distortion(self) -> float:
        """A bound on the distance of any row to its founder."""
        return float(self.reach.max(initial=0.0))

    def select(self, rows: Bools | Ints) -> Cover:
        """Return the cover with some of the vertices."""
        return replace(self, **{name: getattr(self, name)[rows] for name in VERTEX_COLUMNS})


def empty_cover(n_features: int = 0) -> Cover:
    """Return a cover of no rows."""
    points = np.empty((0, n_features))
    return Cover(points, points, np.empty(0, dtype=np.int64), np.empty(0), 0.0)


def build_cover(
    blocks: Iterable[Floats], n_centroids: int, growth: float = DEFAULT_GROWTH
) -> Cover:
    """Return at most `n_centroids` vertices that represent all rows, in blocks of any size.

    Parameters
    ----------
    blocks : iterable of arrays of shape (n, features)
    n_centroids : int
        k.
    growth : float
        When more than k vertices have to merge, merging continues below k as long as the next
        distance is at most `growth` times the last.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [1.0], [10.0], [10.5], [0.2]])
    >>> cover = build_cover([rows[:2], rows[2:]], n_centroids=2)
    >>> cover.points.tolist(), cover.examples.tolist(), cover.distortion
    ([[0.0], [10.0]], [3, 2], 1.0)
    """
    check_whole("n_centroids", n_centroids, "1000")
    check_number("growth", growth, 1, MAX_PARAMETER, "1.5", above=True)
    builder: CoverBuilder | None = None
    for block in blocks:
        rows, _ = as_rows(block, None if builder is None else builder.n_features)
        if builder is None:
            builder = CoverBuilder(n_centroids + 1, rows.shape[1])
        builder.add_rows(rows, n_centroids, growth)
    return empty_cover() if builder is None else builder.cover()


def coarsen_cover(cover: Cover, n_centroids: int) -> Cover:
    """Return a cover of the same rows by some of the same vertices; fast for many vertices.

    Vertices are covered like rows; each is then assigned to the nearest remaining vertex.
    """
    check_whole("n_centroids", n_centroids, "1000")
    builder = CoverBuilder(n_centroids + 1, cover.n_features)
    builder.add_rows(cover.points, n_centroids, DEFAULT_GROWTH)
    builder.reassign([cover])
    return builder.cover()


def merge_covers(covers: Sequence[Cover], n_centroids: int) -> Cover:
    """Return one cover, of at most `n_centroids` vertices, of the rows of all covers.

    Closest pairs merge while they are closer than the largest radius, or while there are too many
    vertices. Then each original vertex is assigned to the nearest remaining one.

    Parameters
    ----------
    covers : sequence of Cover
        Covers of rows with the same features, older ones first. Empty ones change nothing.
    n_centroids : int

    Examples
    --------
    >>> import numpy as np
    >>> covers = [build_cover([np.array([[x], [x + 0.1]])], n_centroids=1) for x in (0.0, 5.0, 0.3)]
    >>> merged = merge_covers(covers, n_centroids=2)
    >>> merged.points.tolist(), merged.examples.tolist()
    ([[0.0], [5.0]], [4, 2])
    """
    check_whole("n_centroids", n_centroids, "1000")
    covers = [cover for cover in covers if len(cover)]
    if not covers:
        return empty_cover()
    widths = sorted({cover.n_features for cover in covers})
    if len(widths) > 1:
        raise ValueError(
            f"covers have {' and '.join(map(str, widths))} features. Merge covers with the same "
            "columns."
        )
    builder = CoverBuilder(sum(map(len, covers)), widths[0])
    builder.radius = max(cover.radius for cover in covers)
    for i, cover in enumerate(covers):
        builder.append_cover(cover, gap=cover.radius if i == 0 else 0.0)
    builder.merge_pairs(n_centroids, n_centroids, 1.0, within=builder.radius)
    builder.reassign(covers)
    return builder.cover()


def merge_cover_layers(covers: Sequence[Cover], n_centroids: int) -> list[Cover]:
    """Return covers like `merge_covers`, with vertices far from all others in another cover.

    The far vertices are split in the same way again. The finest cover comes first.
    """
    layers: list[Cover] = []
    rest = [cover for cover in covers if len(cover)]
    while rest:
        is_last = len(layers) == MAX_LAYERS - 1
        layer, rest = (rest, []) if is_last else split_far(rest, LAYER_SHARE)
        layers.append(merge_covers(layer, n_centroids))
    return layers or [empty_cover()]


def split_far(covers: Sequence[Cover], share: float) -> tuple[list[Cover], list[Cover]]:
    """Return the near vertices and the far vertices of covers, without covers left empty.

    Far vertices are those of a cover so coarse that a vertex may stand for rows far apart, and
    those far from all vertices that have `ACCEPTED_ROWS` rows close to them; never all vertices.
    `share` is the share of the densest rows, whose distances count as typical.
    """
    points = np.concatenate([cover.points for cover in covers])
    examples = np.concatenate([cover.examples for cover in covers])
    radius = np.concatenate([np.full(len(cover), cover.radius) for cover in covers])
    index = index_points(points)
    sample = np.arange(0, len(points), -(-len(points) // MAX_MEASURED_VERTICES))
    gaps = index.nearest(points[sample], points, ACCEPTED_ROWS + 1)[1]
    local = np.where(np.isfinite(gaps), gaps, 0.0).max(axis=1)
    unit = typical_distance(np.maximum(local, radius[sample]), examples[sample], share)
    is_far = radius > FAR_GAP * unit
    light = np.flatnonzero(~is_far & (examples < ACCEPTED_ROWS))
    nearest, gaps = index.nearest(points[light], points, ACCEPTED_ROWS)
    support = np.where(gaps <= CLOSE_GAP * unit, np.where(is_far, 1, examples)[nearest], 0)
    light = light[support.sum(axis=1) < ACCEPTED_ROWS]
    index.remove(np.flatnonzero(is_far))
    index.remove(light)
    is_far[light] = index.nearest(points[light], points, 1)[1][:, 0] > FAR_GAP * unit
    if is_far.all() or not is_far.any():
        return list(covers), []
    masks = np.split(is_far, np.cumsum([len(cover) for cover in covers])[:-1])
    parts = list(zip(covers, masks, strict=True))
    near_covers = [cover.select(~mask) for cover, mask in parts if not mask.all()]
    return near_covers, [cover.select(mask) for cover, mask in parts if mask.any()]


def index_points(points: Floats) -> PrefilterIndex:
    """Return an index of all points."""
    index = PrefilterIndex(*points.shape)
    index.put(0, points)
    return index


def typical_distance(distances: Floats, examples: Ints, share: float) -> float:
    """Return the distance that is not exceeded for at least this share of all examples.

    >>> typical_distance(np.array([9.0, 1.0, 2.0]), np.array([10, 1, 3]), share=0.25)
    2.0
    """
    order = np.argsort(distances, kind="stable")
    counts = np.cumsum(examples[order])
    return float(distances[order[np.searchsorted(counts, share * counts[-1])]])


class CoverBuilder:
    """A cover that rows and other covers can be added to.

    The function `on_far` receives vertices that are far from all others, and the whole cover when
    it is too coarse for most rows. Without it all vertices stay.
    """

    def __init__(
        self, capacity: int, n_features: int, on_far: Callable[[Cover], None] | None = None
    ) -> None:
        self._arrays = kernel.CoverArrays(
            points=np.empty((capacity, n_features)),
            means=np.empty((capacity, n_features)),
            examples=np.zeros(capacity, dtype=np.int64),
            reach=np.zeros(capacity),
            neighbor_ids=np.empty((capacity, STORED_NEIGHBORS), dtype=np.int64),
            neighbor_distances=np.empty((capacity, STORED_NEIGHBORS)),
            neighbor_bound=np.empty(capacity),
        )
        self._index = PrefilterIndex(capacity, n_features)
        self.n, self.n_features, self.radius = 0, n_features, 0.0
        self._on_far, self._n_rows = on_far, 0
        self._sample, self._stride = np.empty((0, n_features)), 1

    def add_rows(self, rows: Floats, limit: int, growth: float) -> None:
        """Add rows in order, with never more than `limit` vertices afterwards."""
        start = 0
        while start < len(rows):
            step = max(MIN_CHECK_ROWS, 1 << self._n_rows.bit_length() >> CHECK_SHIFT)
            until_check = step - self._n_rows % step
            size = SCREENED_ROWS if self._on_far is None else min(SCREENED_ROWS, until_check)
            block = rows[start : start + size]
            self._add_block(block, limit, growth)
            if self._on_far is not None:
                self._sample_rows(block)
                if len(block) == until_check and self._is_too_coarse():
                    self._on_far(self.cover())
                    self.n, self.radius = 0, 0.0
            start, self._n_rows = start + len(block), self._n_rows + len(block)

    def append_cover(self, cover: Cover, gap: float) -> None:
        """Append the vertices of a cover, none closer to an older one than `gap`."""
        first, self.n = self.n, self.n + len(cover)
        span, arrays = slice(first, self.n), self._arrays
        for name in VERTEX_COLUMNS:
            getattr(arrays, name)[span] = getattr(cover, name)
        arrays.neighbor_ids[span], arrays.neighbor_distances[span] = kernel.NO_VERTEX, np.inf
        arrays.neighbor_ids[span, 0], arrays.neighbor_distances[span, 0] = kernel.STALE, gap
        self._index.put(first, cover.points)

    def merge_pairs(self, limit: int, aim: int, growth: float, within: float = -1.0) -> None:
        """Merge closest pairs by the rule of `merge_listed_pairs`, and make the arrays compact."""
        merged_into, last = np.arange(self.n), -1.0
        rule = kernel.MergeRule(within, limit, aim, growth)
        while True:
            status, last = kernel.merge_listed_pairs(self._arrays, self.n, merged_into, rule, last)
            if status != kernel.NEEDS_MEASURING:
                break
            self._measure_neighbors(merged_into)
        self.radius = max(self.radius, last)
        self._compact(merged_into)

    def reassign(self, covers: Sequence[Cover]) -> None:
        """Represent only the rows of these covers, each of their vertices by the nearest one here.

        After many merges in a row that is often not the vertex it ended up in.
        """
        arrays, n = self._arrays, self.n
        arrays.means[:n], arrays.examples[:n], arrays.reach[:n] = 0.0, 0, 0.0
        for cover in covers:
            nearest, gaps = self._index.nearest(cover.points, arrays.points[:n], 1)
            kernel.absorb_all(arrays, cover.means, cover.examples, cover.reach, nearest, gaps)

    def cover(self) -> Cover:
        """Return a copy of the present cover."""
        columns = {name: getattr(self._arrays, name)[: self.n].copy() for name in VERTEX_COLUMNS}
        return Cover(**columns, radius=self.radius)

    def _add_block(self, rows: Floats, limit: int, growth: float) -> None:
        while len(rows):
            before, points = self.n, self._arrays.points
            nearest, distances = self._index.nearest(rows, points[:before], STORED_NEIGHBORS)
            n_added, self.n = kernel.take_rows(
                self._arrays, before, rows, nearest, distances, self.radius
            )
            rows = rows[n_added:]
            self._index.put(before, points[before : self.n])
            if self.n > limit:
                aim = ceil(TARGET_SHARE * limit)
                self.merge_pairs(aim if self._remove_far() else limit, aim, growth)

    def _remove_far(self) -> bool:
        """Hand over the vertices that are far from all others; return whether there are any."""
        arrays, n = self._arrays, self.n
        gaps, examples = arrays.neighbor_distances[:n], arrays.examples[:n]
        local = np.where(arrays.neighbor_ids[:n] >= 0, gaps, 0.0).max(axis=1)
        unit = max(self.radius, typical_distance(local, examples, TYPICAL_SHARE))
        may_be_far = (gaps[1:, 0] > CLOSE_GAP * unit) & (examples[1:] < ACCEPTED_ROWS)
        if self._on_far is None or not may_be_far.any():
            return False
        near_covers, far_covers = split_far([self.cover()], TYPICAL_SHARE)
        if far_covers:
            (cover,) = near_covers  # never all vertices are far
            self._on_far(replace(far_covers[0], radius=0.0))
            self.n, self.radius = 0, self.radius if len(cover) > n / 2 else 0.0
            self.append_cover(cover, gap=self.radius)
        return bool(far_covers)

    def _sample_rows(self, rows: Floats) -> None:
        """Keep one row of every `_stride`."""
        rows = rows[-self._n_rows % self._stride :: self._stride]
        if len(rows):
            self._sample = np.concatenate([self._sample, rows])
        while len(self._sample) > MAX_SAMPLE_ROWS:
            self._sample, self._stride = self._sample[::2], 2 * self._stride

    def _is_too_coarse(self) -> bool:
        """Return whether different rows are much closer together than vertices."""
        rows = self._sample
        gaps = index_points(rows).nearest(rows, rows, ACCEPTED_ROWS)[1][:, -1]
        gaps[gaps == 0.0] = np.inf
        weights = np.ones(len(gaps), dtype=np.int64)
        return FAR_GAP * typical_distance(gaps, weights, TYPICAL_SHARE) < self.radius

    def _measure_neighbors(self, merged_into: Ints) -> None:
        """Measure vertices whose listed neighbors have merged, the likeliest to be close first."""
        arrays, n = self._arrays, self.n
        is_vertex = merged_into == np.arange(n)
        stale = np.flatnonzero((arrays.neighbor_ids[:n, 0] == kernel.STALE) & is_vertex)
        if len(stale) > MEASURED_VERTICES:
            gaps = arrays.neighbor_distances[stale, 0]
            stale = np.sort(stale[np.argpartition(gaps, MEASURED_VERTICES)[:MEASURED_VERTICES]])
        self._index.remove(np.flatnonzero(~is_vertex))
        points = arrays.points
        ids, gaps = self._index.nearest(points[stale], points[:n], STORED_NEIGHBORS, below=stale)
        arrays.neighbor_ids[stale], arrays.neighbor_distances[stale] = ids, gaps
        arrays.neighbor_bound[stale] = gaps[:, -1]

    def _compact(self, merged_into: Ints) -> None:
        """Remove merged vertices from the arrays; the others stay in order of age."""
        kernel.drop_all_merged_neighbors(self._arrays, self.n, merged_into)
        remaining = np.flatnonzero(merged_into == np.arange(self.n))
        new_ids = np.full(self.n + 2, kernel.STALE)  # the last two: STALE and NO_VERTEX
        new_ids[remaining], new_ids[-1] = np.arange(len(remaining)), -1
        arrays, self.n = self._arrays, len(remaining)
        for column in arrays:
            column[: self.n] = column[remaining]
        arrays.neighbor_ids[: self.n] = new_ids[arrays.neighbor_ids[: self.n]]
        self._index.put(0, arrays.points[: self.n])
        self._index.remove(np.arange(self.n, len(arrays.reach)))
