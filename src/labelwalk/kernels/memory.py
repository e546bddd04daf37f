"""The last examples, as they came: what was seen can still be taught, taken back or asked about."""

from __future__ import annotations

from typing import NamedTuple

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.progress import Counters

OUTLIER_SLOT, REMOVED = -1, -2  # in place of a vertex: kept out as an outlier, or no longer counted


class Memory(NamedTuple):
    """A ring: the example that came after i others, the barred not counted, lies at i modulo room.

    A source that has its share cannot flood it.
    """

    seen_rows: Floats  # (room, features)
    seen_vertex: SmallInts  # which vertex stands for it, or OUT, or GONE
    seen_label: SmallInts  # its class if it was taught, else UNLABELLED
    seen_number: Ints  # its number, or NO_ROW
    seen_first: Ints  # the same; where it was taught late, that under which it came first


@compiled
def age(counters: Counters) -> int:
    """Return how many examples have come for which time passes: all but the barred."""
    return counters.n_seen - counters.n_answer_only


@compiled
def remember(memory: Memory, counters: Counters, x: Floats, label: int, vertex: int) -> None:
    """Keep the row in hand, in place of the oldest."""
    room = memory.seen_vertex.shape[0]
    if room == 0:
        return
    place = (age(counters) - 1) % room
    for p in range(x.shape[0]):
        memory.seen_rows[place, p] = x[p]
    memory.seen_vertex[place] = vertex
    memory.seen_label[place] = label
    memory.seen_number[place] = counters.n_seen - 1
    memory.seen_first[place] = counters.id
