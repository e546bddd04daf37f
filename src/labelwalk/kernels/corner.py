"""A corner: a few vertices that walks are slow to leave, solved at once and not relaxed.

Relaxing goes along with the walk, step by step, and a walk that has come into a corner takes
thousands of steps to find its way out. There are few vertices in it, so eliminating them is cheap.
"""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.system import (
    DENSE,
    MOST_STEPS,
    STEPS,
    UNIT_ROUNDOFF,
    System,
    push,
    stir,
)

FEW = 10  # at most one vertex in so many is in a corner
SLOW = 2.0  # and what is read there has at least so many times the steps of those outside it


@compiled
def n_beyond(system: System, n: int, bend: float) -> int:
    """Count the touched vertices with more steps to go than `bend`."""
    count = 0
    for j in range(n):
        if system.f[STEPS, j] > bend and system.touched[system.component[j]]:
            count += 1
    return count


@compiled
def bend_for(system: System, n: int, steps: float) -> float:
    """Return the steps past which a corner begins for an answer of so many; infinite: nowhere.

    Infinite steps have no corner: halving would leave them infinite.
    """
    bend, trial = np.inf, steps / SLOW
    while 1.0 <= trial < np.inf and n_beyond(system, n, trial) <= n // FEW:
        bend, trial = trial, trial / 2.0
    return bend


@compiled
def solve_corner(system: System, n: int, bend: float, level: float) -> float:
    """Solve the vertices past `bend`, the others staying as they are; count the work.

    Classes whose relative residuals are all below `level` there are left.
    """
    corner = np.empty(n_beyond(system, n, bend), dtype=np.int64)
    m = 0
    for j in range(n):
        if system.f[STEPS, j] > bend and system.touched[system.component[j]]:
            corner[m] = j
            m += 1
    due = columns_due(system, corner, level)
    moves = np.empty((m, due.shape[0]))
    for a in range(m):
        for b in range(due.shape[0]):
            moves[a, b] = system.r[due[b], corner[a]]
    eliminate(*flows_within(system, n, corner), moves)
    for b in range(due.shape[0]):
        move_corner(system, n, corner, moves[:, b], due[b])
    for a in range(m):
        system.stirred[corner[a]] = True
        stir(system, n, corner[a])
    system.drift[0] += 8 * UNIT_ROUNDOFF * m
    return m**3 / 3.0 + float(m * n * due.shape[0])


@compiled
def columns_due(system: System, corner: Ints, level: float) -> Ints:
    """Return the columns with a relative residual above `level` in the corner."""
    due = np.empty(system.r.shape[0], dtype=np.int64)
    many = 0
    for column in range(system.r.shape[0]):
        for a in range(corner.shape[0]):
            i = corner[a]
            if abs(system.r[column, i]) > level * (system.d[i] + system.g[i]):
                due[many] = column
                many += 1
                break
    return due[:many]


@compiled
def move_corner(system: System, n: int, corner: Ints, moves: Floats, column: int) -> None:
    """Move the values of one column in a corner, in everybody's residuals."""
    w, neighbours, similar = system.w, system.neighbours, system.similar
    value, residual = system.f[column], system.r[column]
    most = MOST_STEPS if column == STEPS else 1.0
    for a in range(corner.shape[0]):
        i = corner[a]
        before = value[i]
        value[i] = min(most, max(0.0, before + moves[a]))
        move = value[i] - before
        residual[i] -= (system.d[i] + system.g[i]) * move
        length = system.n_neighbours[i]
        push(w[i], neighbours[i], similar[i], length, n, system.v[i] * move, residual)


@compiled
def flows_within(system: System, n: int, corner: Ints) -> tuple[Floats, Floats]:
    """Return w_ij v_j between the vertices of a corner, and what leads out of it."""
    m = corner.shape[0]
    place = np.full(n, -1)
    for a in range(m):
        place[corner[a]] = a
    flow, escape = np.zeros((m, m)), np.empty(m)
    for a in range(m):
        i = corner[a]
        escape[a] = system.g[i]
        length = system.n_neighbours[i]
        for b in range(n if length == DENSE else length):
            j = b if length == DENSE else system.neighbours[i, b]
            if place[j] >= 0:
                flow[a, place[j]] = system.w[i, j] * system.v[j]
            else:
                escape[a] += system.w[i, j] * system.v[j]
    return flow, escape


@compiled
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
