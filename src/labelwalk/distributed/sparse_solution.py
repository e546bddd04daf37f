"""The harmonic solution on a sparse graph of many vertices, with a proven bound on its error.

The graph stores similar pairs only. The equations are solved by conjugate gradients. For computed
probabilities f and steps t, with relative residuals rho and tau, and maxima over the connected
component of vertex i, the exact solution f* satisfies

    |f_i - f*_i|  <=  max |rho| * t_i / (1 - max tau),

for any f and t (docs/decisions/certificate.md). A poor solution has a poor bound, and is improved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.concurrency import single_blas_thread
from labelwalk.engine.batch_predictor import PrefilterIndex
from labelwalk.kernels.nearest import list_pairs, write_local_distances
from labelwalk.kernels.system import UNIT_ROUNDOFF

FIRST_ACCURACY, LAST_ACCURACY = 1e-4, 1e-13  # relative residuals at which the solver stops
ACCURACY_STEP = 1e-2  # factor of the accuracy of the next attempt
MAX_CG_STEPS = 20_000


class SparseSolution(NamedTuple):
    """Probabilities of vertices, and bounds on their errors."""

    f: Floats  # (n, classes); 0 if no labelled vertex can be reached
    errors: Floats
    has_label: Bools  # whether a labelled vertex can be reached


class FreeSystem(NamedTuple):
    """The equations of vertices without a label that can reach one."""

    flow: csr_array  # w_ij v_j between them
    total: Floats  # degree and sink
    root: Floats  # of the weights: scaled with it, the equations are symmetric
    component: Ints
    max_terms: int  # of any equation, labels included


def measure_local_distances(points: Floats, neighbor: int) -> Floats:
    """Return the distance of each point to its k-th nearest one at another place."""
    index, distances = _index_points(points), np.empty(len(points))
    for rows, bounds in index.bound_distances(points, len(points)):
        write_local_distances(points, neighbor, bounds, points[rows], distances[rows])
    return distances


def compute_similarities(points: Floats, bandwidth: Floats, cut: float) -> csr_array:
    """Return the similarities of pairs, zero beyond `cut` bandwidths and on the diagonal."""
    n, index = len(points), _index_points(points)
    capacity = 8 * n + 1024
    ids, similarities = np.empty(capacity, dtype=np.int64), np.empty(capacity)
    columns, values, counts = [np.empty(0, np.int64)], [np.empty(0)], [np.zeros(1, np.int64)]
    for rows, bounds in index.bound_distances(points, n):
        start, n_rows = 0, rows.stop - rows.start
        while start < n_rows:
            ends = np.empty(n_rows - start, dtype=np.int64)
            rest = bounds._replace(
                products=bounds.products[start:],
                squares=bounds.squares[start:],
                slack=bounds.slack[start:],
            )
            n_listed = list_pairs(
                *(points, bandwidth, cut, rest, rows.start + start, n_rows - start),
                *(ids, similarities, ends),
            )
            n_pairs = int(ends[n_listed - 1])
            columns.append(ids[:n_pairs].copy())
            values.append(similarities[:n_pairs].copy())
            counts.append(np.diff(ends[:n_listed], prepend=0))
            start += n_listed
    starts = np.cumsum(np.concatenate(counts))
    return csr_array((np.concatenate(values), np.concatenate(columns), starts), shape=(n, n))


def _index_points(points: Floats) -> PrefilterIndex:
    index = PrefilterIndex(*points.shape)
    index.put(0, points)
    return index


def solve_sparse(
    w: csr_array, v: Floats, sink: Floats, codes: Ints, n_classes: int, tolerance: float
) -> SparseSolution:
    """Solve for the probability of every class at every vertex.

    The similarities `w` are symmetric and 0 on the diagonal, the weights `v` and sinks above 0. The
    code of a vertex is its class, or -1 without a label. The error is at most `tolerance`, if that
    can be reached.
    """
    is_labelled = codes >= 0
    _, component = connected_components(w, directed=False)
    has_label = np.isin(component, component[is_labelled])
    f, errors = np.zeros((len(v), n_classes)), np.zeros(len(v))
    f[is_labelled, codes[is_labelled]] = 1.0
    free = np.flatnonzero(has_label & ~is_labelled)
    if len(free) == 0:
        return SparseSolution(f, errors, has_label)
    system = _build_system(w, v, sink, free, component.astype(np.int64))
    inflow = w[free][:, is_labelled] @ (v[is_labelled, None] * f[is_labelled])
    accuracy, steps = FIRST_ACCURACY, np.zeros(len(free))
    while True:
        steps = _solve(system, system.total, steps, accuracy)
        for c, right in enumerate(inflow.T):
            f[free, c] = _solve(system, right, f[free, c], accuracy)
        np.clip(f, 0.0, 1.0, out=f)
        errors[free] = _bound_errors(system, steps, f[free], inflow)
        if errors.max() <= tolerance or accuracy <= LAST_ACCURACY:
            return SparseSolution(f, errors, has_label)
        accuracy *= ACCURACY_STEP


def _build_system(w: csr_array, v: Floats, sink: Floats, free: Ints, component: Ints) -> FreeSystem:
    rows = w[free]
    flow = rows[:, free] @ diags_array(v[free])
    total = rows @ v + sink[free]
    max_terms = int(np.diff(rows.indptr).max(initial=0))
    return FreeSystem(csr_array(flow), total, np.sqrt(v[free]), component[free], max_terms)


def _solve(system: FreeSystem, right: Floats, start: Floats, accuracy: float) -> Floats:
    """Solve the equations for one right side, within a limited number of steps."""
    root, total = system.root, system.total

    def multiply(g: Floats) -> Floats:
        image: Floats = total * g - root * (system.flow @ (g / root))
        return image

    n = len(total)
    matrix = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    scaled = LinearOperator((n, n), matvec=lambda g: g / total, dtype=np.float64)
    with single_blas_thread():
        g, _ = cg(matrix, root * right, root * start, rtol=accuracy, maxiter=MAX_CG_STEPS, M=scaled)
    solution: Floats = g / root
    return solution


def _bound_errors(system: FreeSystem, steps: Floats, f: Floats, inflow: Floats) -> Floats:
    """Return a bound on the error of the probabilities of each vertex, at most 1."""
    total, rounding = system.total[:, None], 4.0 * (system.max_terms + 8) * UNIT_ROUNDOFF
    residual = inflow + system.flow @ f - total * f
    rho = np.abs(residual / total).max(axis=1) + rounding
    tau = (system.total + system.flow @ steps - system.total * steps) / system.total
    tau += rounding * (1.0 + steps)
    max_rho = _component_max(system.component, rho)
    max_tau = np.maximum(_component_max(system.component, tau), 0.0)
    divisor = np.where(max_tau < 1.0, 1.0 - max_tau, 0.0)
    with np.errstate(divide="ignore"):
        errors = np.where(divisor > 0.0, max_rho * steps / divisor, 1.0)
    return np.asarray(np.minimum(errors, 1.0))


def _component_max(component: Ints, values: Floats) -> Floats:
    """Return, for each vertex, the largest value in its component."""
    largest = np.full(int(component.max()) + 1, -np.inf)
    np.maximum.at(largest, component, values)
    return largest[component]
