"""A harmonic solution from one that was nearly right: conjugate gradients with a proven end."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Bools, Floats
from labelwalk.one_thread import one_blas_thread
from labelwalk.solver.factorisation import factorise_graph
from labelwalk.solver.graphs import Graph

PROVEN = 1e-9
MOST_STEPS = 200  # a direct solution costs no more
ROUNDING = 16 * np.finfo(np.float64).eps  # of a residual, in units of the degree


def resolve(w: Floats, sink: float, labelled: Bools, guess: Floats) -> Floats:
    """Return the harmonic solution on a graph, no value further than 1e-9 from the exact one.

    With r the residuals and s_i = γ + Σ_{labelled j} w_ij, no value is off by more than the largest
    |r_i| / s_i. Conjugate gradients stop when that is half of 1e-9, and leave the other half to
    rounding; where rounding takes more, because the sink is faint, the system is solved directly.

    Parameters
    ----------
    w : (n, n) array
        Similarities, symmetric, 0 on the diagonal.
    sink : float
        γ > 0.
    labelled : (n,) boolean array
    guess : (n, C) array
        Rows of labelled vertices are the clamped values; the others are where to start from.

    Returns
    -------
    f : (n, C) array

    Examples
    --------
    >>> w = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    >>> f = resolve(w, 1.0, np.array([True, False, True]), np.array([[1.0], [0.2], [0.0]]))
    >>> print(f.round(6))
    [[1.  ]
     [0.25]
     [0.  ]]
    """
    with one_blas_thread():
        total = w.sum(axis=1) + sink
        enough = PROVEN / 2 * (w @ labelled.astype(np.float64) + sink)
        free = ~labelled
        if (enough < ROUNDING * total)[free].any():
            return _directly(w, sink, labelled, guess)
        f = guess.T.copy()  # a row for each class, as all below
        r = free * (f @ w - total * f)
        p = z = r / total
        rz = (r * z).sum(axis=1, keepdims=True)
        for _ in range(MOST_STEPS):
            if (np.abs(r) <= enough).all():
                return f.T
            q = free * (total * p - p @ w)
            step = rz / _or_one((p * q).sum(axis=1, keepdims=True))
            f += step * p
            r -= step * q
            z = r / total
            before, rz = rz, (r * z).sum(axis=1, keepdims=True)
            p = z + (rz / _or_one(before)) * p
    return _directly(w, sink, labelled, guess)


def _or_one(denominators: Floats) -> Floats:
    """Replace 0, which a class that is solved already leaves under its 0."""
    return np.where(denominators > 0.0, denominators, 1.0)


def _directly(w: Floats, sink: float, labelled: Bools, guess: Floats) -> Floats:
    n = len(w)
    clamped = np.where(labelled[:, None], guess, 0.0)
    system = factorise_graph(Graph(w, np.ones(n), np.full(n, sink), labelled))
    with one_blas_thread():
        votes = w @ clamped
    return clamped + system.solve(votes)
