"""From probabilities to an answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.kernels.compiled import compiled


class Answers(NamedTuple):
    """What is said of each row."""

    winner: Ints  # class, or -1
    probabilities: Floats  # (rows, classes)
    bound: Floats
    certain: Bools
    outlier: Bools


@compiled
def two_best(values: Floats) -> tuple[int, float, float]:
    """Return the class with the largest probability, that probability, and the next."""
    winner, best, second = -1, 0.0, 0.0
    for c in range(values.shape[0]):
        if values[c] > best:
            winner, best, second = c, values[c], best
        elif values[c] > second:
            second = values[c]
    return winner, best, second


@compiled
def excess_each(values: Floats) -> float:
    """Return what to take off every value, none below zero, so that they sum to at most one.

    Exact probabilities do. So where values are off by at most e, this is at most e too, and the
    values that are left are off by at most e plus this.
    """
    cut = 0.0
    while True:
        total, above = 0.0, 0
        for c in range(values.shape[0]):
            if values[c] > cut:
                total += values[c]
                above += 1
        if total - above * cut <= 1.0:
            return cut
        cut = max((total - 1.0) / above, np.nextafter(cut, 1.0))


@compiled
def write_answer(answers: Answers, row: int, values: Floats, error: float) -> None:
    """Write down the answer that values off by at most `error` give; an error of 0 is exact."""
    cut = excess_each(values)
    p = answers.probabilities[row]
    for c in range(values.shape[0]):
        p[c] = max(0.0, values[c] - cut)
    winner, best, second = two_best(p)
    bound = min(1.0, error + cut)
    answers.winner[row] = winner
    answers.bound[row] = bound
    answers.certain[row] = bound == 0.0 or best - second > 2.0 * bound
