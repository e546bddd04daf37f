"""Face recognition: from four labelled vectors of each person, adapting to the stream."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from labelwalk._validation import as_rows
from labelwalk.arrays import Floats, Ints
from labelwalk.faces.people import (
    Group,
    Person,
    Stranger,
    StrangerNumbers,
    find_strangers,
    list_people,
)
from labelwalk.faces.profiles import Profile
from labelwalk.faces.sink_selection import SinkSweep, choose_sink, sweep_sinks
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.verdicts import Verdicts

T = TypeVar("T")
AUTOMATIC, STRANGERS = "automatic", "strangers"  # keys of the notes stored with the learner
MIN_SINK_INTERVAL = 64  # examples before the sink is chosen, and between two choices
MIN_STRANGER_INTERVAL, MAX_STRANGER_INTERVAL = 8, 64  # examples between two searches
GROWTH_DIVISOR = 8  # both intervals grow to an eighth of all examples


class CliffWarning(UserWarning):
    """The sink is so low that strangers would get names."""


class Recognition(NamedTuple):
    """The answer for some vectors."""

    verdicts: Verdicts  # the label is a name, or None for a stranger
    ids: Ints  # Ids by which each vector can be labelled later


class LearnerHandle:
    """A learner of this process, which changes through these methods alone.

    Subclasses may store each change; ids of examples stay the same.
    """

    def __init__(self, learner: OnlineLearner) -> None:
        self._learner, self._notes = learner, dict[str, Any]()

    @property
    def learner(self) -> OnlineLearner:
        """The learner, to read its classes, settings and counts."""
        return self._learner

    @property
    def notes(self) -> Mapping[str, Any]:
        """JSON values stored with the learner."""
        return self._notes

    def teach(self, vectors: Floats, names: Sequence[str]) -> None:
        """Learn labelled vectors."""
        self.learner.teach(vectors, names)

    def observe(self, vectors: Floats) -> Recognition:
        """Learn vectors without labels, and answer them."""
        return Recognition(*self.learner.observe(vectors, ids=True))

    def teach_later(self, example: int, name: str) -> None:
        """Label an earlier vector."""
        self.learner.teach_later(example, name)

    def retract(self, example: int) -> None:
        """Remove the label of an example."""
        self.learner.retract(example)

    def adjust(self, sink: float) -> None:
        """Change the sink."""
        self.learner.adjust(sink=sink)

    def note(self, notes: Mapping[str, Any]) -> None:
        """Store JSON values with the learner."""
        self._notes |= notes

    def ask(self, question: Callable[[OnlineLearner], T]) -> T:
        """Call a function with the learner while nothing changes it."""
        return question(self.learner)

    def to_ids(self, examples: Ints) -> Ints:
        """Return the permanent ids of the learner's examples."""
        return examples


