"""The linear system of the harmonic solution, kept up to date under small changes.

For every free (unlabelled) vertex i and class c the solution f satisfies

    (d_i + g_i) f_ic = sum_j w_ij v_j f_jc,        d_i = sum_j w_ij v_j,

and the residual r_ic is the right side minus the left. Column 0 is not a class: it holds t, which
solves the same system with right side d + g. That is the expected number of steps of the random
walk before a label or the sink ends it, and it turns residuals into proven errors.
"""

from __future__ import annotations

from typing import NamedTuple

from labelwalk.arrays import Bools, Floats, Places, SmallInts
from labelwalk.kernels.jit import compiled

UNIT_ROUNDOFF = 2.0**-53
STEPS = 0  # the column of f and r that holds the expected steps
MAX_STEPS = 1e18  # expected steps are capped here; rounding proves nothing of walks this long
DENSE = -1  # in `n_neighbours`: more than WIDTH of them, so walk the whole row
WIDTH = 64


class System(NamedTuple):
    """Arrays over vertices; only the first n entries are in use."""

    w: Floats  # (capacity, capacity) similarities, 0 on the diagonal
    v: Floats  # weights
    g: Floats  # sinks
    d: Floats  # degrees
    f: Floats  # (1 + classes, capacity) steps, then probabilities
    r: Floats  # (1 + classes, capacity) their residuals
    clamped: Bools  # labelled: f is given, and no equation holds
    component: SmallInts  # the oldest vertex that a path of positive similarities leads to
    has_label: Bools  # by component number: does it hold a labelled vertex?
    neighbours: Places  # (capacity, WIDTH) lists of the positive entries of sparse rows of w,
    similar: Floats  # (capacity, WIDTH) these entries themselves,
    n_neighbours: SmallInts  # and their number, or DENSE
    largest: Floats  # of the relative residuals of the classes, where not stirred
    residual_dirty: Bools  # has a residual changed since?
    bias: Floats  # (1 + classes) what each column is multiplied with before classes are compared
    drift: Floats  # (2,) rounding gathered in r, relative to the largest d + g a vertex has had
    peak: Floats  # that largest one, where d + g has fallen since the rebuilding; else 0
    scratch: Floats  # (capacity) of no meaning between calls, like the rest
    limit: Floats  # (capacity) the largest residual of a class that is left alone
    queue: SmallInts  # vertices to relax
    queued: Bools
    marked: Bools  # by component number: is the answer read from there?


@compiled
def push(
    w_i: Floats,
    neighbours_i: Places,
    similar_i: Floats,
    length: int,
    n: int,
    flow: float,
    residual: Floats,
) -> None:
    """Add w_ij * flow to the residual of every neighbour j of vertex i.

    It takes arrays and no System, which would be copied at each of its many calls.
    """
    if length == DENSE:
        for j in range(n):
            residual[j] += w_i[j] * flow
    else:
        for a in range(length):
            residual[neighbours_i[a]] += similar_i[a] * flow


@compiled
def mark_dirty(system: System, n: int, i: int) -> None:
    """Mark the neighbours of vertex i, whose residuals have changed."""
    length = system.n_neighbours[i]
    if length == DENSE:
        for j in range(n):
            system.residual_dirty[j] = True
    else:
        for a in range(length):
            system.residual_dirty[system.neighbours[i, a]] = True


@compiled
def reweigh(system: System, n: int, i: int, change: float) -> None:
    """Add `change` >= 0 to the weight of vertex i, in everybody's degree and residuals."""
    w_i, d, f, r = system.w[i], system.d, system.f, system.r
    system.v[i] += change
    length = system.n_neighbours[i]
    if length == DENSE:
        for j in range(n):
            d[j] += w_i[j] * change
            r[STEPS, j] += w_i[j] * change
        for column in range(f.shape[0]):
            own, value, residual = f[column, i], f[column], r[column]
            for j in range(n):
                residual[j] += w_i[j] * change * (own - value[j])
    else:
        for a in range(length):
            j = system.neighbours[i, a]
            flow = system.similar[i, a] * change
            d[j] += flow
            r[STEPS, j] += flow
            for column in range(f.shape[0]):
                r[column, j] += flow * (f[column, i] - f[column, j])
    mark_dirty(system, n, i)
    system.drift[0] += 8 * UNIT_ROUNDOFF


@compiled
def rebuild(system: System, n: int) -> None:
    """Recompute degrees and residuals from w, v, g and f alone, in one fixed order."""
    w, v, d, f, r = system.w, system.v, system.d, system.f, system.r
    for j in range(n):
        d[j] = 0.0
        for column in range(f.shape[0]):
            r[column, j] = 0.0
    for i in range(n):
        w_i = w[i]
        for j in range(n):
            d[j] += w_i[j] * v[i]
        for column in range(f.shape[0]):
            if f[column, i] != 0.0:
                flow, length = v[i] * f[column, i], system.n_neighbours[i]
                push(w[i], system.neighbours[i], system.similar[i], length, n, flow, r[column])
    for j in range(n):
        total = d[j] + system.g[j]
        r[STEPS, j] += total
        for column in range(f.shape[0]):
            r[column, j] -= total * f[column, j]
        system.peak[j] = 0.0
        system.residual_dirty[j] = True
    system.drift[0] = 2.0 * (n + 8) * UNIT_ROUNDOFF
    system.drift[1] = 1.0


@compiled
def rounding(system: System) -> float:
    """Return a bound on the rounding gathered in any residual, relative to its d + g now."""
    return system.drift[0] * system.drift[1]
