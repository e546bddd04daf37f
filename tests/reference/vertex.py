"""A vertex of the quantized graph, and how two of them become one (section 3.2)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

Point = tuple[float, ...]


@dataclass(eq=False)
class Vertex:
    """A centroid ``c_i`` of Figure 1, with every example it stands for; unlabelled: label None."""

    point: Point
    age: int
    label: Hashable | None = None
    count: int = 1
    reach: float = 0.0
    members: list[Point] = field(default_factory=list)
    merged_into: Vertex | None = None


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    """Euclidean distance, summed over the features in order."""
    total = 0.0
    for p, q in zip(a, b, strict=True):
        total += (p - q) * (p - q)
    return math.sqrt(total)


def nearest(x: Point, vertices: Iterable[Vertex]) -> Vertex | None:
    """Return the vertex nearest to x, the older one of two equally near."""
    return min(vertices, key=lambda v: (distance(x, v.point), v.age), default=None)


def add_example(vertex: Vertex, x: Point) -> None:
    """Let the vertex stand for x too: ``v_t(i) <- v_t(i) + 1`` in Figure 1."""
    vertex.count += 1
    vertex.reach = max(vertex.reach, distance(vertex.point, x))
    vertex.members.append(x)


def join(kept: Vertex, gone: Vertex) -> None:
    """Let ``gone`` join ``kept``: counts add, the reach grows by the way between the two."""
    d = distance(kept.point, gone.point)
    kept.count += gone.count
    kept.reach = max(kept.reach, d + gone.reach)
    kept.members += gone.members
    gone.merged_into = kept


def survivor(vertex: Vertex) -> Vertex:
    """Return the vertex that now stands for the examples of this one."""
    while vertex.merged_into is not None:
        vertex = vertex.merged_into
    return vertex


def closest_pair(pairs: Iterable[tuple[Vertex, Vertex]]) -> tuple[float, Vertex, Vertex] | None:
    """Return the closest pair as (distance, older, younger); ties: smallest (older, younger)."""
    best = None
    for one, other in pairs:
        older, younger = (one, other) if one.age < other.age else (other, one)
        d = distance(older.point, younger.point)
        key = (d, older.age, younger.age)
        if best is None or key < (best[0], best[1].age, best[2].age):
            best = (d, older, younger)
    return best


def pairs_of(vertices: Sequence[Vertex]) -> list[tuple[Vertex, Vertex]]:
    """Return every pair of two different vertices, once."""
    return list(itertools.combinations(vertices, 2))


def merge_pair(older: Vertex, younger: Vertex) -> None:
    """Merge two vertices; see `first_survives` for which of the two goes on."""
    if first_survives(older, younger):
        join(older, younger)
    else:
        join(younger, older)


def first_survives(older: Vertex, younger: Vertex) -> bool:
    """Say which goes on: a labelled one over an unlabelled one; else the smaller resulting reach.

    Ties: the larger count, then the older vertex.
    """
    if (older.label is None) != (younger.label is None):
        return older.label is not None
    d = distance(older.point, younger.point)
    reach_if_older = max(older.reach, d + younger.reach)
    reach_if_younger = max(younger.reach, d + older.reach)
    if reach_if_older != reach_if_younger:
        return reach_if_older < reach_if_younger
    return older.count >= younger.count
