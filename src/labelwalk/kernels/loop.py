"""The compiled loop over rows: Figure 1, interrupted by events for rare work.

If a row needs work that only the caller can do, such as a coarsening, the loop returns an event,
and continues with that row when it is called again. Every choice depends on the state alone, so the
result is the same however a stream is divided into calls.
"""

from enum import IntEnum

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels import answer, assign
from labelwalk.kernels.answer import KernelAnswers
from labelwalk.kernels.assign import LoopState
from labelwalk.kernels.certificate import Readout, compute_error
from labelwalk.kernels.compare import RowComparison, compute_row_similarities, is_outlier
from labelwalk.kernels.counters import NEVER, NO_ROW, CountersArray, KernelParams, RowStage, age
from labelwalk.kernels.cover import UNLABELLED, Vertices, measure_row
from labelwalk.kernels.drift import DriftWindow, add_row
from labelwalk.kernels.jit import jit
from labelwalk.kernels.relaxation import NOT_CERTIFIED, relax_until_certified
from labelwalk.kernels.system import System

ANSWER_ONLY = -2  # instead of a label: answer the row without learning it
MEAN_WEIGHT_STEP = 1.05  # the mean weight is updated in steps of five percent


class LoopEvent(IntEnum):
    """What the caller does before the loop continues."""

    DONE = 0  # nothing: all rows are processed
    GROW = 1  # allocate more vertices
    MEASURE = 2  # measure bandwidths
    TRIM = 3  # merge vertices of a class with too many labels
    COARSEN = 4  # merge unlabelled vertices
    REBALANCE = 5  # update the mean weight
    BALANCE = 6  # fit the class prior
    TUNE = 7  # choose width, evenness and sharpness
    FORGET = 8  # let examples decay
    SOLVE = 9  # solve the linear system directly
    CHECK_HEALTH = 10  # compute health metrics


@jit
def feed(
    vertices: Vertices,
    system: System,
    progress: CountersArray,
    params: KernelParams,
    comparison: RowComparison,
    readout: Readout,
    quarantine: assign.Quarantine,
    memory: assign.Memory,
    drift: DriftWindow,
    rows: Floats,
    labels: Ints,
    start: int,
    answers: KernelAnswers,
) -> tuple[int, int]:
    """Process rows from `start` on; return the next row and the event it waits for."""
    # one function, because passing all arrays to each stage would take several percent longer
    counters, state = progress[0], LoopState(vertices, system, progress, params, comparison)
    for row in range(start, rows.shape[0]):
        x, label = rows[row], labels[row]
        is_unlabelled = label < 0
        if counters.stage == RowStage.WAITING:
            if counters.n == vertices.examples.shape[0]:
                return row, LoopEvent.GROW
            arrive(state, x, label)
            if counters.n_seen >= counters.measure_at_seen:
                return row, LoopEvent.MEASURE
        if counters.stage == RowStage.ARRIVED:
            measure_row(vertices, counters, x, comparison)
            counters.stage = RowStage.COMPARED
        if counters.stage == RowStage.COMPARED and is_unlabelled:
            if params.balanced and counters.n_seen > counters.balance_at_seen:
                return row, LoopEvent.BALANCE
            add_row(drift, counters, x)
            if is_outlier(vertices.bandwidth, counters, params, comparison):
                answers.outlier[row] = True
                counters.n_answer_only += label == ANSWER_ONLY
                is_excluded = params.quarantine_size == 0 or label == ANSWER_ONLY
                if is_excluded or not assign.quarantine_row(quarantine, counters, params, x):
                    counters.n_outliers += 1
                    counters.vertex, counters.stage = assign.OUTLIER_SLOT, RowStage.ENDED
                else:
                    assign.learn(state, x, UNLABELLED)
                    counters.stage = RowStage.LEARNED
        is_ready = counters.stage == RowStage.COMPARED or counters.stage == RowStage.SOLVED
        if params.read_first and is_unlabelled and is_ready:
            compute_row_similarities(vertices.bandwidth, counters, params, comparison)
            if not try_answer(state, readout, answers, row):
                return row, LoopEvent.SOLVE
            counters.stage = RowStage.COMPARED
        if counters.stage == RowStage.COMPARED and label == ANSWER_ONLY:
            counters.n_answer_only += 1
            counters.n_removed += 1
            counters.vertex, counters.stage = assign.REMOVED, RowStage.ENDED
        if counters.stage == RowStage.COMPARED:
            assign.learn(state, x, label)
            counters.stage = RowStage.LEARNED
        if counters.stage == RowStage.LEARNED:
            event = next_maintenance_event(state, label)
            if event != LoopEvent.DONE:
                return row, event
        is_ready = counters.stage != RowStage.ENDED and not answers.outlier[row]
        if not params.read_first and is_unlabelled and is_ready:
            if not try_answer(state, readout, answers, row):
                return row, LoopEvent.SOLVE
        counters.stage = RowStage.ENDED
        if age(counters) >= counters.forget_at:
            return row, LoopEvent.FORGET
        if counters.n_seen >= counters.judge_at_seen:
            return row, LoopEvent.CHECK_HEALTH
        if label != ANSWER_ONLY:  # a source beyond its share must not displace others
            assign.record_row(memory, counters, x, label)
        counters.stage, counters.id = RowStage.WAITING, NO_ROW
    return rows.shape[0], LoopEvent.DONE


