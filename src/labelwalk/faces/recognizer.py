"""A face recogniser: four labelled faces of each person, and a stream to adapt to."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats
from labelwalk.faces.cliff import Survey, near_side, surveyed
from labelwalk.faces.known import Person, known
from labelwalk.faces.minds import AtHand, Mind, Seen
from labelwalk.faces.profiles import Profile
from labelwalk.faces.strangers import (
    Group,
    Numbers,
    Stranger,
    Unnamed,
    stranger_of,
    unnamed,
)
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.rows import as_rows
from labelwalk.verdicts import Verdicts

AUTOMATIC, STRANGERS = "automatic", "strangers"  # what is noted with the learner
FIRST = 64  # vectors before it looks over its vertices, and the fewest in between
SHARE = 8  # and an eighth of all that came so far


class CliffWarning(UserWarning):
    """The sink is so low that strangers would be given names."""


class FaceRecognizer:
    """Names vectors of faces, and adapts to them; strangers stay unnamed.

    A face is named where a walk over the graph of all faces so far ends at that name more often
    than not. How readily a walk gives up, the sink, decides between missing people and naming
    strangers; it is chosen from what the vertices show (`labelwalk.faces.cliff`), when 64 vectors
    have come and whenever an eighth more has, at least 64, so that it does not matter how they were
    chunked.

    Parameters
    ----------
    profile : Profile
        How vectors are compared: `PIXELS`, `VECTORS`, or one for vectors of your own.
    n_centroids : int
        The most vertices that are kept.
    sink : "auto" or float
        A number stays as it is.
    mind : Mind, optional
        One that was made for this profile and may know people already, with a sink of its own; a
        new one that is at hand where none is given.

    Examples
    --------
    >>> from labelwalk.faces.profiles import VECTORS
    >>> rng = np.random.default_rng(0)
    >>> def pictures(n, who):
    ...     return np.eye(128)[who] + 0.02 * rng.normal(size=(n, 128))
    >>> recognizer = FaceRecognizer(VECTORS)
    >>> recognizer.teach(pictures(4, who=0), ["ada"] * 4)
    >>> recognizer.observe(pictures(2, who=0)).verdicts.label.tolist()
    ['ada', 'ada']
    >>> recognizer.observe(pictures(20, who=1)).verdicts.label.tolist()[-1] is None
    True
    >>> [(one.number, one.examples) for one in recognizer.strangers()]
    [(1, 16)]
    """

    def __init__(
        self,
        profile: Profile,
        *,
        n_centroids: int = 500,
        sink: Literal["auto"] | float = "auto",
        mind: Mind | None = None,
    ) -> None:
        self.profile = profile
        self.mind: Mind = AtHand(profile.learner(n_centroids)) if mind is None else mind
        self._numbers = Numbers(self.mind.notes.get(STRANGERS))
        self._groups: dict[int, Group] = {}
        if mind is None and sink != "auto":
            self._keep_at(sink)

    @property
    def learner(self) -> OnlineLearner:
        """The learner, to glance at; it is changed through the recogniser alone."""
        return self.mind.learner

    @property
    def automatic(self) -> bool:
        """Whether it finds its sink by itself."""
        return bool(self.mind.notes.get(AUTOMATIC, True))

    @property
    def people(self) -> tuple[str, ...]:
        """All names, in the order in which they came."""
        return tuple(str(name) for name in self.learner.classes)

    @property
    def sink(self) -> float:
        """What it is now. Set it to a number to keep it there, or to "auto".

        A number on the far side of the cliff gives a `CliffWarning`.
        """
        return self.learner.settings.sink

    @sink.setter
    def sink(self, value: Literal["auto"] | float) -> None:
        if warning := self.set_sink(value):
            warnings.warn(warning, CliffWarning, stacklevel=2)

    def set_sink(self, value: Literal["auto"] | float) -> str | None:
        """Set the sink, and return a warning, if there is one, in place of giving it."""
        if value == "auto":
            self.mind.note({AUTOMATIC: True})
            self.mind.adjust(self.profile.sink)
            self._find_its_side()
            return None
        self._keep_at(value)
        found = self.survey()
        if found is None or found.cliff is None or value > found.cliff:
            return None
        return (
            f"sink={value:g} is at the cliff or beyond: from {found.cliff:.2g} on down, "
            f"strangers would be given names. {found.chosen:.2g} is on the near side."
        )

    def teach(self, vectors: ArrayLike, names: Iterable[str]) -> None:
        """Learn who is who."""
        self.mind.teach(as_rows(vectors, self.learner.n_features)[0], list(names))

    def observe(self, vectors: ArrayLike) -> Seen:
        """Learn from vectors in order, and say who each is as of its own step."""
        rows, _ = as_rows(vectors, self.learner.n_features)
        found: list[Seen] = []
        while len(rows):
            due = due_after(self.learner.n_seen)
            n = due - self.learner.n_seen
            found.append(self.mind.observe(rows[:n]))
            rows = rows[n:]
            if self.learner.n_seen == due and self.automatic:
                self._find_its_side()
        return _joined(found)

    def name(self, example: int, name: str) -> None:
        """Say who was seen, by the id that `observe` gave."""
        self.mind.teach_later(example, name)

    def retract(self, example: int) -> None:
        """Take a name back."""
        self.mind.retract(example)

    def known(self) -> list[Person]:
        """Return who has a name, how often each was seen, and in which views."""
        return self.mind.ask(lambda learner: [self._called(one) for one in known(learner)])

    def strangers(self) -> list[Stranger]:
        """Return who has no name yet, those seen most often first."""
        groups, alive = self.mind.ask(self._unnamed)
        founders = [group.founders.tolist() for group in groups]
        numbers = self._numbers.of(founders, alive.tolist())
        if not self._numbers.are_described(self.mind.notes.get(STRANGERS)):
            self.mind.note({STRANGERS: self._numbers.described()})
        self._groups = dict(zip(numbers, groups, strict=True))
        found = [stranger_of(*one) for one in self._groups.items()]
        return sorted(found, key=lambda one: (-one.examples, one.number))

    def stranger(self, vector: Floats) -> int | None:
        """Return the number of a stranger, among those that `strangers` returned last."""
        near = {
            number: self.profile.similarity(group.means, vector).max()
            for number, group in self._groups.items()
        }
        number = max(near, key=lambda one: near[one], default=None)
        return number if number is not None and near[number] >= self.profile.kin else None

    def survey(self) -> Survey | None:
        """Return what names would claim under other sinks, and where the cliff is."""
        return self.mind.ask(lambda learner: surveyed(learner, self.profile))

    def copied(self) -> FaceRecognizer:
        """Return another that knows the same people, at hand; its strangers are numbered anew."""
        mind = AtHand(from_bytes(self.mind.ask(lambda learner: learner.to_bytes())))
        mind.note({AUTOMATIC: self.automatic})
        return FaceRecognizer(self.profile, mind=mind)

    def _called(self, person: Person) -> Person:
        views = self.mind.numbered(np.array(person.views, dtype=np.int64))
        return replace(person, views=tuple(views.tolist()))

    def _unnamed(self, learner: OnlineLearner) -> Unnamed:
        """Return who has no name, called by numbers that stay."""
        groups, alive = unnamed(learner, self.profile)
        numbered = self.mind.numbered
        groups = [
            group._replace(
                founders=numbered(group.founders),
                newest=np.where(group.newest < 0, -1, numbered(group.newest)),
            )
            for group in groups
        ]
        return Unnamed(groups, numbered(alive))

    def _keep_at(self, sink: float) -> None:
        self.mind.adjust(sink)
        self.mind.note({AUTOMATIC: False})

    def _find_its_side(self) -> None:
        chosen = self.mind.ask(lambda learner: near_side(learner, self.profile))
        if chosen is not None and chosen != self.sink:
            self.mind.adjust(chosen)


def due_after(n: int) -> int:
    """Return after how many vectors the vertices are looked over next, when n have come.

    Examples
    --------
    >>> due_after(0), due_after(64), due_after(1000)
    (64, 128, 1037)
    """
    due = FIRST
    while due <= n:
        due += max(FIRST, due // SHARE)
    return due


def _joined(parts: list[Seen]) -> Seen:
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(Verdicts)]
    said = (np.concatenate([getattr(one.verdicts, name) for one in parts]) for name in names)
    return Seen(Verdicts(*said), np.concatenate([one.ids for one in parts]))
