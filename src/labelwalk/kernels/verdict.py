"""From probabilities to an answer."""

from __future__ import annotations

from typing import NamedTuple

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
def total_of(values: Floats) -> float:
    """Add up in order."""
    total = 0.0
    for c in range(values.shape[0]):
        total += values[c]
    return total


@compiled
def overflow(values: Floats, best: float) -> float:
    """Return by how much scaling values that sum to more than one moves the largest of them."""
    total = total_of(values)
    return best * (total - 1.0) / total if total > 1.0 else 0.0


@compiled
def write_answer(answers: Answers, row: int, values: Floats, bound: float) -> None:
    """Write down an answer; `bound` already covers the scaling of values that exceed one."""
    total = max(1.0, total_of(values))
    for c in range(values.shape[0]):
        answers.probabilities[row, c] = values[c] / total
    winner, best, second = two_best(answers.probabilities[row])
    answers.winner[row] = winner
    answers.bound[row] = bound
    answers.certain[row] = best - second > 2.0 * bound or best == 0.0
