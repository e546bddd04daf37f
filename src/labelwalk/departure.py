"""Examples, labels and vertices leave; and labels without a trace, if nothing came after them."""

from __future__ import annotations

import numpy as np

from labelwalk import cover, memory, relaxation
from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.kernels.cover import UNKNOWN, UNLABELLED, let_go, measure_apart
from labelwalk.kernels.memory import GONE
from labelwalk.kernels.progress import NEVER, NO_RECORD, SPOILED
from labelwalk.state import State

# What labels may change beside the vertices they found.
RESTORED = (
    *("n_moments", "load", "measure_at_seen", "choose_at_seen"),
    *("sigma", "width", "evenness", "sharpness", "typical"),
)


def remove(now: State, gone: Ints) -> None:
    """Remove vertices with all they stand for; degrees and residuals are out of date then."""
    regrouping = cover.leave(now.vertices, now.here, gone)
    relaxation.keep(now.system, regrouping.kept, regrouping.heir)
    memory.follow(now.memory, regrouping.heir)
    if now.here.vertex >= 0:
        now.here.vertex = regrouping.heir[now.here.vertex]
    free = ~now.system.clamped[: now.n]
    now.here.load = float(now.system.v[: now.n][free].sum())


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
        now.here.n_gone += 1
        _let_go(now, i, np.array(x))
        kept.seen_vertex[places] = GONE


def _let_go(now: State, i: int, x: Floats) -> None:
    """Let x leave the mean of vertex i, and the distances to it too, if they were drawn with it."""
    vertices, before = now.vertices, now.vertices.means[:, i].copy()
    drawn_with_it = vertices.drawn[i] == vertices.examples[i]
    let_go(vertices, i, x)
    if drawn_with_it and np.any(vertices.means[:, i] != before):
        measure_apart(vertices, now.n, i, now.beside.mean, now.beside.distances)


def record(now: State) -> None:
    """Write down what labels that are taught next may change, unless that is written already."""
    if now.here.n_pending == NO_RECORD:
        n = now.n
        now.here.n_pending = 0
        now.before_progress[...] = now.progress
        now.before.before_bandwidth[:n] = now.vertices.bandwidth[:n]
        now.before.before_moments[...] = now.beside.moments


def drop_record(now: State) -> None:
    """Labels taught so far can no longer be taken back without a trace."""
    if now.here.n_pending != NO_RECORD:
        spoil(now)
        now.here.n_pending = NO_RECORD


def spoil(now: State) -> None:
    """Drop the record, and let there be no other until something is observed."""
    if now.here.n_pending >= 0:
        now.here.n_pending = SPOILED
        now.before_progress[...] = np.zeros(1, dtype=now.before_progress.dtype)
        now.before.before_bandwidth[:] = 0.0
        now.before.before_moments[:] = 0.0


def taught_when(now: State, number: int) -> int:
    """Return at which example an example was taught: its own number, or later."""
    return int(now.memory.seen_number[_taught_places(now, number)].max(initial=number))


def class_taught_since(now: State, code: int) -> int:
    """Return at which example the first label of a class was taught, of those not taken back."""
    mine = now.vertices.label[: now.n] == code
    founders: list[int] = now.vertices.founder[: now.n][mine].tolist()
    return min((taught_when(now, number) for number in founders), default=int(now.here.n_seen))


def taken_back(now: State, since: int, n_labels: int = 1) -> bool:
    """Count labels taught since some example as taken back.

    Return whether these are all since the record; what it holds is restored then.
    """
    here = now.here
    if here.n_pending < n_labels or since < now.before_progress[0].n_seen:
        drop_record(now)
        return False
    here.n_pending -= n_labels
    if here.n_pending > 0:
        return False
    before = now.before_progress[0]
    for name in RESTORED:
        here[name] = before[name]
    if here.measure_at_founded != NEVER:  # vertices that were founded stay counted
        here.measure_at_founded = before.measure_at_founded + here.n_founded - before.n_founded
    now.vertices.bandwidth[: now.n] = now.before.before_bandwidth[: now.n]
    now.beside.moments[:] = now.before.before_moments
    drop_record(now)
    return True
