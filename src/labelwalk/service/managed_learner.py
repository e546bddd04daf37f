"""A learner in the service: named, and its examples keep their numbers whatever is erased."""

from __future__ import annotations

import json
import logging
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from labelwalk.arrays import Ints
from labelwalk.engine.migration import without_window
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.service.commands import Command, Note, Observe, Retract, Rows, Teach, TeachLater
from labelwalk.service.page_state import Axes, Past, axes_described, compute_axes, past_described
from labelwalk.storage.model_file import RemovedFeatureError, pack, unpack

ENCODER = json.JSONEncoder(ensure_ascii=False)  # made once: this is done for every answer
LOGGER = logging.getLogger(__name__)


class CommandResult(NamedTuple):
    """What is answered: the number of the first example, and a column of each answer."""

    first: int
    columns: dict[str, list[Any]]

    def to_json(self) -> bytes:
        """Return it as it is kept, and sent to people."""
        return ENCODER.encode({"first": self.first, **self.columns}).encode()


def told_from_json(content: bytes) -> CommandResult:
    """Return an answer that was kept."""
    columns = json.loads(content)
    return CommandResult(columns.pop("first"), columns)


class ReadOnly(NamedTuple):
    """Why a learner can no longer learn, and its state as it was written."""

    reason: str
    content: bytes


