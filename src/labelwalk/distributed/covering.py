"""A cover in the making: rows come, closest pairs merge, and what is left is compact again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.distributed.cover import Cover
from labelwalk.distributed.far import CLOSE, FAR, SHARE, SUPPORT, split_far, typical
from labelwalk.engine.cover import ROOM
from labelwalk.engine.screen import PrefilterIndex
from labelwalk.kernels.cover_builder import (
    NEEDS_MEASURING,
    STALE,
    CoverArrays,
    absorb_all,
    drop_all_merged_neighbors,
    merge_closest,
    take_rows,
)
from labelwalk.kernels.nearest import NO_VERTEX

BLOCK = 256  # rows that are screened at once
AT_ONCE = 256  # vertices that are measured anew at once
MATES = 4  # older vertices that each one knows
SAMPLE = 128  # rows from all over, at most, by which a cover is seen to be too coarse
OFTEN, AT_LEAST = 4, 64  # rows between two looks: a sixteenth (2**-4) of a power of two, or 64


class Covering:
    """A cover that rows can be added to.

    Parameters
    ----------
    capacity, n_features : int
    hold : function, optional
        Takes what is far from all else, and all there is where that is too coarse for most rows;
        without it everything stays.
    """

    def __init__(
        self, capacity: int, n_features: int, hold: Callable[[Cover], None] | None = None
    ) -> None:
        self._members = CoverArrays(
            points=np.empty((capacity, n_features)),
            means=np.empty((capacity, n_features)),
            examples=np.zeros(capacity, dtype=np.int64),
            reach=np.zeros(capacity),
            neighbor_ids=np.empty((capacity, MATES), dtype=np.int64),
            neighbor_distances=np.empty((capacity, MATES)),
            neighbor_bound=np.empty(capacity),
        )
        self._screen = PrefilterIndex(capacity, n_features)
        self.n, self.n_features, self.radius = 0, n_features, 0.0
        self._hold, self._n_taken = hold, 0
        self._sample, self._stride = np.empty((0, n_features)), 1

    def take(self, rows: Floats, limit: int, growth: float) -> None:
        """Take rows in, in order, and never stand with more than `limit` vertices."""
        at = 0
        while at < len(rows):
            step = max(AT_LEAST, 1 << self._n_taken.bit_length() >> OFTEN)
            left = step - self._n_taken % step
            some = rows[at : at + (BLOCK if self._hold is None else min(BLOCK, left))]
            self._take_block(some, limit, growth)
            if self._hold is not None:
                self._remember(some)
                if len(some) == left and self._is_too_coarse():
                    self._hold(self.cover())
                    self.n, self.radius = 0, 0.0
            at, self._n_taken = at + len(some), self._n_taken + len(some)

    def put(self, cover: Cover, gap: float) -> None:
        """Let the vertices of a cover follow, none nearer to an older one than `gap`."""
        first, self.n = self.n, self.n + len(cover)
        place, members = slice(first, self.n), self._members
        members.points[place], members.means[place] = cover.points, cover.means
        members.examples[place], members.reach[place] = cover.examples, cover.reach
        members.neighbor_ids[place], members.neighbor_distances[place] = NO_VERTEX, np.inf
        members.neighbor_ids[place, 0], members.neighbor_distances[place, 0] = STALE, gap
        self._screen.put(first, cover.points)

    def merge(self, limit: int, aim: int, growth: float, within: float = -1.0) -> None:
        """Merge closest pairs, as `merge_closest` says, and be compact again."""
        heir, last = np.arange(self.n), -1.0
        while True:
            how, last = merge_closest(self._members, self.n, heir, within, limit, aim, growth, last)
            if how != NEEDS_MEASURING:
                break
            self._measure_some(heir)
        self.radius = max(self.radius, last)
        self._compact(heir)

    def adopt(self, covers: Sequence[Cover]) -> None:
        """Stand for all that covers stand for, and for nothing else.

        Each of their vertices goes to the nearest one here: where many have merged one after the
        other, that is often not the one they ended at.
        """
        members, n = self._members, self.n
        members.means[:n], members.examples[:n], members.reach[:n] = 0.0, 0, 0.0
        for cover in covers:
            nearest, gaps = self._screen.nearest(cover.points, members.points[:n], 1)
            absorb_all(members, cover.means, cover.examples, cover.reach, nearest, gaps)

    def cover(self) -> Cover:
        """Return a copy of what stands now."""
        members, n = self._members, self.n
        return Cover(
            members.points[:n].copy(),
            members.means[:n].copy(),
            members.examples[:n].copy(),
            members.reach[:n].copy(),
            self.radius,
        )

    def _take_block(self, rows: Floats, limit: int, growth: float) -> None:
        while len(rows):
            before, points = self.n, self._members.points
            nearest, distances = self._screen.nearest(rows, points[:before], MATES)
            taken, self.n = take_rows(self._members, before, rows, nearest, distances, self.radius)
            rows = rows[taken:]
            self._screen.put(before, points[before : self.n])
            if self.n > limit:
                aim = ceil(ROOM * limit)
                self.merge(aim if self._let_go() else limit, aim, growth)

    def _let_go(self) -> bool:
        """Hold what is far from all else; return whether there was any."""
        members, n = self._members, self.n
        gaps, examples = members.neighbor_distances[:n], members.examples[:n]
        local = np.where(members.neighbor_ids[:n] >= 0, gaps, 0.0).max(axis=1)
        unit = max(self.radius, typical(local, examples, SHARE))
        may_be_far = (gaps[1:, 0] > CLOSE * unit) & (examples[1:] < SUPPORT)
        if self._hold is None or not may_be_far.any():
            return False
        near, far = split_far([self.cover()], SHARE)
        if far:
            self._hold(replace(far[0], radius=0.0))
            self.n, self.radius = 0, self.radius if len(near[0]) > n / 2 else 0.0
            self.put(near[0], gap=self.radius)
        return bool(far)

    def _remember(self, rows: Floats) -> None:
        """Keep every so-manieth row."""
        some = rows[-self._n_taken % self._stride :: self._stride]
        if len(some):
            self._sample = np.concatenate([self._sample, some])
        while len(self._sample) > SAMPLE:
            self._sample, self._stride = self._sample[::2], 2 * self._stride

    def _is_too_coarse(self) -> bool:
        """Return whether rows that do differ are much closer together than vertices."""
        screen, rows = PrefilterIndex(*self._sample.shape), self._sample
        screen.put(0, rows)
        gaps = screen.nearest(rows, rows, SUPPORT)[1][:, -1]
        gaps[gaps == 0.0] = np.inf
        return FAR * typical(gaps, np.ones(len(gaps), dtype=np.int64), SHARE) < self.radius

    def _measure_some(self, heir: Ints) -> None:
        """Measure those whose mates have gone, the likeliest to be close first."""
        members, n = self._members, self.n
        alone = np.flatnonzero((members.neighbor_ids[:n, 0] == STALE) & (heir == np.arange(n)))
        if len(alone) > AT_ONCE:
            gaps = members.neighbor_distances[alone, 0]
            alone = np.sort(alone[np.argpartition(gaps, AT_ONCE)[:AT_ONCE]])
        self._screen.remove(np.flatnonzero(heir != np.arange(n)))
        points = members.points
        mates, gaps = self._screen.nearest(points[alone], points[:n], MATES, below=alone)
        members.neighbor_ids[alone], members.neighbor_distances[alone] = mates, gaps
        members.neighbor_bound[alone] = gaps[:, -1]

    def _compact(self, heir: Ints) -> None:
        """Close the gaps that merged vertices leave, in order of age."""
        drop_all_merged_neighbors(self._members, self.n, heir)
        kept = np.flatnonzero(heir == np.arange(self.n))
        place = np.full(self.n + 2, STALE, dtype=np.int64)  # the last two: STALE, and NO_VERTEX
        place[kept], place[-1] = np.arange(len(kept)), -1
        members, self.n = self._members, len(kept)
        for column in members:
            column[: self.n] = column[kept]
        members.neighbor_ids[: self.n] = place[members.neighbor_ids[: self.n]]
        self._screen.put(0, members.points[: self.n])
        self._screen.remove(np.arange(self.n, len(members.reach)))
