"""One example after another: Figure 1 as a compiled loop that stops where rarer work is due.

The loop takes rows until one needs what only the caller can do (more room, a coarsening, an exact
solution, ...), says so with an event, and goes on with the same row when it is called again. Every
choice depends on the state alone, so a stream cut into other chunks takes the very same steps.
"""

from __future__ import annotations

from labelwalk.arrays import Floats, Ints, Record
from labelwalk.kernels.answer import KernelAnswers, write_answer
from labelwalk.kernels.certificate import Readout, compute_error
from labelwalk.kernels.comparison import Comparison, compare_with, is_outlier
from labelwalk.kernels.cover import UNLABELLED, Vertices
from labelwalk.kernels.drift import Watch, watch_row
from labelwalk.kernels.extension import compare_row, extended, nearest_label, reaches
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.learning import learn
from labelwalk.kernels.memory import GONE, OUT, Memory, age, remember
from labelwalk.kernels.progress import (
    ARRIVED,
    COMPARED,
    ENDED,
    LEARNED,
    NEVER,
    NO_ROW,
    SOLVED,
    WAITING,
    Rules,
)
from labelwalk.kernels.quarantine import Quarantine, hold
from labelwalk.kernels.relaxation import NOT_CERTIFIED, relax_until_certified
from labelwalk.kernels.system import UNIT_ROUNDOFF, System

# What the caller has to do before the loop can go on.
DONE, GROW, MEASURE, TRIM, COARSEN, REBALANCE, BALANCE, CHOOSE = range(8)
FORGET, SOLVE, JUDGE = range(8, 11)

BARRED = -2  # in place of a label: answer the row, and do not learn it
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
def note_taught(here: Record) -> None:
    """Remember when labels came."""
    if here.first_taught == 0:
        here.first_taught = here.n_seen
    here.last_taught = here.n_seen


@compiled
def chores(vertices: Vertices, here: Record, rules: Rules, label: int) -> int:
    """Return what is due now that the row is learned, or DONE."""
    if here.n_founded >= here.measure_at_founded:
        return MEASURE
    if here.n_unlabelled > rules.n_centroids:
        return COARSEN
    if label != UNLABELLED:
        same = 0
        for j in range(here.n):
            same += vertices.label[j] == label
        if same > rules.labels_per_class:
            return TRIM
    if rules.label_weight > 0.0 and here.n_unlabelled > 0:
        mean = here.load / here.n_unlabelled
        if mean > MEAN_STEP * here.mu or here.mu > MEAN_STEP * mean:
            return REBALANCE
    if here.n_seen >= here.choose_at_seen:
        return CHOOSE
    return DONE


@compiled
def answer(
    vertices: Vertices,
    system: System,
    here: Record,
    rules: Rules,
    beside: Comparison,
    reading: Readout,
    answers: KernelAnswers,
    row: int,
) -> bool:
    """Answer a row at itself, or at its vertex; return whether that was possible without help."""
    if rules.read_first:
        many = extended(system, here, rules, beside, reading)
    else:
        many = 1
        reading.vertex[0] = here.vertex
        reading.share[0] = 1.0
    guess = nearest_label(vertices, here, rules, beside)
    if here.stage == SOLVED:
        error = compute_error(system, here.n, reading, many)
    else:
        error = relax_until_certified(system, here.n, reading, many, guess, rules.tolerance)
        if error == NOT_CERTIFIED:
            return False
    if rules.read_first and reaches(system, reading, many):
        error += 2.0 * (here.n + 8) * UNIT_ROUNDOFF
    write_answer(answers, row, reading.values, error, system.bias, guess, here.sharpness)
    return True


@compiled
def feed(
    vertices: Vertices,
    system: System,
    progress: Record,
    rules: Rules,
    beside: Comparison,
    reading: Readout,
    quarantine: Quarantine,
    memory: Memory,
    watch: Watch,
    rows: Floats,
    labels: Ints,
    start: int,
    answers: KernelAnswers,
) -> tuple[int, int]:
    """Take rows from `start` on; return the row that is next and the event it waits for."""
    here = progress[0]
    for row in range(start, rows.shape[0]):
        x, label = rows[row], labels[row]
        asked = label < 0
        if here.stage == WAITING:
            if here.n == vertices.examples.shape[0]:
                return row, GROW
            if here.id == NO_ROW:
                here.id = here.n_seen
            here.n_seen += 1
            if here.measure_at_seen != NEVER and label != BARRED:
                here.n_moments += 1
                add_to_moments(beside.moments, here.n_moments, x)
            here.stage = ARRIVED
            if here.n_seen >= here.measure_at_seen:
                return row, MEASURE
        if here.stage == ARRIVED:
            compare_row(vertices, here, x, beside)
            here.stage = COMPARED
        if here.stage == COMPARED and asked:
            if rules.balanced and here.n_seen > here.balance_at_seen:
                return row, BALANCE
            watch_row(watch, here, x)
            if is_outlier(vertices.bandwidth, here, rules, beside):
                answers.outlier[row] = True
                here.n_barred += label == BARRED
                if rules.support == 0 or label == BARRED or not hold(quarantine, here, rules, x):
                    here.n_outliers += 1
                    here.vertex, here.stage = OUT, ENDED
                else:
                    learn(vertices, system, here, rules, beside, x, UNLABELLED)
                    here.stage = LEARNED
        if rules.read_first and asked and here.stage in (COMPARED, SOLVED):
            compare_with(vertices.bandwidth, here, rules, beside)
            if not answer(vertices, system, here, rules, beside, reading, answers, row):
                return row, SOLVE
            here.stage = COMPARED
        if here.stage == COMPARED and label == BARRED:
            here.n_barred += 1
            here.n_gone += 1
            here.vertex, here.stage = GONE, ENDED
        if here.stage == COMPARED:
            if not asked:
                note_taught(here)
            learn(vertices, system, here, rules, beside, x, label)
            here.stage = LEARNED
        if here.stage == LEARNED:
            event = chores(vertices, here, rules, label)
            if event != DONE:
                return row, event
        late = asked and not rules.read_first and here.stage != ENDED
        if late and not answers.outlier[row]:
            if not answer(vertices, system, here, rules, beside, reading, answers, row):
                return row, SOLVE
        here.stage = ENDED
        if age(here) >= here.forget_at:
            return row, FORGET
        if here.n_seen >= here.judge_at_seen:
            return row, JUDGE
        if label != BARRED:
            remember(memory, here, x, label, here.vertex)
        here.stage, here.id = WAITING, NO_ROW
    return rows.shape[0], DONE
