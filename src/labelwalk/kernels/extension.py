"""What the graph says of a row that is not in it: the harmonic extension."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.kernels.answer import NO_CLASS, KernelAnswers, write_answer
from labelwalk.kernels.certificate import Readout, average_values
from labelwalk.kernels.comparison import RowComparison, compare_with, distances_to, is_outlier
from labelwalk.kernels.cover import UNLABELLED, Vertices
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.progress import Counters, CountersArray, KernelParams
from labelwalk.kernels.system import UNIT_ROUNDOFF, System


@compiled
def compare_row(
    vertices: Vertices, counters: Counters, x: Floats, comparison: RowComparison
) -> None:
    """Measure the distances of a row to founders and representatives.

    Until vertices have to stand for examples that differ, both are the same but for rounding.
    """
    distances_to(vertices.points, counters.n, x, comparison.distances)
    if vertices.means.shape[0] > 0 and vertices.reach[: counters.n].any():
        distances_to(vertices.means, counters.n, x, comparison.row_mean_distances)
    else:
        comparison.row_mean_distances[: counters.n] = comparison.distances[: counters.n]


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
