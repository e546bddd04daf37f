"""Two axes to draw a learner by, which stay as they are: points do not jump from look to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.one_thread import one_blas_thread


@dataclass(frozen=True)
class Axes:
    """Where rows lie in the plane.

    Attributes
    ----------
    version : int
        How often axes have been drawn.
    drawn_at : int
        How many examples had come by then.
    directions : array of shape (2, d)
    offset : array of 2 floats
        What is taken away in the plane.
    """

    version: int
    drawn_at: int
    directions: Floats
    offset: Floats

    def place(self, learner: OnlineLearner, rows: Floats) -> Floats:
        """Return x and y of each row; one or two features are drawn as they are."""
        with one_blas_thread():
            return np.asarray(_measured(learner, rows) @ self.directions.T - self.offset)

    def is_due(self, n_seen: int) -> bool:
        """Say whether it is time to draw them anew: the number of examples has doubled."""
        return self.directions.shape[1] > 2 and n_seen >= 2 * self.drawn_at

    def described(self) -> dict[str, Any]:
        """Return them as JSON can hold them."""
        return {
            "version": self.version,
            "drawn_at": self.drawn_at,
            "directions": self.directions.tolist(),
            "offset": self.offset.tolist(),
        }


def axes_described(said: dict[str, Any]) -> Axes:
    """Return what `Axes.described` told."""
    return Axes(
        int(said["version"]),
        int(said["drawn_at"]),
        np.array(said["directions"], dtype=np.float64),
        np.array(said["offset"], dtype=np.float64),
    )


def drawn(learner: OnlineLearner, before: Axes | None) -> Axes | None:
    """Return the axes along which the vertices' means are spread most, by their counts.

    They are turned and mirrored, and shifted, such that the means lie closest to where they were.

    Parameters
    ----------
    learner : OnlineLearner
    before : Axes or None
        Those so far.

    Returns
    -------
    axes : Axes or None
        Those so far where there are no vertices.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk import OnlineLearner
    >>> learner = OnlineLearner(50)
    >>> _ = learner.observe([[0.0, 0.0, 1.0], [9.0, 0.0, 1.0], [0.0, 4.0, 1.0], [9.0, 4.0, 1.0]])
    >>> axes = drawn(learner, None)
    >>> axes.place(learner, learner.vertices.means).round(3).tolist()
    [[-4.5, -2.0], [4.5, -2.0], [-4.5, 2.0], [4.5, 2.0]]
    """
    table = learner.vertices
    if not len(table):
        return before
    version, n_seen = 1 if before is None else before.version + 1, learner.n_seen
    d = table.means.shape[1]
    if d <= 2:
        return Axes(version, n_seen, np.eye(2)[:, :d], np.zeros(2))
    means, shares = _measured(learner, table.means), table.count / table.count.sum()
    with one_blas_thread():
        centre = shares @ means
        spread = np.sqrt(shares)[:, None] * (means - centre)
        directions = np.linalg.svd(np.vstack([spread, np.zeros((2, d))]), full_matrices=False)[2][
            :2
        ]
        if before is None:
            largest = np.take_along_axis(directions, np.abs(directions).argmax(1)[:, None], 1)
            directions *= np.where(largest < 0, -1.0, 1.0)
            return Axes(version, n_seen, directions, directions @ centre)
        old = np.sqrt(shares)[:, None] * ((means - centre) @ before.directions.T)
        left, _, right = np.linalg.svd(old.T @ (spread @ directions.T))
        directions = left @ right @ directions
        there = before.directions @ centre - before.offset
        return Axes(version, n_seen, directions, directions @ centre - there)


def _measured(learner: OnlineLearner, rows: Floats) -> Floats:
    """Return rows in the units of distances, but as they are where they are drawn as they are."""
    return rows if rows.shape[1] <= 2 or not len(rows) else learner.scaled(rows)
