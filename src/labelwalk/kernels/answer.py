"""Answers from probabilities: excess, fallback, prior, scores and bounds.

The values of an answer may sum to more than 1, since each has an error; the excess is removed. The
nearest label gains a share of what the sink absorbs. Biases bring the classes to their prior.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.kernels.certificate import Readout, average_values
from labelwalk.kernels.compare import RowComparison, compare_with, is_outlier
from labelwalk.kernels.counters import Counters, CountersArray, KernelParams
from labelwalk.kernels.cover import UNLABELLED, Vertices, compare_row
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.system import STEPS, UNIT_ROUNDOFF, System

NO_CLASS = -1
PRIOR_ITERATIONS = 8
MAX_BIAS_RATIO = 1e6


class KernelAnswers(NamedTuple):
    """Answers of the compiled loops; arrays are over rows."""

    winner: Ints  # class, or NO_CLASS
    probabilities: Floats  # (rows, classes)
    scores: Floats  # (rows, classes) by which classes are ranked
    bound: Floats  # on the error of the probabilities
    leeway: Floats  # bound on the error of the winner's score
    certain: Bools  # whether the exact solution has the same winner
    outlier: Bools


@compiled
def compute_excess(values: Floats) -> float:
    """Return the excess to subtract from every value, down to zero, so that their sum is at most 1.

    Exact probabilities have such a sum. If the errors of the values are at most e, the excess is at
    most e too, and the errors after subtraction are at most e plus the excess.
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
    return 1.0  # all values become zero


@compiled
def fallback_gain(values: Floats, guess: int) -> float:
    """Return what the fallback class gains of the probability of the sink.

    One part in C + 1, because the row may also belong to a class that was never taught.
    """
    if guess == NO_CLASS:
        return 0.0
    missing = 1.0
    for c in range(values.shape[0]):
        missing -= values[c]
    return max(0.0, missing) / (values.shape[0] + 1)


@compiled
def score(values: Floats, bias: Floats, guess: int, gain: float, c: int) -> float:
    """Return the score of a class: its probability and its gain, times its bias."""
    return bias[1 + c] * (values[c] + (gain if c == guess else 0.0))


@compiled
def best_class(values: Floats, bias: Floats, guess: int) -> int:
    """Return the class with the largest score (the first in a tie), or NO_CLASS if all are 0."""
    gain = fallback_gain(values, guess)
    winner, best = NO_CLASS, 0.0
    for c in range(values.shape[0]):
        own_score = score(values, bias, guess, gain, c)
        if own_score > best:
            winner, best = c, own_score
    return winner


@compiled
def harmless_error(values: Floats, bias: Floats, guess: int, winner: int) -> float:
    """Return the largest error of the values that cannot change the winner.

    The error of the fallback class counts twice, because its gain has an error too.
    """
    if winner == NO_CLASS:
        return 0.0
    gain = fallback_gain(values, guess)
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
    answers: KernelAnswers,
    row: int,
    values: Floats,
    error: float,
    bias: Floats,
    guess: int,
    sharpness: float,
) -> None:
    """Write the answer for values with errors of at most `error`; 0 means exact."""
    cut = compute_excess(values)
    p = answers.probabilities[row]
    for c in range(values.shape[0]):
        p[c] = max(0.0, values[c] - cut)
    bound = min(1.0, error + cut)
    winner = best_class(p, bias, guess)
    answers.winner[row] = winner
    answers.bound[row] = bound
    answers.certain[row] = bound == 0.0 or harmless_error(p, bias, guess, winner) > bound
    if winner != NO_CLASS:
        write_scores(answers, row, bias, guess, sharpness, bound)


@compiled
def write_scores(
    answers: KernelAnswers, row: int, bias: Floats, guess: int, sharpness: float, bound: float
) -> None:
    """Write the sharpened scores, scaled to the probability outside the sink, and the leeway.

    The winner's share of the sharpened scores increases with its own score and decreases with the
    others, so it is extreme where every error is.
    """
    p, winner, scores = answers.probabilities[row], answers.winner[row], answers.scores[row]
    gain, total, sharp_total = fallback_gain(p, guess), 0.0, 0.0
    max_error = bound if guess == NO_CLASS else 2.0 * bound
    others_low, others_high = 0.0, 0.0
    best = score(p, bias, guess, gain, winner)
    for c in range(p.shape[0]):
        total += p[c] + (gain if c == guess else 0.0)
        own_score = score(p, bias, guess, gain, c)
        scores[c] = sharpen(own_score / best, sharpness)
        sharp_total += scores[c]
        if c != winner:
            others_low += sharpen(max(0.0, own_score - max_error * bias[1 + c]) / best, sharpness)
            others_high += sharpen((own_score + max_error * bias[1 + c]) / best, sharpness)
    for c in range(p.shape[0]):
        scores[c] *= total / sharp_total
    winner_high = sharpen((best + max_error * bias[1 + winner]) / best, sharpness)
    winner_low = sharpen(max(0.0, best - max_error * bias[1 + winner]) / best, sharpness)
    slack = max_error * p.shape[0]
    high = winner_high / (winner_high + others_low) * min(1.0, total + slack)
    low = 0.0
    if winner_low > 0.0:
        low = winner_low / (winner_low + others_high) * max(0.0, total - slack)
    answers.leeway[row] = max(high - scores[winner], scores[winner] - low)


