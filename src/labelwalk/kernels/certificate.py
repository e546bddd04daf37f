"""Certificates: proven bounds on the error of answers, computed from residuals.

For any f and any number of steps b, the exact solution f* satisfies

    |f_i - f*_i| <= (rho * min(t_i, b) + rho_late * max(t_i - b, 0)) / (1 - max_j tau_j),

where rho is the largest |r_j| / (d_j + g_j), rho_late the largest with t_j > b, and tau_j the same
of the steps t, signed; maxima are over the component of i. Accumulated rounding is added. Beyond b
is the slow block, few vertices with long walks. docs/decisions/certificate.md has the proof.
"""

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, SmallInts
from labelwalk.kernels.jit import jit
from labelwalk.kernels.system import STEPS, System, bound_rounding

VERTICES_PER_SLOW_VERTEX = 10  # at most one vertex in ten is in the slow block
MIN_SLOWDOWN = 2.0  # the cutoff is at most the steps of the answer divided by this


class Readout(NamedTuple):
    """An answer as an average over vertices; the number of terms is passed separately."""

    vertex: SmallInts
    share: Floats
    values: Floats  # (classes) the current average


class ResidualBounds(NamedTuple):
    """Maxima over the marked components that bound the error of an answer."""

    rho: float  # largest relative residual of the classes
    rho_late: float  # the same, of vertices with more steps than the cutoff
    tau: float  # largest deficit of the steps
    max_steps: float


@jit
def average_values(system: System, readout: Readout, n_terms: int) -> float:
    """Compute the average; return its expected steps in components with a label."""
    values, steps = readout.values, 0.0
    values[:] = 0.0
    for a in range(n_terms):
        i, share = readout.vertex[a], readout.share[a]
        if system.has_label[system.component[i]]:
            if not system.clamped[i]:
                steps += share * system.f[STEPS, i]
            for c in range(values.shape[0]):
                values[c] += share * system.f[STEPS + 1 + c, i]
    return steps


@jit
def count_late_steps(system: System, readout: Readout, n_terms: int, cutoff: float) -> float:
    """Return the part of a readout's expected steps that exceeds `cutoff`."""
    late_steps = 0.0
    for a in range(n_terms):
        i = readout.vertex[a]
        if system.has_label[system.component[i]] and not system.clamped[i]:
            late_steps += readout.share[a] * max(0.0, system.f[STEPS, i] - cutoff)
    return late_steps


@jit
def mark_components(system: System, n: int, readout: Readout, n_terms: int) -> bool:
    """Mark the components that a readout's error comes from; return whether there are any."""
    system.marked[:n] = False
    for a in range(n_terms):
        i = readout.vertex[a]
        if system.has_label[system.component[i]] and not system.clamped[i]:
            system.marked[system.component[i]] = True
    return bool(system.marked[:n].any())


@jit
def bound_residuals(system: System, n: int, cutoff: float) -> ResidualBounds:
    """Return the maxima over the marked components; write d + g to `scratch`."""
    r, largest, total = system.r, system.largest, system.scratch
    rho, rho_late, tau, max_steps = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        total[j] = system.d[j] + system.g[j]
        if system.residual_dirty[j]:
            system.residual_dirty[j] = False
            highest = 0.0
            for column in range(STEPS + 1, r.shape[0]):
                highest = max(highest, abs(r[column, j]))
            largest[j] = highest / total[j]
    for j in range(n):
        if system.marked[system.component[j]] and not system.clamped[j]:
            steps = system.f[STEPS, j]
            rho = max(rho, largest[j])
            rho_late = max(rho_late, largest[j] if steps > cutoff else 0.0)
            tau = max(tau, r[STEPS, j] / total[j])
            max_steps = max(max_steps, steps)
    return ResidualBounds(rho, rho_late, tau, max_steps)


@jit
def count_slow(system: System, n: int, cutoff: float) -> int:
    """Count the marked vertices with more expected steps than `cutoff`."""
    count = 0
    for j in range(n):
        count += system.f[STEPS, j] > cutoff and system.marked[system.component[j]]
    return count


@jit
def choose_cutoff(system: System, n: int, steps: float) -> float:
    """Return the steps beyond which vertices are in the slow block; infinite if there is none."""
    # no block for infinite steps of the answer: halving would leave them infinite
    cutoff, trial = np.inf, steps / MIN_SLOWDOWN
    while 1.0 <= trial < np.inf and count_slow(system, n, trial) <= n // VERTICES_PER_SLOW_VERTEX:
        cutoff, trial = trial, trial / 2.0
    return cutoff


@jit
def bound_error(system: System, bounds: ResidualBounds, steps: float, late_steps: float) -> float:
    """Bound the error of an answer with `steps`, of which `late_steps` are past the cutoff."""
    drift = bound_rounding(system)
    divisor = 1.0 - bounds.tau - drift * (1.0 + bounds.max_steps)
    if divisor <= 0.0:
        return np.inf  # nothing is proven
    early_steps = steps - late_steps
    return ((bounds.rho + drift) * early_steps + (bounds.rho_late + drift) * late_steps) / divisor


@jit
def compute_error(system: System, n: int, readout: Readout, n_terms: int) -> float:
    """Compute the average and return its proven error, at most 1."""
    steps = average_values(system, readout, n_terms)
    if not mark_components(system, n, readout, n_terms):
        return 0.0
    cutoff = choose_cutoff(system, n, steps)
    late_steps = count_late_steps(system, readout, n_terms, cutoff)
    return min(1.0, bound_error(system, bound_residuals(system, n, cutoff), steps, late_steps))


@jit
def certify(system: System, n: int, errors: Floats) -> None:
    """Write the proven error of every vertex, at most 1."""
    errors[:n] = 0.0
    system.marked[:n] = False
    for seed in range(n):
        if system.component[seed] == seed and system.has_label[seed]:
            system.marked[seed] = True
            cutoff = choose_cutoff(system, n, bound_residuals(system, n, np.inf).max_steps)
            bounds = bound_residuals(system, n, cutoff)
            system.marked[seed] = False
            for i in range(n):
                if system.component[i] == seed and not system.clamped[i]:
                    steps = system.f[STEPS, i]
                    error = bound_error(system, bounds, steps, max(0.0, steps - cutoff))
                    errors[i] = min(1.0, error)
