"""The remembered examples, and the vertices that represent them."""

import numpy as np

from labelwalk._validation import shown
from labelwalk.arrays import Ints
from labelwalk.kernels.assign import OUTLIER_SLOT, REMOVED, Memory
from labelwalk.kernels.counters import NO_ROW, Counters
from labelwalk.kernels.cover import UNLABELLED


def create_memory(room: int, n_features: int) -> Memory:
    """Return an empty memory with the given capacity."""
    return Memory(
        seen_rows=np.zeros((room, n_features)),
        seen_vertex=np.full(room, OUTLIER_SLOT, dtype=np.int32),
        seen_label=np.full(room, UNLABELLED, dtype=np.int32),
        seen_number=np.full(room, NO_ROW, dtype=np.int64),
        seen_first=np.zeros(room, dtype=np.int64),
    )


def check_exists(counters: Counters, number: int) -> None:
    """Raise a ValueError for the id of an example that does not exist yet."""
    if not 0 <= number < counters.n_seen:
        raise ValueError(
            f"example_id={shown(number)} is not an example of this learner, which has seen "
            f"{counters.n_seen}, numbered from 0. Pass an id from observe(X, ids=True)."
        )


def find_place(memory: Memory, counters: Counters, number: int) -> int:
    """Return the index of a remembered example.

    Raises
    ------
    ValueError
        The example does not exist yet, or is no longer remembered.
    """
    check_exists(counters, number)
    places = np.flatnonzero(memory.seen_number == number)
    if len(places) == 0:
        known = memory.seen_number[memory.seen_number != NO_ROW]
        kept = f"the oldest that is has the id {known.min()}" if len(known) else "none is"
        raise ValueError(
            f"example_id={number} is not remembered: {kept}. Teach the example itself. A learner "
            f"remembers the last {len(memory.seen_vertex)} examples, as its parameter remember "
            "says, but none whose source had its share, and none from before it was merged."
        )
    return int(places[0])


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
