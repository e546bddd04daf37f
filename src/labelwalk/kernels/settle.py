"""Relax until an answer is proven: the certificate, and the loop that earns it.

For any f, with relative residuals rho_jc = r_jc / (d_j + g_j), the exact solution f* satisfies

    |f_i - f*_i|  <=  max_j |rho_j| * t_i / (1 - max_j tau_j),

where tau_j is the relative residual of the steps t, and both maxima run over the component of i.
For M f* = b with an M-matrix M and M t >= (1 - tau) (d + g), so t times that quotient dominates
M^-1 |r| entry by entry. What rounding may have added to the residuals is counted and added.
"""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.system import DENSE, STEPS, UNIT_ROUNDOFF, System, push
from labelwalk.kernels.verdict import excess_each, two_best

SHORT = 0.5  # steps are relaxed where they fall this far short of their equation,
LONG = 0.25  # or exceed it by this fraction of themselves
CLOSE = 0.01  # a close call is settled to this fraction of the tolerance
UNPROVEN = -1.0

# Work is counted in contiguous multiplications: a scattered one takes about 8 times as long, one of
# the n^3 / 3 of a Cholesky factorisation a sixth.
SCATTERED = 8
DIRECT = 1.0 / 18.0


@compiled
def survey(system: System, n: int, component: int) -> tuple[float, float, float]:
    """Largest relative residual of the classes and of the steps in a component; largest steps.

    The largest of each vertex stays in scratch[1], for `sweep`.
    """
    r, scale, largest = system.r, system.scratch[0], system.scratch[1]
    worst, short, most_steps = 0.0, 0.0, 0.0
    for j in range(n):
        inside = system.component[j] == component and not system.clamped[j]
        scale[j] = 1.0 / (system.d[j] + system.g[j]) if inside else 0.0
        short = max(short, r[STEPS, j] * scale[j])
        most_steps = max(most_steps, system.f[STEPS, j] if inside else 0.0)
        largest[j] = 0.0
    for column in range(STEPS + 1, r.shape[0]):
        residual = r[column]
        for j in range(n):
            largest[j] = max(largest[j], abs(residual[j]))
    for j in range(n):
        largest[j] *= scale[j]
        worst = max(worst, largest[j])
    return worst, short, most_steps


@compiled
def error_per_step(system: System, worst: float, short: float, most_steps: float) -> float:
    """Return what a vertex's steps are multiplied with to bound its error (infinite: unproven)."""
    drift = system.drift[0]
    proven = 1.0 - short - drift * (1.0 + most_steps)
    return (worst + drift) / proven if proven > 0.0 else np.inf


@compiled
def error_at(system: System, n: int, i: int) -> float:
    """Return the proven error of vertex i as it stands, at most 1."""
    if system.clamped[i] or not system.lit[system.component[i]]:
        return 0.0
    worst, short, most_steps = survey(system, n, system.component[i])
    return min(1.0, error_per_step(system, worst, short, most_steps) * system.f[STEPS, i])


@compiled
def sweep(system: System, n: int, component: int, level: float) -> int:
    """Relax every value of a component whose relative residual exceeded `level`; count the work.

    It goes by the last survey, so that quiet vertices cost one comparison, not one for each class.
    """
    f, r, v, largest = system.f, system.r, system.v, system.scratch[1]
    work = 0
    for j in range(n):
        if system.clamped[j] or system.component[j] != component:
            continue
        total = system.d[j] + system.g[j]
        cost = n if system.n_neighbours[j] == DENSE else SCATTERED * system.n_neighbours[j]
        lack = r[STEPS, j]
        if lack > SHORT * total or lack < -LONG * f[STEPS, j] * total:
            f[STEPS, j] += lack / total
            r[STEPS, j] = 0.0
            push(system, n, j, STEPS, v[j] * (lack / total))
            system.drift[0] += 8 * UNIT_ROUNDOFF
            work += cost
        if largest[j] <= level:
            continue
        for column in range(STEPS + 1, f.shape[0]):
            if abs(r[column, j]) > level * total:
                move = r[column, j] / total
                f[column, j] = min(1.0, max(0.0, f[column, j] + move))  # only rounding is cut
                r[column, j] = 0.0
                push(system, n, j, column, v[j] * move)
                system.drift[0] += 8 * UNIT_ROUNDOFF
                work += cost
    return work


@compiled
def settle(system: System, n: int, i: int, tolerance: float) -> float:
    """Relax until the error of vertex i is proven small and return the proof, or UNPROVEN.

    Small means that the answer's bound (see `excess_each`) is at most `tolerance`, and, where the
    two best classes are closer than twice that, small enough to tell them apart or at most a
    hundredth of `tolerance`. It stays unproven where that costs more than a direct solution, or
    where rounding forbids it.
    """
    component = system.component[i]
    if system.clamped[i] or not system.lit[component]:
        return 0.0
    values, work = system.f[STEPS + 1 :, i], 0.0
    while True:
        worst, short, most_steps = survey(system, n, component)
        error = error_per_step(system, worst, short, most_steps) * system.f[STEPS, i]
        cut = excess_each(values)
        _, best, second = two_best(values)
        margin = best - max(second, cut)
        goal = tolerance
        if margin <= 2.0 * (error + cut):
            goal = min(tolerance, max(CLOSE * tolerance, 0.45 * margin))
        if error + cut <= goal:
            return error
        share = error / (error + cut) if error < np.inf else 1.0
        level = 0.9 * (1.0 - min(short, SHORT)) * share * goal / system.f[STEPS, i]
        level -= system.drift[0]
        if level <= 0.0 or work > DIRECT * n**3:
            return UNPROVEN
        work += n * values.shape[0] + sweep(system, n, component, level)


@compiled
def certify(system: System, n: int, errors: Floats) -> None:
    """Write the proven error of every vertex as it stands, at most 1."""
    for i in range(n):
        errors[i] = 0.0
    for seed in range(n):
        if system.component[seed] == seed and system.lit[seed]:
            worst, short, most_steps = survey(system, n, seed)
            per_step = error_per_step(system, worst, short, most_steps)
            for i in range(n):
                if system.component[i] == seed and not system.clamped[i]:
                    errors[i] = min(1.0, per_step * system.f[STEPS, i])


@compiled
def settle_all(system: System, n: int, tolerance: float) -> bool:
    """Relax until every vertex is proven, or say that relaxing cannot do it at a fair price.

    In a component it is enough to settle the vertex with the longest walks.
    """
    for seed in range(n):
        if system.component[seed] != seed or not system.lit[seed]:
            continue
        while True:
            farthest = -1
            for i in range(n):
                if system.component[i] == seed and not system.clamped[i]:
                    if farthest < 0 or system.f[STEPS, i] > system.f[STEPS, farthest]:
                        farthest = i
            if farthest < 0 or error_at(system, n, farthest) <= tolerance:
                break
            if settle(system, n, farthest, tolerance) == UNPROVEN:
                return False
    return True
