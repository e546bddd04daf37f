"""What a shard is to the others: a cover of its rows, and one of the rows with each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.distributed.cover import Cover, empty
from labelwalk.distributed.covers import unite_layers, united
from labelwalk.distributed.far import split_far
from labelwalk.settings import WARM_UP

Item = TypeVar("Item")
THIRD = 1 / 3  # of the rows, the densest, whose distances are typical when all are known


@dataclass(frozen=True)
class Sketch:
    """A cover of rows without labels, and one of the rows with each label.

    Attributes
    ----------
    cover : Cover
    taught : dict from labels to Cover
    features : names
        The columns that rows are made of, in order.
    held : tuple of Cover
        Of rows without labels that are far from those of `cover`, until enough are known to tell
        what they are.
    """

    cover: Cover
    taught: dict[str, Cover] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    held: tuple[Cover, ...] = ()

    @property
    def covers(self) -> dict[str | None, Cover]:
        """All covers but those held, that of rows without labels first."""
        covers: dict[str | None, Cover] = {None: self.cover}
        covers.update(self.taught)
        return covers

    @property
    def n_features(self) -> int:
        """How many numbers make a row; 0 where there is none."""
        return max(cover.n_features for cover in (*self.covers.values(), *self.held))

    @property
    def distortion(self) -> float:
        """A bound on the distance of any row that is not held to what stands for it."""
        return max(cover.distortion for cover in self.covers.values())

    @property
    def n_seen(self) -> int:
        """How many rows it stands for."""
        return sum(cover.n_seen for cover in self.covers.values()) + self.n_held

    @property
    def n_held(self) -> int:
        """How many of them are held."""
        return sum(cover.n_seen for cover in self.held)

    def fits(self, n_centroids: int, labels_per_class: int) -> bool:
        """Return whether it has no more vertices than are allowed."""
        fewest = all(len(cover) <= labels_per_class for cover in self.taught.values())
        return fewest and len(self.cover) <= n_centroids

    def labelled(self) -> tuple[Floats, list[str]]:
        """Return rows that stand for those with labels, and their labels.

        Examples
        --------
        >>> cover = Cover(np.array([[1.0]]), np.array([[1.0]]), np.array([3]), np.zeros(1), 0.0)
        >>> Sketch(empty(0), {"low": cover}).labelled()
        (array([[1.]]), ['low'])
        """
        rows = [np.empty((0, self.n_features)), *(own.points for own in self.taught.values())]
        names = [name for name, own in self.taught.items() for _ in range(len(own))]
        return np.concatenate(rows), names


def merge(sketches: Sequence[Sketch], n_centroids: int, labels_per_class: int = 64) -> Sketch:
    """Return what stands for all that sketches stand for.

    They merge two at a time, in order, as those of a job do: all at once would take longer.

    Parameters
    ----------
    sketches : sequence of Sketch
        In the order of their shards; a sketch of no rows changes nothing.
    n_centroids, labels_per_class : int
        As in `sketch`.

    Raises
    ------
    ValueError
        They are of rows with other features.
    """
    some = [one for one in sketches if one.n_seen]
    if not some:
        return Sketch(empty(0))
    for one in some[1:]:
        if one.features != some[0].features:
            raise ValueError(
                f"one sketch is of the features {list(some[0].features)}, another of "
                f"{list(one.features)}. Give every shard the same columns."
            )
    while len(some) > 1:
        some = [_united(pair, n_centroids, labels_per_class) for pair in in_pairs(some)]
    return _united(some, n_centroids, labels_per_class)


def in_pairs(some: Sequence[Item]) -> list[Sequence[Item]]:
    """Return things by twos, in order; the last may be alone.

    Examples
    --------
    >>> in_pairs("abcde")
    ['ab', 'cd', 'e']
    """
    return [some[i : i + 2] for i in range(0, len(some), 2)]


def _united(some: Sequence[Sketch], n_centroids: int, labels_per_class: int) -> Sketch:
    if len(some) == 1 and some[0].fits(n_centroids, labels_per_class):
        return some[0]
    labels = sorted({label for one in some for label in one.taught})
    taught = {
        label: united([one.taught[label] for one in some if label in one.taught], labels_per_class)
        for label in labels
    }
    covers = [one.cover for one in some] + [cover for one in some for cover in one.held]
    cover, *held = unite_layers(covers, n_centroids)
    return Sketch(cover, taught, some[0].features, tuple(held))


def decide_held(sketch: Sketch, n_centroids: int) -> Sketch:
    """Return a sketch of all rows there are, whose held rows are those that nothing is made of.

    What is near the densest third of the rows is near now, whatever its shard took it for.

    Examples
    --------
    >>> from labelwalk.distributed.covers import covered
    >>> rows = np.r_[np.arange(120.0), 1e6, np.full(5, 7e6)][:, None]
    >>> whole = decide_held(Sketch(covered([rows], n_centroids=200)), n_centroids=200)
    >>> whole.cover.points[-1].tolist(), [cover.points.tolist() for cover in whole.held]
    ([7000000.0], [[[1000000.0]]])
    """
    covers = [cover for cover in (sketch.cover, *sketch.held) if len(cover)]
    is_few = sum(cover.n_seen for cover in covers) <= WARM_UP
    near, far = (covers, list[Cover]()) if is_few else split_far(covers, THIRD)
    cover = near[0] if len(near) == 1 else united(near, n_centroids)
    return replace(sketch, cover=cover if near else sketch.cover, held=tuple(far))
