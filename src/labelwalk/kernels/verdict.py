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
    answers: Answers, row: int, values: Floats, error: float, bias: Floats, guess: int
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
        write_scores(answers, row, bias, guess, bound)


@compiled
def write_scores(answers: Answers, row: int, bias: Floats, guess: int, bound: float) -> None:
    """Write down the scores, scaled to sum to all that has not gone to the sink, and the leeway."""
    p, winner = answers.probabilities[row], answers.winner[row]
    gain, total, scores, slopes = guess_share(p, guess), 0.0, 0.0, 0.0
    for c in range(p.shape[0]):
        total += p[c] + (gain if c == guess else 0.0)
        scores += score(p, bias, guess, gain, c)
        slopes += bias[1 + c]
    for c in range(p.shape[0]):
        answers.scores[row, c] = score(p, bias, guess, gain, c) * (total / scores)
    off = bound if guess == NOBODY else 2.0 * bound
    if slopes == p.shape[0]:  # no prior: the score is the winner's own probability
        answers.leeway[row] = off
        return
    best, slope, most, least = score(p, bias, guess, gain, winner), bias[1 + winner], 1.0, 0.0
    if scores > off * slopes:
        most = (best + off * slope) * (total + off * p.shape[0]) / (scores - off * slopes)
    if total > off * p.shape[0]:
        least = (best - off * slope) * (total - off * p.shape[0]) / (scores + off * slopes)
    confidence = answers.scores[row, winner]
    answers.leeway[row] = max(most - confidence, confidence - least)
