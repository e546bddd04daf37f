"""What stands for many rows: at most k founders, each with a bound on how far its rows are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Cover:
    """Vertices that stand for rows, oldest first.

    Two are at least `radius` apart, and every row is within the reach of the vertex that stands
    for it. Covers merge.

    Attributes
    ----------
    points : array of shape (n, features)
        Founders: rows themselves.
    means : array of shape (n, features)
        Of the rows each stands for.
    examples : array of n integers
        How many those are.
    reach : array of n floats
        None of them is farther from the founder.
    radius : float
    """

    points: Floats
    means: Floats
    examples: Ints
    reach: Floats
    radius: float

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def n_features(self) -> int:
        """How many numbers make a row."""
        return int(self.points.shape[1])

    @property
    def n_seen(self) -> int:
        """How many rows it stands for."""
        return int(self.examples.sum())

    @property
    def distortion(self) -> float:
        """A bound on the distance of any row to the founder that stands for it."""
        return float(self.reach.max(initial=0.0))


def empty(n_features: int) -> Cover:
    """Return a cover of no rows.

    Examples
    --------
    >>> len(empty(3)), empty(3).n_seen, empty(3).distortion
    (0, 0, 0.0)
    """
    nothing = np.empty((0, n_features))
    return Cover(nothing, nothing, np.empty(0, dtype=np.int64), np.empty(0), 0.0)
