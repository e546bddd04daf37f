"""The ways in which vertices of a cover become fewer, as plain loops.

All take the vertices in order of age and return what is left of them, with the new radius R where
it changes. ``absorb`` says whether labelled vertices take in unlabelled ones, as in Figure 1;
labelled vertices do not count towards k and never join an unlabelled one or another class.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from .vertex import Vertex, closest_pair, distance, join, merge_pair, nearest, pairs_of


def unlabelled_of(vertices: Sequence[Vertex]) -> list[Vertex]:
    """Return the unlabelled vertices, in the order given."""
    return [v for v in vertices if v.label is None]


def remaining(vertices: Sequence[Vertex]) -> list[Vertex]:
    """Return the vertices that have not joined another one, in the order given."""
    return [v for v in vertices if v.merged_into is None]


def by_doubling(
    vertices: list[Vertex], k: int, radius: float, growth: float, absorb: bool
) -> tuple[list[Vertex], float]:
    """``R <- m R`` and repartition, as in Figure 1, but until at most k vertices remain."""
    if radius == 0:
        distances = [distance(a.point, b.point) for a, b in pairs_of(unlabelled_of(vertices))]
        radius = min(d for d in distances if d > 0)
    while len(unlabelled_of(vertices)) > k:
        radius *= growth
        repartition(vertices, radius, absorb)
        vertices = remaining(vertices)
    return vertices, radius


def repartition(vertices: Sequence[Vertex], radius: float, absorb: bool) -> None:
    """Keep vertices greedily: no two kept ones closer than R, the others within R (Figure 1)."""
    kept = [v for v in vertices if v.label is not None] if absorb else []
    for vertex in unlabelled_of(vertices):
        near = nearest(vertex.point, kept)
        if near is not None and distance(vertex.point, near.point) < radius:
            join(near, vertex)
        else:
            kept.append(vertex)


def just_enough(
    vertices: list[Vertex], k: int, radius: float, growth: float, absorb: bool
) -> tuple[list[Vertex], float]:
    """Merge the closest pair until k remain, then on towards 0.9 k until a gap opens.

    A gap is a next distance larger than m times the last merged one. R becomes the largest
    merged distance and never shrinks.
    """
    last = 0.0
    while len(unlabelled_of(vertices)) > math.ceil(0.9 * k):
        closest = closest_pair(mergeable_pairs(vertices, absorb))
        if closest is None:
            break
        d, older, younger = closest
        if len(unlabelled_of(vertices)) <= k and d > growth * last:
            break
        merge_pair(older, younger)
        vertices = remaining(vertices)
        last = d
        radius = max(radius, d)
    return vertices, radius


def mergeable_pairs(vertices: Sequence[Vertex], absorb: bool) -> list[tuple[Vertex, Vertex]]:
    """Pairs of unlabelled vertices; where labelled ones absorb, pairs with one labelled too."""
    if absorb:
        return [(a, b) for a, b in pairs_of(vertices) if a.label is None or b.label is None]
    return pairs_of(unlabelled_of(vertices))


def merge_within_radius(
    vertices: list[Vertex], k: int | None, radius: float
) -> tuple[list[Vertex], float]:
    """Merge the closest unlabelled pair while closer than R, at distance 0, or while over k.

    R becomes the largest merged distance if that is larger. This is how the union of two covers,
    with R the larger of their radii, becomes a cover again.
    """
    while (closest := closest_pair(pairs_of(unlabelled_of(vertices)))) is not None:
        d, older, younger = closest
        over = k is not None and len(unlabelled_of(vertices)) > k
        if not (d < radius or d == 0 or over):
            break
        merge_pair(older, younger)
        vertices = remaining(vertices)
        radius = max(radius, d)
    return vertices, radius


def merge_labelled(vertices: list[Vertex], label: Hashable, budget: int | None) -> list[Vertex]:
    """Merge the closest two vertices of a class while they coincide or it is over its budget."""
    while True:
        of_class = [v for v in vertices if v.label is not None and v.label == label]
        closest = closest_pair(pairs_of(of_class))
        if closest is None:
            return vertices
        d, older, younger = closest
        if d > 0 and (budget is None or len(of_class) <= budget):
            return vertices
        merge_pair(older, younger)
        vertices = remaining(vertices)
