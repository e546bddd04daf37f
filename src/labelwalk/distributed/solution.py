"""The harmonic solution on a sparse graph, by conjugate gradients, with a proof of its error.

With f and steps t as they come out, relative residuals rho and tau, and the maxima taken over the
connected component of vertex i, the exact solution f* satisfies

    |f_i - f*_i|  <=  max |rho| * t_i / (1 - max tau),

whatever f and t are (docs/decisions/0002): a poor solution has a poor bound, and is improved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.one_thread import one_blas_thread

UNIT_ROUNDOFF = 2.0**-53
FIRST, LAST = 1e-4, 1e-13  # residuals, relative to the right side, that solving goes on to
BETTER = 1e-2  # times as small the next time
MOST_STEPS = 20_000  # of conjugate gradients


class Solution(NamedTuple):
    """Probabilities over vertices, and what they may be off by."""

    f: Floats  # (n, classes); 0 where no label can be reached
    errors: Floats
    lit: Bools  # can a label be reached?


class System(NamedTuple):
    """The equations of vertices that are free, and where a label can be reached."""

    flow: csr_array  # w_ij v_j between them
    total: Floats  # degree and sink
    root: Floats  # of weights: scaled by it, equations are symmetric
    component: Ints
    longest: int  # terms of any equation, labels included


def solve(
    w: csr_array, v: Floats, sink: Floats, codes: Ints, n_classes: int, tolerance: float
) -> Solution:
    """Solve for the probability of every class at every vertex.

    Parameters
    ----------
    w : sparse array of shape (n, n)
        Similarities, symmetric, 0 on the diagonal.
    v, sink : arrays of n floats
        Weights, and sinks above 0.
    codes : array of n integers
        The class of a labelled vertex, -1 elsewhere.
    n_classes : int
    tolerance : float
        The error that is aimed at.

    Examples
    --------
    >>> w = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> found = solve(w, np.ones(3), np.full(3, 0.5), np.array([0, -1, 1]), 2, tolerance=1e-6)
    >>> print(found.f.round(3).tolist(), (found.errors <= 1e-6).all())
    [[1.0, 0.0], [0.4, 0.4], [0.0, 1.0]] True
    """
    labelled = codes >= 0
    _, component = connected_components(w, directed=False)
    lit = np.isin(component, component[labelled])
    f, errors = np.zeros((len(v), n_classes)), np.zeros(len(v))
    f[labelled, codes[labelled]] = 1.0
    free = np.flatnonzero(lit & ~labelled)
    if len(free) == 0:
        return Solution(f, errors, lit)
    system = _system(w, v, sink, free, component.astype(np.int64))
    inflow = w[free][:, labelled] @ (v[labelled, None] * f[labelled])
    accuracy, steps = FIRST, np.zeros(len(free))
    while True:
        steps = _solved(system, system.total, steps, accuracy)
        for c, right in enumerate(inflow.T):
            f[free, c] = _solved(system, right, f[free, c], accuracy)
        np.clip(f, 0.0, 1.0, out=f)
        errors[free] = _proven(system, steps, f[free], inflow)
        if errors.max() <= tolerance or accuracy <= LAST:
            return Solution(f, errors, lit)
        accuracy *= BETTER


def _system(w: csr_array, v: Floats, sink: Floats, free: Ints, component: Ints) -> System:
    rows = w[free]
    flow = rows[:, free] @ diags_array(v[free])
    total = rows @ v + sink[free]
    longest = int(np.diff(rows.indptr).max(initial=0))
    return System(csr_array(flow), total, np.sqrt(v[free]), component[free], longest)


def _solved(system: System, right: Floats, guess: Floats, accuracy: float) -> Floats:
    """Solve the equations for one right side, from a guess on; as far as it gets in some time."""
    root, total = system.root, system.total

    def symmetric(g: Floats) -> Floats:
        image: Floats = total * g - root * (system.flow @ (g / root))
        return image

    n = len(total)
    matrix = LinearOperator((n, n), matvec=symmetric, dtype=np.float64)
    scaled = LinearOperator((n, n), matvec=lambda g: g / total, dtype=np.float64)
    with one_blas_thread():
        g, _ = cg(matrix, root * right, root * guess, rtol=accuracy, maxiter=MOST_STEPS, M=scaled)
    found: Floats = g / root
    return found


def _proven(system: System, steps: Floats, f: Floats, inflow: Floats) -> Floats:
    """Return what the probabilities of each vertex may be off by, at most 1."""
    total, rounding = system.total[:, None], 4.0 * (system.longest + 8) * UNIT_ROUNDOFF
    residual = inflow + system.flow @ f - total * f
    rho = np.abs(residual / total).max(axis=1) + rounding
    tau = (system.total + system.flow @ steps - system.total * steps) / system.total
    tau += rounding * (1.0 + steps)
    largest = _largest(system.component, rho)
    shortfall = np.maximum(_largest(system.component, tau), 0.0)
    proven = np.where(shortfall < 1.0, 1.0 - shortfall, 0.0)
    with np.errstate(divide="ignore"):
        errors = np.where(proven > 0.0, largest * steps / proven, 1.0)
    return np.asarray(np.minimum(errors, 1.0))


def _largest(component: Ints, values: Floats) -> Floats:
    """Return, for each vertex, the largest value in its component."""
    most = np.full(int(component.max()) + 1, -np.inf)
    np.maximum.at(most, component, values)
    return most[component]