class FaceRecognizer:
    """Names vectors of faces and learns from them; strangers get no name.

    A face gets a name if more than half of the random walks over the graph of all faces end at that
    name. The sink, the chance that a walk stops at a vertex, decides between missed people and
    named strangers. It is chosen from the vertices (`labelwalk.faces.sink_selection`) after 64
    vectors and whenever an eighth more has arrived, at least 64, regardless of how they are split
    into calls.

    Parameters
    ----------
    profile : Profile
        How vectors are compared: `PIXELS`, `VECTORS`, or one for vectors of your own.
    n_centroids : int
        Maximum number of vertices.
    sink : "auto" or float
        A number stays fixed.
    handle : LearnerHandle, optional
        A learner made for this profile, which may know people already. The default is a new one.

    Examples
    --------
    >>> from labelwalk.faces.profiles import VECTORS
    >>> rng = np.random.default_rng(0)
    >>> def pictures(n, person):
    ...     return np.eye(128)[person] + 0.02 * rng.normal(size=(n, 128))
    >>> recognizer = FaceRecognizer(VECTORS)
    >>> recognizer.teach(pictures(4, person=0), ["ada"] * 4)
    >>> recognizer.observe(pictures(2, person=0)).verdicts.label.tolist()
    ['ada', 'ada']
    >>> recognizer.observe(pictures(20, person=1)).verdicts.label.tolist()[-1] is None
    True
    >>> [(stranger.number, stranger.examples) for stranger in recognizer.strangers()]
    [(1, 16)]
    """

    def __init__(
        self,
        profile: Profile,
        *,
        n_centroids: int = 500,
        sink: Literal["auto"] | float = "auto",
        handle: LearnerHandle | None = None,
    ) -> None:
        self.profile = profile
        self.handle = handle or LearnerHandle(profile.learner(n_centroids))
        self._numbers = StrangerNumbers(self.handle.notes.get(STRANGERS))
        self._groups: dict[int, Group] = {}
        self._n_numbered = 0
        if handle is None and sink != "auto":
            self._fix_sink(sink)

    @property
    def learner(self) -> OnlineLearner:
        """The learner; read it only."""
        return self.handle.learner

    @property
    def automatic(self) -> bool:
        """Whether the sink is chosen automatically."""
        return bool(self.handle.notes.get(AUTOMATIC, True))

    @property
    def people(self) -> tuple[str, ...]:
        """All names, in the order in which they were first taught."""
        return tuple(str(name) for name in self.learner.classes)

    @property
    def sink(self) -> float:
        """The sink. Set it to a number to fix it, or to "auto".

        A number below the cliff gives a `CliffWarning`.
        """
        return self.learner.settings.sink

    @sink.setter
    def sink(self, value: Literal["auto"] | float) -> None:
        if warning := self.set_sink(value):
            warnings.warn(warning, CliffWarning, stacklevel=2)

    def set_sink(self, value: Literal["auto"] | float) -> str | None:
        """Set the sink, and return the text of a warning, if there is one."""
        if value == "auto":
            self.handle.note({AUTOMATIC: True})
            self.handle.adjust(self.profile.sink)
            self._choose_sink()
            return None
        self._fix_sink(value)
        sweep = self.survey()
        if sweep is None or sweep.cliff is None or value > sweep.cliff:
            return None
        return (
            f"sink={value:g} is too low: at {sweep.cliff:.2g} and below, strangers would get "
            f"names. Choose {sweep.chosen:.2g} or more."
        )

    def teach(self, vectors: ArrayLike, names: Iterable[str]) -> None:
        """Learn labelled vectors."""
        self.handle.teach(as_rows(vectors, self.learner.n_features)[0], list(names))

    def observe(self, vectors: ArrayLike) -> Recognition:
        """Learn vectors in order, and answer each as of its own step."""
        rows, _ = as_rows(vectors, self.learner.n_features)
        parts: list[Recognition] = []
        while len(rows):
            next_choice = compute_next_choice(self.learner.n_seen)
            n = next_choice - self.learner.n_seen
            parts.append(self.handle.observe(rows[:n]))
            rows = rows[n:]
            if self.learner.n_seen == next_choice and self.automatic:
                self._choose_sink()
        return _concatenate(parts)

    def name(self, example: int, name: str) -> None:
        """Label a vector by the id that `observe` returned."""
        self.handle.teach_later(example, name)

    def retract(self, example: int) -> None:
        """Remove the label of an example."""
        self.handle.retract(example)

    def known(self) -> list[Person]:
        """Return all people with a name."""
        return self.handle.ask(
            lambda learner: [self._replace_ids(person) for person in list_people(learner)]
        )

    def strangers(self) -> list[Stranger]:
        """Return all strangers, those seen most often first."""
        groups, alive = self.handle.ask(self._find_strangers)
        founders = [group.founders.tolist() for group in groups]
        numbers = self._numbers.assign(founders, alive.tolist())
        if not self._numbers.are_stored_in(self.handle.notes.get(STRANGERS)):
            self.handle.note({STRANGERS: self._numbers.to_json()})
        self._groups = dict(zip(numbers, groups, strict=True))
        strangers = [group.describe(number) for number, group in self._groups.items()]
        return sorted(strangers, key=lambda stranger: (-stranger.examples, stranger.number))

    def number_strangers(self) -> None:
        """Call `strangers` if enough vectors arrived since the last call, or some were erased."""
        n, last = self.learner.n_seen, self._n_numbered
        interval = min(MAX_STRANGER_INTERVAL, max(MIN_STRANGER_INTERVAL, last // GROWTH_DIVISOR))
        if n < last or n >= last + interval:
            self._n_numbered = n
            self.strangers()

    def stranger(self, vector: Floats) -> int | None:
        """Return the number of a stranger among those that `strangers` last returned."""
        similarity = {
            number: self.profile.similarity(group.means, vector).max()
            for number, group in self._groups.items()
        }
        number = max(similarity, key=lambda number: similarity[number], default=None)
        return number if number is not None and similarity[number] >= self.profile.kin else None

    def survey(self) -> SinkSweep | None:
        """Return the shares that names would claim under other sinks, and the cliff."""
        return self.handle.ask(lambda learner: sweep_sinks(learner, self.profile))

    def copied(self) -> FaceRecognizer:
        """Return a local copy; it numbers strangers again from 1."""
        data = self.handle.ask(lambda learner: learner.to_bytes())
        handle = LearnerHandle(from_bytes(data))
        handle.note({AUTOMATIC: self.automatic})
        return FaceRecognizer(self.profile, handle=handle)

    def _replace_ids(self, person: Person) -> Person:
        views = self.handle.to_ids(np.array(person.views, dtype=np.int64))
        return replace(person, views=tuple(views.tolist()))

    def _find_strangers(self, learner: OnlineLearner) -> tuple[list[Group], Ints]:
        """Return the groups of strangers and the founders of all vertices, with permanent ids."""
        to_ids = self.handle.to_ids
        groups = [
            group._replace(
                founders=to_ids(group.founders),
                newest=np.where(group.newest < 0, -1, to_ids(group.newest)),
            )
            for group in find_strangers(learner, self.profile)
        ]
        return groups, to_ids(learner.vertices.founder)

    def _fix_sink(self, sink: float) -> None:
        self.handle.adjust(sink)
        self.handle.note({AUTOMATIC: False})

    def _choose_sink(self) -> None:
        sink = self.handle.ask(lambda learner: choose_sink(learner, self.profile))
        if sink is not None and sink != self.sink:
            self.handle.adjust(sink)


def compute_next_choice(n: int) -> int:
    """Return after how many vectors the sink is chosen next, when n have arrived."""
    due = MIN_SINK_INTERVAL
    while due <= n:
        due += max(MIN_SINK_INTERVAL, due // GROWTH_DIVISOR)
    return due


def _concatenate(parts: list[Recognition]) -> Recognition:
    if len(parts) == 1:
        return parts[0]
    names = Verdicts.__slots__
    columns = (np.concatenate([getattr(part.verdicts, name) for part in parts]) for name in names)
    return Recognition(Verdicts(*columns), np.concatenate([part.ids for part in parts]))
