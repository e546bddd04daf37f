"""Which examples are still remembered, and what has become of them."""

from __future__ import annotations

import numpy as np

from labelwalk._validation import shown
from labelwalk.arrays import Ints
from labelwalk.kernels.assign import OUTLIER_SLOT, REMOVED, Memory
from labelwalk.kernels.counters import NO_ROW, Counters
from labelwalk.kernels.cover import UNLABELLED


def create_memory(room: int, n_features: int) -> Memory:
    """Return a memory of nothing, with room for so many examples."""
    return Memory(
        seen_rows=np.zeros((room, n_features)),
        seen_vertex=np.full(room, OUTLIER_SLOT, dtype=np.int32),
        seen_label=np.full(room, UNLABELLED, dtype=np.int32),
        seen_number=np.full(room, NO_ROW, dtype=np.int64),
        seen_first=np.zeros(room, dtype=np.int64),
    )


def check_exists(counters: Counters, number: int) -> None:
    """Refuse the number of an example that has not come yet."""
    if not 0 <= number < counters.n_seen:
        raise ValueError(
            f"example_id={shown(number)} is no example of this learner, which has seen "
            f"{counters.n_seen} of them, numbered from 0. Give one that observe(X, ids=True) "
            "returned."
        )


def find_place(memory: Memory, counters: Counters, number: int) -> int:
    """Return where an example lies.

    Raises
    ------
    ValueError
        It has not come yet, or is remembered no longer.
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
    """Remember nothing that came before."""
    counters.vertex = OUTLIER_SLOT
    memory.seen_vertex[:] = REMOVED
    memory.seen_label[:] = UNLABELLED
    memory.seen_number[:] = NO_ROW


def update_vertices_of_examples(memory: Memory, merged_into: Ints) -> None:
    """Let every example be found at the vertex that stands for it now."""
    counted = memory.seen_vertex >= 0
    memory.seen_vertex[counted] = merged_into[memory.seen_vertex[counted]]
