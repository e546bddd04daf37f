"""The linear system of the harmonic solution, kept up to date under small changes.

For every free (unlabelled) vertex i and class c the solution f satisfies

    (d_i + g_i) f_ic = sum_j w_ij v_j f_jc,        d_i = sum_j w_ij v_j,

and the residual r_ic is the right side minus the left. Column 0 is not a class: it holds t, the
expected steps of the random walk before a label or the sink ends it, which solves the same system
with right side d + g, and turns residuals into proven errors.
"""

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints, Places, SmallInts
from labelwalk.kernels.jit import jit

UNIT_ROUNDOFF = 2.0**-53
STEPS = 0  # the column of f and r that holds the expected steps
MAX_STEPS = 1e18  # expected steps are capped; with longer walks rounding prevents any proof
DENSE_ROW = -1  # in `n_neighbours`: too many to list, so the whole row is used
MAX_LISTED_NEIGHBOURS = 64
MAX_DEGREE_SHRINKAGE = 1e3  # factor by which a degree may fall before residuals are recomputed


class System(NamedTuple):
    """Arrays over vertices; only the first n entries are in use."""

    w: Floats  # (capacity, capacity) similarities, 0 on the diagonal
    v: Floats  # weights
    g: Floats  # sinks
    d: Floats  # degrees
    f: Floats  # (1 + classes, capacity) steps, then probabilities
    r: Floats  # (1 + classes, capacity) residuals of f
    clamped: Bools  # labelled vertices, which have no equation
    component: SmallInts  # oldest vertex connected by positive similarities
    has_label: Bools  # by component: whether it contains a labelled vertex
    neighbours: Places  # (capacity, MAX_LISTED_NEIGHBOURS) columns of the positive entries of w
    similar: Floats  # (capacity, MAX_LISTED_NEIGHBOURS) these entries
    n_neighbours: SmallInts  # number of these entries, or DENSE_ROW
    largest: Floats  # largest relative residual of the classes; invalid where dirty
    residual_dirty: Bools  # whether a residual has changed since
    bias: Floats  # (1 + classes) factors of the columns when classes are compared
    drift: Floats  # (2) rounding accumulated in r relative to the peak of d + g; ratio of the peak
    peak: Floats  # largest d + g since the last rebuild, if it has fallen; else 0
    scratch: Floats  # (capacity) work array, like the following
    limit: Floats  # (capacity) largest residual of a class that need not be relaxed
    queue: SmallInts  # vertices to relax
    queued: Bools
    marked: Bools  # by component: whether the current answer depends on it


@jit  # takes arrays, because a System would be copied at each of its many calls
def push(
    w_i: Floats,
    neighbours_i: Places,
    similar_i: Floats,
    length: int,
    n: int,
    flow: float,
    residual: Floats,
) -> None:
    """Add w_ij * flow to the residual of every neighbour j of vertex i."""
    if length == DENSE_ROW:
        for j in range(n):
            residual[j] += w_i[j] * flow
    else:
        for a in range(length):
            residual[neighbours_i[a]] += similar_i[a] * flow


@jit
def mark_dirty(system: System, n: int, i: int) -> None:
    """Mark the neighbours of vertex i, whose residuals have changed."""
    length = system.n_neighbours[i]
    if length == DENSE_ROW:
        system.residual_dirty[:n] = True
    for a in range(length):  # no iteration if the row is dense
        system.residual_dirty[system.neighbours[i, a]] = True


@jit
def add_weight(system: System, n: int, i: int, change: float) -> None:
    """Add `change` >= 0 to the weight of vertex i; update degrees and residuals."""
    w_i, d, f, r = system.w[i], system.d, system.f, system.r
    neighbours, similar, length = system.neighbours[i], system.similar[i], system.n_neighbours[i]
    system.v[i] += change
    push(w_i, neighbours, similar, length, n, change, d)
    push(w_i, neighbours, similar, length, n, change, r[STEPS])
    for column in range(f.shape[0]):
        center, value, residual = f[column, i], f[column], r[column]
        if length == DENSE_ROW:
            for j in range(n):
                residual[j] += w_i[j] * change * (center - value[j])
        for a in range(length):  # no iteration if the row is dense
            j = neighbours[a]
            residual[j] += similar[a] * change * (center - value[j])
    mark_dirty(system, n, i)
    system.drift[0] += 8 * UNIT_ROUNDOFF


@jit
def rebuild(system: System, n: int) -> None:
    """Recompute degrees and residuals from w, v, g and f, in one fixed order."""
    w, v, d, f, r = system.w, system.v, system.d, system.f, system.r
    d[:n] = 0.0
    r[:, :n] = 0.0
    for i in range(n):
        neighbours, similar, length = (
            system.neighbours[i],
            system.similar[i],
            system.n_neighbours[i],
        )
        push(w[i], neighbours, similar, length, n, v[i], d)
        for column in range(f.shape[0]):
            if f[column, i] != 0.0:
                push(w[i], neighbours, similar, length, n, v[i] * f[column, i], r[column])
    for j in range(n):
        total = d[j] + system.g[j]
        r[STEPS, j] += total
        for column in range(f.shape[0]):
            r[column, j] -= total * f[column, j]
    system.peak[:n] = 0.0
    system.residual_dirty[:n] = True
    system.drift[0] = 2.0 * (n + 8) * UNIT_ROUNDOFF
    system.drift[1] = 1.0


