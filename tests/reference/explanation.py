"""Walks from x: a graph with one more vertex, and every path that visits no vertex twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .harmonic import Matrix, hard


def ends(
    W: Matrix, v: Matrix, gamma: Matrix, labelled: Sequence[int], similar: Matrix, sink: float
) -> Matrix:
    """x is the last vertex of a larger graph in which no edge leads to it."""
    n = len(W)
    flow = np.zeros((n + 1, n + 1))
    for i in range(n):
        flow[n, i] = similar[i] * v[i]
        for j in range(n):
            if i != j:
                flow[i, j] = W[i, j] * v[j]
    F: Matrix = hard(flow, labelled, np.eye(len(labelled)), np.append(gamma, sink))
    return F[[n]].reshape(-1)


def paths(
    W: Matrix,
    v: Matrix,
    gamma: Matrix,
    labelled: Sequence[int],
    similar: Matrix,
    sink: float,
    target: int,
) -> Iterator[tuple[list[int], list[float]]]:
    """Every simple path from x to the target, with the probability of each step."""
    n = len(W)
    step = np.zeros((n + 1, n))
    for j in range(n):
        step[n, j] = similar[j] * v[j] / (sink + sum(similar[k] * v[k] for k in range(n)))
    for i in range(n):
        total = gamma[i] + sum(W[i, k] * v[k] for k in range(n) if k != i)
        for j in range(n):
            if i not in labelled and i != j:
                step[i, j] = W[i, j] * v[j] / total
    waiting: list[tuple[list[int], list[float]]] = [([], [])]
    while waiting:
        vertices, steps = waiting.pop()
        here = vertices[-1] if vertices else n
        if here == target:
            yield vertices, steps
        for j in range(n):
            if j not in vertices and step[here, j] > 0:
                waiting.append(([*vertices, j], [*steps, float(step[here, j])]))
