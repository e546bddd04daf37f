"""Recent examples, labels and a map of a learner, for the page.

They depend only on the commands that were applied to the learner.
"""

import base64
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.concurrency import single_blas_thread
from labelwalk.learner import OnlineLearner
from labelwalk.service.commands import Command, Forget, Retract, Rows, Teach, TeachLater
from labelwalk.verdicts import Verdicts

MAX_RECENT = 500  # examples, and labels


class RecentExamples(NamedTuple):
    """Observed examples with their verdicts, oldest first; ids are those of the learner."""

    id: Ints
    row: Rows
    label: NDArray[np.object_]
    confidence: Floats
    outlier: Bools

    def last(self, n: int) -> "RecentExamples":
        """Return the newest n."""
        newest = slice(max(0, len(self.id) - n), None)
        return RecentExamples._make(column[newest] for column in self)


class RecentLabel(NamedTuple):
    """A label that a person gave, and the kind of command that gave it."""

    id: int
    label: Label
    how: str


class RecentHistory:
    """The last examples and labels of a learner; retracted labels are omitted.

    Examples are stored in the blocks in which they came, so that one costs next to nothing.
    """

    def __init__(self) -> None:
        self.n_observed = 0
        self.labels: list[RecentLabel] = []
        self._blocks: deque[RecentExamples] = deque()
        self._n_stored = 0

    def add_observed(self, first: int, rows: Rows, verdicts: Verdicts) -> None:
        """Add a block of examples with ids from `first` on."""
        n = len(rows)
        self.n_observed += n
        ids = np.arange(first, first + n)
        block = RecentExamples(ids, rows, verdicts.label, verdicts.confidence, verdicts.outlier)
        if n > MAX_RECENT:  # copies, so that the whole block can be freed
            block = RecentExamples._make(column.copy() for column in block.last(MAX_RECENT))
        self._add(block)

    def add_command(self, first: int, command: Command) -> None:
        """Add or remove labels; the examples of the command have ids from `first` on."""
        if isinstance(command, Teach):
            n_skipped = max(0, len(command.labels) - MAX_RECENT)
            for i, label in enumerate(command.labels[n_skipped:], first + n_skipped):
                self.labels.append(RecentLabel(i, label, Teach.kind))
        elif isinstance(command, TeachLater):
            if all(taught.id != command.example for taught in self.labels):
                self.labels.append(RecentLabel(command.example, command.label, TeachLater.kind))
        elif isinstance(command, Retract | Forget):
            example = command.example if isinstance(command, Retract) else None
            self.labels = [
                taught
                for taught in self.labels
                if taught.id != example and taught.label != command.label
            ]
        del self.labels[:-MAX_RECENT]

    def get_examples(self) -> RecentExamples:
        """Return the last examples, at most `MAX_RECENT`."""
        if not self._blocks:
            empty: NDArray[Any] = np.zeros(0)
            return RecentExamples(empty.astype(np.int64), np.zeros((0, 0)), empty, empty, empty)
        columns = zip(*self._blocks, strict=True)
        return RecentExamples._make(map(np.concatenate, columns)).last(MAX_RECENT)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in the form that JSON can store."""
        examples = self.get_examples()
        rows = np.ascontiguousarray(examples.row, dtype="<f8")
        return {
            "observed": self.n_observed,
            "taught": [list(taught) for taught in self.labels],
            "id": examples.id.tolist(),
            "row": base64.b64encode(rows.tobytes()).decode(),
            "label": examples.label.tolist(),
            "confidence": examples.confidence.tolist(),
            "outlier": examples.outlier.tolist(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """Return what `to_dict` stored."""
        history = cls()
        history.n_observed = int(stored["observed"])
        history.labels = [RecentLabel(*taught) for taught in stored["taught"]]
        if stored["id"]:
            rows = np.frombuffer(base64.b64decode(stored["row"]), dtype="<f8")
            block = RecentExamples(
                np.array(stored["id"], dtype=np.int64),
                rows.reshape(len(stored["id"]), -1).copy(),
                _as_object_array(stored["label"]),
                np.array(stored["confidence"]),
                np.array(stored["outlier"], dtype=bool),
            )
            history._add(block)
        return history

    def _add(self, block: RecentExamples) -> None:
        self._blocks.append(block)
        self._n_stored += len(block.row)
        while self._n_stored - len(self._blocks[0].row) >= MAX_RECENT:
            self._n_stored -= len(self._blocks.popleft().row)


def _as_object_array(labels: Sequence[Label | None]) -> NDArray[np.object_]:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


@dataclass(frozen=True)
class MapAxes:
    """A projection of rows onto the plane; `drawn_at` is how many examples were seen before."""

    version: int
    drawn_at: int
    directions: Floats
    offset: Floats

    def project(self, learner: OnlineLearner, rows: Floats) -> Floats:
        """Return x and y of each row."""
        with single_blas_thread():
            return np.asarray(_to_units(learner, rows) @ self.directions.T - self.offset)

    def is_due(self, n_seen: int) -> bool:
        """Return whether the number of examples has doubled since; never for d <= 2."""
        return self.directions.shape[1] > 2 and n_seen >= 2 * self.drawn_at

    def to_dict(self) -> dict[str, Any]:
        """Return everything in the form that JSON can store."""
        return {
            "version": self.version,
            "drawn_at": self.drawn_at,
            "directions": self.directions.tolist(),
            "offset": self.offset.tolist(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """Return what `to_dict` stored."""
        return cls(
            int(stored["version"]),
            int(stored["drawn_at"]),
            np.array(stored["directions"], dtype=np.float64),
            np.array(stored["offset"], dtype=np.float64),
        )


def compute_axes(learner: OnlineLearner, previous: MapAxes | None) -> MapAxes | None:
    """Return the principal axes of the vertices' means, weighted by their counts.

    They are rotated, mirrored and shifted such that the means lie closest to where the previous
    axes put them: points do not jump. Without vertices, the previous axes stay.
    """
    table = learner.vertices
    if not len(table):
        return previous
    version, n_seen = 1 if previous is None else previous.version + 1, learner.n_seen
    d = table.means.shape[1]
    if d <= 2:
        return MapAxes(version, n_seen, np.eye(2)[:, :d], np.zeros(2))
    means, shares = _to_units(learner, table.means), table.count / table.count.sum()
    with single_blas_thread():
        center = shares @ means
        spread = np.sqrt(shares)[:, None] * (means - center)
        padded = np.vstack([spread, np.zeros((2, d))])
        directions = np.linalg.svd(padded, full_matrices=False)[2][:2]
        if previous is None:
            largest = np.take_along_axis(directions, np.abs(directions).argmax(1)[:, None], 1)
            directions *= np.where(largest < 0, -1.0, 1.0)
            return MapAxes(version, n_seen, directions, directions @ center)
        old = np.sqrt(shares)[:, None] * ((means - center) @ previous.directions.T)
        u, _, vt = np.linalg.svd(old.T @ (spread @ directions.T))
        directions = u @ vt @ directions
        old_center = previous.directions @ center - previous.offset
        return MapAxes(version, n_seen, directions, directions @ center - old_center)


def _to_units(learner: OnlineLearner, rows: Floats) -> Floats:
    """Return rows in the units of distances; rows of up to two features are shown as they are."""
    return rows if rows.shape[1] <= 2 or not len(rows) else learner.scaled(rows)