@jit
def bound_rounding(system: System) -> float:
    """Return a bound on the rounding accumulated in any residual, relative to its d + g."""
    return system.drift[0] * system.drift[1]


@jit
def list_neighbours(system: System, n: int, i: int) -> None:
    """List the positive entries of row i of w, or mark the row as dense."""
    length = 0
    for j in range(n):
        if system.w[i, j] > 0.0:
            if length == MAX_LISTED_NEIGHBOURS:
                length = DENSE_ROW
                break
            system.neighbours[i, length] = j
            system.similar[i, length] = system.w[i, j]
            length += 1
    system.n_neighbours[i] = length


@jit
def append_neighbour(system: System, i: int, j: int) -> None:
    """Add j, which is younger than the others, to the neighbours of i."""
    length = system.n_neighbours[i]
    if length == MAX_LISTED_NEIGHBOURS:
        system.n_neighbours[i] = DENSE_ROW
    elif length != DENSE_ROW:
        system.neighbours[i, length] = j
        system.similar[i, length] = system.w[i, j]
        system.n_neighbours[i] = length + 1


@jit
def update_neighbour(system: System, n: int, i: int, j: int) -> None:
    """Update the list of row i after a change of w_ij."""
    for a in range(system.n_neighbours[i]):  # no iteration if the row is dense
        if system.neighbours[i, a] == j and system.w[i, j] > 0.0:
            system.similar[i, a] = system.w[i, j]
            return
    list_neighbours(system, n, i)


@jit
def merge_components(system: System, n: int, i: int, j: int) -> None:
    """Merge the components of vertices i and j."""
    older = min(system.component[i], system.component[j])
    younger = max(system.component[i], system.component[j])
    if older == younger:
        return
    system.has_label[older] = system.has_label[older] or system.has_label[younger]
    for a in range(n):
        if system.component[a] == younger:
            system.component[a] = older


@jit
def have_common_neighbour(system: System, i: int, j: int) -> bool:
    """Return whether two vertices without an edge have a common neighbour."""
    for a in range(system.n_neighbours[i]):
        if system.w[system.neighbours[i, a], j] > 0.0:
            return True
    return False


@jit
def relink(system: System, n: int) -> None:
    """Recompute neighbour lists and components after vertices or similarities have changed."""
    for i in range(n):
        list_neighbours(system, n, i)
    find_components(system, n)


@jit
def find_components(system: System, n: int) -> None:
    """Number components by their oldest vertices; set values without a reachable label to zero."""
    system.component[:n] = -1
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
            system.f[STEPS + 1 :, i] = 0.0
            system.r[STEPS + 1 :, i] = 0.0
            system.residual_dirty[i] = True


@jit
def attach(system: System, i: int, weight: float, sink: float) -> None:
    """Add vertex i after the first i vertices; w[i] holds its similarities to them.

    The values of a free vertex solve its own equation; those of a clamped vertex are already in f.
    """
    w, v, f = system.w, system.v, system.f
    w[i, i] = 0.0
    v[i] = 0.0
    system.g[i] = sink
    system.component[i] = i
    system.has_label[i] = system.clamped[i]
    system.peak[i] = 0.0
    system.n_neighbours[i] = 0
    system.residual_dirty[i] = True
    inflow, degree = system.r[:, i], 0.0
    inflow[:] = 0.0
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
    if not system.clamped[i]:
        f[:, i] = inflow / (degree + sink)
        f[STEPS, i] += 1.0
    inflow[:] = 0.0
    add_weight(system, i + 1, i, weight)


@jit
def change_edge(system: System, n: int, i: int, j: int, similar: float) -> bool:
    """Change w_ij; update degrees and residuals; return whether an edge has been removed."""
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


@jit
def change_edges(system: System, n: int, i: int, similar: Floats) -> None:
    """Change the similarities of vertex i to the first n vertices."""
    is_split, before = False, system.w[i]
    for j in range(n):  # most similarities stay 0, and a comparison costs less than a call
        if similar[j] != before[j] and change_edge(system, n, i, j, similar[j]):
            is_split = is_split or not have_common_neighbour(system, i, j)
    if is_split:
        find_components(system, n)
    if system.drift[1] > MAX_DEGREE_SHRINKAGE:
        rebuild(system, n)


@jit
def write_symmetric(w: Floats, v: Floats, free: Ints, escape: Floats, matrix: Floats) -> None:
    """Write the symmetric matrix V^½ M V^-½ of the direct solution over the free vertices.

    `escape` is the flow to all other vertices and the sink. Each similarity is read once; temporary
    matrices would take several times as long.
    """
    root, degree = np.sqrt(v), np.zeros(v.shape[0])
    for a in range(v.shape[0]):
        similar, row, degree_before = w[free[a]], matrix[a], degree[a]
        for b in range(v.shape[0]):
            row[b] = similar[free[b]]
        for b in range(v.shape[0]):
            degree[b] += v[a] * row[b]
            row[b] = -(root[a] * row[b] * root[b])
        degree[a] = degree_before  # a vertex is not its own neighbour
    for a in range(v.shape[0]):
        matrix[a, a] = degree[a] + escape[a]
