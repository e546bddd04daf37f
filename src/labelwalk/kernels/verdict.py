"""From probabilities to an answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.kernels.compiled import compiled

NOBODY = -1


class Answers(NamedTuple):
    """What is said of each row."""

    winner: Ints  # class, or NOBODY
    probabilities: Floats  # (rows, classes)
    scores: Floats  # (rows, classes) what the classes are compared by
    bound: Floats
    leeway: Floats  # how far the winner's score may be off
    certain: Bools
    outlier: Bools


@compiled
def excess_each(values: Floats) -> float:
    """Return what to take off every value, none below zero, so that they sum to at most one.

    Exact probabilities do. So where values are off by at most e, this is at most e too, and the
    values that are left are off by at most e plus this.
    """
    cut = 0.0
    for _ in range(2 * values.shape[0] + 16):
        total, above = 0.0, 0
        for c in range(values.shape[0]):
            if values[c] > cut:
                total += values[c]
                above += 1
        if total - above * cut <= 1.0:
            return cut
        cut = max((total - 1.0) / above, np.nextafter(cut, 1.0))
    return 1.0  # nothing is left of the values, and nothing is claimed


@compiled
def guess_share(values: Floats, guess: int) -> float:
    """Return what the guessed class gains of what the sink has taken: its chance.

    One in C + 1, since it may also be something that was never taught.
    """
    if guess == NOBODY:
        return 0.0
    missing = 1.0
    for c in range(values.shape[0]):
        missing -= values[c]
    return max(0.0, missing) / (values.shape[0] + 1)


@compiled
def score(values: Floats, bias: Floats, guess: int, gain: float, c: int) -> float:
    """Return the probability of a class, what it gains as the guess, after the prior."""
    return bias[1 + c] * (values[c] + (gain if c == guess else 0.0))


@compiled
def best_class(values: Floats, bias: Floats, guess: int) -> int:
    """Return the class with the largest score (the first in a tie), or NOBODY if all are 0."""
    gain = guess_share(values, guess)
    winner, best = NOBODY, 0.0
    for c in range(values.shape[0]):
        mine = score(values, bias, guess, gain, c)
        if mine > best:
            winner, best = c, mine
    return winner


@compiled
def harmless_error(values: Floats, bias: Floats, guess: int, winner: int) -> float:
    """Return the error that values may have at most if the winner is to stay the same.

    The guessed class is off by twice as much, since what the sink has taken is off too.
    """
    if winner == NOBODY:
        return 0.0
    gain = guess_share(values, guess)
    best = score(values, bias, guess, gain, winner)
    slope = bias[1 + winner] * (2.0 if winner == guess else 1.0)
    harmless = best / slope
    for c in range(values.shape[0]):
        if c != winner:
            lead = best - score(values, bias, guess, gain, c)
            harmless = min(harmless, lead / (slope + bias[1 + c] * (2.0 if c == guess else 1.0)))
    return harmless


@compiled
def write_answer(
    answers: Answers,
    row: int,
    values: Floats,
    error: float,
    bias: Floats,
    guess: int,
    sharpness: float,
) -> None:
    """Write down the answer that values off by at most `error` give; an error of 0 is exact."""
    cut = excess_each(values)
    p = answers.probabilities[row]
    for c in range(values.shape[0]):
        p[c] = max(0.0, values[c] - cut)
    bound = min(1.0, error + cut)
    winner = best_class(p, bias, guess)
    answers.winner[row] = winner
    answers.bound[row] = bound
    answers.certain[row] = bound == 0.0 or harmless_error(p, bias, guess, winner) > bound
    if winner != NOBODY:
        write_scores(answers, row, bias, guess, sharpness, bound)


@compiled
def write_scores(
    answers: Answers, row: int, bias: Floats, guess: int, sharpness: float, bound: float
) -> None:
    """Write down the scores, sharpened and scaled to sum to what the sink has left, and the leeway.

    The winner's share of the sharpened scores grows with its own score and falls with the others',
    so its extremes are where each is off as far as it may be.
    """
    p, winner, scores = answers.probabilities[row], answers.winner[row], answers.scores[row]
    gain, total, sharp = guess_share(p, guess), 0.0, 0.0
    off = bound if guess == NOBODY else 2.0 * bound
    others_least, others_most = 0.0, 0.0
    best = score(p, bias, guess, gain, winner)
    for c in range(p.shape[0]):
        total += p[c] + (gain if c == guess else 0.0)
        mine = score(p, bias, guess, gain, c)
        scores[c] = sharpened(mine / best, sharpness)
        sharp += scores[c]
        if c != winner:
            others_least += sharpened(max(0.0, mine - off * bias[1 + c]) / best, sharpness)
            others_most += sharpened((mine + off * bias[1 + c]) / best, sharpness)
    for c in range(p.shape[0]):
        scores[c] *= total / sharp
    most = sharpened((best + off * bias[1 + winner]) / best, sharpness)
    least = sharpened(max(0.0, best - off * bias[1 + winner]) / best, sharpness)
    slack = off * p.shape[0]
    highest = most / (most + others_least) * min(1.0, total + slack)
    lowest = least / (least + others_most) * max(0.0, total - slack) if least > 0.0 else 0.0
    answers.leeway[row] = max(highest - scores[winner], scores[winner] - lowest)


@compiled
def sharpened(ratio: float, sharpness: float) -> float:
    """Raise a ratio of scores to a power; a power of one leaves every bit."""
    return ratio if sharpness == 1.0 else ratio**sharpness
