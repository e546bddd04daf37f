"""Relaxation of the linear system until the certificate proves an answer.

Relaxing follows the random walk step by step, and a walk in the slow block takes thousands of steps
to leave it. The block has few vertices, so it is solved directly by elimination.
"""

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels import certificate
from labelwalk.kernels.answer import NO_CLASS, compute_excess, find_best_class, find_harmless_error
from labelwalk.kernels.certificate import Readout
from labelwalk.kernels.jit import jit
from labelwalk.kernels.system import (
    DENSE_ROW,
    MAX_STEPS,
    STEPS,
    UNIT_ROUNDOFF,
    System,
    bound_rounding,
    mark_dirty,
    push,
)

NOT_CERTIFIED = -1.0
MAX_DEFICIT, MAX_EXCESS = 0.3, 0.5  # steps that are off by more, relative to d + g, are relaxed
MAX_STEP_DEFICIT = 0.7  # larger deficits of the steps are not compensated by smaller residuals
TARGET_FRACTION = 0.9  # relaxation aims at this fraction of the allowed error
FAST_PART_FRACTION = 0.85  # fraction of it for the vertices outside the slow block
OVER_RELAXATION = 1.4  # factor omega of successive over-relaxation
OVER_RELAXATION_MIN_STEPS = 30.0  # omega is 1 where walks are shorter
CLOSE_CALL_FRACTION = 0.01  # of the tolerance, for answers whose label could change
MAX_EXTRA_RELAXATIONS = 16  # per component; beyond, a direct solution is cheaper

# Work is counted in contiguous multiplications. A scattered one takes about 8 times as long, and
# one of the n^3 / 3 of a Cholesky factorization a twelfth.
SCATTERED_COST = 8
DIRECT_COST = 1.0 / 36.0


@jit
def relax_until_certified(
    system: System, n: int, readout: Readout, n_terms: int, guess: int, tolerance: float
) -> float:
    """Relax until the error of an answer is proven small; return its bound, or NOT_CERTIFIED.

    The answer's bound (see `compute_excess`) must be at most `tolerance`, and too small to change
    the label or at most a hundredth of that. Relaxation gives up if it would cost more than a
    direct solution, or if accumulated rounding is too large.
    """
    steps = certificate.average_values(system, readout, n_terms)
    if not certificate.mark_components(system, n, readout, n_terms):
        return 0.0
    values, work = readout.values, 0.0
    while True:
        cutoff = certificate.choose_cutoff(system, n, steps)
        late_steps = certificate.count_late_steps(system, readout, n_terms, cutoff)
        bounds = certificate.bound_residuals(system, n, cutoff)
        error = certificate.bound_error(system, bounds, steps, late_steps)
        cut = compute_excess(values)
        winner = find_best_class(values, system.bias, guess)
        harmless = find_harmless_error(values, system.bias, guess, winner)
        goal = tolerance
        if harmless <= error + 2.0 * cut:
            goal = min(tolerance, max(CLOSE_CALL_FRACTION * tolerance, 0.9 * (harmless - cut)))
        if error + cut <= goal:
            return error
        share = error / (error + cut) if error < np.inf else 1.0
        allowed = TARGET_FRACTION * share * (1.0 - min(bounds.tau, MAX_STEP_DEFICIT)) * goal
        fast_part = allowed if late_steps == 0.0 else FAST_PART_FRACTION * allowed
        level = fast_part / (steps - late_steps) - bound_rounding(system)
        if level <= 0.0 or work > DIRECT_COST * n**3:
            return NOT_CERTIFIED
        work += n * values.shape[0]
        omega = OVER_RELAXATION if steps - late_steps >= OVER_RELAXATION_MIN_STEPS else 1.0
        work += relax(system, n, level, cutoff, omega, DIRECT_COST * n**3)
        if late_steps > 0.0:
            level = (allowed - fast_part) / late_steps - bound_rounding(system)
            work += solve_slow_block(system, n, cutoff, level)
        steps = certificate.average_values(system, readout, n_terms)


