"""Which vertex stands for an example: the arrays of a cover and the steps that change it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.comparison import distances_to
from labelwalk.kernels.jit import compiled

UNLABELLED = -1
UNKNOWN = -1


class Vertices(NamedTuple):
    """Arrays over vertices in order of age; only the first n entries are in use."""

    points: Floats  # (features, capacity): feature-major, so that distances vectorise over vertices
    distance: Floats  # (capacity, capacity) between these points, the founders
    means: Floats  # (features, capacity) representatives that move; (0, capacity) if founders stay
    mean_distances: Floats  # (capacity, capacity) between representatives, as of the last redrawing
    bandwidth: Floats  # of each representative
    similarity_count: Ints  # examples each stood for when its similarities were last drawn
    examples: Ints  # how many each stands for,
    taught: Ints  # and how many of them came with its label
    decayed_count: Floats  # the examples, each fading with its age
    reach: Floats  # bound on the distance to any of those
    label: SmallInts  # class, or UNLABELLED
    founder: Ints  # the number of the example each was founded on, or UNKNOWN


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
def contradicts(vertices: Vertices, n: int, distances: Floats, label: int) -> bool:
    """Say whether a label of another class was taught at distance zero."""
    for j in range(n):
        if vertices.label[j] not in (label, UNLABELLED) and distances[j] == 0.0:
            return True
    return False


@compiled
def found(
    vertices: Vertices,
    i: int,
    x: Floats,
    distances: Floats,
    mean_distances: Floats,
    label: int,
    number: int,
) -> None:
    """Let `x`, which came as this number, become vertex i, the youngest."""
    for p in range(x.shape[0]):
        vertices.points[p, i] = x[p]
    for p in range(vertices.means.shape[0]):
        vertices.means[p, i] = x[p]
    for j in range(i):
        vertices.distance[i, j] = distances[j]
        vertices.distance[j, i] = distances[j]
        vertices.mean_distances[i, j] = mean_distances[j]
        vertices.mean_distances[j, i] = mean_distances[j]
    vertices.distance[i, i] = 0.0
    vertices.mean_distances[i, i] = 0.0
    vertices.examples[i] = 1
    vertices.decayed_count[i] = 1.0
    vertices.similarity_count[i] = 1
    vertices.reach[i] = 0.0
    vertices.label[i] = label
    vertices.taught[i] = label != UNLABELLED
    vertices.founder[i] = number


@compiled
def nearer_to_all(reach: Floats, examples: Ints, older: int, younger: int, gap: float) -> int:
    """Of two vertices at a distance, return the one that stands for both with the smaller reach.

    In a tie the one with more examples, and then the older.
    """
    if_older = max(reach[older], gap + reach[younger])
    if_younger = max(reach[younger], gap + reach[older])
    if if_younger < if_older or (if_younger == if_older and examples[younger] > examples[older]):
        return younger
    return older


@compiled
def join(vertices: Vertices, gone: int, heir: int) -> None:
    """Let `heir` stand for the examples of `gone` too."""
    span = vertices.distance[heir, gone] + vertices.reach[gone]
    vertices.reach[heir] = max(vertices.reach[heir], span)
    vertices.examples[heir] += vertices.examples[gone]
    vertices.taught[heir] += vertices.taught[gone]
    vertices.decayed_count[heir] += vertices.decayed_count[gone]
    share = vertices.decayed_count[gone] / vertices.decayed_count[heir]
    for p in range(vertices.means.shape[0]):
        vertices.means[p, heir] += share * (vertices.means[p, gone] - vertices.means[p, heir])


@compiled
def move_mean(vertices: Vertices, i: int, x: Floats) -> bool:
    """Let the last example of vertex i move its mean; return whether it lay elsewhere."""
    moved = False
    for p in range(vertices.means.shape[0]):
        gap = x[p] - vertices.means[p, i]
        vertices.means[p, i] += gap / vertices.decayed_count[i]
        moved = moved or gap != 0.0
    return moved


@compiled
def let_go(vertices: Vertices, i: int, x: Floats) -> None:
    """Let vertex i, which stands for others too, stand for `x` no longer."""
    vertices.decayed_count[i] -= vertices.decayed_count[i] / vertices.examples[i]
    vertices.examples[i] -= 1
    vertices.similarity_count[i] = min(vertices.similarity_count[i], vertices.examples[i])
    for p in range(vertices.means.shape[0]):
        vertices.means[p, i] += (vertices.means[p, i] - x[p]) / vertices.examples[i]


@compiled
def has_moved(vertices: Vertices, i: int) -> bool:
    """Say whether half as many examples have come to vertex i as it stood for when drawn.

    Where examples fade, as it stands for now: then old ones hold a mean back no longer.
    """
    more = vertices.examples[i] - vertices.similarity_count[i]
    return vertices.means.shape[0] > 0 and 2 * more >= min(
        vertices.similarity_count[i], vertices.decayed_count[i]
    )


@compiled
def measure_apart(vertices: Vertices, n: int, i: int, x: Floats, mean_distances: Floats) -> None:
    """Measure the distances of representative i to all others anew; `x` and `apart` are room."""
    for p in range(x.shape[0]):
        x[p] = vertices.means[p, i]
    distances_to(vertices.means, n, x, mean_distances)
    for j in range(n):
        vertices.mean_distances[i, j] = mean_distances[j]
        vertices.mean_distances[j, i] = mean_distances[j]
    vertices.mean_distances[i, i] = 0.0
    vertices.similarity_count[i] = vertices.examples[i]


@compiled
def remeasure(vertices: Vertices, n: int) -> None:
    """Measure the representatives that stand for more examples than when they were drawn."""
    x, mean_distances = np.empty(vertices.means.shape[0]), np.empty(n)
    for i in range(n if vertices.means.shape[0] > 0 else 0):
        if vertices.examples[i] != vertices.similarity_count[i]:
            measure_apart(vertices, n, i, x, mean_distances)
