"""What an answer would change, by asking: every vertex is labelled in turn and all is solved again.

Rows of ``F`` at ``labelled`` are the values those vertices hold; the others are not used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .harmonic import Matrix, grounded_laplacian, quantized_row_form


def solution(W: Matrix, v: Matrix, gamma: Matrix, labelled: Sequence[int], F: Matrix) -> Matrix:
    return quantized_row_form(W, v, labelled, F[list(labelled)], gamma)


def variances(W: Matrix, v: Matrix, gamma: Matrix, labelled: Sequence[int]) -> list[float]:
    """Diagonal of (V M)^-1, and 0 at labelled vertices."""
    n = len(W)
    u = [i for i in range(n) if i not in labelled]
    K = grounded_laplacian(W, v, gamma)
    G = np.linalg.inv(K[np.ix_(u, u)])
    return [float(G[u.index(i), u.index(i)]) if i in u else 0.0 for i in range(n)]


def variance_reduction(
    W: Matrix, v: Matrix, gamma: Matrix, labelled: Sequence[int], counts: Matrix
) -> list[float]:
    n = len(W)
    before = variances(W, v, gamma, labelled)
    scores = [0.0] * n
    for i in range(n):
        if i not in labelled:
            after = variances(W, v, gamma, [*labelled, i])
            scores[i] = sum(counts[j] * (before[j] - after[j]) for j in range(n))
    return scores


def risk(F: Matrix, free: Sequence[int], counts: Matrix) -> float:
    return float(sum(counts[j] * (1.0 - max(F[j])) for j in free))


def expected_error_reduction(
    W: Matrix, v: Matrix, gamma: Matrix, labelled: Sequence[int], F: Matrix, counts: Matrix
) -> list[float]:
    n, n_classes = F.shape
    free = [i for i in range(n) if i not in labelled]
    before = solution(W, v, gamma, labelled, F)
    scores = [0.0] * n
    for i in free:
        missing = 1.0 - sum(before[i])
        expected = 0.0
        for c in range(n_classes):
            answered = F.copy()
            answered[i] = np.eye(n_classes)[c]
            after = solution(W, v, gamma, [*labelled, i], answered)
            expected += (before[i, c] + missing / n_classes) * risk(after, free, counts)
        scores[i] = risk(before, free, counts) - expected
    return scores


def uncertainty_left(
    W: Matrix,
    v: Matrix,
    gamma: Matrix,
    labelled: Sequence[int],
    asked: Sequence[int],
    F: Matrix,
    counts: Matrix,
) -> list[float]:
    """Uncertainty of each vertex, times the part of its variance that `asked` leave open."""
    before = variances(W, v, gamma, labelled)
    after = variances(W, v, gamma, [*labelled, *asked])
    return [
        counts[i] * (1.0 - max(F[i])) * after[i] / before[i] if before[i] > 0 else 0.0
        for i in range(len(W))
    ]
