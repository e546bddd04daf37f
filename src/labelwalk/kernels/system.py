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

from labelwalk.arrays import Bools, Floats, Ints, Places, SmallInts
from labelwalk.kernels.jit import compiled

UNIT_ROUNDOFF = 2.0**-53
STEPS = 0  # the column of f and r that holds the expected steps
MAX_STEPS = 1e18  # expected steps are capped here; rounding proves nothing of walks this long
DENSE_ROW = -1  # in `n_neighbours`: more than WIDTH of them, so walk the whole row
MAX_LISTED_NEIGHBOURS = 64


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
    if length == DENSE_ROW:
        for j in range(n):
            residual[j] += w_i[j] * flow
    else:
        for a in range(length):
            residual[neighbours_i[a]] += similar_i[a] * flow


@compiled
def mark_dirty(system: System, n: int, i: int) -> None:
    """Mark the neighbours of vertex i, whose residuals have changed."""
    length = system.n_neighbours[i]
    if length == DENSE_ROW:
        for j in range(n):
            system.residual_dirty[j] = True
    else:
        for a in range(length):
            system.residual_dirty[system.neighbours[i, a]] = True


@compiled
def add_weight(system: System, n: int, i: int, change: float) -> None:
    """Add `change` >= 0 to the weight of vertex i, in everybody's degree and residuals."""
    w_i, d, f, r = system.w[i], system.d, system.f, system.r
    system.v[i] += change
    length = system.n_neighbours[i]
    if length == DENSE_ROW:
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
def bound_rounding(system: System) -> float:
    """Return a bound on the rounding gathered in any residual, relative to its d + g now."""
    return system.drift[0] * system.drift[1]


@compiled
def list_neighbours(system: System, n: int, i: int) -> None:
    """List the positive entries of row i of w, or call the row DENSE."""
    length = 0
    for j in range(n):
        if system.w[i, j] > 0.0:
            if length == MAX_LISTED_NEIGHBOURS:
                system.n_neighbours[i] = DENSE_ROW
                return
            system.neighbours[i, length] = j
            system.similar[i, length] = system.w[i, j]
            length += 1
    system.n_neighbours[i] = length


@compiled
def append_neighbour(system: System, i: int, j: int) -> None:
    """Note that j, younger than all others, is a neighbour of i."""
    length = system.n_neighbours[i]
    if length == MAX_LISTED_NEIGHBOURS:
        system.n_neighbours[i] = DENSE_ROW
    elif length != DENSE_ROW:
        system.neighbours[i, length] = j
        system.similar[i, length] = system.w[i, j]
        system.n_neighbours[i] = length + 1


@compiled
def update_neighbour(system: System, n: int, i: int, j: int) -> None:
    """Let the list of row i follow a change of w_ij."""
    for a in range(system.n_neighbours[i]):  # none where the row is DENSE
        if system.neighbours[i, a] == j and system.w[i, j] > 0.0:
            system.similar[i, a] = system.w[i, j]
            return
    list_neighbours(system, n, i)


@compiled
def merge_components(system: System, n: int, i: int, j: int) -> None:
    """Make the components of vertices i and j one."""
    kept = min(system.component[i], system.component[j])
    gone = max(system.component[i], system.component[j])
    if kept == gone:
        return
    system.has_label[kept] = system.has_label[kept] or system.has_label[gone]
    for a in range(n):
        if system.component[a] == gone:
            system.component[a] = kept


@compiled
def have_common_neighbour(system: System, i: int, j: int) -> bool:
    """Say whether two vertices without an edge are still joined by a third."""
    length = system.n_neighbours[i]
    for a in range(length):
        if system.w[system.neighbours[i, a], j] > 0.0:
            return True
    return False


@compiled
def relink(system: System, n: int) -> None:
    """Find neighbour lists and components anew, after vertices or similarities have changed."""
    for i in range(n):
        list_neighbours(system, n, i)
    find_components(system, n)


@compiled
def find_components(system: System, n: int) -> None:
    """Number components by their oldest vertices; set what no label can reach to zero."""
    for i in range(n):
        system.component[i] = -1
    stack = np.empty(n, dtype=np.int64)
    for seed in range(n):
        if system.component[seed] >= 0:
            continue
        system.component[seed] = seed
        system.has_label[seed] = False
        stack[0] = seed
        height = 1
        while height > 0:
            height -= 1
            i = stack[height]
            system.has_label[seed] = system.has_label[seed] or system.clamped[i]
            length = system.n_neighbours[i]
            for a in range(n if length == DENSE_ROW else length):
                j = a if length == DENSE_ROW else system.neighbours[i, a]
                if system.component[j] < 0 and system.w[i, j] > 0.0:
                    system.component[j] = seed
                    stack[height] = j
                    height += 1
    for i in range(n):
        if not system.has_label[system.component[i]]:
            for column in range(STEPS + 1, system.f.shape[0]):
                system.f[column, i] = 0.0
                system.r[column, i] = 0.0
            system.residual_dirty[i] = True


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
    system.has_label[i] = system.clamped[i]
    system.peak[i] = 0.0
    system.n_neighbours[i] = 0
    system.residual_dirty[i] = True
    inflow = r[:, i]
    for column in range(f.shape[0]):
        inflow[column] = 0.0
    degree = 0.0
    for j in range(i):
        w[j, i] = w[i, j]
        if w[i, j] > 0.0:
            append_neighbour(system, i, j)
            append_neighbour(system, j, i)
            merge_components(system, i + 1, j, i)
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
    add_weight(system, i + 1, i, weight)


@compiled
def change_edge(system: System, n: int, i: int, j: int, similar: float) -> bool:
    """Let w_ij change, in everybody's degree and residuals; return whether an edge has gone."""
    w, v, g, d, f, r = system.w, system.v, system.g, system.d, system.f, system.r
    before = w[i, j]
    change = similar - before
    w[i, j] = similar
    w[j, i] = similar
    for a, b in ((i, j), (j, i)):
        total = d[a] + g[a]
        flow = change * v[b]
        d[a] = max(0.0, d[a] + flow)
        r[STEPS, a] += flow
        for column in range(f.shape[0]):
            r[column, a] += flow * (f[column, b] - f[column, a])
        if flow < 0.0:
            system.peak[a] = max(system.peak[a], total)
            system.drift[1] = max(system.drift[1], system.peak[a] / (d[a] + g[a]))
    system.drift[0] += 8 * UNIT_ROUNDOFF
    update_neighbour(system, n, i, j)
    update_neighbour(system, n, j, i)
    if before == 0.0:
        merge_components(system, n, i, j)
    system.residual_dirty[i] = True
    system.residual_dirty[j] = True
    return similar == 0.0


@compiled
def write_symmetric(w: Floats, v: Floats, free: Ints, escape: Floats, matrix: Floats) -> None:
    """Write V^½ M V^-½ over some vertices, of weights v, from which walks escape to all others.

    Each similarity is read once; whole matrices made on the way would take several times as long.
    """
    root, degree = np.sqrt(v), np.zeros(v.shape[0])
    for a in range(v.shape[0]):
        similar, row, own = w[free[a]], matrix[a], degree[a]
        for b in range(v.shape[0]):
            row[b] = similar[free[b]]
        for b in range(v.shape[0]):
            degree[b] += v[a] * row[b]
            row[b] = -(root[a] * row[b] * root[b])
        degree[a] = own  # a vertex is no neighbour of its own
    for a in range(v.shape[0]):
        matrix[a, a] = degree[a] + escape[a]
