"""The oldest examples of a window leave their vertices, and reach comes down with them."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Record
from labelwalk.kernels.cover import UNLABELLED, Vertices, let_go
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.memory import GONE, Memory, age


@compiled
def leave_window(memory: Memory, vertices: Vertices, here: Record, end: int) -> None:
    """Let the first `end` examples go, if unlabelled; a vertex may be left with none."""
    room = memory.seen_vertex.shape[0]
    for turn in range(here.n_forgotten, end):
        place = turn % room
        i = memory.seen_vertex[place]
        if i < 0 or memory.seen_label[place] != UNLABELLED:
            continue
        memory.seen_vertex[place] = GONE
        here.n_gone += 1
        if vertices.examples[i] > 1:
            let_go(vertices, i, memory.seen_rows[place])
        else:
            vertices.examples[i] = 0
    here.n_forgotten = end


@compiled
def measure_reach(memory: Memory, vertices: Vertices, here: Record) -> None:
    """Set reach to what it is, since all that an unlabelled vertex stands for is remembered.

    But for the vertex of the current row, which is not remembered yet.
    """
    room = memory.seen_vertex.shape[0]
    for i in range(here.n):
        if vertices.label[i] == UNLABELLED and i != here.vertex:
            vertices.reach[i] = 0.0
    for turn in range(here.n_forgotten, age(here) - 1):
        place = turn % room
        i = memory.seen_vertex[place]
        if i >= 0 and vertices.label[i] == UNLABELLED:
            square = 0.0
            for p in range(vertices.points.shape[0]):
                gap = vertices.points[p, i] - memory.seen_rows[place, p]
                square += gap * gap
            vertices.reach[i] = max(vertices.reach[i], np.sqrt(square))
