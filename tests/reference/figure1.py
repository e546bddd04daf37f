"""The online quantized harmonic solution, Figure 1: everything rebuilt and solved at every step.

The departures of the quantizer are numbered in `kcenters`. In addition: (5) several classes, one
one-hot column each, in the order in which they were first taught; (6) section 5.2's outliers, and
an answer of None where no walk leads to a label, where the figure would say sgn(0).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import TypedDict

import numpy as np

from .harmonic import Matrix, quantized_as_printed, reaches_a_label
from .kcenters import ReferenceCover, Vertex, distance


class Answer(TypedDict):
    """What one step of Figure 1 answers; the probabilities sum to 1 - sink."""

    label: Hashable | None
    probabilities: Matrix
    sink: float
    outlier: bool


class ReferenceFigure1:
    """Figure 1 step by step: doubling, absorbing labelled vertices, ``v`` = counts, constant sink.

    ``threshold`` is section 5.2's epsilon: where it is positive, similarities under it are 0 and
    an example without any similarity left is an outlier.
    """

    coarsening = "doubling"
    labelled = "absorb"

    def __init__(
        self,
        k: int | None,
        sigma: float,
        gamma: float,
        growth: float = 1.5,
        threshold: float = 0.0,
        labels_per_class: int | None = None,
    ) -> None:
        self.sigma = sigma
        self.gamma = gamma
        self.farthest = sigma * math.sqrt(2 * math.log(1 / threshold)) if threshold else math.inf
        self.cover = ReferenceCover(k, growth, self.coarsening, self.labelled, labels_per_class)
        self.classes: list[Hashable] = []

    def teach(self, x: Iterable[float], label: Hashable) -> Vertex:
        """Take a labelled example in, whatever its place; a new class gets a new column."""
        if label not in self.classes:
            self.classes.append(label)
        return self.cover.teach(x, label)

    def observe(self, x: Iterable[float]) -> Answer:
        """Take one step of Figure 1: quantize, rebuild the graph, solve, answer at x's vertex."""
        point = tuple(float(value) for value in x)
        if self.is_outlier(point):
            return self.answer(np.zeros(len(self.classes)), outlier=True)
        vertex = self.cover.observe(point)
        return self.answer(self.solution()[self.cover.vertices.index(vertex)], outlier=False)

    def is_outlier(self, point: tuple[float, ...]) -> bool:
        """Section 5.2: x is disconnected from every vertex; the first example never is."""
        distances = [distance(point, v.point) for v in self.cover.vertices]
        return bool(distances) and all(d > self.farthest for d in distances)

    def answer(self, probabilities: Matrix, outlier: bool) -> Answer:
        """Choose the most probable class, of equal ones the one taught first."""
        label = None
        if np.any(probabilities > 0):
            label = self.classes[int(np.argmax(probabilities))]
        sink = 1.0 - float(probabilities.sum())
        return {"label": label, "probabilities": probabilities, "sink": sink, "outlier": outlier}

    def solution(self) -> Matrix:
        """Return l^q of Proposition 1, a row a vertex; exactly 0 where no label can be reached.

        Vertices out of reach of a label share no edge with the others, so they are left out.
        """
        vertices = self.cover.vertices
        W = self.similarities()
        reached = reaches_a_label(W, [i for i, v in enumerate(vertices) if v.label is not None])
        inside = [i for i in range(len(vertices)) if reached[i]]
        labelled = [row for row, i in enumerate(inside) if vertices[i].label is not None]
        Y_l = np.zeros((len(labelled), len(self.classes)))
        for r, row in enumerate(labelled):
            Y_l[r, self.classes.index(vertices[inside[row]].label)] = 1.0
        v = np.array([self.weight(vertices[i]) for i in inside])
        F = np.zeros((len(vertices), len(self.classes)))
        F[inside] = quantized_as_printed(W[np.ix_(inside, inside)], v, labelled, Y_l, self.sink())
        return F

    def similarities(self) -> Matrix:
        """``w_ij = exp(-d^2 / 2 sigma^2)``, 0 past the threshold (section 5.2), no self loops."""
        vertices = self.cover.vertices
        W = np.zeros((len(vertices), len(vertices)))
        for i in range(len(vertices)):
            for j in range(len(vertices)):
                d = distance(vertices[i].point, vertices[j].point)
                if i != j and d <= self.farthest:
                    W[i, j] = math.exp(-((d / self.sigma) ** 2) / 2)
        return W

    def weight(self, vertex: Vertex) -> float:
        """Return the multiplicity ``v_i`` of Figure 1."""
        return float(vertex.count)

    def sink(self) -> float:
        """Return gamma_g of ``L^q + gamma_g V`` in Figure 1."""
        return self.gamma


class ReferenceBalanced(ReferenceFigure1):
    """The profile for endless streams: just-enough coarsening, pure labelled vertices.

    A labelled vertex weighs ``3 mu`` and the sink is ``gamma mu``, where mu, a mean of the
    unlabelled counts, is set from outside at any time.
    """

    coarsening = "just-enough"
    labelled = "pure"
    mu = 1.0

    def weight(self, vertex: Vertex) -> float:
        """Return the count of an unlabelled vertex, ``3 mu`` for a labelled one."""
        return float(vertex.count) if vertex.label is None else 3.0 * self.mu

    def sink(self) -> float:
        """Return ``gamma mu``."""
        return self.gamma * self.mu