@dataclass
class ManagedLearner:
    """A learner with a name.

    Attributes
    ----------
    name : str
    learner : OnlineLearner
    erased : list of int
        The numbers of examples that never were, in order.
    has_erasures : bool
        Whether something was erased of what happened to it.
    past : Past
        The last examples and labels.
    axes : Axes or None
        By which it is drawn; None before there is anything to draw.
    n_changes : int
        How many events have happened to it.
    notes : dict
        What whoever uses it keeps with it.
    read_only : ReadOnly or None
        Why the learner answers and can no longer learn.
    """

    name: str
    learner: OnlineLearner
    erased: list[int] = field(default_factory=list)
    has_erasures: bool = False
    past: Past = field(default_factory=Past)
    axes: Axes | None = None
    n_changes: int = 0
    notes: dict[str, Any] = field(default_factory=dict)
    read_only: ReadOnly | None = None

    def __post_init__(self) -> None:
        if self.axes is None:
            self.draw()

    @property
    def next_example_id(self) -> int:
        """How many numbers were given to examples."""
        return self.learner.n_seen + len(self.erased)

    def apply(self, event: Command, *, draws: bool = True) -> CommandResult:
        """Do to the learner what an event says, draw it if told to, and return the answer.

        Raises
        ------
        ValueError
            It cannot be done, and nothing was; subclasses may come from the middle of a change.
        """
        self.check_writable()
        first, start = self.next_example_id, self.learner.n_seen
        if isinstance(event, Observe):
            verdicts = event.apply(self.learner)
            self.past.observed(start, event.rows, verdicts)
            told = CommandResult(first, _columns(verdicts))
        else:
            self._change(event, start)
            told = CommandResult(first, {})
        self.n_changes += 1
        if draws:
            self.draw()
        return told

    def check_writable(self) -> None:
        """Raise a ValueError if the learner can no longer learn."""
        if self.read_only is not None:
            raise ValueError(
                f"learner {self.name!r} only answers predictions: it was {self.read_only.reason} "
                "Create a new learner to go on learning."
            )

    def draw(self) -> bool:
        """Draw the axes if due. Return False on failure: they stay until they are due again."""
        n_seen = self.learner.n_seen
        if self.axes is None or self.axes.is_due(n_seen):
            try:
                self.axes = compute_axes(self.learner, self.axes)
            except Exception as error:
                LOGGER.error("a map cannot be drawn", exc_info=error)
                self.axes = self.axes and replace(self.axes, drawn_at=n_seen)
                return False
        return True

    def observe_together(self, events: Sequence[Observe]) -> list[CommandResult]:
        """Observe blocks at once, and answer as if each had come alone.

        Where that cannot be, nothing has happened, and there are no answers.
        """
        first, start = self.next_example_id, self.learner.n_seen
        block = Observe(np.concatenate([event.rows for event in events]))
        is_due = self.axes is None or self.axes.is_due(start + len(block.rows))
        if is_due or self.read_only is not None:
            return []
        try:
            verdicts = block.apply(self.learner)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            return []
        self.past.observed(start, block.rows, verdicts)
        self.n_changes += len(events)
        columns, at, answers = _columns(verdicts), 0, []
        for event in events:
            end = at + len(event.rows)
            some = {name: column[at:end] for name, column in columns.items()}
            answers.append(CommandResult(first + at, some))
            at = end
        return answers

    def _change(self, event: Command, start: int) -> None:
        if isinstance(event, TeachLater):
            event = replace(event, example=self._of_learner(event.example))
        if isinstance(event, Retract) and event.example is not None:
            event = replace(event, example=self._of_learner(event.example))
        if isinstance(event, Note):
            self.notes = {**self.notes, **event.notes}
        event.apply(self.learner)
        self.past.changed(start, event)

    def predict(self, rows: Rows) -> CommandResult:
        """Answer examples without learning."""
        return CommandResult(self.next_example_id, _columns(self.learner.predict(rows)))

    def questions(self, n: int) -> list[dict[str, Any]]:
        """Return what to label next, each with the number of its example."""
        return [
            {
                "example": None if one.example_id is None else self._of_service(one.example_id),
                "row": one.example.tolist(),
                "guess": one.guess,
                "confidence": one.confidence,
                "count": one.count,
            }
            for one in self.learner.ask(n)
        ]

    def reserve_erased(self, first: int, gone: Sequence[bool]) -> None:
        """Give numbers to examples that were erased, so that the others keep theirs."""
        self.erased += [first + i for i, erased in enumerate(gone) if erased]

    def advance_ids(self, number: int) -> None:
        """Give no number below this one any more."""
        self.erased += range(self.next_example_id, number)

    def to_bytes(self) -> bytes:
        """Return all of it."""
        if self.read_only is not None:
            return self.read_only.content
        return self.learner.to_bytes(
            note={
                "name": self.name,
                "erased": self.erased,
                "lessened": self.has_erasures,
                "past": self.past.described(),
                "axes": None if self.axes is None else self.axes.described(),
                "changes": self.n_changes,
                "notes": self.notes,
            }
        )

    def to_public_ids(self, ids: Ints) -> Ints:
        """Return the numbers of what the learner calls examples."""
        before = np.array(self.erased, dtype=np.int64) - np.arange(len(self.erased))
        numbers: Ints = ids + np.searchsorted(before, ids, side="right")
        return numbers

    def _of_service(self, example_id: int) -> int:
        """Return the number of what the learner calls an example."""
        number = example_id
        for gone in self.erased:
            number += gone <= number
        return number

    def _of_learner(self, number: int) -> int:
        """Return what the learner calls an example."""
        place = bisect_left(self.erased, number)
        if place < len(self.erased) and self.erased[place] == number:
            raise ValueError(f"example {number} was erased. Choose one that is there.")
        return number - place


def load_managed_learner(content: bytes) -> ManagedLearner:
    """Return what `ManagedLearner.to_bytes` kept."""
    header, arrays = unpack(content)
    note, read_only = header["note"], None
    try:
        learner = from_bytes(content)
    except RemovedFeatureError as error:
        read_only = ReadOnly(str(error).partition(" was ")[2], content)
        learner = from_bytes(pack(*without_window(header, arrays)))
    return ManagedLearner(
        note["name"],
        learner,
        list(note["erased"]),
        note["lessened"],
        past_described(note["past"]),
        axes_described(note["axes"]) if note["axes"] else None,
        note["changes"],
        note.get("notes", {}),
        read_only,
    )


def _columns(verdicts: Any) -> dict[str, list[Any]]:
    return {
        "label": verdicts.label.tolist(),
        "confidence": verdicts.confidence.tolist(),
        "outlier": verdicts.outlier.tolist(),
    }


def n_rows(event: Command) -> int:
    """Return how many examples an event brings."""
    return len(event.rows) if isinstance(event, Observe | Teach) else 0
