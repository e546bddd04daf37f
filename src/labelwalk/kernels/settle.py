"""Relax until an answer is proven: the certificate, and the loop that earns it.

For any f, with relative residuals rho_jc = r_jc / (d_j + g_j), the exact solution f* satisfies

    |f_i - f*_i|  <=  max_j |rho_j| * t_i / (1 - max_j tau_j),

where tau_j is the relative residual of the steps t, and both maxima run over the component of i.
An answer that is an average over vertices is off by at most the same average of their errors.
For M f* = b with an M-matrix M and M t >= (1 - tau) (d + g), so t times that quotient dominates
M^-1 |r| entry by entry. What rounding may have added to the residuals is counted and added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, SmallInts
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.system import DENSE, STEPS, UNIT_ROUNDOFF, System, push, rounding
from labelwalk.kernels.verdict import NOBODY, best_class, excess_each, harmless_error

SHORT = 0.1  # steps are relaxed where they fall this far short of their equation,
LONG = 0.05  # or exceed it by this fraction of themselves
CLOSE = 0.01  # a close call is settled to this fraction of the tolerance
UNPROVEN = -1.0

# Work is counted in contiguous multiplications: a scattered one takes about 8 times as long, one of
# the n^3 / 3 of a Cholesky factorisation a sixth.
SCATTERED = 8
DIRECT = 1.0 / 18.0


class Reading(NamedTuple):
    """An answer to be: an average over vertices of this many, with these shares."""

    vertex: SmallInts
    share: Floats
    values: Floats  # (classes) the average as it stands


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
def survey(system: System, n: int) -> tuple[float, float, float]:
    """Largest relative residual of classes and of steps where touched; largest steps."""
    r, largest, total = system.r, system.largest, system.scratch
    worst, short, most_steps = 0.0, 0.0, 0.0
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
            worst = max(worst, largest[j])
            short = max(short, r[STEPS, j] / total[j])
            most_steps = max(most_steps, system.f[STEPS, j])
    return worst, short, most_steps


@compiled
def error_per_step(system: System, worst: float, short: float, most_steps: float) -> float:
    """Return what steps are multiplied with to bound an error (infinite: unproven)."""
    drift = rounding(system)
    proven = 1.0 - short - drift * (1.0 + most_steps)
    return (worst + drift) / proven if proven > 0.0 else np.inf


@compiled
def error_of(system: System, n: int, reading: Reading, many: int) -> float:
    """Take the average and return its proven error as it stands, at most 1."""
    steps = read(system, reading, many)
    if not touch(system, n, reading, many):
        return 0.0
    worst, short, most_steps = survey(system, n)
    return min(1.0, error_per_step(system, worst, short, most_steps) * steps)


@compiled
def relax(system: System, n: int, level: float, budget: float) -> float:
    """Relax what is touched and exceeds `level`, and what that makes exceed it; count the work.

    First come, first served. Steps are relaxed more seldom: only their size matters. Along a dense
    row nobody is queued: the next survey finds them. The inner loop is where a learner spends its
    time; a function in its place, to which arrays must be handed, takes four times as long.
    """
    w, f, r, v, total = system.w, system.f, system.r, system.v, system.scratch
    neighbours, similar, n_neighbours = system.neighbours, system.similar, system.n_neighbours
    queue, queued, stirred = system.queue, system.queued, system.stirred
    head, tail, relaxed, work, size = 0, 0, 0, 0.0, system.queue.shape[0]
    for j in range(n):
        queued[j] = system.clamped[j] or not system.touched[system.component[j]]
        high = system.largest[j] > level or is_off(f[STEPS, j], r[STEPS, j], total[j])
        if high and not queued[j]:
            queued[j] = True
            queue[tail] = j
            tail += 1
    while head != tail and work <= budget:
        i = queue[head]
        head += 1
        if head == size:
            head = 0
        queued[i] = False
        stirred[i] = True
        length, before = n_neighbours[i], relaxed
        if is_off(f[STEPS, i], r[STEPS, i], total[i]):
            move = r[STEPS, i] / total[i]
            f[STEPS, i] += move
            r[STEPS, i] = 0.0
            push(w[i], neighbours[i], similar[i], length, n, v[i] * move, r[STEPS])
            relaxed += 1
        for column in range(STEPS + 1, f.shape[0]):
            residual = r[column]
            if abs(residual[i]) <= level * total[i]:
                continue
            move = residual[i] / total[i]
            f[column, i] = min(1.0, max(0.0, f[column, i] + move))  # only rounding is cut
            residual[i] = 0.0
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
                high = (abs(changed) > level * total[j]) & (not queued[j])
                queued[j] |= high
                queue[tail] = j
                tail += high
                if tail == size:
                    tail = 0
        work += (relaxed - before) * (n if length == DENSE else SCATTERED * length)
    system.drift[0] += 8 * UNIT_ROUNDOFF * relaxed
    return work


@compiled
def is_off(steps: float, lack: float, total: float) -> bool:
    """Say whether the steps of a vertex fall far short of their equation, or far exceed it."""
    return lack > SHORT * total or lack < -LONG * steps * total


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
        worst, short, most_steps = survey(system, n)
        error = error_per_step(system, worst, short, most_steps) * steps
        cut = excess_each(values)
        winner = best_class(values, system.bias, guess)
        harmless = harmless_error(values, system.bias, guess, winner)
        goal = tolerance
        if harmless <= error + 2.0 * cut:
            goal = min(tolerance, max(CLOSE * tolerance, 0.9 * (harmless - cut)))
        if error + cut <= goal:
            return error
        share = error / (error + cut) if error < np.inf else 1.0
        level = 0.9 * (1.0 - min(short, SHORT)) * share * goal / steps
        level -= rounding(system)
        if level <= 0.0 or work > DIRECT * n**3:
            return UNPROVEN
        work += n * values.shape[0] + relax(system, n, level, DIRECT * n**3)
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
            worst, short, most_steps = survey(system, n)
            system.touched[seed] = False
            per_step = error_per_step(system, worst, short, most_steps)
            for i in range(n):
                if system.component[i] == seed and not system.clamped[i]:
                    errors[i] = min(1.0, per_step * system.f[STEPS, i])


@compiled
def settle_all(system: System, n: int, tolerance: float, reading: Reading) -> bool:
    """Relax until every vertex is proven, or say that relaxing cannot do it at a fair price.

    In a component it is enough to settle the vertex with the longest walks.
    """
    reading.share[0] = 1.0
    for seed in range(n):
        if system.component[seed] != seed or not system.lit[seed]:
            continue
        while True:
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
    return True
