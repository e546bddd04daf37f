"""Remembered examples, and removal of labels and vertices."""

import numpy as np

from labelwalk._validation import shown
from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.engine.cover import remove_from_cover
from labelwalk.engine.state import State
from labelwalk.kernels.assign import OUTLIER_SLOT, REMOVED, Memory
from labelwalk.kernels.counters import INVALID, NEVER, NO_RECORD, NO_ROW, Counters
from labelwalk.kernels.cover import UNLABELLED, measure_mean_distances, remove_example
from labelwalk.solver import relaxation


def check_exists(counters: Counters, number: int) -> None:
    """Raise a ValueError for the id of an example that does not exist yet."""
    if not 0 <= number < counters.n_seen:
        raise ValueError(
            f"example_id={shown(number)} is not an example of this learner, which has seen "
            f"{counters.n_seen}, numbered from 0. Pass an id from observe(X, ids=True)."
        )


def find_example(state: State, number: int) -> Floats:
    """Return a remembered example as a matrix with one row; raise ValueError if there is none."""
    check_exists(state.counters, number)
    memory = state.memory
    places = np.flatnonzero(memory.seen_number == number)
    if len(places) == 0:
        known = memory.seen_number[memory.seen_number != NO_ROW]
        kept = f"the oldest remembered id is {known.min()}" if len(known) else "no example is"
        raise ValueError(
            f"example_id={number} is not remembered: {kept}. Teach the example itself. A learner "
            f"remembers the last {len(memory.seen_vertex)} examples (its parameter remember), "
            "except those over the share of their source and those from before a merge."
        )
    return memory.seen_rows[places[:1]]


def clear_memory(memory: Memory, counters: Counters) -> None:
    """Forget all remembered examples."""
    counters.vertex = OUTLIER_SLOT
    memory.seen_vertex[:] = REMOVED
    memory.seen_label[:] = UNLABELLED
    memory.seen_number[:] = NO_ROW


def update_vertices_of_examples(memory: Memory, merged_into: Ints) -> None:
    """Update the vertex of every remembered example after vertices have changed."""
    counted = memory.seen_vertex >= 0
    memory.seen_vertex[counted] = merged_into[memory.seen_vertex[counted]]


def remove_vertices(state: State, removed: Ints) -> None:
    """Remove vertices with their examples; degrees and residuals must be rebuilt afterwards."""
    remap = remove_from_cover(state.vertices, state.counters, removed)
    relaxation.keep(state.system, remap.kept)
    update_vertices_of_examples(state.memory, remap.merged_into)
    if state.counters.vertex >= 0:
        state.counters.vertex = remap.merged_into[state.counters.vertex]
    free = ~state.system.clamped[: state.n]
    state.counters.total_weight = float(state.system.v[: state.n][free].sum())


def find_taught_vertex(state: State, number: int) -> int:
    """Return the labelled vertex that represents a taught example, or -1."""
    founded = np.flatnonzero(_is_labelled(state) & (state.vertices.founder[: state.n] == number))
    if len(founded):
        return int(founded[0])
    places = _find_taught(state, number)
    return int(state.memory.seen_vertex[places[0]]) if len(places) else -1


def _is_labelled(state: State) -> Bools:
    return np.asarray(state.vertices.label[: state.n] != UNLABELLED)


def _find_taught(state: State, number: int) -> Ints:
    """Return the index of a remembered example with its label, taught at once or later."""
    kept = state.memory
    return np.flatnonzero((kept.seen_first == number) & (kept.seen_label != UNLABELLED))


def remove_label(state: State, i: int, number: int) -> None:
    """Remove an example from labelled vertex i; with its last label, remove the vertex.

    Similarities, degrees and residuals must be rebuilt afterwards.
    """
    vertices, kept, places = state.vertices, state.memory, _find_taught(state, number)
    x = kept.seen_rows[places[0]] if len(places) else vertices.points[:, i]
    founders = vertices.founder[: state.n]
    founders[_is_labelled(state) & (founders == number)] = NO_ROW
    kept.seen_label[places] = UNLABELLED
    if vertices.taught[i] == 1:
        remove_vertices(state, np.array([i]))
    else:
        vertices.taught[i] -= 1
        state.counters.n_removed += 1
        _let_go(state, i, np.array(x))
        kept.seen_vertex[places] = REMOVED


def _let_go(state: State, i: int, x: Floats) -> None:
    """Remove x from the mean of vertex i, and from its distances if they were computed with x."""
    vertices, before = state.vertices, state.vertices.means[:, i].copy()
    drawn_with_it = vertices.similarity_count[i] == vertices.examples[i]
    remove_example(vertices, i, x)
    if drawn_with_it and np.any(vertices.means[:, i] != before):
        measure_mean_distances(
            vertices, state.n, i, state.comparison.mean, state.comparison.distances
        )


def find_taught_time(state: State, number: int) -> int:
    """Return the number of examples at which an example was taught: its own number, or later."""
    return int(state.memory.seen_number[_find_taught(state, number)].max(initial=number))


def find_class_start(state: State, code: int) -> int:
    """Return the example at which the first label of a class was taught and not retracted."""
    mine = state.vertices.label[: state.n] == code
    founders: list[int] = state.vertices.founder[: state.n][mine].tolist()
    return min(
        (find_taught_time(state, number) for number in founders), default=int(state.counters.n_seen)
    )


# What labels may change beside the vertices they found.
RESTORED = (
    *("n_moments", "total_weight", "measure_at_seen", "choose_at_seen"),
    *("sigma", "width", "evenness", "sharpness", "typical"),
)


def begin_undo(state: State) -> None:
    """Record the state that the next labels may change, unless it is already recorded."""
    if state.counters.n_pending == NO_RECORD:
        n = state.n
        state.counters.n_pending = 0
        state.before_progress[...] = state.progress
        state.before.before_bandwidth[:n] = state.vertices.bandwidth[:n]
        state.before.before_moments[...] = state.comparison.moments


def end_undo(state: State) -> None:
    """End the record: labels taught so far can no longer be removed exactly."""
    if state.counters.n_pending != NO_RECORD:
        invalidate_undo(state)
        state.counters.n_pending = NO_RECORD


def invalidate_undo(state: State) -> None:
    """Drop the record, and prevent another one until something is observed."""
    if state.counters.n_pending >= 0:
        state.counters.n_pending = INVALID
        state.before_progress[...] = np.zeros(1, dtype=state.before_progress.dtype)
        state.before.before_bandwidth[:] = 0.0
        state.before.before_moments[:] = 0.0


def roll_back(state: State, since: int, n_labels: int = 1) -> bool:
    """Count labels taught since an example as retracted.

    Return whether these are all labels since the record, which is restored in this case.
    """
    counters = state.counters
    if counters.n_pending < n_labels or since < state.before_progress[0].n_seen:
        end_undo(state)
        return False
    counters.n_pending -= n_labels
    if counters.n_pending > 0:
        return False
    before = state.before_progress[0]
    for name in RESTORED:
        counters[name] = before[name]
    if counters.measure_at_founded != NEVER:  # vertices that were founded stay counted
        counters.measure_at_founded = (
            before.measure_at_founded + counters.n_founded - before.n_founded
        )
    state.vertices.bandwidth[: state.n] = state.before.before_bandwidth[: state.n]
    state.comparison.moments[:] = state.before.before_moments
    end_undo(state)
    return True
