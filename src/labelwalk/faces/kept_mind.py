"""The learner of a recogniser, kept: what happens to it is on the disk before it is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.faces.minds import Seen
from labelwalk.learner import OnlineLearner
from labelwalk.service.commands import Adjust, Command, Observe, Retract, Teach, TeachLater
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import CommandResult

T = TypeVar("T")


class KeptMind:
    """A learner of a store; a `labelwalk.faces.minds.Mind`.

    Parameters
    ----------
    store : LearnerStore
    number : int
        Of the learner.
    """

    def __init__(self, store: LearnerStore, number: int) -> None:
        self._store, self._number = store, number

    @property
    def learner(self) -> OnlineLearner:
        """The learner, to glance at."""
        return self._store.get(self._number).learner

    @property
    def notes(self) -> Mapping[str, Any]:
        """What was noted so far."""
        return self._store.get(self._number).notes

    def teach(self, vectors: Floats, names: Sequence[str]) -> None:
        """Learn who is who."""
        self._change(Teach(vectors, tuple(names)))

    def observe(self, vectors: Floats) -> Seen:
        """Learn from vectors, and say who they are when all are learned."""
        told = self._change(Observe(vectors))
        said = self.ask(lambda learner: learner.predict(vectors))
        return Seen(said, np.arange(told.first, told.first + len(vectors)))

    def teach_later(self, example: int, name: str) -> None:
        """Learn who was seen."""
        self._change(TeachLater(example, name))

    def retract(self, example: int) -> None:
        """Take a name back."""
        self._change(Retract(example))

    def adjust(self, sink: float) -> None:
        """Go on with another sink."""
        self._change(Adjust({"sink": sink}))

    def note(self, notes: Mapping[str, Any]) -> None:
        """Keep something with the learner."""
        self._store.update_notes(self._number, dict(notes)).result()

    def ask(self, question: Callable[[OnlineLearner], T]) -> T:
        """Look the learner over, in the thread in which things happen to it."""
        answer = self._store.query(
            self._number, lambda managed: question(managed.learner), at_once=True
        )
        found: T = answer.result()
        return found

    def numbered(self, ids: Ints) -> Ints:
        """Return the numbers of what the learner calls examples."""
        return self._store.get(self._number).to_public_ids(ids)

    def _change(self, event: Command) -> CommandResult:
        told: CommandResult = self._store.submit(self._number, event).result()
        return told
