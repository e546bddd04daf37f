"""Where the learner of a recogniser lives: at hand, or with somebody who keeps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from labelwalk.arrays import Floats, Ints
from labelwalk.learner import OnlineLearner
from labelwalk.verdicts import Verdicts

T = TypeVar("T")


class Seen(NamedTuple):
    """What was said of some vectors.

    Attributes
    ----------
    verdicts : Verdicts
        The label is a name, or None for a stranger.
    ids : array of integers
        By which each can be named later.
    """

    verdicts: Verdicts
    ids: Ints


class Mind(Protocol):
    """A learner that is changed in one way alone, and looked over as a whole.

    Examples are called by numbers that stay theirs, whatever is erased.
    """

    @property
    def learner(self) -> OnlineLearner:
        """The learner, to glance at: its classes, its settings, how much it has seen."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """What was noted so far."""

    def teach(self, vectors: Floats, names: Sequence[str]) -> None:
        """Learn who is who."""

    def observe(self, vectors: Floats) -> Seen:
        """Learn from vectors, and say who they are."""

    def teach_later(self, example: int, name: str) -> None:
        """Learn who was seen."""

    def retract(self, example: int) -> None:
        """Take a name back."""

    def adjust(self, sink: float) -> None:
        """Go on with another sink."""

    def note(self, notes: Mapping[str, Any]) -> None:
        """Keep, with the learner, what JSON can hold."""

    def ask(self, question: Callable[[OnlineLearner], T]) -> T:
        """Look the learner over while nothing happens to it."""

    def numbered(self, ids: Ints) -> Ints:
        """Return the numbers of what the learner calls examples."""


class AtHand:
    """A learner of our own.

    Parameters
    ----------
    learner : OnlineLearner
    """

    def __init__(self, learner: OnlineLearner) -> None:
        self.learner = learner
        self.notes: dict[str, Any] = {}

    def teach(self, vectors: Floats, names: Sequence[str]) -> None:
        """Learn who is who."""
        self.learner.teach(vectors, names)

    def observe(self, vectors: Floats) -> Seen:
        """Learn from vectors, and say who they are."""
        return Seen(*self.learner.observe(vectors, ids=True))

    def teach_later(self, example: int, name: str) -> None:
        """Learn who was seen."""
        self.learner.teach_later(example, name)

    def retract(self, example: int) -> None:
        """Take a name back."""
        self.learner.retract(example)

    def adjust(self, sink: float) -> None:
        """Go on with another sink."""
        self.learner.adjust(sink=sink)

    def note(self, notes: Mapping[str, Any]) -> None:
        """Keep something with the learner."""
        self.notes |= notes

    def ask(self, question: Callable[[OnlineLearner], T]) -> T:
        """Look the learner over."""
        return question(self.learner)

    def numbered(self, ids: Ints) -> Ints:
        """Return the same: here numbers are what the learner calls examples."""
        return ids
