"""What is shown of a learner's past: the last examples with their verdicts, and the last labels.

It follows from the events that happened to the learner, and from nothing else. Examples have the
numbers that the learner gives them.
"""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.learner import OnlineLearner
from labelwalk.one_thread import one_blas_thread
from labelwalk.service.commands import Command, Forget, Retract, Rows, Teach, TeachLater
from labelwalk.verdicts import Verdicts

ROOM = 500  # examples, and labels


class Seen(NamedTuple):
    """Examples that were observed, oldest first, and what was said of them."""

    id: Ints
    row: Rows
    label: NDArray[np.object_]
    confidence: Floats
    outlier: Bools

    def last(self, n: int) -> Seen:
        """Return the newest n."""
        since = slice(max(0, len(self.id) - n), None)
        said = self.label[since], self.confidence[since], self.outlier[since]
        return Seen(self.id[since], self.row[since], *said)


class _Block(NamedTuple):
    """The same as it came: numbered one after the other, from a first one on."""

    first: int | Ints
    row: Rows
    label: NDArray[np.object_]
    confidence: Floats
    outlier: Bools

    def seen(self) -> Seen:
        first = self.first
        ids = np.arange(first, first + len(self.row)) if isinstance(first, int) else first
        return Seen(ids, *self[1:])

    def last(self, n: int) -> _Block:
        """Return the newest n as arrays of their own, so that the others can go."""
        kept = self.seen().last(n)
        said = kept.label.copy(), kept.confidence.copy(), kept.outlier.copy()
        return _Block(kept.id.copy(), kept.row.copy(), *said)


class Taught(NamedTuple):
    """A label that a person gave."""

    id: int
    label: Label
    how: str


class Past:
    """The last examples and labels of a learner.

    Examples come in blocks and are kept as blocks, so that one costs next to nothing.

    Attributes
    ----------
    n_observed : int
        How many examples were observed in all.
    taught : list of Taught
        The last labels that stand, oldest first.
    """

    def __init__(self) -> None:
        self.n_observed = 0
        self.taught: list[Taught] = []
        self._blocks: deque[_Block] = deque()
        self._n_kept = 0

    def observed(self, first: int, rows: Rows, verdicts: Verdicts) -> None:
        """Take note of a block of examples, numbered from `first` on."""
        n = len(rows)
        self.n_observed += n
        block = _Block(first, rows, verdicts.label, verdicts.confidence, verdicts.outlier)
        self._keep(block if n <= ROOM else block.last(ROOM))

    def _keep(self, block: _Block) -> None:
        self._blocks.append(block)
        self._n_kept += len(block.row)
        while self._n_kept - len(self._blocks[0].row) >= ROOM:
            self._n_kept -= len(self._blocks.popleft().row)

    def changed(self, first: int, event: Command) -> None:
        """Take note of labels; those of `event`, if it brings examples, are numbered from first."""
        if isinstance(event, Teach):
            skipped = max(0, len(event.labels) - ROOM)
            numbered = enumerate(event.labels[skipped:], first + skipped)
            self.taught += [Taught(i, label, Teach.kind) for i, label in numbered]
        elif isinstance(event, TeachLater):
            if all(one.id != event.example for one in self.taught):
                self.taught.append(Taught(event.example, event.label, TeachLater.kind))
        elif isinstance(event, Retract | Forget):
            example = event.example if isinstance(event, Retract) else None
            self.taught = [
                one for one in self.taught if one.id != example and one.label != event.label
            ]
        del self.taught[:-ROOM]

    def seen(self) -> Seen:
        """Return the last examples, no more than there is room for."""
        if not self._blocks:
            nothing: NDArray[Any] = np.zeros(0)
            return Seen(nothing.astype(np.int64), np.zeros((0, 0)), nothing, nothing, nothing)
        columns = zip(*(block.seen() for block in self._blocks), strict=True)
        return Seen(*(np.concatenate(column) for column in columns)).last(ROOM)

    def described(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        seen = self.seen()
        rows = np.ascontiguousarray(seen.row, dtype="<f8")
        return {
            "observed": self.n_observed,
            "taught": [list(one) for one in self.taught],
            "id": seen.id.tolist(),
            "row": base64.b64encode(rows.tobytes()).decode(),
            "label": seen.label.tolist(),
            "confidence": seen.confidence.tolist(),
            "outlier": seen.outlier.tolist(),
        }


def past_described(said: dict[str, Any]) -> Past:
    """Return what `Past.described` told."""
    past = Past()
    past.n_observed = int(said["observed"])
    past.taught = [Taught(*one) for one in said["taught"]]
    if said["id"]:
        rows = np.frombuffer(base64.b64decode(said["row"]), dtype="<f8")
        rows = rows.reshape(len(said["id"]), -1).copy()
        confidence, outlier = np.array(said["confidence"]), np.array(said["outlier"], dtype=bool)
        ids = np.array(said["id"], dtype=np.int64)
        past._keep(_Block(ids, rows, _named(said["label"]), confidence, outlier))
    return past


def _named(labels: Sequence[Label | None]) -> NDArray[np.object_]:
    names = np.empty(len(labels), dtype=object)
    names[:] = labels
    return names


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


def compute_axes(learner: OnlineLearner, before: Axes | None) -> Axes | None:
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
    >>> axes = compute_axes(learner, None)
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
