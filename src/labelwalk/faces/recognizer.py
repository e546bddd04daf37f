"""Face recognition: from four labelled vectors of each person, adapting to the stream.

People have a name. Strangers are groups of similar unnamed vertices; they have a number.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar
from unicodedata import normalize

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from labelwalk._validation import as_rows
from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.concurrency import single_blas_thread
from labelwalk.errors import LabelwalkError
from labelwalk.faces.profiles import Profile, SinkSweep, choose_sink, sweep_sinks
from labelwalk.learner import OnlineLearner
from labelwalk.service.commands import Adjust, Command, Retract, Teach, TeachLater, apply_command
from labelwalk.verdicts import Verdicts

T = TypeVar("T")
ToIds = Callable[[Ints], Ints]  # from ids of a learner to permanent ones

UNKNOWN = "unknown"
NUMBERED = re.compile(rf"(?:{UNKNOWN}\s*)?#\s*([0-9]{{1,9}})", re.I)
MIN_STRANGER_EXAMPLES = 5  # smaller groups have no number
AUTOMATIC, STRANGERS = "automatic", "strangers"  # keys of the notes stored with the learner
MIN_SINK_INTERVAL = 64  # examples before the sink is chosen, and between two choices
MIN_STRANGER_INTERVAL, MAX_STRANGER_INTERVAL = 8, 64  # examples between two searches
GROWTH_DIVISOR = 8  # both intervals grow to an eighth of all examples


class UnknownPersonError(LabelwalkError, LookupError):
    """There is no person of that name or number, or no such picture."""


class CliffWarning(UserWarning):
    """The sink is so low that strangers would get names."""


@dataclass(frozen=True)
class Person:
    """A person with a name."""

    name: str
    taught: int  # number of views that were labelled
    examples: int  # approximate number of views
    views: tuple[int, ...]  # Ids of remembered examples, those that stand for most views first


@dataclass(frozen=True)
class Stranger:
    """A person without a name."""

    number: int  # counts from 1 and stays the same, as in "unknown #1"
    examples: int  # approximate number of views
    newest: int  # Id of the newest remembered example, which can be labelled; -1 if there is none
    views: tuple[int, ...]  # Ids of remembered examples, those that stand for most views first


class Group(NamedTuple):
    """Unnamed vertices of one person, oldest first."""

    means: Floats
    founders: Ints  # Id of the first example of each vertex
    n_examples: int
    views: tuple[int, ...]  # as those of a `Stranger`


class StrangerNumbers:
    """Keeps the numbers of strangers while their vertices are created, merged and removed."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        stored = stored or {"given": 0, "known": []}
        self._last = int(stored["given"])
        self._numbers = {int(founder): int(number) for founder, number in stored["known"]}

    def assign(self, groups: Sequence[Sequence[int]], alive: Iterable[int]) -> list[int]:
        """Return the number of each group of founders: its oldest one, or the next free one."""
        founders = set(alive)
        numbers = {founder: n for founder, n in self._numbers.items() if founder in founders}
        assigned: list[int] = []
        for group in groups:
            earlier = {self._numbers[founder] for founder in group if founder in self._numbers}
            earlier -= set(assigned)
            if not earlier:
                self._last += 1
            number = min(earlier, default=self._last)
            assigned.append(number)
            numbers.update(dict.fromkeys(group, number))
        self._numbers = numbers
        return assigned

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as a JSON object."""
        return {"given": self._last, "known": [list(pair) for pair in self._numbers.items()]}

    def are_stored_in(self, stored: Mapping[str, Any] | None) -> bool:
        """Return whether all strangers have their present numbers in the stored ones.

        This holds if there is no new number, and half of the founders of each group are left.
        """
        before = StrangerNumbers(stored)
        if before._last != self._last:
            return False
        total = Counter(before._numbers.values())
        remaining = Counter(n for f, n in before._numbers.items() if self._numbers.get(f) == n)
        return all(0 < total[n] <= 2 * remaining[n] for n in self._numbers.values())


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

    def apply(self, command: Command) -> None:
        """Execute a command."""
        apply_command(command, self.learner)

    def observe(self, vectors: Floats) -> Recognition:
        """Learn vectors without labels, and answer them."""
        return Recognition(*self.learner.observe(vectors, ids=True))

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
    named strangers. It is chosen from the vertices (`labelwalk.faces.profiles`) after 64 vectors
    and whenever an eighth more has arrived, at least 64, however they are split into calls.

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
            self.set_sink(sink)

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
        """The sink: set a number, or "auto". A number below the cliff gives a `CliffWarning`."""
        return self.learner.settings.sink

    @sink.setter
    def sink(self, value: Literal["auto"] | float) -> None:
        if warning := self.set_sink(value):
            warnings.warn(warning, CliffWarning, stacklevel=2)

    def set_sink(self, value: Literal["auto"] | float) -> str | None:
        """Set the sink, and return the text of a warning, if there is one."""
        self.handle.apply(Adjust({"sink": self.profile.sink if value == "auto" else value}))
        self.handle.note({AUTOMATIC: value == "auto"})
        if value == "auto":
            self._choose_sink()
            return None
        sweep = self.survey()
        if sweep is None or sweep.cliff is None or value > sweep.cliff:
            return None
        return (
            f"sink={value:g} is too low: at {sweep.cliff:.2g} and below, strangers would get "
            f"names. Choose {sweep.chosen:.2g} or more."
        )

    def teach(self, vectors: ArrayLike, names: Iterable[str]) -> None:
        """Learn labelled vectors."""
        rows, _ = as_rows(vectors, self.learner.n_features)
        self.handle.apply(Teach(rows, tuple(names)))

    def observe(self, vectors: ArrayLike) -> Recognition:
        """Learn vectors in order, and answer each as of its own step."""
        rows, _ = as_rows(vectors, self.learner.n_features)
        parts, next_choice = list[Recognition](), MIN_SINK_INTERVAL
        while len(rows):
            while next_choice <= self.learner.n_seen:
                next_choice += max(MIN_SINK_INTERVAL, next_choice // GROWTH_DIVISOR)
            n = next_choice - self.learner.n_seen
            parts.append(self.handle.observe(rows[:n]))
            rows = rows[n:]
            if self.learner.n_seen == next_choice and self.automatic:
                self._choose_sink()
        verdicts, ids = zip(*parts, strict=True)
        columns = (
            np.concatenate([getattr(part, name) for part in verdicts])
            for name in Verdicts.__slots__
        )
        return Recognition(Verdicts(*columns), np.concatenate(ids))

    def name(self, example: int, name: str) -> None:
        """Label a vector by the id that `observe` returned."""
        self.handle.apply(TeachLater(example, name))

    def retract(self, example: int) -> None:
        """Remove the label of an example."""
        self.handle.apply(Retract(example))

    def known(self) -> list[Person]:
        """Return all people with a name."""
        return self.handle.ask(lambda learner: list_people(learner, self.handle.to_ids))

    def strangers(self) -> list[Stranger]:
        """Return all strangers, those seen most often first."""
        groups, alive = self.handle.ask(
            lambda learner: (
                find_strangers(learner, self.profile, self.handle.to_ids),
                self.handle.to_ids(learner.vertices.founder),
            )
        )
        founders = [group.founders.tolist() for group in groups]
        numbers = self._numbers.assign(founders, alive.tolist())
        if not self._numbers.are_stored_in(self.handle.notes.get(STRANGERS)):
            self.handle.note({STRANGERS: self._numbers.to_json()})
        self._groups = dict(zip(numbers, groups, strict=True))
        strangers = [
            Stranger(number, group.n_examples, max(group.views, default=-1), group.views)
            for number, group in self._groups.items()
        ]
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

    def _choose_sink(self) -> None:
        sink = self.handle.ask(lambda learner: choose_sink(learner, self.profile))
        if sink is not None and sink != self.sink:
            self.handle.apply(Adjust({"sink": sink}))


def clean_name(name: str) -> str:
    """Return a name in Unicode normal form, without spaces around it."""
    name.encode()  # refuses half of a surrogate pair
    cleaned = normalize("NFC", name.strip())
    if not cleaned or not cleaned.isprintable():
        raise ValueError(f"name={name!r} cannot be displayed. Give another name.")
    if cleaned.lower() == UNKNOWN or parse_unknown(cleaned) is not None:
        raise ValueError(f"name={name!r} is reserved for strangers. Give another name.")
    return cleaned


def format_person(who: str | int | None) -> str:
    """Return a name, or the text for a stranger with or without a number."""
    if isinstance(who, str):
        return who
    return UNKNOWN if who is None else f"{UNKNOWN} #{who}"


def parse_unknown(text: str) -> int | None:
    """Return the number in the text for a stranger, with or without "unknown"; else None."""
    match = NUMBERED.fullmatch(text.strip())
    return None if match is None else int(match[1])


def list_people(learner: OnlineLearner, to_ids: ToIds) -> list[Person]:
    """Return all people with a name, in the order in which the names were first taught."""
    if not learner.classes:
        return []
    table, newest = learner.vertices, np.where(learner.newest < 0, -1, to_ids(learner.newest))
    is_taught = np.array([label is not None for label in table.label], dtype=bool)
    labels = np.where(is_taught, table.label, learner.predict(table.means).label)
    people = []
    for name in learner.classes:
        is_theirs = labels == name
        counts, n_taught = table.count[is_theirs], int(is_taught[is_theirs].sum())
        views = rank_views(newest[is_theirs], counts)
        people.append(Person(str(name), n_taught, int(counts.sum()), views))
    return people


def rank_views(newest: Ints, counts: Ints) -> tuple[int, ...]:
    """Return the newest examples of vertices, those that stand for most views first."""
    views = newest[np.argsort(-counts, kind="stable")]
    return tuple(dict.fromkeys(views[views >= 0].tolist()))


def find_strangers(learner: OnlineLearner, profile: Profile, to_ids: ToIds) -> list[Group]:
    """Return the groups of kin vertices without a name, oldest first."""
    table, newest = learner.vertices, np.where(learner.newest < 0, -1, to_ids(learner.newest))
    is_free = np.array([label is None for label in table.label], dtype=bool)
    if not is_free.any():
        return []
    labels = learner.predict(table.means).label
    nameless = np.flatnonzero(is_free & np.array([label is None for label in labels]))
    if not len(nameless):
        return []
    kinship = compute_kinship(table.means[nameless], profile)
    n, component = connected_components(kinship, directed=False)
    founders, groups = to_ids(table.founder), []
    for group in sorted((nameless[component == i] for i in range(n)), key=lambda group: group[0]):
        counts, n_examples = table.count[group], int(table.count[group].sum())
        if n_examples >= MIN_STRANGER_EXAMPLES:
            views = rank_views(newest[group], counts)
            groups.append(Group(table.means[group], founders[group], n_examples, views))
    return groups


def compute_kinship(vectors: Floats, profile: Profile) -> Bools:
    """Return which pairs of vectors show one person."""
    with single_blas_thread():
        products = vectors @ vectors.T
    squares = np.diag(products)
    squared_distances = squares[:, None] + squares - 2.0 * products
    kin: Bools = squared_distances <= -2.0 * profile.bandwidth**2 * np.log(profile.kin)
    return kin
