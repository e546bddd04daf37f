"""The examples a learner remembers, and those that wait, for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.engine.state import State
from labelwalk.kernels.counters import NO_ROW


@dataclass(frozen=True, slots=True)
class ExampleTable:
    """One row an example, oldest first.

    Attributes
    ----------
    id : array of n integers
        The number it came under first, by which it can be taught or taken back.
    row : array of shape (n, d)
        The example.
    vertex : array of n integers
        The place of the vertex that stands for it; negative where none does.
    label : array of n labels
        What it was taught; None where nothing was.
    """

    id: Ints
    row: Floats
    vertex: Ints
    label: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.id)


def example_table(state: State, classes: Sequence[Label]) -> ExampleTable:
    """Copy the examples that are remembered."""
    memory = state.memory
    known = np.flatnonzero(memory.seen_number != NO_ROW)
    known = known[np.argsort(memory.seen_number[known])]
    names = np.empty(len(classes) + 1, dtype=object)
    names[: len(classes)] = classes
    return ExampleTable(
        id=memory.seen_first[known],
        row=memory.seen_rows[known],
        vertex=memory.seen_vertex[known].astype(np.int64),
        label=names[memory.seen_label[known]],
    )


def newest(state: State) -> Ints:
    """Return the id of the newest remembered example of each vertex, -1 where there is none."""
    memory = state.memory
    held = np.flatnonzero((memory.seen_number != NO_ROW) & (memory.seen_vertex >= 0))
    held = held[np.argsort(memory.seen_number[held])]
    found: Ints = np.full(state.n, -1, dtype=np.int64)
    found[memory.seen_vertex[held]] = memory.seen_first[held]  # oldest first: the last one stays
    return found


def waiting(state: State) -> Floats:
    """Return the first example of each group in quarantine."""
    return state.quarantine.held_points[:, : int(state.counters.n_held)].T.copy()