@jit
def relax_all_until_certified(system: System, n: int, tolerance: float, readout: Readout) -> bool:
    """Certify the vertex with the longest walks of each component, and so every vertex.

    Return False if a direct solution is cheaper.
    """
    readout.share[0] = 1.0
    for seed in range(n):
        if system.component[seed] != seed or not system.has_label[seed]:
            continue
        for _ in range(n + MAX_EXTRA_RELAXATIONS):
            farthest = -1
            for i in range(n):
                if system.component[i] == seed and not system.clamped[i]:
                    if farthest < 0 or system.f[STEPS, i] > system.f[STEPS, farthest]:
                        farthest = i
            if farthest < 0:
                break
            readout.vertex[0] = farthest
            if certificate.compute_error(system, n, readout, 1) <= tolerance:
                break
            if relax_until_certified(system, n, readout, 1, NO_CLASS, tolerance) == NOT_CERTIFIED:
                return False
        else:
            return False
    return True


@jit
def fill_queue(system: System, n: int, level: float, cutoff: float) -> int:
    """Queue the marked vertices with residuals above `level`; return their number."""
    total, limit, queue, queued = system.scratch, system.limit, system.queue, system.queued
    f, r, tail = system.f, system.r, 0
    for j in range(n):
        queued[j] = system.clamped[j] or not system.marked[system.component[j]]
        limit[j] = level * total[j] if f[STEPS, j] <= cutoff else np.inf
        high = system.largest[j] * total[j] > limit[j] or are_steps_off(r[STEPS, j], total[j])
        if high and not queued[j]:
            queued[j] = True
            queue[tail] = j
            tail += 1
    return tail


@jit
def relax(
    system: System, n: int, level: float, cutoff: float, omega: float, budget: float
) -> float:
    """Relax marked vertices, first come, first served; return the work done.

    A value moves `omega` times as far as its own equation requires, while its residual exceeds
    `level`. Steps are relaxed less often, because only their size matters; past the cutoff only
    they are relaxed. The neighbours along a dense row are not queued: the next call finds them. The
    learner spends most of its time in the inner loop; a function in its place, with arrays as
    arguments, takes four times as long.
    """
    w, f, r, v = system.w, system.f, system.r, system.v
    total, limit = system.scratch, system.limit
    neighbours, similar, n_neighbours = system.neighbours, system.similar, system.n_neighbours
    queue, queued, dirty = system.queue, system.queued, system.residual_dirty
    head, tail, n_moves, work = 0, fill_queue(system, n, level, cutoff), 0, 0.0
    size = queue.shape[0]
    # A vertex without neighbours costs no work, so the number of visits is bounded too.
    n_visits, max_visits = 0, 2.0 * n + budget
    while head != tail and work <= budget and n_visits <= max_visits:
        n_visits += 1
        i = queue[head]
        head += 1
        if head == size:
            head = 0
        queued[i] = False
        dirty[i] = True
        length, moves_before = n_neighbours[i], n_moves
        if are_steps_off(r[STEPS, i], total[i]):
            before, deficit = f[STEPS, i], r[STEPS, i] / total[i]
            f[STEPS, i] = min(MAX_STEPS, max(0.0, before + deficit))
            move = deficit if 0.0 < f[STEPS, i] < MAX_STEPS else f[STEPS, i] - before
            r[STEPS, i] = total[i] * (deficit - move)
            push(w[i], neighbours[i], similar[i], length, n, v[i] * move, r[STEPS])
            n_moves += 1
            for a in range(length):
                j = neighbours[i, a]
                if not queued[j] and are_steps_off(r[STEPS, j], total[j]):
                    queued[j] = True
                    queue[tail] = j
                    tail += 1
                    if tail == size:
                        tail = 0
        for column in range(STEPS + 1, f.shape[0]):
            residual = r[column]
            if abs(residual[i]) <= limit[i]:
                continue
            before = f[column, i]
            f[column, i] = min(1.0, max(0.0, before + omega * residual[i] / total[i]))
            move = f[column, i] - before
            residual[i] -= total[i] * move
            high = (abs(residual[i]) > limit[i]) & (not queued[i])
            queued[i] |= high
            queue[tail] = i
            tail += high
            if tail == size:
                tail = 0
            flow = v[i] * move
            n_moves += 1
            if length == DENSE_ROW:
                for j in range(n):
                    residual[j] += w[i, j] * flow
                    dirty[j] = True
                continue
            for a in range(length):
                j = neighbours[i, a]
                changed = residual[j] + similar[i, a] * flow
                residual[j] = changed
                dirty[j] = True
                high = (abs(changed) > limit[j]) & (not queued[j])
                queued[j] |= high
                queue[tail] = j
                tail += high
                if tail == size:
                    tail = 0
        work += (n_moves - moves_before) * (n if length == DENSE_ROW else SCATTERED_COST * length)
    system.drift[0] += 8 * UNIT_ROUNDOFF * n_moves
    return work


