"""Which vertex stands for an example: the arrays of a cover and the steps that change it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.compiled import compiled

UNLABELLED = -1


class Vertices(NamedTuple):
    """Arrays over vertices in order of age; only the first n entries are in use."""

    points: Floats  # (features, capacity): feature-major, so that distances vectorise over vertices
    distance: Floats  # (capacity, capacity) between representatives
    examples: Ints  # how many each stands for
    reach: Floats  # bound on the distance to any of those
    label: SmallInts  # class, or UNLABELLED


@compiled
def nearest(vertices: Vertices, n: int, distances: Floats, absorb: bool) -> tuple[int, float]:
    """Return the nearest vertex that may take an unlabelled example (the older one in a tie)."""
    found, shortest = -1, np.inf
    for j in range(n):
        if distances[j] < shortest and (absorb or vertices.label[j] == UNLABELLED):
            found, shortest = j, distances[j]
    return found, shortest


@compiled
def same_point(vertices: Vertices, n: int, distances: Floats, label: int) -> int:
    """Return the vertex of this class at distance zero, or -1."""
    for j in range(n):
        if vertices.label[j] == label and distances[j] == 0.0:
            return j
    return -1


@compiled
def found(vertices: Vertices, i: int, x: Floats, distances: Floats, label: int) -> None:
    """Let `x` become vertex i, the youngest."""
    for p in range(x.shape[0]):
        vertices.points[p, i] = x[p]
    for j in range(i):
        vertices.distance[i, j] = distances[j]
        vertices.distance[j, i] = distances[j]
    vertices.distance[i, i] = 0.0
    vertices.examples[i] = 1
    vertices.reach[i] = 0.0
    vertices.label[i] = label


@compiled
def join(vertices: Vertices, gone: int, heir: int) -> None:
    """Let `heir` stand for the examples of `gone` too."""
    span = vertices.distance[heir, gone] + vertices.reach[gone]
    vertices.reach[heir] = max(vertices.reach[heir], span)
    vertices.examples[heir] += vertices.examples[gone]
