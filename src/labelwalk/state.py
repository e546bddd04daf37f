"""All that a learner remembers: the arrays of the cover and of the system, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelwalk import cover, relaxation
from labelwalk.arrays import Record
from labelwalk.kernels.comparison import Comparison
from labelwalk.kernels.cover import Vertices
from labelwalk.kernels.links import relink
from labelwalk.kernels.progress import NEVER, PROGRESS
from labelwalk.kernels.quarantine import ROOM, Quarantine
from labelwalk.kernels.settle import Reading
from labelwalk.kernels.system import System

Arrays = TypeVar("Arrays", Vertices, System, Comparison, Quarantine)

# Recomputed from the rest when a state is read back, or of no meaning between calls.
DERIVED = {
    *("component", "lit", "neighbours", "similar", "n_neighbours", "largest", "stirred"),
    *("scratch", "limit", "queue", "queued", "touched"),
    *("distances", "apart_row", "similarities", "mean", "held_room"),
}


@dataclass
class State:
    """Arrays with room for `capacity` vertices, of which `n` are in use."""

    vertices: Vertices
    system: System
    beside: Comparison
    reading: Reading
    quarantine: Quarantine
    progress: Record

    @property
    def here(self) -> Record:
        """The record of where the stream stands."""
        return self.progress[0]

    @property
    def n(self) -> int:
        """How many vertices there are."""
        return int(self.progress["n"][0])

    @property
    def capacity(self) -> int:
        """How many vertices there is room for."""
        return len(self.vertices.examples)

    @property
    def n_features(self) -> int:
        """How many numbers make an example."""
        return len(self.vertices.points)

    @property
    def n_classes(self) -> int:
        """How many classes there is room for."""
        return len(self.system.f) - 1

    @property
    def nbytes(self) -> int:
        """Memory taken by all arrays."""
        parts = (*self.vertices, *self.system, *self.beside, *self.reading, *self.quarantine)
        return sum(int(array.nbytes) for array in (*parts, self.progress))


def empty(capacity: int, n_features: int, n_classes: int, *, moving: bool = False) -> State:
    """Return a state that has seen nothing; representatives are moving or stay the founders."""
    progress = np.zeros(1, dtype=PROGRESS)
    here = progress[0]
    here.mu = here.width = here.sharpness = 1.0
    here.measure_at_seen = here.measure_at_founded = here.choose_at_seen = NEVER
    here.vertex = -1
    beside = Comparison(
        distances=np.zeros(capacity),
        apart_row=np.zeros(capacity),
        similarities=np.zeros(capacity),
        mean=np.zeros(n_features),
        moments=np.zeros((2, n_features)),
    )
    vertices = cover.empty(capacity, n_features, moving=moving)
    system = relaxation.empty(capacity, n_classes)
    quarantine = Quarantine(
        held_points=np.zeros((n_features, ROOM)),
        held_count=np.zeros(ROOM, dtype=np.int64),
        held_since=np.zeros(ROOM, dtype=np.int64),
        held_room=np.zeros(ROOM),
    )
    reading = reading_room(capacity, n_classes)
    return State(vertices, system, beside, reading, quarantine, progress)


def reading_room(capacity: int, n_classes: int) -> Reading:
    """Return room for an answer that is an average over at most so many vertices."""
    return Reading(
        vertex=np.zeros(capacity, dtype=np.int32),
        share=np.zeros(capacity),
        values=np.zeros(n_classes),
    )


def resized(state: State, capacity: int, n_classes: int) -> State:
    """Return the same state with room for other numbers of vertices and classes."""
    moving = len(state.vertices.means) > 0
    new = empty(capacity, state.n_features, n_classes, moving=moving)
    return State(
        _filled(new.vertices, state.vertices),
        _filled(new.system, state.system),
        _filled(new.beside, state.beside),
        new.reading,
        _filled(new.quarantine, state.quarantine),
        state.progress,
    )


def _filled(new: Arrays, old: Arrays) -> Arrays:
    pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(new, old, strict=True)
    for target, source in pairs:
        shared = tuple(slice(min(a, b)) for a, b in zip(target.shape, source.shape, strict=True))
        target[shared] = source[shared]
    return new


def to_arrays(state: State) -> dict[str, NDArray[Any]]:
    """Return the arrays that make the state, without spare room and without what is derived."""
    trimmed = resized(state, state.n, state.n_classes)
    parts = (trimmed.vertices, trimmed.system, trimmed.beside, trimmed.quarantine)
    arrays = {
        name: array
        for part in parts
        for name, array in part._asdict().items()
        if name not in DERIVED
    }
    return arrays | {f"here.{name}": state.progress[name] for name in PROGRESS.names or ()}


def from_arrays(arrays: dict[str, NDArray[Any]], n_classes: int) -> State:
    """Return the state whose arrays these are.

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
        raise ValueError("its arrays do not fit together")
    moving = len(arrays.get("means", nothing)) > 0
    state = empty(int(n[0]), len(points), n_classes, moving=moving)
    for part in (state.vertices, state.system, state.beside, state.quarantine):
        for name, target in part._asdict().items():
            if name not in DERIVED:
                _copy(name, arrays, target)
    for name in PROGRESS.names or ():
        _copy(f"here.{name}", arrays, state.progress[name])
    relink(state.system, state.n)
    state.system.stirred[:] = True
    return state


def _copy(name: str, arrays: dict[str, NDArray[Any]], target: NDArray[Any]) -> None:
    source = arrays.get(name)
    if source is None or source.shape != target.shape or source.dtype != target.dtype:
        raise ValueError(f"its array {name!r} is missing or does not fit")
    target[...] = source
