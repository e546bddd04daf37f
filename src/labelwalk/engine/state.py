"""The state of a learner: arrays and counters of cover, graph, solution and memory, and events."""

import operator
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from labelwalk._validation import is_number
from labelwalk.arrays import Floats, SmallInts
from labelwalk.kernels import counters as kernel_counters
from labelwalk.kernels import drift
from labelwalk.kernels.assign import MAX_GROUPS, OUTLIER_SLOT, Memory, Quarantine
from labelwalk.kernels.certificate import Readout
from labelwalk.kernels.compare import RowComparison
from labelwalk.kernels.counters import NEVER, NO_RECORD, NO_ROW, Counters, CountersArray
from labelwalk.kernels.cover import UNLABELLED, Vertices
from labelwalk.kernels.system import MAX_LISTED_NEIGHBOURS, System, relink
from labelwalk.similarity import euclidean
from labelwalk.solver import relaxation
from labelwalk.solver.linear_system import Graph

MAX_EVENTS = 64


class Before(NamedTuple):
    """Values from before the last labels were taught, so that these can be removed exactly."""

    before_bandwidth: Floats
    before_moments: Floats


class Field(NamedTuple):
    """Declaration of an array of the state.

    The letters of `shape` are the sizes of its dimensions: v vertices, q vertices + 1, f features,
    p features of a representative (0 if founders represent), c classes, b classes + 1, m remembered
    examples, g groups in quarantine, l listed neighbours; digits are themselves.
    """

    shape: str
    dtype: type = np.float64
    initial: float | tuple[float, ...] = 0
    stored: str | None = ""  # name in a model file, if another; None: computed when a file is read
    appended: bool = False  # a merge appends the values of the other learner's vertices


# A field may be renamed here and in its class; the stored name never changes.
FIELDS: dict[type, dict[str, Field]] = {
    Vertices: {
        "points": Field("fv", appended=True),
        "distance": Field("vv"),
        "means": Field("pv", appended=True),
        "mean_distances": Field("vv", stored="apart"),
        "bandwidth": Field("v", appended=True),
        "similarity_count": Field("v", np.int64, stored="drawn", appended=True),
        "examples": Field("v", np.int64, appended=True),
        "taught": Field("v", np.int64, appended=True),
        "decayed_count": Field("v", stored="fresh", appended=True),
        "reach": Field("v", appended=True),
        "label": Field("v", np.int32, appended=True),
        "founder": Field("v", np.int64, initial=NO_ROW),  # another learner has other numbers
    },
    System: {
        "w": Field("vv"),
        "v": Field("v", appended=True),
        "g": Field("v", appended=True),
        "d": Field("v"),
        "f": Field("bv", appended=True),
        "r": Field("bv"),
        "clamped": Field("v", np.bool_, appended=True),
        "component": Field("v", np.int32, stored=None),
        "has_label": Field("v", np.bool_, stored=None),
        "neighbours": Field("vl", np.uint32, stored=None),
        "similar": Field("vl", stored=None),
        "n_neighbours": Field("v", np.int32, stored=None),
        "largest": Field("v", stored=None),
        "residual_dirty": Field("v", np.bool_, stored=None),
        "bias": Field("b", initial=1),
        "drift": Field("2", initial=(0, 1)),
        "peak": Field("v"),
        "scratch": Field("v", stored=None),
        "limit": Field("v", stored=None),
        "queue": Field("q", np.int32, stored=None),
        "queued": Field("v", np.bool_, stored=None),
        "marked": Field("v", np.bool_, stored=None),
    },
    RowComparison: {
        "distances": Field("v", stored=None),
        "row_mean_distances": Field("v", stored=None),
        "similarities": Field("v", stored=None),
        "mean": Field("f", stored=None),
        "moments": Field("2f"),
    },
    Readout: {
        "vertex": Field("v", np.int32, stored=None),
        "share": Field("v", stored=None),
        "values": Field("c", stored=None),
    },
    Quarantine: {
        "held_points": Field("fg"),
        "held_count": Field("g", np.int64),
        "held_since": Field("g", np.int64),
        "held_room": Field("g", stored=None),
    },
    Memory: {
        "seen_rows": Field("mf"),
        "seen_vertex": Field("m", np.int32, initial=OUTLIER_SLOT),
        "seen_label": Field("m", np.int32, initial=UNLABELLED),
        "seen_number": Field("m", np.int64, initial=NO_ROW),
        "seen_first": Field("m", np.int64),
    },
    Before: {
        "before_bandwidth": Field("v"),
        "before_moments": Field("2f"),
    },
    drift.DriftWindow: {
        "frame": Field("2f"),
        "sums": Field("3f"),
        "level": Field("2f"),
        "noise": Field("2f"),
        "chance": Field("2f"),
        "latest": Field("2f"),
        "marks": Field("23", np.int64),
    },
}