@compiled
def sharpen(ratio: float, sharpness: float) -> float:
    """Raise a ratio of scores to a power; a power of 1 changes no bit."""
    return ratio if sharpness == 1.0 else ratio**sharpness


@compiled
def extended(
    system: System,
    counters: Counters,
    rules: KernelParams,
    comparison: RowComparison,
    reading: Readout,
) -> int:
    """Let the reading be the average that the row's own similarities take; return over how many."""
    total = rules.sink * (counters.mean_weight if rules.label_weight > 0.0 else 1.0)
    many = 0
    for j in range(counters.n):
        if comparison.similarities[j] > 0.0:
            flow = comparison.similarities[j] * system.v[j]
            total += flow
            reading.vertex[many] = j
            reading.share[many] = flow
            many += 1
    for a in range(many):
        reading.share[a] /= total
    return many


@compiled
def reaches(system: System, reading: Readout, many: int) -> bool:
    """Say whether a walk from there can reach a label, so that the average is rounded."""
    for a in range(many):
        if system.has_label[system.component[reading.vertex[a]]]:
            return True
    return False


@compiled
def nearest_label(
    vertices: Vertices, counters: Counters, rules: KernelParams, comparison: RowComparison
) -> int:
    """Return the class of the nearest labelled vertex where it may be guessed, or NO_CLASS."""
    guess, shortest = NO_CLASS, np.inf
    if rules.nearest_fallback:
        for j in range(counters.n):
            if vertices.label[j] != UNLABELLED and comparison.row_mean_distances[j] < shortest:
                guess, shortest = vertices.label[j], comparison.row_mean_distances[j]
    return guess


@compiled
def extend(
    vertices: Vertices,
    system: System,
    progress: CountersArray,
    rules: KernelParams,
    comparison: RowComparison,
    errors: Floats,
    reading: Readout,
    answers: KernelAnswers,
    row: int,
) -> None:
    """Answer a row that has been compared from vertices with these proven errors."""
    counters = progress[0]
    compare_with(vertices.bandwidth, counters, rules, comparison)
    if is_outlier(vertices.bandwidth, counters, rules, comparison):
        answers.outlier[row] = True
        return
    many = extended(system, counters, rules, comparison, reading)
    error = 0.0
    for a in range(many):
        error += reading.share[a] * errors[reading.vertex[a]]
    average_values(system, reading, many)
    if reaches(system, reading, many):
        error += 2.0 * (counters.n + 8) * UNIT_ROUNDOFF
    guess = nearest_label(vertices, counters, rules, comparison)
    write_answer(answers, row, reading.values, error, system.bias, guess, counters.sharpness)


@compiled
def extend_rows(
    vertices: Vertices,
    system: System,
    progress: CountersArray,
    rules: KernelParams,
    comparison: RowComparison,
    errors: Floats,
    reading: Readout,
    rows: Floats,
    answers: KernelAnswers,
) -> None:
    """Answer many rows."""
    for row in range(rows.shape[0]):
        compare_row(vertices, progress[0], rows[row], comparison)
        extend(vertices, system, progress, rules, comparison, errors, reading, answers, row)


@compiled
def class_mass(vertices: Vertices, system: System, n: int, mass: Floats) -> None:
    """Write the number of unlabelled examples of each class; vertices are divided by scores."""
    bias, f = system.bias, system.f
    for c in range(mass.shape[0]):
        mass[c] = 0.0
    for i in range(n):
        total = 0.0
        for c in range(mass.shape[0]):
            total += bias[1 + c] * f[STEPS + 1 + c, i]
        if vertices.label[i] == UNLABELLED and total > 0.0:
            for c in range(mass.shape[0]):
                share = bias[1 + c] * f[STEPS + 1 + c, i] / total
                mass[c] += vertices.examples[i] * share


@compiled
def balance(vertices: Vertices, system: System, n: int, shares: Floats) -> None:
    """Fit the biases so that class masses approach their shares of the total.

    Iterative proportional fitting; one extra example per class keeps the bias of an empty class
    finite. Class mass normalization is its first iteration. Without any mass, nothing changes.
    """
    mass = np.empty(shares.shape[0])
    for _ in range(PRIOR_ITERATIONS):
        class_mass(vertices, system, n, mass)
        total = 0.0
        for c in range(mass.shape[0]):
            total += mass[c]
        if total == 0.0:
            return
        largest = 0.0
        for c in range(mass.shape[0]):
            target = shares[c] * (total + mass.shape[0])
            system.bias[1 + c] *= target / (mass[c] + 1.0)
            largest = max(largest, system.bias[1 + c])
        for c in range(mass.shape[0]):
            system.bias[1 + c] = max(system.bias[1 + c] / largest, 1.0 / MAX_BIAS_RATIO)
