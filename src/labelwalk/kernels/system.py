"""The linear system of the harmonic solution, kept up to date under small changes.

For every free (unlabelled) vertex i and class c the solution f satisfies

    (d_i + g_i) f_ic = sum_j w_ij v_j f_jc,        d_i = sum_j w_ij v_j,

and the residual r_ic is the right side minus the left. Column 0 is not a class: it holds t, which
solves the same system with right side d + g. That is the expected number of steps of the random
walk before a label or the sink ends it, and it turns residuals into proven errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, SmallInts
from labelwalk.kernels.compiled import compiled

UNIT_ROUNDOFF = 2.0**-53
STEPS = 0  # the column of f and r that holds the expected steps
DENSE = -1  # in `n_neighbours`: more than WIDTH of them, so walk the whole row
WIDTH = 96


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
    lit: Bools  # by component number: does it hold a labelled vertex?
    neighbours: SmallInts  # (capacity, WIDTH) lists of the positive entries of sparse rows of w
    n_neighbours: SmallInts  # their lengths, or DENSE
    drift: Floats  # (1,) bound on the rounding gathered in r, relative to d + g
    scratch: Floats  # (2, capacity) of no meaning between calls


@compiled
def push(system: System, n: int, i: int, column: int, flow: float) -> None:
    """Add w_ij * flow to the residual of every neighbour j of vertex i."""
    similar, residual = system.w[i], system.r[column]
    length = system.n_neighbours[i]
    if length == DENSE:
        for j in range(n):
            residual[j] += similar[j] * flow
    else:
        for a in range(length):
            j = system.neighbours[i, a]
            residual[j] += similar[j] * flow


@compiled
def reweigh(system: System, n: int, i: int, change: float) -> None:
    """Add `change` >= 0 to the weight of vertex i, in everybody's degree and residuals."""
    similar, d, f, r = system.w[i], system.d, system.f, system.r
    system.v[i] += change
    length = system.n_neighbours[i]
    if length == DENSE:
        for j in range(n):
            d[j] += similar[j] * change
            r[STEPS, j] += similar[j] * change
        for column in range(f.shape[0]):
            own, value, residual = f[column, i], f[column], r[column]
            for j in range(n):
                residual[j] += similar[j] * change * (own - value[j])
    else:
        for a in range(length):
            j = system.neighbours[i, a]
            flow = similar[j] * change
            d[j] += flow
            r[STEPS, j] += flow
            for column in range(f.shape[0]):
                r[column, j] += flow * (f[column, i] - f[column, j])
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
        similar = w[i]
        for j in range(n):
            d[j] += similar[j] * v[i]
        for column in range(f.shape[0]):
            if f[column, i] != 0.0:
                push(system, n, i, column, v[i] * f[column, i])
    for j in range(n):
        total = d[j] + system.g[j]
        r[STEPS, j] += total
        for column in range(f.shape[0]):
            r[column, j] -= total * f[column, j]
    system.drift[0] = 2.0 * (n + 8) * UNIT_ROUNDOFF


@compiled
def link(system: System, i: int, j: int) -> None:
    """Note that j is a neighbour of i."""
    length = system.n_neighbours[i]
    if length == DENSE:
        return
    if length == WIDTH:
        system.n_neighbours[i] = DENSE
    else:
        system.neighbours[i, length] = j
        system.n_neighbours[i] = length + 1


@compiled
def join_components(system: System, n: int, i: int, j: int) -> None:
    """Make the components of vertices i and j one."""
    kept = min(system.component[i], system.component[j])
    gone = max(system.component[i], system.component[j])
    if kept == gone:
        return
    system.lit[kept] = system.lit[kept] or system.lit[gone]
    for a in range(n):
        if system.component[a] == gone:
            system.component[a] = kept


@compiled
def attach(system: System, i: int, weight: float, sink: float) -> None:
    """Let vertex i enter after the first i vertices, its similarities to them standing in w[i].

    A free vertex takes its values from its own row, so that its residual is zero. The values of a
    clamped one are already in f.
    """
    w, v, f, r = system.w, system.v, system.f, system.r
    w[i, i] = 0.0
    v[i] = 0.0
    system.g[i] = sink
    system.component[i] = i
    system.lit[i] = system.clamped[i]
    system.n_neighbours[i] = 0
    inflow = r[:, i]
    for column in range(f.shape[0]):
        inflow[column] = 0.0
    degree = 0.0
    for j in range(i):
        w[j, i] = w[i, j]
        if w[i, j] > 0.0:
            link(system, i, j)
            link(system, j, i)
            join_components(system, i + 1, j, i)
            flow = w[i, j] * v[j]
            degree += flow
            for column in range(f.shape[0]):
                inflow[column] += flow * f[column, j]
    system.d[i] = degree
    for column in range(f.shape[0]):
        if not system.clamped[i]:
            f[column, i] = inflow[column] / (degree + sink)
        inflow[column] = 0.0
    if not system.clamped[i]:
        f[STEPS, i] += 1.0
    reweigh(system, i + 1, i, weight)


@compiled
def relink(system: System, n: int) -> None:
    """Find neighbour lists and components anew, after vertices or similarities have changed."""
    for i in range(n):
        system.n_neighbours[i] = 0
        for j in range(n):
            if system.w[i, j] > 0.0:
                link(system, i, j)
                if system.n_neighbours[i] == DENSE:
                    break
    alone = np.arange(n)  # vertices not reached yet, in order of age
    n_alone = n
    stack = np.empty(n, dtype=np.int64)
    while n_alone > 0:
        seed = alone[0]
        system.lit[seed] = False
        stack[0] = seed
        height = 1
        alone = alone[1:]
        n_alone -= 1
        while height > 0:
            height -= 1
            i = stack[height]
            system.component[i] = seed
            system.lit[seed] = system.lit[seed] or system.clamped[i]
            left = 0
            for a in range(n_alone):
                j = alone[a]
                if system.w[i, j] > 0.0:
                    stack[height] = j
                    height += 1
                else:
                    alone[left] = j
                    left += 1
            n_alone = left


@compiled
def darken(system: System, n: int) -> None:
    """Set what no label can reach to exactly zero."""
    for i in range(n):
        if not system.lit[system.component[i]]:
            for column in range(STEPS + 1, system.f.shape[0]):
                system.f[column, i] = 0.0