def _keep_ours(ours: Any, theirs: Any) -> Any:
    return ours


def _earlier(ours: int, theirs: int) -> int:
    """Return the smaller number that is not 0, which means never."""
    return min((at for at in (ours, theirs) if at > 0), default=0)


class Counter(NamedTuple):
    """Declaration of a scalar of the state."""

    initial: float = 0
    on_merge: Callable[[Any, Any], Any] = _keep_ours
    stored: str = ""  # name in a model file, if another
    required: bool = True  # a file without it is rejected; else it has the initial value


SUM = Counter(on_merge=operator.add)
COUNTERS: dict[str, Counter] = {
    "n": SUM,
    "n_unlabelled": SUM,
    "n_absorbed": SUM._replace(stored="mass"),
    "n_seen": SUM,
    "n_outliers": SUM,
    "n_removed": SUM._replace(stored="n_gone"),
    "n_answer_only": SUM._replace(stored="n_barred"),
    "n_conflicts": Counter(),
    "n_pending": Counter(NO_RECORD),
    "n_held": Counter(),
    "n_moments": SUM,
    "n_founded": SUM,
    "total_weight": SUM._replace(stored="load"),
    "measure_at_seen": Counter(NEVER),
    "measure_at_founded": Counter(NEVER),
    "radius": Counter(on_merge=max),
    "mean_weight": Counter(1, stored="mu"),
    "sigma": Counter(),
    "width": Counter(1),
    "evenness": Counter(),
    "sharpness": Counter(1),
    "choose_at_seen": Counter(NEVER),
    "typical": Counter(),
    "balance_at_seen": Counter(),
    "forget_at": Counter(NEVER),
    "first_taught": Counter(on_merge=_earlier),
    "last_taught": Counter(on_merge=max),
    "judge_at_seen": Counter(drift.DRIFT_BLOCK_ROWS),
    "watched": Counter(),
    "blocks": Counter(),
    "usual": Counter(drift.INITIAL_DEPARTURE),
    "unsteady": Counter(drift.INITIAL_VARIANCE),
    "suspicion": Counter(),
    "alarm": Counter(),
    "alarm_at": Counter(),
    "stage": Counter(),
    "id": Counter(NO_ROW),
    "vertex": Counter(OUTLIER_SLOT),
}


class LoggedEvent(NamedTuple):
    """A health metric that crossed its limit."""

    at: int  # examples seen
    name: str
    ok: bool
    value: float
    limit: float


class EventLog:
    """The latest events, and the metrics that exceed their limits at present.

    Examples
    --------
    >>> log = EventLog()
    >>> for at, ok in enumerate([True, False, False, True]):
    ...     log.note(LoggedEvent(at, "sink", ok, 0.0, 0.5))
    >>> [event.at for event in log.events]
    [1, 3]
    """

    def __init__(self, events: Iterable[LoggedEvent] = (), failing: Iterable[str] = ()) -> None:
        self.events = deque(events, MAX_EVENTS)
        self.failing = set(failing)

    def note(self, event: LoggedEvent) -> None:
        """Append an event if its metric has crossed its limit since the last call."""
        if event.ok == (event.name in self.failing):
            self.failing ^= {event.name}
            self.events.append(event)

    def to_header(self) -> dict[str, Any]:
        """Return the log as JSON values; empty if there are no events."""
        if not self.events:
            return {}
        events = [list(event) for event in self.events]
        return {"events": {"log": events, "failing": sorted(self.failing)}}

    @classmethod
    def from_header(cls, header: dict[str, Any], names: Collection[str]) -> Self:
        """Return the log of these metrics in the header of a model file.

        Raises
        ------
        ValueError
        """
        stored = header.get("events", {"log": [], "failing": []})
        events = [LoggedEvent(*event) for event in stored["log"]]
        for at, name, ok, *numbers in events:
            if not (type(at) is int and name in names and type(ok) is bool):
                raise ValueError("its event log contains an invalid event")
            if not all(is_number(number) for number in numbers):
                raise ValueError("its event log contains a value that is not a number")
        if not set(stored["failing"]) <= set(names):
            raise ValueError("its event log contains unknown metrics")
        return cls(events, stored["failing"])


