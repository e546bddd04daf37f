"""Who is joined to whom: neighbour lists of sparse rows, and connected components.

Lists are in order of age and as long as they may be, whatever changes led to them, so that a
learner that is read from a file goes on with the very same ones.
"""

from __future__ import annotations

import numpy as np

from labelwalk.kernels.jit import compiled
from labelwalk.kernels.system import DENSE, STEPS, WIDTH, System


@compiled
def list_neighbours(system: System, n: int, i: int) -> None:
    """List the positive entries of row i of w, or call the row DENSE."""
    length = 0
    for j in range(n):
        if system.w[i, j] > 0.0:
            if length == WIDTH:
                system.n_neighbours[i] = DENSE
                return
            system.neighbours[i, length] = j
            system.similar[i, length] = system.w[i, j]
            length += 1
    system.n_neighbours[i] = length


@compiled
def append_neighbour(system: System, i: int, j: int) -> None:
    """Note that j, younger than all others, is a neighbour of i."""
    length = system.n_neighbours[i]
    if length == WIDTH:
        system.n_neighbours[i] = DENSE
    elif length != DENSE:
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
def join_components(system: System, n: int, i: int, j: int) -> None:
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
def share_a_neighbour(system: System, i: int, j: int) -> bool:
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
            for a in range(n if length == DENSE else length):
                j = a if length == DENSE else system.neighbours[i, a]
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
