"""Relax until an answer is proven: the certificate, and the loop that earns it.

For any f, with relative residuals rho_jc = r_jc / (d_j + g_j), and any number of steps b, the exact
solution f* satisfies

    |f_i - f*_i|  <=  (near * min(t_i, b) + far * max(t_i - b, 0)) / (1 - max_j tau_j),

where near is the largest |rho_j|, far the largest with t_j > b, and tau_j the relative residual of
the steps t; all maxima run over the component of i. So residuals must be smallest where walks are
long, and need not be elsewhere. An answer that is an average over vertices is off by at most the
same average of their errors. docs/decisions/0002 has the proof. What rounding may have added to the
residuals is counted and added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, SmallInts
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.corner import bend_for, solve_corner
from labelwalk.kernels.system import (
    DENSE,
    MOST_STEPS,
    STEPS,
    UNIT_ROUNDOFF,
    System,
    push,
    rounding,
)
from labelwalk.kernels.verdict import NOBODY, best_class, excess_each, harmless_error

SHORT = 0.3  # steps are relaxed where they fall this far short of their equation,
LONG = 0.5  # or exceed it by this much
BORNE = 0.7  # residuals make up for steps that fall so far short, and no farther
EASE = 0.9  # of the error allowed is aimed at,
OUTSIDE = 0.85  # and so much of that for the vertices outside a corner, where there is one
STRIDE = 1.4  # times as far as its equation asks a value moves, where walks are
LONG_WALK = 30.0  # steps long or longer
CLOSE = 0.01  # a close call is settled to this fraction of the tolerance
UNPROVEN = -1.0
SETTLINGS = 16  # in a component, beyond one for each vertex, before a direct solution is cheaper

# Work is counted in contiguous multiplications: a scattered one takes about 8 times as long, one of
# the n^3 / 3 of a Cholesky factorisation a twelfth.
SCATTERED = 8
DIRECT = 1.0 / 36.0


class Reading(NamedTuple):
    """An answer to be: an average over vertices of this many, with these shares."""

    vertex: SmallInts
    share: Floats
    values: Floats  # (classes) the average as it stands


class Survey(NamedTuple):
    """What the proof of an answer needs to know of the components it is read from."""

    bend: float  # steps past which a corner begins
    near: float  # largest relative residual of the classes,
    far: float  # and the largest past the bend
    short: float  # largest shortfall of the steps
    most_steps: float


@compiled
def read(system: System, reading: Reading, many: int) -> float:
    """Take the average; return the steps still to go where a label can be reached."""
    values, steps = reading.values, 0.0
    for c in range(values.shape[0]):
        values[c] = 0.0
    for a in range(many):
        i, share = reading.vertex[a], reading.share[a]
        if system.lit[system.component[i]]:
            if not system.clamped[i]:
                steps += share * system.f[STEPS, i]
            for c in range(values.shape[0]):
                values[c] += share * system.f[STEPS + 1 + c, i]
    return steps


@compiled
def steps_beyond(system: System, reading: Reading, many: int, bend: float) -> float:
    """Return the part of a reading's steps that vertices have to go past `bend`."""
    late = 0.0
    for a in range(many):
        i = reading.vertex[a]
        if system.lit[system.component[i]] and not system.clamped[i]:
            late += reading.share[a] * max(0.0, system.f[STEPS, i] - bend)
    return late


@compiled
def touch(system: System, n: int, reading: Reading, many: int) -> bool:
    """Mark the components where a reading's error comes from; return whether there is any."""
    for i in range(n):
        system.touched[i] = False
    touched = False
    for a in range(many):
        i = reading.vertex[a]
        if system.lit[system.component[i]] and not system.clamped[i]:
            system.touched[system.component[i]] = True
            touched = True
    return touched


@compiled
def survey(system: System, n: int, bend: float) -> Survey:
    """Look at all that is touched."""
    r, largest, total = system.r, system.largest, system.scratch
    near, far, short, most_steps = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        total[j] = system.d[j] + system.g[j]
        if system.stirred[j]:
            system.stirred[j] = False
            highest = 0.0
            for column in range(STEPS + 1, r.shape[0]):
                highest = max(highest, abs(r[column, j]))
            largest[j] = highest / total[j]
    for j in range(n):
        if system.touched[system.component[j]] and not system.clamped[j]:
            steps = system.f[STEPS, j]
            near = max(near, largest[j])
            far = max(far, largest[j] if steps > bend else 0.0)
            short = max(short, r[STEPS, j] / total[j])
            most_steps = max(most_steps, steps)
    return Survey(bend, near, far, short, most_steps)


