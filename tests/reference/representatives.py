"""Rows join representatives, and each gets the harmonic answer of its own, in plain loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .harmonic import Matrix, quantized_row_form


def joined_nearest(rows: Matrix, points: Matrix) -> list[int]:
    """The first of the nearest points, for each row."""
    joined = []
    for x in rows:
        squares = [sum((a - b) ** 2 for a, b in zip(x, point, strict=True)) for point in points]
        joined.append(squares.index(min(squares)))
    return joined


def answers(
    labelled: Matrix,
    y: Matrix,
    points: Matrix,
    joined: Sequence[int],
    sigma: float,
    sink: float,
    normalise: bool,
) -> Matrix:
    """A score for each row and class, by Proposition 1 on labelled examples and points."""
    vertices = [*labelled, *points]
    n, n_l = len(vertices), len(labelled)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            squared = sum((a - b) ** 2 for a, b in zip(vertices[i], vertices[j], strict=True))
            W[i, j] = np.exp(-squared / (2 * sigma**2))
    v = np.ones(n)
    for k in range(len(points)):
        v[n_l + k] = sum(1 for j in joined if j == k)
    F = quantized_row_form(W, v, list(range(n_l)), y, sink)
    if normalise:
        F = mass_normalised(F, v, n_l)
    return np.array([F[n_l + k] for k in joined])


def mass_normalised(F: Matrix, v: Matrix, n_l: int) -> Matrix:
    """Each class over its mass at unlabelled vertices; rows are scaled back to their old sums."""
    n, n_classes = F.shape
    even = np.zeros((n, n_classes))
    for c in range(n_classes):
        mass = sum(v[i] * F[i, c] for i in range(n_l, n))
        for i in range(n):
            even[i, c] = F[i, c] / mass if mass > 0 else 0.0
    for i in range(n):
        if sum(even[i]) > 0:
            even[i] = even[i] * (sum(F[i]) / sum(even[i]))
    return even