@jit
def are_steps_off(residual: float, total: float) -> bool:
    """Return whether the steps of a vertex are far below or far above their equation."""
    return residual > MAX_DEFICIT * total or residual < -MAX_EXCESS * total


@jit
def solve_slow_block(system: System, n: int, cutoff: float, level: float) -> float:
    """Solve the vertices past `cutoff`, with all others fixed; return the work done.

    Classes are skipped if all their relative residuals in the block are at most `level`.
    """
    is_slow = (system.f[STEPS, :n] > cutoff) & system.marked[system.component[:n]]
    block = np.flatnonzero(is_slow)
    limits = level * (system.d[block] + system.g[block])
    is_due = np.empty(system.r.shape[0], dtype=np.bool_)
    for column in range(is_due.shape[0]):
        is_due[column] = (np.abs(system.r[column][block]) > limits).any()
    m, due = block.shape[0], np.flatnonzero(is_due)
    moves = np.empty((m, due.shape[0]))
    for b in range(due.shape[0]):
        moves[:, b] = system.r[due[b]][block]
    eliminate(*extract_block(system, n, block), moves)
    for b in range(due.shape[0]):
        apply_moves(system, n, block, moves[:, b], due[b])
    for a in range(m):
        system.residual_dirty[block[a]] = True
        mark_dirty(system, n, block[a])
    system.drift[0] += 8 * UNIT_ROUNDOFF * m
    return m**3 / 3.0 + float(m * n * due.shape[0])


@jit
def apply_moves(system: System, n: int, block: Ints, moves: Floats, column: int) -> None:
    """Move the values of one column in a block; update the residuals of all neighbours."""
    w, neighbours, similar = system.w, system.neighbours, system.similar
    value, residual = system.f[column], system.r[column]
    highest = MAX_STEPS if column == STEPS else 1.0
    for a, i in enumerate(block):
        before = value[i]
        value[i] = min(highest, max(0.0, before + moves[a]))
        move = value[i] - before
        residual[i] -= (system.d[i] + system.g[i]) * move
        length = system.n_neighbours[i]
        push(w[i], neighbours[i], similar[i], length, n, system.v[i] * move, residual)


@jit
def extract_block(system: System, n: int, block: Ints) -> tuple[Floats, Floats]:
    """Return the flows w_ij v_j between the vertices of a block, and out of it."""
    m, positions = block.shape[0], np.full(n, -1)
    positions[block] = np.arange(m)
    flow, escape = np.zeros((m, m)), system.g[block]
    for a, i in enumerate(block):
        length = system.n_neighbours[i]
        for b in range(n if length == DENSE_ROW else length):
            j = b if length == DENSE_ROW else system.neighbours[i, b]
            if positions[j] >= 0:
                flow[a, positions[j]] = system.w[i, j] * system.v[j]
            else:
                escape[a] += system.w[i, j] * system.v[j]
    return flow, escape


@jit
def eliminate(flow: Floats, escape: Floats, b: Floats) -> None:
    """Solve (sum_j flow_ij + escape_i) x_i - sum_j flow_ij x_j = b_i in place of b.

    No pivot is a difference, so none can vanish (Grassmann, Taksar and Heyman 1985).
    """
    m, columns = b.shape
    for i in range(m):
        pivot = escape[i]
        for j in range(i + 1, m):
            pivot += flow[i, j]
        flow[i, i] = pivot
        for k in range(i + 1, m):
            share = flow[k, i] / pivot
            if share > 0.0:
                escape[k] += share * escape[i]
                for j in range(i + 1, m):
                    flow[k, j] += share * flow[i, j]
                for column in range(columns):
                    b[k, column] += share * b[i, column]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            for column in range(columns):
                b[i, column] += flow[i, j] * b[j, column]
        for column in range(columns):
            b[i, column] /= flow[i, i]
