"""What to label next: the vertices whose labels would tell most, each with an example to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwalk import asking, memory
from labelwalk.arrays import Floats, Label
from labelwalk.graphs import Graph
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.system import STEPS, System
from labelwalk.similarity import euclidean
from labelwalk.state import State


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One vertex whose label would help.

    Attributes
    ----------
    example_id : int or None
        The id of the remembered example nearest to the vertex's representative, of those it stands
        for and that have no label yet, to be answered with `teach_later`; None where there is none.
    example : array
        That example, or else the representative, to be answered with `teach`.
    vertex : int
        The row of `learner.vertices`.
    count : int
        How many examples the vertex stands for.
    guess : str, int or None
        Its most probable class as things stand.
    confidence : float
        The probability of that class.
    """

    example_id: int | None
    example: Floats
    vertex: int
    count: int
    guess: Label | None
    confidence: float


def questions(
    now: State, graph: Graph, settled: System, classes: Sequence[Label], n: int, by: str
) -> list[Question]:
    """Return at most n questions, the best first, none asking what another one asks."""
    f = np.ascontiguousarray(settled.f[STEPS + 1 :, : now.n].T)
    counts = now.vertices.examples[: now.n].astype(np.float64)
    chosen = asking.choose(graph, f, counts, n, by)
    return [_question(now, f[i], settled.bias[1:], classes, int(i)) for i in chosen]


def _question(now: State, f: Floats, bias: Floats, classes: Sequence[Label], i: int) -> Question:
    scores = f * bias
    best = int(np.argmax(scores)) if len(scores) and scores.max() > 0.0 else None
    number, example = _nearest_example(now, i)
    return Question(
        example_id=number,
        example=example,
        vertex=i,
        count=int(now.vertices.examples[i]),
        guess=None if best is None else classes[best],
        confidence=0.0 if best is None else float(f[best]),
    )


def _nearest_example(now: State, i: int) -> tuple[int | None, Floats]:
    """Return the example of vertex i nearest to its representative, and its number if known."""
    vertices, kept = now.vertices, now.memory
    centre = np.array((vertices.means if len(vertices.means) else vertices.points)[:, i])
    numbers = memory.numbers(kept, now.here)
    places = numbers % max(len(kept.seen_vertex), 1)
    told = kept.seen_first[places[kept.seen_label[places] != UNLABELLED]]
    own = (kept.seen_vertex[places] == i) & ~np.isin(numbers, told)
    numbers, rows = numbers[own], kept.seen_rows[places[own]]
    if not len(numbers):
        return None, centre
    nearest = int(np.argmin(euclidean(centre, rows)))
    return int(numbers[nearest]), np.array(rows[nearest])