@jit
def arrive(state: LoopState, x: Floats, label: int) -> None:
    """Count a row; update the running means and squared deviations (Welford)."""
    counters, moments = state.progress[0], state.comparison.moments
    if counters.id == NO_ROW:
        counters.id = counters.n_seen
    counters.n_seen += 1
    counters.stage = RowStage.ARRIVED
    if label >= 0:
        if counters.first_taught == 0:
            counters.first_taught = counters.n_seen
        counters.last_taught = counters.n_seen
    if counters.measure_at_seen == NEVER or label == ANSWER_ONLY:
        return
    counters.n_moments += 1
    means, squares = moments[0], moments[1]
    for p in range(x.shape[0]):
        gap = x[p] - means[p]
        means[p] += gap / counters.n_moments
        squares[p] += gap * (x[p] - means[p])


@jit
def try_answer(state: LoopState, readout: Readout, answers: KernelAnswers, row: int) -> bool:
    """Answer a row at itself or at its vertex; return False if a direct solution is needed."""
    vertices, system, progress, params, comparison = state
    counters = progress[0]
    n, n_terms = counters.n, 1
    if params.read_first:
        n_terms = answer.fill_readout(system, counters, params, comparison, readout)
    else:
        readout.vertex[0] = counters.vertex
        readout.share[0] = 1.0
    guess = answer.find_nearest_label(vertices, counters, params, comparison)
    if counters.stage == RowStage.SOLVED:
        error = compute_error(system, n, readout, n_terms)
    else:
        error = relax_until_certified(system, n, readout, n_terms, guess, params.tolerance)
        if error == NOT_CERTIFIED:
            return False
    if params.read_first:
        error += answer.bound_readout_rounding(system, n, readout, n_terms)
    sharpness = counters.sharpness
    answer.write_answer(answers, row, readout.values, error, system.bias, guess, sharpness)
    return True


@jit
def next_maintenance_event(state: LoopState, label: int) -> int:
    """Return what is due after a row has been learned, or DONE."""
    counters, params = state.progress[0], state.params
    if counters.n_founded >= counters.measure_at_founded:
        return LoopEvent.MEASURE
    if counters.n_unlabelled > params.n_centroids:
        return LoopEvent.COARSEN
    if label != UNLABELLED:
        n_of_class = 0
        for j in range(counters.n):
            n_of_class += state.vertices.label[j] == label
        if n_of_class > params.labels_per_class:
            return LoopEvent.TRIM
    if params.label_weight > 0.0 and counters.n_unlabelled > 0:
        mean, before = counters.total_weight / counters.n_unlabelled, counters.mean_weight
        if mean > MEAN_WEIGHT_STEP * before or before > MEAN_WEIGHT_STEP * mean:
            return LoopEvent.REBALANCE
    if counters.n_seen >= counters.choose_at_seen:
        return LoopEvent.TUNE
    return LoopEvent.DONE