@compiled
def error_after(system: System, seen: Survey, early: float, late: float) -> float:
    """Return what an answer that takes so many steps, before and after the bend, may be off by.

    It may exceed 1, and be infinite: unproven.
    """
    drift = rounding(system)
    proven = 1.0 - seen.short - drift * (1.0 + seen.most_steps)
    if proven <= 0.0:
        return np.inf
    return ((seen.near + drift) * early + (seen.far + drift) * late) / proven


@compiled
def error_of(system: System, n: int, reading: Reading, many: int) -> float:
    """Take the average and return its proven error as it stands, at most 1."""
    steps = read(system, reading, many)
    if not touch(system, n, reading, many):
        return 0.0
    bend = bend_for(system, n, steps)
    late = steps_beyond(system, reading, many, bend)
    return min(1.0, error_after(system, survey(system, n, bend), steps - late, late))


@compiled
def relax(system: System, n: int, level: float, bend: float, stride: float, budget: float) -> float:
    """Relax what is touched and exceeds `level`, and what that makes exceed it; count the work.

    A value moves `stride` times as far as its own equation asks: its neighbours will ask for more.
    First come, first served. Steps are relaxed more seldom, since only their size matters, and past
    the bend nothing else is. Along a dense row nobody is queued: the next survey finds them. The
    inner loop is where a learner spends its time; a function in its place, to which arrays must be
    handed, takes four times as long.
    """
    w, f, r, v = system.w, system.f, system.r, system.v
    total, limit = system.scratch, system.limit
    neighbours, similar, n_neighbours = system.neighbours, system.similar, system.n_neighbours
    queue, queued, stirred = system.queue, system.queued, system.stirred
    head, tail, relaxed, work, size = 0, 0, 0, 0.0, system.queue.shape[0]
    # a vertex without neighbours costs no work, so the vertices taken are bounded too
    taken, most_taken = 0, 2.0 * n + budget
    for j in range(n):
        queued[j] = system.clamped[j] or not system.touched[system.component[j]]
        limit[j] = level * total[j] if f[STEPS, j] <= bend else np.inf
        high = system.largest[j] * total[j] > limit[j] or is_off(r[STEPS, j], total[j])
        if high and not queued[j]:
            queued[j] = True
            queue[tail] = j
            tail += 1
    while head != tail and work <= budget and taken <= most_taken:
        taken += 1
        i = queue[head]
        head += 1
        if head == size:
            head = 0
        queued[i] = False
        stirred[i] = True
        length, before = n_neighbours[i], relaxed
        if is_off(r[STEPS, i], total[i]):
            was, lack = f[STEPS, i], r[STEPS, i] / total[i]
            f[STEPS, i] = min(MOST_STEPS, max(0.0, was + lack))
            move = lack if 0.0 < f[STEPS, i] < MOST_STEPS else f[STEPS, i] - was
            r[STEPS, i] = total[i] * (lack - move)
            push(w[i], neighbours[i], similar[i], length, n, v[i] * move, r[STEPS])
            relaxed += 1
            for a in range(length):
                j = neighbours[i, a]
                if not queued[j] and is_off(r[STEPS, j], total[j]):
                    queued[j] = True
                    queue[tail] = j
                    tail += 1
                    if tail == size:
                        tail = 0
        for column in range(STEPS + 1, f.shape[0]):
            residual = r[column]
            if abs(residual[i]) <= limit[i]:
                continue
            was = f[column, i]
            f[column, i] = min(1.0, max(0.0, was + stride * residual[i] / total[i]))
            move = f[column, i] - was
            residual[i] -= total[i] * move
            high = (abs(residual[i]) > limit[i]) & (not queued[i])
            queued[i] |= high
            queue[tail] = i
            tail += high
            if tail == size:
                tail = 0
            flow = v[i] * move
            relaxed += 1
            if length == DENSE:
                for j in range(n):
                    residual[j] += w[i, j] * flow
                    stirred[j] = True
                continue
            for a in range(length):
                j = neighbours[i, a]
                changed = residual[j] + similar[i, a] * flow
                residual[j] = changed
                stirred[j] = True
                high = (abs(changed) > limit[j]) & (not queued[j])
                queued[j] |= high
                queue[tail] = j
                tail += high
                if tail == size:
                    tail = 0
        work += (relaxed - before) * (n if length == DENSE else SCATTERED * length)
    system.drift[0] += 8 * UNIT_ROUNDOFF * relaxed
    return work


