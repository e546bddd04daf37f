"""Examples, labels and vertices leave."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.engine import cover, memory
from labelwalk.engine.state import State
from labelwalk.kernels.assign import REMOVED
from labelwalk.kernels.cover import UNKNOWN, UNLABELLED, let_go, measure_apart
from labelwalk.solver import relaxation


def remove(now: State, gone: Ints) -> None:
    """Remove vertices with all they stand for; degrees and residuals are out of date then."""
    regrouping = cover.leave(now.vertices, now.counters, gone)
    relaxation.keep(now.system, regrouping.kept)
    memory.follow(now.memory, regrouping.heir)
    if now.counters.vertex >= 0:
        now.counters.vertex = regrouping.heir[now.counters.vertex]
    free = ~now.system.clamped[: now.n]
    now.counters.total_weight = float(now.system.v[: now.n][free].sum())


def taught_vertex(now: State, number: int) -> int:
    """Return the labelled vertex that stands for an example that was taught, or -1."""
    own = np.flatnonzero(_labelled(now) & (now.vertices.founder[: now.n] == number))
    if len(own):
        return int(own[0])
    places = _taught_places(now, number)
    return int(now.memory.seen_vertex[places[0]]) if len(places) else -1


def _labelled(now: State) -> Bools:
    return np.asarray(now.vertices.label[: now.n] != UNLABELLED)


def _taught_places(now: State, number: int) -> Ints:
    """Return where an example is remembered with a label: at once, or later."""
    kept = now.memory
    return np.flatnonzero((kept.seen_first == number) & (kept.seen_label != UNLABELLED))


def untell(now: State, i: int, number: int) -> None:
    """Let an example leave labelled vertex i; what the vertex took in goes with the last label.

    Similarities, degrees and residuals are out of date then.
    """
    vertices, kept, places = now.vertices, now.memory, _taught_places(now, number)
    x = kept.seen_rows[places[0]] if len(places) else vertices.points[:, i]
    known = vertices.founder[: now.n]
    known[_labelled(now) & (known == number)] = UNKNOWN
    kept.seen_label[places] = UNLABELLED
    if vertices.taught[i] == 1:
        remove(now, np.array([i]))
    else:
        vertices.taught[i] -= 1
        now.counters.n_removed += 1
        _let_go(now, i, np.array(x))
        kept.seen_vertex[places] = REMOVED


def _let_go(now: State, i: int, x: Floats) -> None:
    """Let x leave the mean of vertex i, and the distances to it too, if they were drawn with it."""
    vertices, before = now.vertices, now.vertices.means[:, i].copy()
    drawn_with_it = vertices.similarity_count[i] == vertices.examples[i]
    let_go(vertices, i, x)
    if drawn_with_it and np.any(vertices.means[:, i] != before):
        measure_apart(vertices, now.n, i, now.comparison.mean, now.comparison.distances)


def taught_when(now: State, number: int) -> int:
    """Return at which example an example was taught: its own number, or later."""
    return int(now.memory.seen_number[_taught_places(now, number)].max(initial=number))


def class_taught_since(now: State, code: int) -> int:
    """Return at which example the first label of a class was taught, of those not taken back."""
    mine = now.vertices.label[: now.n] == code
    founders: list[int] = now.vertices.founder[: now.n][mine].tolist()
    return min((taught_when(now, number) for number in founders), default=int(now.counters.n_seen))
