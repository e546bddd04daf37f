"""What to label next: the vertices whose labels would tell most, each with an example to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.engine import asking
from labelwalk.engine.state import State
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.system import STEPS, System
from labelwalk.similarity import euclidean


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
    now: State, settled: System, classes: Sequence[Label], n: int, by: str
) -> list[Question]:
    """Return at most n questions, the best first, none asking what another one asks.

    Vertices with an example to show come before all others.
    """
    f = np.ascontiguousarray(settled.f[STEPS + 1 :, : now.n].T)
    counts = now.vertices.examples[: now.n].astype(np.float64)
    places = _untold(now)
    holders = now.memory.seen_vertex[places]
    shown = np.isin(np.arange(now.n), holders)
    chosen = asking.choose(now.graph, f, counts, n, by, shown)
    bias = settled.bias[1:]
    return [_question(now, f[i], bias, classes, int(i), places[holders == i]) for i in chosen]


def _question(
    now: State, f: Floats, bias: Floats, classes: Sequence[Label], i: int, places: Ints
) -> Question:
    scores = f * bias
    best = int(np.argmax(scores)) if len(scores) and scores.max() > 0.0 else None
    vertices = now.vertices
    number = None
    example = np.array(now.representatives[:, i])
    if len(places):
        nearest = places[np.argmin(euclidean(example, now.memory.seen_rows[places]))]
        number = int(now.memory.seen_number[nearest])
        example = np.array(now.memory.seen_rows[nearest])
    return Question(
        example_id=number,
        example=example,
        vertex=i,
        count=int(vertices.examples[i]),
        guess=None if best is None else classes[best],
        confidence=0.0 if best is None else float(f[best]),
    )


def _untold(now: State) -> Ints:
    """Return where the examples lie that vertices stand for and no label was told of, in order."""
    kept = now.memory
    told = kept.seen_first[kept.seen_label != UNLABELLED]
    places = np.flatnonzero((kept.seen_vertex >= 0) & ~np.isin(kept.seen_number, told))
    return places[np.argsort(kept.seen_number[places])]
