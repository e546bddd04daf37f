"""A learner in the service: it has a name, notes, and example ids that survive erasure.

What the page shows of it, recent examples, labels and a map, depends on its commands alone.
"""

import base64
import logging
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.concurrency import single_blas_thread
from labelwalk.engine.persistence import without_window
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.service import commands
from labelwalk.service.commands import Command, CommandResult, Observe, Retract, Rows, TeachLater
from labelwalk.storage.model_file import RemovedFeatureError, pack, unpack
from labelwalk.verdicts import Verdicts

MAX_RECENT = 500  # examples, and labels
logger = logging.getLogger(__name__)


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
        if isinstance(command, commands.Teach):
            n_skipped = max(0, len(command.labels) - MAX_RECENT)
            for i, label in enumerate(command.labels[n_skipped:], first + n_skipped):
                self.labels.append(RecentLabel(i, label, commands.Teach.kind))
        elif isinstance(command, TeachLater):
            if all(taught.id != command.example for taught in self.labels):
                self.labels.append(RecentLabel(command.example, command.label, TeachLater.kind))
        elif isinstance(command, Retract | commands.Forget):
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
                np.array(stored["label"], dtype=object),
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
        arrays = {"directions": self.directions.tolist(), "offset": self.offset.tolist()}
        return {"version": self.version, "drawn_at": self.drawn_at} | arrays

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """Return what `to_dict` stored."""
        directions, offset = (np.asarray(stored[name], float) for name in ("directions", "offset"))
        return cls(int(stored["version"]), int(stored["drawn_at"]), directions, offset)


