"""Incremental k-centers: section 3.2 and the upper half of Figure 1, as plain loops.

Departures from Figure 1 as printed: (1) ``while |C| > k`` for ``if |C| = k + 1``; (2) the
coarsening ends the step that needs it, so that a step ends with at most k unlabelled vertices;
(3) R starts at the smallest positive distance, and distance 0 always joins; (4) labelled vertices
never join an unlabelled one or another class, and do not count towards k.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from .coarsening import by_doubling, just_enough, merge_labelled, merge_within_radius, unlabelled_of
from .optimum import largest_k_plus_1_separation, optimal_k_center
from .vertex import Point, Vertex, add_example, distance, nearest, survivor

__all__ = [
    "ReferenceCover",
    "Vertex",
    "distance",
    "largest_k_plus_1_separation",
    "merge",
    "optimal_k_center",
]

COARSENINGS = {"doubling": by_doubling, "just-enough": just_enough}


class ReferenceCover:
    """The vertices C_t in order of age, and the radius R.

    ``k=None`` never coarsens and ``labels_per_class=None`` is no budget. ``labelled="absorb"``
    lets labelled vertices take in unlabelled examples, as in Figure 1; ``"pure"`` does not.
    """

    def __init__(
        self,
        k: int | None,
        growth: float = 1.5,
        coarsening: str = "doubling",
        labelled: str = "absorb",
        labels_per_class: int | None = None,
    ) -> None:
        if coarsening not in COARSENINGS or labelled not in ("absorb", "pure"):
            raise ValueError(f"{coarsening=}, {labelled=}")
        self.k = k
        self.growth = growth
        self.coarsening = coarsening
        self.labelled = labelled
        self.labels_per_class = labels_per_class
        self.vertices: list[Vertex] = []
        self.radius = 0.0
        self.n_founded = 0

    @property
    def unlabelled(self) -> list[Vertex]:
        """The unlabelled vertices, in order of age."""
        return unlabelled_of(self.vertices)

    def observe(self, x: Iterable[float]) -> Vertex:
        """Let x join the nearest vertex closer than R, or found one; return the vertex it is in."""
        point = tuple(float(value) for value in x)
        near = nearest(point, self.vertices if self.labelled == "absorb" else self.unlabelled)
        if near is not None:
            d = distance(point, near.point)
            if d < self.radius or d == 0:
                add_example(near, point)
                return near
        vertex = self._found(point, None)
        if self.k is not None and len(self.unlabelled) > self.k:
            self._coarsen(self.k)
        return survivor(vertex)

    def teach(self, x: Iterable[float], label: Hashable) -> Vertex:
        """Let x found a labelled vertex, or join the one of its class at distance 0."""
        point = tuple(float(value) for value in x)
        for vertex in self.vertices:
            same_class = vertex.label is not None and vertex.label == label
            if same_class and distance(point, vertex.point) == 0:
                add_example(vertex, point)
                return vertex
        vertex = self._found(point, label)
        self.vertices = merge_labelled(self.vertices, label, self.labels_per_class)
        return survivor(vertex)

    def _found(self, point: Point, label: Hashable | None) -> Vertex:
        vertex = Vertex(point, self.n_founded, label, members=[point])
        self.n_founded += 1
        self.vertices.append(vertex)
        return vertex

    def _coarsen(self, k: int) -> None:
        coarsened = COARSENINGS[self.coarsening]
        self.vertices, self.radius = coarsened(
            self.vertices, k, self.radius, self.growth, self.labelled == "absorb"
        )


def merge(cover_a: ReferenceCover, cover_b: ReferenceCover) -> ReferenceCover:
    """Return the union of two covers as one cover; both stay as they are, a's settings hold.

    Unlabelled vertices merge as in `merge_within_radius` with max(R_a, R_b), labelled ones as in
    `merge_labelled`. The vertices of b count as younger than all of a's.
    """
    a, b = cover_a, cover_b
    both = ReferenceCover(a.k, a.growth, a.coarsening, a.labelled, a.labels_per_class)
    both.n_founded = a.n_founded + b.n_founded
    union = [replace(v, members=list(v.members)) for v in a.vertices]
    for v in b.vertices:
        union.append(replace(v, age=a.n_founded + v.age, members=list(v.members)))
    union, both.radius = merge_within_radius(union, both.k, max(a.radius, b.radius))
    for label in dict.fromkeys(v.label for v in union if v.label is not None):
        union = merge_labelled(union, label, both.labels_per_class)
    both.vertices = union
    return both
