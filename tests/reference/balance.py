"""Class prior: biases under which the classes take their shares of all unlabelled examples."""

from __future__ import annotations

from collections.abc import Sequence


def masses(
    F: Sequence[Sequence[float]], counts: Sequence[float], bias: Sequence[float]
) -> list[float]:
    """Return how many examples each class has, where every vertex is shared by f times bias."""
    total = [0.0] * len(bias)
    for f, count in zip(F, counts, strict=True):
        scores = [b * p for b, p in zip(bias, f, strict=True)]
        if sum(scores) > 0.0:
            for c, score in enumerate(scores):
                total[c] += count * score / sum(scores)
    return total


def balanced(
    F: Sequence[Sequence[float]],
    counts: Sequence[float],
    bias: Sequence[float],
    shares: Sequence[float],
) -> list[float]:
    """Return the biases after eight rounds of proportional fitting, the largest of them 1.

    Every class has one example more than its mass. F and counts are of unlabelled vertices.
    """
    bias = list(bias)
    for _ in range(8):
        mass = masses(F, counts, bias)
        if sum(mass) == 0.0:
            return bias
        for c, share in enumerate(shares):
            bias[c] *= share * (sum(mass) + len(shares)) / (mass[c] + 1.0)
        bias = [max(b / max(bias), 1e-6) for b in bias]
    return bias
