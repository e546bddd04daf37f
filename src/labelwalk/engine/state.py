"""The state of a learner: arrays and counters of cover, graph, solution and memory."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats, SmallInts
from labelwalk.engine.cover import create_cover
from labelwalk.engine.event_log import EventLog
from labelwalk.engine.migration import create_removed_arrays
from labelwalk.engine.recent_examples import create_memory
from labelwalk.kernels.assign import MAX_GROUPS, Memory, Quarantine
from labelwalk.kernels.certificate import Readout
from labelwalk.kernels.compare import RowComparison
from labelwalk.kernels.counters import (
    COUNTERS_DTYPE,
    NEVER,
    NO_RECORD,
    NO_ROW,
    Counters,
    CountersArray,
)
from labelwalk.kernels.cover import Vertices
from labelwalk.kernels.drift import (
    DRIFT_BLOCK_ROWS,
    INITIAL_DEPARTURE,
    INITIAL_VARIANCE,
    DriftWindow,
)
from labelwalk.kernels.system import System, relink
from labelwalk.similarity import euclidean
from labelwalk.solver import relaxation
from labelwalk.solver.linear_system import Graph


class Before(NamedTuple):
    """Values from before the last labels were taught, so that these can be removed exactly."""

    before_bandwidth: Floats
    before_moments: Floats


Arrays = TypeVar("Arrays", Vertices, System, RowComparison, Quarantine, Before, DriftWindow)


def _map_names(unchanged: str, **renamed: str) -> dict[str, str]:
    return {name: name for name in unchanged.split()} | renamed


# The names of arrays and counters in a model file. A field may be renamed here and in its class;
# the stored name never changes. Arrays that are not listed are computed when a file is read.
STORED_ARRAYS = _map_names(
    """
    points distance means bandwidth examples taught reach label founder w v g d f r
    clamped bias drift peak moments held_points held_count held_since seen_rows
    seen_vertex seen_label seen_number seen_first before_bandwidth before_moments frame
    sums level noise chance latest marks
    """,
    mean_distances="apart",
    similarity_count="drawn",
    decayed_count="fresh",
)
STORED_COUNTERS = _map_names(
    """
    n n_unlabelled n_seen n_outliers n_conflicts n_pending n_held n_moments n_founded
    measure_at_seen measure_at_founded radius sigma width evenness sharpness
    choose_at_seen typical balance_at_seen forget_at first_taught last_taught
    judge_at_seen watched blocks usual unsteady suspicion alarm alarm_at stage id vertex
    """,
    n_absorbed="mass",
    n_removed="n_gone",
    n_answer_only="n_barred",
    total_weight="load",
    mean_weight="mu",
)


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
    before_progress: CountersArray
    watch: DriftWindow
    events: EventLog
    progress: CountersArray

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
        learned = (*self.vertices, *self.system, *self.quarantine, *self.memory, *self.before)
        create_drift_window = (*self.watch, self.progress, self.before_progress)
        room = (*self.comparison, *self.readout)
        return sum(int(array.nbytes) for array in (*learned, *create_drift_window, *room))


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
    progress = np.zeros(1, dtype=COUNTERS_DTYPE)
    counters = progress[0]
    counters.mean_weight = counters.width = counters.sharpness = 1.0
    counters.measure_at_seen = counters.measure_at_founded = counters.choose_at_seen = NEVER
    counters.forget_at = NEVER
    counters.vertex, counters.id = -1, NO_ROW
    counters.n_pending = NO_RECORD
    counters.judge_at_seen = DRIFT_BLOCK_ROWS
    counters.usual, counters.unsteady = INITIAL_DEPARTURE, INITIAL_VARIANCE
    comparison = RowComparison(
        distances=np.zeros(capacity),
        row_mean_distances=np.zeros(capacity),
        similarities=np.zeros(capacity),
        mean=np.zeros(n_features),
        moments=np.zeros((2, n_features)),
    )
    vertices = create_cover(capacity, n_features, moving=moving)
    system = relaxation.empty(capacity, n_classes)
    quarantine = Quarantine(
        held_points=np.zeros((n_features, MAX_GROUPS)),
        held_count=np.zeros(MAX_GROUPS, dtype=np.int64),
        held_since=np.zeros(MAX_GROUPS, dtype=np.int64),
        held_room=np.zeros(MAX_GROUPS),
    )
    before = Before(
        before_bandwidth=np.zeros(capacity),
        before_moments=np.zeros((2, n_features)),
    )
    return State(
        vertices,
        system,
        comparison,
        allocate_readout(capacity, n_classes),
        quarantine,
        create_memory(remember, n_features),
        before,
        np.zeros(1, dtype=COUNTERS_DTYPE),
        create_drift_window(n_features),
        EventLog(),
        progress,
    )


def create_drift_window(n_features: int) -> DriftWindow:
    """Return a drift window without examples."""
    return DriftWindow(
        frame=np.zeros((2, n_features)),
        sums=np.zeros((3, n_features)),
        level=np.zeros((2, n_features)),
        noise=np.zeros((2, n_features)),
        chance=np.zeros((2, n_features)),
        latest=np.zeros((2, n_features)),
        marks=np.zeros((2, 3), dtype=np.int64),
    )


def allocate_readout(capacity: int, n_classes: int) -> Readout:
    """Allocate arrays for an answer, which is an average over at most `capacity` vertices."""
    return Readout(
        vertex=np.zeros(capacity, dtype=np.int32),
        share=np.zeros(capacity),
        values=np.zeros(n_classes),
    )


def resize(state: State, capacity: int, n_classes: int) -> State:
    """Return the same state with other capacities for vertices and classes."""
    moving = len(state.vertices.means) > 0
    new = create_state(capacity, state.n_features, n_classes, moving=moving)
    return State(
        _copy_shared(new.vertices, state.vertices),
        _copy_shared(new.system, state.system),
        _copy_shared(new.comparison, state.comparison),
        new.readout,
        _copy_shared(new.quarantine, state.quarantine),
        state.memory,
        _copy_shared(new.before, state.before),
        state.before_progress,
        _copy_shared(new.watch, state.watch),
        state.events,
        state.progress,
    )


def with_class_capacity(state: State, n_classes: int) -> State:
    """Return the same state with another capacity for classes; most arrays are shared."""
    least = 1 + min(n_classes, state.n_classes)
    f, r = np.zeros((2, 1 + n_classes, state.capacity))
    bias, system = np.ones(1 + n_classes), state.system
    for target, source in ((f, system.f), (r, system.r), (bias, system.bias)):
        target[:least] = source[:least]
    return replace(
        state,
        system=system._replace(f=f, r=r, bias=bias),
        readout=allocate_readout(state.capacity, n_classes),
    )


def _copy_shared(new: Arrays, old: Arrays) -> Arrays:
    pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(new, old, strict=True)
    for target, source in pairs:
        shared = tuple(slice(min(a, b)) for a, b in zip(target.shape, source.shape, strict=True))
        target[shared] = source[shared]
    return new


def to_arrays(state: State) -> dict[str, NDArray[Any]]:
    """Return the arrays of the state, without unused capacity and derived values."""
    trimmed = resize(state, state.n, state.n_classes)
    arrays = {
        STORED_ARRAYS[field]: array
        for part in _list_parts(trimmed)
        for field, array in part._asdict().items()
        if field in STORED_ARRAYS
    }
    for field, name in STORED_COUNTERS.items():
        arrays[f"here.{name}"] = state.progress[field]
        arrays[f"before.{name}"] = state.before_progress[field]
    return arrays | create_removed_arrays(state.n)


def _list_parts(state: State) -> tuple[NamedTuple, ...]:
    learned = (state.vertices, state.system, state.comparison, state.quarantine)
    return (*learned, state.memory, state.before, state.watch)


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
    for part in _list_parts(state):
        for field, target in part._asdict().items():
            if field in STORED_ARRAYS:
                _copy(STORED_ARRAYS[field], arrays, target)
    for field, name in STORED_COUNTERS.items():
        _copy(f"here.{name}", arrays, state.progress[field])
        _copy(f"before.{name}", arrays, state.before_progress[field])
    relink(state.system, state.n)
    state.system.residual_dirty[:] = True
    return state


def _copy(name: str, arrays: dict[str, NDArray[Any]], target: NDArray[Any]) -> None:
    source = arrays.get(name)
    if source is None or source.shape != target.shape or source.dtype != target.dtype:
        raise ValueError(f"its array {name!r} is missing or has the wrong type or shape")
    target[...] = source


def without_class(state: State, code: int) -> State:
    """Return the state without a class that no vertex has any more."""
    new = resize(state, state.capacity, state.n_classes - 1)
    pairs = ((new.system.f, state.system.f), (new.system.r, state.system.r))
    for target, source in (*pairs, (new.system.bias, state.system.bias)):
        target[...] = np.delete(source, 1 + code, axis=0)
    for labels in (new.vertices.label, new.memory.seen_label):
        labels[labels > code] -= 1
    return new


def recode_classes(state: State, codes: SmallInts, n_classes: int) -> State:
    """Return a copy in which class i has the code codes[i], of n_classes."""
    copy = resize(state, state.capacity, n_classes)
    copy.progress, copy.before_progress = state.progress.copy(), state.before_progress.copy()
    copy.events = state.events.copy()
    copy.memory = Memory._make(array.copy() for array in state.memory)
    for label in (copy.vertices.label[: state.n], copy.memory.seen_label):
        label[label >= 0] = codes[label[label >= 0]]
    for target, source in ((copy.system.f, state.system.f), (copy.system.r, state.system.r)):
        target[1:] = 0.0
        target[1 + codes] = source[1:]
    copy.system.bias[1 + codes] = state.system.bias[1:]
    return copy


def merge_states(ours: State, theirs: State) -> State:
    """Return the union, our vertices first.

    The radius is the larger one. Similarities, degrees and residuals must be rebuilt afterwards.
    """
    n, m = ours.n, theirs.n
    both = resize(ours, n + m, theirs.n_classes)
    both.progress = ours.progress.copy()
    vertices, system = both.vertices, both.system
    old, new = slice(0, n), slice(n, n + m)
    vertices.points[:, new] = theirs.vertices.points[:, :m]
    vertices.means[:, new] = theirs.vertices.means[:, :m]
    system.f[:, new] = theirs.system.f[:, :m]
    for target, source in (
        (vertices.examples, theirs.vertices.examples),
        (vertices.taught, theirs.vertices.taught),
        (vertices.decayed_count, theirs.vertices.decayed_count),
        (vertices.reach, theirs.vertices.reach),
        (vertices.bandwidth, theirs.vertices.bandwidth),
        (vertices.similarity_count, theirs.vertices.similarity_count),
        (vertices.label, theirs.vertices.label),
        (system.g, theirs.system.g),
        (system.clamped, theirs.system.clamped),
    ):
        target[new] = source[:m]
    system.v[new] = theirs.system.v[:m]
    vertices.founder[new] = NO_ROW  # their examples have numbers of their own
    distances = _measure_across(ours.vertices.points[:, :n], theirs.vertices.points[:, :m])
    apart = distances
    if len(vertices.means):
        apart = _measure_across(ours.vertices.means[:, :n], theirs.vertices.means[:, :m])
    for target, inner, across in (
        (vertices.distance, theirs.vertices.distance, distances),
        (vertices.mean_distances, theirs.vertices.mean_distances, apart),
    ):
        target[new, new] = inner[:m, :m]
        target[old, new] = across
        target[new, old] = across.T
    both.comparison.moments[:] = _pool_moments(ours, theirs)
    counters, their_counters = both.counters, theirs.counters
    counts = (
        "n",
        "n_unlabelled",
        "n_absorbed",
        "n_seen",
        "n_outliers",
        "n_removed",
        "n_answer_only",
    )
    for name in (*counts, "n_founded", "n_moments", "total_weight"):
        counters[name] += their_counters[name]
    counters.radius = max(counters.radius, their_counters.radius)
    counters.last_taught = max(counters.last_taught, their_counters.last_taught)
    taught = [first for first in (counters.first_taught, their_counters.first_taught) if first > 0]
    counters.first_taught = min(taught, default=0)
    return both


def _measure_across(points: Floats, others: Floats) -> Floats:
    """Return the distances between the columns of two matrices."""
    rows = np.ascontiguousarray(others.T)
    return np.array([euclidean(x, rows) for x in points.T]).reshape(points.shape[1], len(rows))


def _pool_moments(ours: State, theirs: State) -> Floats:
    n, m = int(ours.counters.n_moments), int(theirs.counters.n_moments)
    (mean, squares), (their_mean, their_squares) = (
        ours.comparison.moments,
        theirs.comparison.moments,
    )
    gap = their_mean - mean
    share = m / max(1, n + m)
    return np.stack([mean + share * gap, squares + their_squares + gap * gap * (n * share)])
