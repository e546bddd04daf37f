"""The incremental solution: a linear system that is updated by relaxation, with proven errors.

The compiled loops in `kernels.system` and `kernels.relaxation` process each example. This module
contains rare operations: changes of the number of vertices and classes, and the direct solution if
relaxation would cost more.
"""

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.concurrency import single_blas_thread
from labelwalk.kernels.certificate import Readout, certify
from labelwalk.kernels.cover import keep_pairs
from labelwalk.kernels.relaxation import relax_all_until_certified
from labelwalk.kernels.system import MAX_STEPS, STEPS, System, rebuild, relink
from labelwalk.solver.linear_system import Graph, factorise_graph


def keep(system: System, kept: Ints) -> None:
    """Remove all vertices but `kept`, with their similarities, weights, values and sinks.

    Call `refresh` afterwards to update degrees and residuals.
    """
    m = len(kept)
    keep_pairs(system.w, kept)
    system.f[:, :m] = system.f[:, kept]
    for column in (system.v, system.g, system.clamped):
        column[:m] = column[kept]


def refresh(system: System, n: int) -> None:
    """Recompute everything that depends on similarities, weights, sinks and values."""
    relink(system, n)
    rebuild(system, n)


def graph_of(system: System, n: int) -> Graph:
    """Return the present graph; its arrays are not copied."""
    return Graph(system.w[:n, :n], system.v[:n], system.g[:n], system.clamped[:n])


def solve_exactly(system: System, n: int) -> None:
    """Replace all values and steps by the exact solution (Cholesky).

    If no label can be reached, values stay 0 and steps are not needed.
    """
    graph = graph_of(system, n)
    labelled, f = graph.labelled, system.f[:, :n]
    free = ~labelled & system.has_label[system.component[:n]]
    with single_blas_thread():
        right = graph.w[:, labelled] @ (graph.v[labelled] * f[:, labelled]).T
    right[:, STEPS] = system.d[:n] + system.g[:n]
    with np.errstate(over="ignore", invalid="ignore"):  # walks of more steps than a float can hold
        solution = factorise_graph(graph._replace(labelled=~free)).solve(right)[free].T
    solution[STEPS][np.isnan(solution[STEPS])] = MAX_STEPS
    f[:, free] = np.where(np.isnan(solution), 0.0, solution)
    np.clip(f[STEPS], 0.0, MAX_STEPS, out=f[STEPS])
    np.clip(f[STEPS + 1 :], 0.0, 1.0, out=f[STEPS + 1 :])
    rebuild(system, n)


def proven_errors(system: System, n: int) -> Floats:
    """Return the present error bound of each vertex."""
    errors = np.zeros(max(n, 1))
    certify(system, n, errors)
    return errors


def settle_vertices(system: System, n: int, tolerance: float, readout: Readout) -> None:
    """Relax until every vertex is certified, or solve directly if that costs less.

    The limit is half the tolerance, since the bound of an answer may be twice its error (see
    `compute_excess`).
    """
    if not relax_all_until_certified(system, n, 0.5 * tolerance, readout):
        solve_exactly(system, n)


def copy_settled(
    system: System, n: int, tolerance: float, readout: Readout
) -> tuple[System, Floats]:
    """Return a copy of the system in which every vertex is certified, and the bounds."""
    changed = ("d", "f", "r", "drift", "peak", "largest", "residual_dirty", "bias")
    copy = system._replace(**{name: getattr(system, name).copy() for name in changed})
    errors = np.zeros(max(n, 1))
    settle_vertices(copy, n, tolerance, readout)
    certify(copy, n, errors)
    return copy, errors
