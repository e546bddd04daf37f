"""What names claim under a sink, and the choice of one, as plain loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference.harmonic import Matrix, hard


def claimed(
    means: Matrix,
    labels: Sequence[int],
    weights: Sequence[float],
    counts: Sequence[int],
    sigma: float,
    epsilon: float,
    sink: float,
) -> float:
    """The share of examples at vertices whose walk ends at one name more often than not."""
    n = len(means)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            w = np.exp(-((means[i] - means[j]) ** 2).sum() / (2 * sigma**2))
            if i != j and w >= epsilon:
                W[i, j] = w * weights[j]
    labelled = [i for i in range(n) if labels[i] >= 0]
    Y = np.zeros((len(labelled), max(labels) + 1))
    for row, i in enumerate(labelled):
        Y[row, labels[i]] = 1.0
    f = hard(W, labelled, Y, sink)
    named, everybody = 0, 0
    for i in range(n):
        if labels[i] < 0:
            everybody += counts[i]
            if max(f[i]) > 0.5:
                named += counts[i]
    return named / everybody


def choice(
    shares: Sequence[float], usual: int, lowest: int, stride: int, jump: float
) -> tuple[int, int | None]:
    """The cliff is the first jump at or below a place, at or above the usual one, that has none."""

    def jumps(i: int) -> bool:
        return shares[min(i + stride, len(shares) - 1)] - shares[i] > jump

    begin = usual
    while begin > 0 and jumps(begin):
        begin = begin - 1
    for i in range(begin, len(shares)):
        if jumps(i):
            before = max(i - stride, 0)
            return (before if before < lowest else lowest), i
    return lowest, None
