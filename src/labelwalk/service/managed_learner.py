"""A learner in the service: it has a name, notes, and example ids that survive erasure."""

import logging
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from labelwalk.arrays import Ints
from labelwalk.engine.migration import without_window
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.service.commands import (
    Command,
    CommandResult,
    Note,
    Observe,
    Retract,
    Rows,
    TeachLater,
    apply_command,
)
from labelwalk.service.page_state import MapAxes, RecentHistory, compute_axes
from labelwalk.storage.model_file import RemovedFeatureError, pack, unpack

logger = logging.getLogger(__name__)


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
        verdicts = apply_command(command, self.learner)
        if verdicts is not None and isinstance(command, Observe):
            self.history.add_observed(start, command.rows, verdicts)
            columns = _to_columns(verdicts)
        else:
            self.history.add_command(start, command)
        if isinstance(command, Note):
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

    def apply_blocks(self, commands: Sequence[Observe]) -> list[CommandResult]:
        """Observe several blocks at once, with the answers that each would get alone.

        If this is not possible, nothing is applied and the list is empty.
        """
        first, start = self.next_example_id, self.learner.n_seen
        rows = np.concatenate([command.rows for command in commands])
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
        self.n_changes += len(commands)
        columns, begin, results = _to_columns(verdicts), 0, []
        for command in commands:
            end = begin + len(command.rows)
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
        public_ids: Ints = ids + np.searchsorted(before, ids, side="right")
        return public_ids

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
        if isinstance(command, TeachLater | Retract) and command.example is not None:
            return replace(command, example=self._to_internal_id(command.example))
        return command

    def _to_internal_id(self, example: int) -> int:
        position = bisect_left(self.erased, example)
        if position < len(self.erased) and self.erased[position] == example:
            raise ValueError(f"example {example} was erased. Choose another example.")
        return example - position


def _to_columns(verdicts: Any) -> dict[str, list[Any]]:
    return {
        "label": verdicts.label.tolist(),
        "confidence": verdicts.confidence.tolist(),
        "outlier": verdicts.outlier.tolist(),
    }
