"""What the graph says of a row it has not learned: the harmonic extension."""

from __future__ import annotations

from labelwalk.arrays import Floats, Record
from labelwalk.kernels.comparison import Comparison, distances_to, gaussian, is_outlier
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.cover import Vertices
from labelwalk.kernels.progress import Rules
from labelwalk.kernels.system import STEPS, UNIT_ROUNDOFF, System
from labelwalk.kernels.verdict import Answers, write_answer


@compiled
def extend(
    system: System,
    progress: Record,
    rules: Rules,
    beside: Comparison,
    errors: Floats,
    values: Floats,
    answers: Answers,
    row: int,
) -> None:
    """Answer a row with the average its own similarities take, and the average error."""
    here = progress[0]
    if is_outlier(here, rules, beside):
        answers.outlier[row] = True
        return
    total = rules.sink * (here.mu if rules.label_weight > 0.0 else 1.0)
    error, reached = 0.0, False
    for c in range(values.shape[0]):
        values[c] = 0.0
    for j in range(here.n):
        similar = beside.similarities[j]
        if not rules.own_similarities:
            similar = gaussian(beside.distances[j], here.sigma, here.cutoff)
        if similar > 0.0:
            flow = similar * system.v[j]
            total += flow
            error += flow * errors[j]
            reached = reached or system.lit[system.component[j]]
            for c in range(values.shape[0]):
                values[c] += flow * system.f[STEPS + 1 + c, j]
    for c in range(values.shape[0]):
        values[c] /= total
    rounding = 2.0 * (here.n + 8) * UNIT_ROUNDOFF
    write_answer(answers, row, values, error / total + rounding if reached else 0.0)


@compiled
def extend_rows(
    vertices: Vertices,
    system: System,
    progress: Record,
    rules: Rules,
    beside: Comparison,
    errors: Floats,
    rows: Floats,
    values: Floats,
    answers: Answers,
) -> None:
    """Answer many rows on a Gaussian graph."""
    for row in range(rows.shape[0]):
        distances_to(vertices.points, progress[0].n, rows[row], beside.distances)
        extend(system, progress, rules, beside, errors, values, answers, row)