def compute_axes(learner: OnlineLearner, previous: MapAxes | None) -> MapAxes | None:
    """Return the principal axes of the vertices' means, weighted by their counts.

    They are rotated, mirrored and shifted so that the means lie closest to where the previous
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


class ReadOnly(NamedTuple):
    """The reason why a learner can no longer learn, and its stored state."""

    reason: str
    content: bytes


@dataclass
class ManagedLearner:
    """A learner with a name.

    The list `erased` has the public ids of erased examples, in order, which the learner never saw;
    `has_erasures` says whether any command to it was erased, in whole or in part. If it is
    `read_only`, it answers and can no longer learn.
    """

    name: str
    learner: OnlineLearner
    erased: list[int] = field(default_factory=list)
    has_erasures: bool = False
    history: RecentHistory = field(default_factory=RecentHistory)
    axes: MapAxes | None = None
    n_changes: int = 0
    notes: dict[str, Any] = field(default_factory=dict)
    read_only: ReadOnly | None = None

    def __post_init__(self) -> None:
        if self.axes is None:
            self.update_axes()

    @property
    def next_example_id(self) -> int:
        """The public id of the next example: the number of all examples, erased ones included."""
        return self.learner.n_seen + len(self.erased)

    def apply(self, command: Command, *, updates_axes: bool = True) -> CommandResult:
        """Apply a command and return its answer.

        A ValueError means that the command is invalid and changed nothing; a subclass of ValueError
        may come from the middle of a change.
        """
        self.check_writable()
        first, start = self.next_example_id, self.learner.n_seen
        columns = dict[str, list[Any]]()
        command = self._with_internal_ids(command)
        verdicts = commands.apply_command(command, self.learner)
        if verdicts is not None and isinstance(command, Observe):
            self.history.add_observed(start, command.rows, verdicts)
            columns = _to_columns(verdicts)
        else:
            self.history.add_command(start, command)
        if isinstance(command, commands.Note):
            self.notes = {**self.notes, **command.notes}
        self.n_changes += 1
        if updates_axes:
            self.update_axes()
        return CommandResult(first, columns)

    def check_writable(self) -> None:
        """Raise a ValueError if the learner can no longer learn."""
        if self.read_only is not None:
            raise ValueError(
                f"learner {self.name!r} can only predict: it was {self.read_only.reason} Create a "
                "new learner to continue learning."
            )

    def apply_blocks(self, blocks: Sequence[Observe]) -> list[CommandResult]:
        """Observe several blocks at once, with the answers that each would get alone.

        If this is not possible, nothing is applied and the list is empty.
        """
        first, start = self.next_example_id, self.learner.n_seen
        rows = np.concatenate([block.rows for block in blocks])
        axes_are_due = self.axes is None or self.axes.is_due(start + len(rows))
        if axes_are_due or self.read_only is not None:
            return []
        try:
            verdicts = self.learner.observe(rows)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            return []
        self.history.add_observed(start, rows, verdicts)
        self.n_changes += len(blocks)
        columns, begin, results = _to_columns(verdicts), 0, []
        for block in blocks:
            end = begin + len(block.rows)
            part = {name: column[begin:end] for name, column in columns.items()}
            results.append(CommandResult(first + begin, part))
            begin = end
        return results

    def update_axes(self) -> bool:
        """Compute the axes of the map if due; after a failure, return False and keep the old."""
        n_seen = self.learner.n_seen
        if self.axes is None or self.axes.is_due(n_seen):
            try:
                self.axes = compute_axes(self.learner, self.axes)
            except Exception as error:
                logger.error("the axes of a map cannot be computed", exc_info=error)
                self.axes = self.axes and replace(self.axes, drawn_at=n_seen)
                return False
        return True

    def predict(self, rows: Rows) -> CommandResult:
        """Answer examples without learning."""
        return CommandResult(self.next_example_id, _to_columns(self.learner.predict(rows)))

    def list_questions(self, n: int) -> list[dict[str, Any]]:
        """Return the n most useful examples to label."""
        questions = self.learner.ask(n)
        ids = [-1 if q.example_id is None else q.example_id for q in questions]
        public_ids = self.to_public_ids(np.array(ids, dtype=np.int64)).tolist()
        return [
            {
                "example": None if question.example_id is None else public_id,
                "row": question.example.tolist(),
                "guess": question.guess,
                "confidence": question.confidence,
                "count": question.count,
            }
            for question, public_id in zip(questions, public_ids, strict=True)
        ]

    def reserve_erased(self, first: int, are_erased: Sequence[bool]) -> None:
        """Reserve the ids of erased examples, so that other examples keep theirs."""
        self.erased += [first + i for i, is_erased in enumerate(are_erased) if is_erased]

    def advance_ids(self, example_id: int) -> None:
        """Reserve all ids below one."""
        self.erased += range(self.next_example_id, example_id)

    def to_public_ids(self, ids: Ints) -> Ints:
        """Return the public ids of examples that the learner knows by its own ids."""
        before = np.array(self.erased, dtype=np.int64) - np.arange(len(self.erased))
        return np.asarray(ids + np.searchsorted(before, ids, side="right"))

    def to_bytes(self) -> bytes:
        """Return everything in the format of a model file."""
        if self.read_only is not None:
            return self.read_only.content
        return self.learner.to_bytes(
            note={
                "name": self.name,
                "erased": self.erased,
                "lessened": self.has_erasures,
                "past": self.history.to_dict(),
                "axes": None if self.axes is None else self.axes.to_dict(),
                "changes": self.n_changes,
                "notes": self.notes,
            }
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return what `to_bytes` stored."""
        header, arrays = unpack(content)
        note, read_only = header["note"], None
        try:
            learner = from_bytes(content)
        except RemovedFeatureError as error:
            read_only = ReadOnly(str(error).partition(" was ")[2], content)
            learner = from_bytes(pack(*without_window(header, arrays)))
        return cls(
            note["name"],
            learner,
            list(note["erased"]),
            note["lessened"],
            RecentHistory.from_dict(note["past"]),
            MapAxes.from_dict(note["axes"]) if note["axes"] else None,
            note["changes"],
            note.get("notes", {}),
            read_only,
        )

    def _with_internal_ids(self, command: Command) -> Command:
        if not isinstance(command, TeachLater | Retract) or command.example is None:
            return command
        position = bisect_left(self.erased, command.example)
        if self.erased[position : position + 1] == [command.example]:
            raise ValueError(f"example {command.example} was erased. Choose another example.")
        return replace(command, example=command.example - position)


def _to_columns(verdicts: Verdicts) -> dict[str, list[Any]]:
    return {name: getattr(verdicts, name).tolist() for name in ("label", "confidence", "outlier")}
