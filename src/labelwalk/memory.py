"""Which examples are still remembered, and what has become of them."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Ints, Record
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.memory import GONE, OUT, Memory
from labelwalk.parameters import shown


def empty(room: int, n_features: int) -> Memory:
    """Return a memory of nothing, with room for so many examples."""
    return Memory(
        seen_rows=np.zeros((room, n_features)),
        seen_vertex=np.full(room, OUT, dtype=np.int32),
        seen_label=np.full(room, UNLABELLED, dtype=np.int32),
        seen_first=np.zeros(room, dtype=np.int64),
    )


def oldest(memory: Memory, here: Record) -> int:
    """Return the number of the oldest example that is remembered."""
    return max(int(here.remembered_from), int(here.n_seen) - len(memory.seen_vertex))


def is_remembered(memory: Memory, here: Record, number: int) -> bool:
    """Say whether the example is still there."""
    return bool(oldest(memory, here) <= number < here.n_seen)


def check_exists(here: Record, number: int) -> None:
    """Refuse the number of an example that has not come yet."""
    if not 0 <= number < here.n_seen:
        raise ValueError(
            f"example_id={shown(number)} is no example of this learner, which has seen "
            f"{here.n_seen} of them, numbered from 0. Give one that observe(X, ids=True) returned."
        )


def place_of(memory: Memory, here: Record, number: int) -> int:
    """Return where an example lies.

    Raises
    ------
    ValueError
        It has not come yet, or is remembered no longer.
    """
    check_exists(here, number)
    if not is_remembered(memory, here, number):
        first = oldest(memory, here)
        kept = "none is" if first == here.n_seen else f"the oldest that is has the id {first}"
        raise ValueError(
            f"example_id={number} is not remembered: {kept}. Teach the example itself. A learner "
            f"remembers the last {len(memory.seen_vertex)} examples, as its parameter remember "
            "says, and none from before it was merged."
        )
    return number % len(memory.seen_vertex)


def numbers(memory: Memory, here: Record) -> Ints:
    """Return the numbers of all examples that are remembered, oldest first."""
    return np.arange(oldest(memory, here), int(here.n_seen), dtype=np.int64)


def forget(memory: Memory, here: Record) -> None:
    """Remember nothing that came before."""
    here.remembered_from = here.n_seen
    here.vertex = OUT
    memory.seen_vertex[:] = GONE
    memory.seen_label[:] = UNLABELLED


def follow(memory: Memory, heir: Ints) -> None:
    """Let every example be found at the vertex that stands for it now."""
    counted = memory.seen_vertex >= 0
    memory.seen_vertex[counted] = heir[memory.seen_vertex[counted]]
