"""Answers from probabilities: excess, fallback, prior, scores and bounds."""

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.kernels.certificate import Readout, average_values
from labelwalk.kernels.compare import RowComparison, compute_row_similarities, is_outlier
from labelwalk.kernels.counters import Counters, CountersArray, KernelParams, weight_unit
from labelwalk.kernels.cover import UNLABELLED, Vertices, measure_row
from labelwalk.kernels.jit import jit
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


@jit
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


@jit
def fallback_gain(values: Floats, guess: int) -> float:
    """Return what the fallback class gains of the probability of the sink."""
    if guess == NO_CLASS:
        return 0.0
    missing = 1.0
    for c in range(values.shape[0]):
        missing -= values[c]
    return max(0.0, missing) / (values.shape[0] + 1)  # one more: a class that was never taught


@jit
def score(values: Floats, bias: Floats, guess: int, gain: float, c: int) -> float:
    """Return the score of a class: its probability and its gain, times its bias."""
    return bias[1 + c] * (values[c] + (gain if c == guess else 0.0))


@jit
def find_best_class(values: Floats, bias: Floats, guess: int) -> int:
    """Return the class with the largest score (the first in a tie), or NO_CLASS if all are 0."""
    gain = fallback_gain(values, guess)
    winner, best = NO_CLASS, 0.0
    for c in range(values.shape[0]):
        own_score = score(values, bias, guess, gain, c)
        if own_score > best:
            winner, best = c, own_score
    return winner


@jit
def find_harmless_error(values: Floats, bias: Floats, guess: int, winner: int) -> float:
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


@jit
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
    winner = find_best_class(p, bias, guess)
    answers.winner[row] = winner
    answers.bound[row] = bound
    answers.certain[row] = bound == 0.0 or find_harmless_error(p, bias, guess, winner) > bound
    if winner != NO_CLASS:
        write_scores(answers, row, bias, guess, sharpness, bound)


@jit
def write_scores(
    answers: KernelAnswers, row: int, bias: Floats, guess: int, sharpness: float, bound: float
) -> None:
    """Write the sharpened scores, scaled to the probability outside the sink, and the leeway."""
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
    # the winner's share rises with its own score and falls with the others: all errors are extreme
    winner_high = sharpen((best + max_error * bias[1 + winner]) / best, sharpness)
    winner_low = sharpen(max(0.0, best - max_error * bias[1 + winner]) / best, sharpness)
    slack = max_error * p.shape[0]
    high = winner_high / (winner_high + others_low) * min(1.0, total + slack)
    low = 0.0
    if winner_low > 0.0:
        low = winner_low / (winner_low + others_high) * max(0.0, total - slack)
    answers.leeway[row] = max(high - scores[winner], scores[winner] - low)


@jit
def sharpen(ratio: float, sharpness: float) -> float:
    """Raise a ratio of scores to a power; a power of 1 changes no bit."""
    return ratio if sharpness == 1.0 else ratio**sharpness


@jit
def fill_readout(
    system: System,
    counters: Counters,
    params: KernelParams,
    comparison: RowComparison,
    readout: Readout,
) -> int:
    """Write the average over the vertices similar to the row; return their number."""
    total = params.sink * weight_unit(counters, params)
    n_terms = 0
    for j in range(counters.n):
        if comparison.similarities[j] > 0.0:
            flow = comparison.similarities[j] * system.v[j]
            total += flow
            readout.vertex[n_terms] = j
            readout.share[n_terms] = flow
            n_terms += 1
    for a in range(n_terms):
        readout.share[a] /= total
    return n_terms


@jit
def bound_readout_rounding(system: System, n: int, readout: Readout, n_terms: int) -> float:
    """Return a bound on the rounding of the average, which is 0 if it reaches no label."""
    for a in range(n_terms):
        if system.has_label[system.component[readout.vertex[a]]]:
            return 2.0 * (n + 8) * UNIT_ROUNDOFF
    return 0.0


@jit
def find_nearest_label(
    vertices: Vertices, counters: Counters, params: KernelParams, comparison: RowComparison
) -> int:
    """Return the class of the nearest labelled vertex, or NO_CLASS without the fallback."""
    guess, shortest = NO_CLASS, np.inf
    if params.nearest_fallback:
        for j in range(counters.n):
            if vertices.label[j] != UNLABELLED and comparison.row_mean_distances[j] < shortest:
                guess, shortest = vertices.label[j], comparison.row_mean_distances[j]
    return guess


@jit
def extend_rows(
    vertices: Vertices,
    system: System,
    progress: CountersArray,
    params: KernelParams,
    comparison: RowComparison,
    readout: Readout,
    errors: Floats,
    rows: Floats,
    answers: KernelAnswers,
) -> None:
    """Answer rows by the harmonic extension, without learning; `errors` are of the vertices."""
    counters = progress[0]
    for row in range(rows.shape[0]):
        measure_row(vertices, counters, rows[row], comparison)
        compute_row_similarities(vertices.bandwidth, counters, params, comparison)
        if is_outlier(vertices.bandwidth, counters, params, comparison):
            answers.outlier[row] = True
            continue
        n_terms = fill_readout(system, counters, params, comparison, readout)
        error = 0.0
        for a in range(n_terms):
            error += readout.share[a] * errors[readout.vertex[a]]
        average_values(system, readout, n_terms)
        error += bound_readout_rounding(system, counters.n, readout, n_terms)
        guess = find_nearest_label(vertices, counters, params, comparison)
        write_answer(answers, row, readout.values, error, system.bias, guess, counters.sharpness)


@jit
def compute_class_mass(vertices: Vertices, system: System, n: int, mass: Floats) -> None:
    """Write the number of unlabelled examples of each class; vertices are divided by scores."""
    mass[:] = 0.0
    for i in range(n):
        if vertices.label[i] != UNLABELLED:
            continue
        total = 0.0
        for c in range(mass.shape[0]):
            total += system.bias[1 + c] * system.f[STEPS + 1 + c, i]
        if total > 0.0:
            for c in range(mass.shape[0]):
                own_score = system.bias[1 + c] * system.f[STEPS + 1 + c, i]
                mass[c] += vertices.examples[i] * (own_score / total)


@jit
def fit_biases(vertices: Vertices, system: System, n: int, shares: Floats) -> None:
    """Fit the biases so that class masses approach their shares of the total.

    Iterative proportional fitting; one extra example per class keeps the bias of an empty class
    finite. Class mass normalization is its first iteration. Without any mass, nothing changes.
    """
    mass, bias = np.empty(shares.shape[0]), system.bias[1:]
    for _ in range(PRIOR_ITERATIONS):
        compute_class_mass(vertices, system, n, mass)
        total = mass.sum()
        if total == 0.0:
            return
        bias *= shares * (total + mass.shape[0]) / (mass + 1.0)
        bias[:] = np.maximum(bias / bias.max(), 1.0 / MAX_BIAS_RATIO)