@dataclass
class State:
    """Arrays for up to `capacity` vertices, of which `n` are in use."""

    vertices: Vertices
    system: System
    comparison: RowComparison
    readout: Readout
    quarantine: Quarantine
    memory: Memory
    before: Before
    watch: drift.DriftWindow
    before_progress: CountersArray
    progress: CountersArray
    events: EventLog

    @property
    def counters(self) -> Counters:
        """The scalars of the state, which can be changed in place."""
        counters: Counters = self.progress[0]
        return counters

    @property
    def n(self) -> int:
        """Number of vertices."""
        return int(self.progress["n"][0])

    @property
    def capacity(self) -> int:
        """Number of vertices that the arrays can hold."""
        return len(self.vertices.examples)

    @property
    def n_features(self) -> int:
        """Number of features of an example."""
        return len(self.vertices.points)

    @property
    def n_classes(self) -> int:
        """Number of classes that the arrays can hold."""
        return len(self.system.f) - 1

    @property
    def graph(self) -> Graph:
        """The present graph of the vertices; its arrays are not copied."""
        return relaxation.graph_of(self.system, self.n)

    @property
    def representatives(self) -> Floats:
        """The points from which similarities are measured, (features, n): means or founders."""
        vertices = self.vertices
        return (vertices.means if len(vertices.means) else vertices.points)[:, : self.n]

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        arrays = [array for part in PARTS for array in getattr(self, part)]
        return sum(int(array.nbytes) for array in (*arrays, self.progress, self.before_progress))


PARTS = {part: kind for part, kind in State.__annotations__.items() if kind in FIELDS}


def create_state(
    capacity: int,
    n_features: int,
    n_classes: int,
    *,
    moving: bool = False,
    remember: int = 0,
) -> State:
    """Return a state without examples.

    Representatives are means or founders; `remember` is the capacity of the memory.
    """
    sizes = {"2": 2, "3": 3, "g": MAX_GROUPS, "l": MAX_LISTED_NEIGHBOURS, "m": remember}
    sizes |= {"v": capacity, "q": capacity + 1, "c": n_classes, "b": 1 + n_classes}
    sizes |= {"f": n_features, "p": n_features if moving else 0}
    parts: dict[str, Any] = {}
    for part, kind in PARTS.items():
        fields = FIELDS[kind].items()
        shapes = {name: [sizes[letter] for letter in field.shape] for name, field in fields}
        parts[part] = kind(**{name: _allocate(field, shapes[name]) for name, field in fields})
    parts["progress"] = np.zeros(1, dtype=kernel_counters.COUNTERS_DTYPE)
    parts["before_progress"] = parts["progress"].copy()
    for name, counter in COUNTERS.items():
        parts["progress"][name] = counter.initial
    return State(**parts, events=EventLog())


def _allocate(field: Field, shape: Iterable[int]) -> NDArray[Any]:
    return np.full(tuple(shape), field.initial, dtype=field.dtype)


def _map_arrays(state: State, change: Callable[[Field, NDArray[Any]], NDArray[Any]]) -> State:
    """Return a state with changed arrays; counters and events are shared."""
    parts: dict[str, Any] = {}
    for part, kind in PARTS.items():
        arrays = getattr(state, part)._asdict()
        fields = FIELDS[kind].items()
        parts[part] = kind(**{name: change(field, arrays[name]) for name, field in fields})
    return replace(state, **parts)


def resize(state: State, capacity: int, n_classes: int) -> State:
    """Return the same state with other capacities; arrays of the same size are shared."""
    sizes = {"v": capacity, "q": capacity + 1, "c": n_classes, "b": 1 + n_classes}

    def fit(field: Field, array: NDArray[Any]) -> NDArray[Any]:
        pairs = zip(field.shape, array.shape, strict=True)
        shape = tuple(sizes.get(letter, size) for letter, size in pairs)
        if shape == array.shape:
            return array
        new = _allocate(field, shape)
        shared = tuple(slice(min(pair)) for pair in zip(shape, array.shape, strict=True))
        new[shared] = array[shared]
        return new

    return _map_arrays(state, fit)


