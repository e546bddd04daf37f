"""The default profile, everything rebuilt and solved at every step.

Figure 1 with these departures: a graph whose bandwidths are local; representatives that are means
of their examples, drawn again when they stand for half as many more; answers read at the example
before it is learned, and the nearest label guessed for what the sink takes; weights of at most two
means; just-enough coarsening and pure labelled vertices.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable

import numpy as np

from .harmonic import Matrix, quantized_as_printed, reaches_a_label
from .kcenters import ReferenceCover, Vertex, distance

Point = tuple[float, ...]


def mean(points: list[Point]) -> Point:
    """Mean of some points, feature by feature."""
    return tuple(math.fsum(values) / len(points) for values in zip(*points, strict=True))


class ReferenceProfile:
    """``mu``, the stepped mean weight, is set from outside before each step."""

    def __init__(self, k: int | None, gamma: float) -> None:
        self.gamma = gamma
        self.mu = 1.0
        self.cover = ReferenceCover(k, 1.5, "just-enough", "pure", 64)
        self.classes: list[Hashable] = []
        self.drawn: dict[int, int] = {}  # by age: examples when drawn
        self.apart: dict[tuple[int, int], float] = {}  # by ages, the older first
        self.bandwidth: dict[int, float] = {}
        self.typical = 0.0
        self.measure_at = 2

    def teach(self, x: Iterable[float], label: Hashable) -> None:
        """Take a labelled example in."""
        if label not in self.classes:
            self.classes.append(label)
        point = tuple(float(value) for value in x)
        own = self.own_bandwidth(point)
        self.after(self.cover.teach(point, label), own)

    def observe(self, x: Iterable[float]) -> tuple[Matrix, Matrix]:
        """Answer with probabilities and scores, then learn."""
        point = tuple(float(value) for value in x)
        answer = self.answer(point)
        own = self.own_bandwidth(point)
        before = len(self.cover.vertices), self.cover.n_founded
        vertex = self.cover.observe(point)
        coarsened = len(self.cover.vertices) - before[0] < self.cover.n_founded - before[1]
        self.after(vertex, own, coarsened)
        return answer

    def after(self, vertex: Vertex, own: float, coarsened: bool = False) -> None:
        """Draw what has moved, and measure bandwidths where that is due."""
        if vertex.age not in self.drawn:
            self.bandwidth[vertex.age] = own
            self.draw(vertex)
        elif 2 * vertex.count >= 3 * self.drawn[vertex.age]:
            self.draw(vertex)
        if coarsened:
            for other in self.cover.vertices:
                if self.drawn.get(other.age) != other.count:
                    self.draw(other)
        if coarsened or self.cover.n_founded >= self.measure_at:
            self.measure()

    def draw(self, vertex: Vertex) -> None:
        """Measure the distances of a vertex to all others between the means as they are now."""
        self.drawn[vertex.age] = vertex.count
        for other in self.cover.vertices:
            pair = min(vertex.age, other.age), max(vertex.age, other.age)
            self.apart[pair] = distance(mean(vertex.members), mean(other.members))

    def gap(self, a: Vertex, b: Vertex) -> float:
        """Distance of two representatives as last drawn."""
        return self.apart[min(a.age, b.age), max(a.age, b.age)]

    def measure(self) -> None:
        """Set all bandwidths from the distances as drawn."""
        vertices = self.cover.vertices
        local = {
            v.age: self.local([self.gap(v, other) for other in vertices if other is not v])
            for v in vertices
        }
        positive = [value for value in local.values() if value > 0]
        self.typical = statistics.median(positive) if positive else 0.0
        self.bandwidth = {age: self.from_local(value) for age, value in local.items()}
        self.measure_at = self.cover.n_founded + max(1, len(vertices) // 8)

    @staticmethod
    def local(distances: list[float]) -> float:
        """Seventh smallest positive distance, or the largest."""
        positive = sorted(d for d in distances if d > 0)
        return positive[:7][-1] if positive else 0.0

    def from_local(self, local: float) -> float:
        """0.28 times the local distance, drawn a quarter of the way to the typical one."""
        if local == 0 or self.typical == 0:
            return 0.28 * max(local, self.typical)
        return float(0.28 * local**0.75 * self.typical**0.25)

    def own_bandwidth(self, point: Point) -> float:
        """Bandwidth of an example that is not a vertex yet."""
        means = [mean(v.members) for v in self.cover.vertices]
        return self.from_local(self.local([distance(point, m) for m in means]))

    @staticmethod
    def alike(d: float, a: float, b: float) -> float:
        """Gaussian of the distance, zero under 1e-4."""
        if d == 0:
            return 1.0
        w = math.exp(-d * d / (2 * a * b)) if a * b > 0 else 0.0
        return w if w >= 1e-4 else 0.0

    def weight(self, vertex: Vertex) -> float:
        """Three means for a label, and the count, at most two means, for the others."""
        return 3.0 * self.mu if vertex.label is not None else min(vertex.count, 2.0 * self.mu)

    def solution(self) -> Matrix:
        """Probabilities of all vertices, solved as printed in Proposition 1."""
        vertices = self.cover.vertices
        n = len(vertices)
        W = np.zeros((n, n))
        for i, a in enumerate(vertices):
            for j, b in enumerate(vertices):
                if i != j:
                    W[i, j] = self.alike(self.gap(a, b), *(self.bandwidth[v.age] for v in (a, b)))
        F = np.zeros((n, len(self.classes)))
        labelled = [i for i, v in enumerate(vertices) if v.label is not None]
        reached = reaches_a_label(W, labelled)
        inside = [i for i in range(n) if reached[i]]
        Y = np.zeros((len(labelled), len(self.classes)))
        for row, i in enumerate(labelled):
            Y[row, self.classes.index(vertices[i].label)] = 1.0
        at = [inside.index(i) for i in labelled]
        v = np.array([self.weight(vertices[i]) for i in inside])
        F[inside] = quantized_as_printed(W[np.ix_(inside, inside)], v, at, Y, self.gamma * self.mu)
        return F

    def answer(self, point: Point) -> tuple[Matrix, Matrix]:
        """Harmonic extension to the example, and its scores."""
        vertices = self.cover.vertices
        p, guess = np.zeros(len(self.classes)), np.zeros(len(self.classes))
        if vertices and self.classes:
            own, F = self.own_bandwidth(point), self.solution()
            gaps = [distance(point, mean(v.members)) for v in vertices]
            flows = np.array(
                [
                    self.weight(v) * self.alike(d, own, self.bandwidth[v.age])
                    for d, v in zip(gaps, vertices, strict=True)
                ]
            )
            p = flows @ F / (flows.sum() + self.gamma * self.mu)
            _, _, near = min(
                (d, v.age, v) for d, v in zip(gaps, vertices, strict=True) if v.label is not None
            )
            guess[self.classes.index(near.label)] = (1.0 - p.sum()) / (len(self.classes) + 1)
        return p, p + guess
