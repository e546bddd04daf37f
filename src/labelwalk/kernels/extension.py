"""What the graph says of a row that is not in it: the harmonic extension."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats, Record
from labelwalk.kernels.answer import NO_CLASS, KernelAnswers, write_answer
from labelwalk.kernels.certificate import Readout, average_values
from labelwalk.kernels.comparison import Comparison, compare_with, distances_to, is_outlier
from labelwalk.kernels.cover import UNLABELLED, Vertices
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.progress import Rules
from labelwalk.kernels.system import UNIT_ROUNDOFF, System


@compiled
def compare_row(vertices: Vertices, here: Record, x: Floats, beside: Comparison) -> None:
    """Measure the distances of a row to founders and representatives.

    Until vertices have to stand for examples that differ, both are the same but for rounding.
    """
    distances_to(vertices.points, here.n, x, beside.distances)
    if vertices.means.shape[0] > 0 and vertices.reach[: here.n].any():
        distances_to(vertices.means, here.n, x, beside.apart_row)
    else:
        beside.apart_row[: here.n] = beside.distances[: here.n]


@compiled
def extended(
    system: System, here: Record, rules: Rules, beside: Comparison, reading: Readout
) -> int:
    """Let the reading be the average that the row's own similarities take; return over how many."""
    total = rules.sink * (here.mu if rules.label_weight > 0.0 else 1.0)
    many = 0
    for j in range(here.n):
        if beside.similarities[j] > 0.0:
            flow = beside.similarities[j] * system.v[j]
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
        if system.lit[system.component[reading.vertex[a]]]:
            return True
    return False


@compiled
def nearest_label(vertices: Vertices, here: Record, rules: Rules, beside: Comparison) -> int:
    """Return the class of the nearest labelled vertex where it may be guessed, or NO_CLASS."""
    guess, shortest = NO_CLASS, np.inf
    if rules.guess:
        for j in range(here.n):
            if vertices.label[j] != UNLABELLED and beside.apart_row[j] < shortest:
                guess, shortest = vertices.label[j], beside.apart_row[j]
    return guess


@compiled
def extend(
    vertices: Vertices,
    system: System,
    progress: Record,
    rules: Rules,
    beside: Comparison,
    errors: Floats,
    reading: Readout,
    answers: KernelAnswers,
    row: int,
) -> None:
    """Answer a row that has been compared from vertices with these proven errors."""
    here = progress[0]
    compare_with(vertices.bandwidth, here, rules, beside)
    if is_outlier(vertices.bandwidth, here, rules, beside):
        answers.outlier[row] = True
        return
    many = extended(system, here, rules, beside, reading)
    error = 0.0
    for a in range(many):
        error += reading.share[a] * errors[reading.vertex[a]]
    average_values(system, reading, many)
    if reaches(system, reading, many):
        error += 2.0 * (here.n + 8) * UNIT_ROUNDOFF
    guess = nearest_label(vertices, here, rules, beside)
    write_answer(answers, row, reading.values, error, system.bias, guess, here.sharpness)


@compiled
def extend_rows(
    vertices: Vertices,
    system: System,
    progress: Record,
    rules: Rules,
    beside: Comparison,
    errors: Floats,
    reading: Readout,
    rows: Floats,
    answers: KernelAnswers,
) -> None:
    """Answer many rows."""
    for row in range(rows.shape[0]):
        compare_row(vertices, progress[0], rows[row], beside)
        extend(vertices, system, progress, rules, beside, errors, reading, answers, row)
