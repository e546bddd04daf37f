"""One example after another: Figure 1 as a compiled loop that stops where rarer work is due.

The loop takes rows until one needs what only the caller can do (more room, a coarsening, an exact
solution, ...), says so with an event, and goes on with the same row when it is called again. Every
choice depends on the state alone, so a stream cut into other chunks takes the very same steps.
"""

from __future__ import annotations

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.answer import (
    KernelAnswers,
    extended,
    nearest_label,
    reaches,
    write_answer,
)
from labelwalk.kernels.assign import (
    OUTLIER_SLOT,
    REMOVED,
    Memory,
    Quarantine,
    hold,
    learn,
    remember,
)
from labelwalk.kernels.certificate import Readout, compute_error
from labelwalk.kernels.compare import RowComparison, compare_with, is_outlier
from labelwalk.kernels.counters import (
    ARRIVED,
    COMPARED,
    ENDED,
    LEARNED,
    NEVER,
    NO_ROW,
    SOLVED,
    WAITING,
    Counters,
    CountersArray,
    KernelParams,
    age,
)
from labelwalk.kernels.cover import UNLABELLED, Vertices, compare_row
from labelwalk.kernels.drift import DriftWindow, watch_row
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.relaxation import NOT_CERTIFIED, relax_until_certified
from labelwalk.kernels.system import UNIT_ROUNDOFF, System

# What the caller has to do before the loop can go on.
DONE, GROW, MEASURE, TRIM, COARSEN, REBALANCE, BALANCE, CHOOSE = range(8)
FORGET, SOLVE, JUDGE = range(8, 11)

ANSWER_ONLY = -2  # in place of a label: answer the row, and do not learn it
MEAN_STEP = 1.05  # the mean weight follows in steps of five percent


@compiled
def add_to_moments(moments: Floats, n: int, x: Floats) -> None:
    """Let the row move the running means and summed squared deviations (Welford)."""
    means, squares = moments[0], moments[1]
    for p in range(x.shape[0]):
        gap = x[p] - means[p]
        means[p] += gap / n
        squares[p] += gap * (x[p] - means[p])


@compiled
def note_taught(counters: Counters) -> None:
    """Remember when labels came."""
    if counters.first_taught == 0:
        counters.first_taught = counters.n_seen
    counters.last_taught = counters.n_seen


@compiled
def chores(vertices: Vertices, counters: Counters, rules: KernelParams, label: int) -> int:
    """Return what is due now that the row is learned, or DONE."""
    if counters.n_founded >= counters.measure_at_founded:
        return MEASURE
    if counters.n_unlabelled > rules.n_centroids:
        return COARSEN
    if label != UNLABELLED:
        same = 0
        for j in range(counters.n):
            same += vertices.label[j] == label
        if same > rules.labels_per_class:
            return TRIM
    if rules.label_weight > 0.0 and counters.n_unlabelled > 0:
        mean = counters.total_weight / counters.n_unlabelled
        if mean > MEAN_STEP * counters.mean_weight or counters.mean_weight > MEAN_STEP * mean:
            return REBALANCE
    if counters.n_seen >= counters.choose_at_seen:
        return CHOOSE
    return DONE


@compiled
def answer(
    vertices: Vertices,
    system: System,
    counters: Counters,
    rules: KernelParams,
    comparison: RowComparison,
    reading: Readout,
    answers: KernelAnswers,
    row: int,
) -> bool:
    """Answer a row at itself, or at its vertex; return whether that was possible without help."""
    if rules.read_first:
        many = extended(system, counters, rules, comparison, reading)
    else:
        many = 1
        reading.vertex[0] = counters.vertex
        reading.share[0] = 1.0
    guess = nearest_label(vertices, counters, rules, comparison)
    if counters.stage == SOLVED:
        error = compute_error(system, counters.n, reading, many)
    else:
        error = relax_until_certified(system, counters.n, reading, many, guess, rules.tolerance)
        if error == NOT_CERTIFIED:
            return False
    if rules.read_first and reaches(system, reading, many):
        error += 2.0 * (counters.n + 8) * UNIT_ROUNDOFF
    write_answer(answers, row, reading.values, error, system.bias, guess, counters.sharpness)
    return True


@compiled
def feed(
    vertices: Vertices,
    system: System,
    progress: CountersArray,
    rules: KernelParams,
    comparison: RowComparison,
    reading: Readout,
    quarantine: Quarantine,
    memory: Memory,
    watch: DriftWindow,
    rows: Floats,
    labels: Ints,
    start: int,
    answers: KernelAnswers,
) -> tuple[int, int]:
    """Take rows from `start` on; return the row that is next and the event it waits for."""
    counters = progress[0]
    for row in range(start, rows.shape[0]):
        x, label = rows[row], labels[row]
        asked = label < 0
        if counters.stage == WAITING:
            if counters.n == vertices.examples.shape[0]:
                return row, GROW
            if counters.id == NO_ROW:
                counters.id = counters.n_seen
            counters.n_seen += 1
            if counters.measure_at_seen != NEVER and label != ANSWER_ONLY:
                counters.n_moments += 1
                add_to_moments(comparison.moments, counters.n_moments, x)
            counters.stage = ARRIVED
            if counters.n_seen >= counters.measure_at_seen:
                return row, MEASURE
        if counters.stage == ARRIVED:
            compare_row(vertices, counters, x, comparison)
            counters.stage = COMPARED
        if counters.stage == COMPARED and asked:
            if rules.balanced and counters.n_seen > counters.balance_at_seen:
                return row, BALANCE
            watch_row(watch, counters, x)
            if is_outlier(vertices.bandwidth, counters, rules, comparison):
                answers.outlier[row] = True
                counters.n_answer_only += label == ANSWER_ONLY
                if (
                    rules.quarantine_size == 0
                    or label == ANSWER_ONLY
                    or not hold(quarantine, counters, rules, x)
                ):
                    counters.n_outliers += 1
                    counters.vertex, counters.stage = OUTLIER_SLOT, ENDED
                else:
                    learn(vertices, system, counters, rules, comparison, x, UNLABELLED)
                    counters.stage = LEARNED
        if rules.read_first and asked and counters.stage in (COMPARED, SOLVED):
            compare_with(vertices.bandwidth, counters, rules, comparison)
            if not answer(vertices, system, counters, rules, comparison, reading, answers, row):
                return row, SOLVE
            counters.stage = COMPARED
        if counters.stage == COMPARED and label == ANSWER_ONLY:
            counters.n_answer_only += 1
            counters.n_removed += 1
            counters.vertex, counters.stage = REMOVED, ENDED
        if counters.stage == COMPARED:
            if not asked:
                note_taught(counters)
            learn(vertices, system, counters, rules, comparison, x, label)
            counters.stage = LEARNED
        if counters.stage == LEARNED:
            event = chores(vertices, counters, rules, label)
            if event != DONE:
                return row, event
        late = asked and not rules.read_first and counters.stage != ENDED
        if late and not answers.outlier[row]:
            if not answer(vertices, system, counters, rules, comparison, reading, answers, row):
                return row, SOLVE
        counters.stage = ENDED
        if age(counters) >= counters.forget_at:
            return row, FORGET
        if counters.n_seen >= counters.judge_at_seen:
            return row, JUDGE
        if label != ANSWER_ONLY:
            remember(memory, counters, x, label, counters.vertex)
        counters.stage, counters.id = WAITING, NO_ROW
    return rows.shape[0], DONE