@compiled
def is_off(lack: float, total: float) -> bool:
    """Say whether the steps of a vertex fall far short of their equation, or far exceed it."""
    return lack > SHORT * total or lack < -LONG * total


@compiled
def settle(
    system: System, n: int, reading: Reading, many: int, guess: int, tolerance: float
) -> float:
    """Relax until the error of an answer is proven small and return the proof, or UNPROVEN.

    Small means that the answer's bound (see `excess_each`) is at most `tolerance`, and, where that
    could change its label, small enough not to or at most a hundredth of `tolerance`. It stays
    unproven where that costs more than a direct solution, or where rounding forbids it.
    """
    touched = touch(system, n, reading, many)
    steps = read(system, reading, many)
    if not touched:
        return 0.0
    values, work = reading.values, 0.0
    while True:
        bend = bend_for(system, n, steps)
        late = steps_beyond(system, reading, many, bend)
        seen = survey(system, n, bend)
        error = error_after(system, seen, steps - late, late)
        cut = excess_each(values)
        winner = best_class(values, system.bias, guess)
        harmless = harmless_error(values, system.bias, guess, winner)
        goal = tolerance
        if harmless <= error + 2.0 * cut:
            goal = min(tolerance, max(CLOSE * tolerance, 0.9 * (harmless - cut)))
        if error + cut <= goal:
            return error
        share = error / (error + cut) if error < np.inf else 1.0
        allowed = EASE * share * (1.0 - min(seen.short, BORNE)) * goal
        outside = allowed if late == 0.0 else OUTSIDE * allowed
        level = outside / (steps - late) - rounding(system)
        if level <= 0.0 or work > DIRECT * n**3:
            return UNPROVEN
        work += n * values.shape[0]
        stride = STRIDE if steps - late >= LONG_WALK else 1.0
        work += relax(system, n, level, bend, stride, DIRECT * n**3)
        if late > 0.0:
            level = (allowed - outside) / late - rounding(system)
            work += solve_corner(system, n, bend, level)
        steps = read(system, reading, many)


@compiled
def certify(system: System, n: int, errors: Floats) -> None:
    """Write the proven error of every vertex as it stands, at most 1."""
    for i in range(n):
        errors[i] = 0.0
        system.touched[i] = False
    for seed in range(n):
        if system.component[seed] == seed and system.lit[seed]:
            system.touched[seed] = True
            bend = bend_for(system, n, survey(system, n, np.inf).most_steps)
            seen = survey(system, n, bend)
            system.touched[seed] = False
            for i in range(n):
                if system.component[i] == seed and not system.clamped[i]:
                    late = max(0.0, system.f[STEPS, i] - bend)
                    error = error_after(system, seen, system.f[STEPS, i] - late, late)
                    errors[i] = min(1.0, error)


@compiled
def settle_all(system: System, n: int, tolerance: float, reading: Reading) -> bool:
    """Relax until every vertex is proven, or say that relaxing cannot do it at a fair price.

    In a component it is enough to settle the vertex with the longest walks.
    """
    reading.share[0] = 1.0
    for seed in range(n):
        if system.component[seed] != seed or not system.lit[seed]:
            continue
        for _ in range(n + SETTLINGS):
            farthest = -1
            for i in range(n):
                if system.component[i] == seed and not system.clamped[i]:
                    if farthest < 0 or system.f[STEPS, i] > system.f[STEPS, farthest]:
                        farthest = i
            if farthest < 0:
                break
            reading.vertex[0] = farthest
            if error_of(system, n, reading, 1) <= tolerance:
                break
            if settle(system, n, reading, 1, NOBODY, tolerance) == UNPROVEN:
                return False
        else:
            return False
    return True