def recode_classes(state: State, codes: SmallInts, n_classes: int) -> State:
    """Return a copy in which class i has the code codes[i], of n_classes.

    A class with the code -1, which no vertex may have, is removed.
    """
    is_kept = codes >= 0

    def recode(field: Field, array: NDArray[Any]) -> NDArray[Any]:
        if not field.shape.startswith("b"):
            return array.copy()
        new = _allocate(field, (1 + n_classes, *array.shape[1:]))
        new[0], new[1 + codes[is_kept]] = array[0], array[1:][is_kept]
        return new

    copy = resize(_map_arrays(state, recode), state.capacity, n_classes)
    copy.progress, copy.before_progress = state.progress.copy(), state.before_progress.copy()
    copy.events = EventLog(state.events.events, state.events.failing)
    for label in (copy.vertices.label[: state.n], copy.memory.seen_label):
        label[label >= 0] = codes[label[label >= 0]]
    return copy


def _iterate_stored(state: State) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays and counters of a model file with their stored names."""
    for part, kind in PARTS.items():
        for name, field in FIELDS[kind].items():
            if field.stored is not None:
                yield field.stored or name, getattr(getattr(state, part), name)
    for name, counter in COUNTERS.items():
        yield f"here.{counter.stored or name}", state.progress[name]
        yield f"before.{counter.stored or name}", state.before_progress[name]


def to_arrays(state: State) -> dict[str, NDArray[Any]]:
    """Return copies of the arrays of the state, without unused capacity and derived values."""
    trimmed = resize(state, state.n, state.n_classes)
    return {name: array.copy() for name, array in _iterate_stored(trimmed)}


def from_arrays(arrays: dict[str, NDArray[Any]], n_classes: int) -> State:
    """Return the state from its arrays.

    Raises
    ------
    ValueError
        An array is missing, or its shape or type does not fit the others.
    """
    nothing = np.zeros(0)
    n, points = arrays.get("here.n", nothing), arrays.get("points", nothing)
    square, moments = arrays.get("w", nothing), arrays.get("moments", nothing)
    # before anything of that size is allocated
    counted = n.shape == (1,) and n.dtype == np.int64
    if not counted or square.shape != (n[0], n[0]) or moments.shape != (2, len(points)):
        raise ValueError("its arrays have inconsistent shapes")
    moving = len(arrays.get("means", nothing)) > 0
    remember = len(arrays.get("seen_rows", nothing))
    state = create_state(int(n[0]), len(points), n_classes, moving=moving, remember=remember)
    optional = {c.stored or name for name, c in COUNTERS.items() if not c.required}
    for name, target in _iterate_stored(state):
        source = arrays.get(name)
        if source is None and name.partition(".")[2] in optional:
            continue
        if source is None or source.shape != target.shape or source.dtype != target.dtype:
            raise ValueError(f"its array {name!r} is missing or has the wrong type or shape")
        target[...] = source
    relink(state.system, state.n)
    state.system.residual_dirty[:] = True
    return state


def merge_states(ours: State, theirs: State) -> State:
    """Return the union, our vertices first.

    The radius is the larger one. Similarities, degrees and residuals must be rebuilt afterwards.
    """
    n, m = ours.n, theirs.n
    both = _map_arrays(ours, lambda field, array: array.copy())
    both = replace(resize(both, n + m, theirs.n_classes), progress=ours.progress.copy())
    vertices, old, new = both.vertices, slice(0, n), slice(n, n + m)
    for part, kind in PARTS.items():
        for name, field in FIELDS[kind].items():
            if field.appended:
                source = getattr(getattr(theirs, part), name)
                getattr(getattr(both, part), name)[..., new] = source[..., :m]
    vertices.founder[new] = NO_ROW
    both_points = ours.vertices.points[:, :n], theirs.vertices.points[:, :m]
    for target, inner, (points, others) in (
        (vertices.distance, theirs.vertices.distance, both_points),
        (
            vertices.mean_distances,
            theirs.vertices.mean_distances,
            (ours.representatives, theirs.representatives),
        ),
    ):
        rows = np.ascontiguousarray(others.T)
        across = np.array([euclidean(x, rows) for x in points.T]).reshape(n, m)
        target[new, new] = inner[:m, :m]
        target[old, new] = across
        target[new, old] = across.T
    both.comparison.moments[:] = _pool_moments(ours, theirs)
    for name, counter in COUNTERS.items():
        both.counters[name] = counter.on_merge(ours.counters[name], theirs.counters[name])
    return both


def _pool_moments(ours: State, theirs: State) -> Floats:
    n, m = int(ours.counters.n_moments), int(theirs.counters.n_moments)
    mean, squares = ours.comparison.moments
    their_mean, their_squares = theirs.comparison.moments
    gap = their_mean - mean
    share = m / max(1, n + m)
    return np.stack([mean + share * gap, squares + their_squares + gap * gap * (n * share)])
