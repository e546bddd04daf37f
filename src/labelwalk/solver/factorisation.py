"""The row form of Proposition 1 as a factorised system: the graph once, right-hand sides often.

With similarities w_ij, weights v_i, sinks γ_i and degrees d_i = Σ_{j≠i} w_ij v_j, the system over
the unlabelled vertices is

    (d_i + γ_i) f_i − Σ_{unlabelled j≠i} w_ij v_j f_j = b_i,                M f = b.

It is Proposition 1 divided by v_i: V W V, which overflows what it is added to, is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.kernels.relaxation import eliminate
from labelwalk.kernels.system import write_symmetric
from labelwalk.one_thread import one_blas_thread
from labelwalk.solver.graphs import Graph, as_columns, as_graph

# A Cholesky solution is off by about one rounding for every step the walk takes before it ends.
LONG_WALK = 1e6
FEW = 32  # vertices that are eliminated one by one


@dataclass(frozen=True, eq=False)
class Factorisation:
    """The factorised system M of `factorise`; `solve` answers one right-hand side after another.

    Where walks are short, the Cholesky factor of V^½ M V^-½, which is symmetric; where they are
    long, M⁻¹ itself.
    """

    n_vertices: int
    short: Ints
    root: Floats
    lower: Floats
    long: Ints
    visits: Floats

    def solve(self, rhs: ArrayLike) -> Floats:
        """Solve M f = rhs.

        Parameters
        ----------
        rhs : (n, m) array
            Rows of labelled vertices are not used.

        Returns
        -------
        f : (n, m) array
            Rows of labelled vertices are 0. Never negative where rhs is not.
        """
        b = as_columns("rhs", rhs, self.n_vertices)
        f = np.zeros(b.shape)
        with one_blas_thread():
            f[self.short] = _substituted(self.lower, self.root, b[self.short])
            f[self.long] = self.visits @ b[self.long]
        return f


def factorise(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    weights: ArrayLike | None,
    sink: ArrayLike,
) -> Factorisation:
    """Factorise the row form of Proposition 1 once, to solve it for many right-hand sides.

    Parameters
    ----------
    similarity, is_labelled, weights, sink
        As in `harmonic.solve`. The system covers all unlabelled vertices, those without a label in
        their connected component too.

    Returns
    -------
    factorisation : Factorisation

    Examples
    --------
    The expected number of steps of the walk solves M t = d + γ.

    >>> import numpy as np
    >>> w = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> system = factorise(w, np.array([True, False, False]), None, sink=[1.0, 0.25, 0.6])
    >>> print(system.solve(np.array([[0.0], [2.25], [1.6]])))
    [[0.  ]
     [2.  ]
     [2.25]]
    """
    return factorise_graph(as_graph(similarity, is_labelled, weights, sink))


def factorise_graph(graph: Graph, long_walk: float = LONG_WALK) -> Factorisation:
    """Factorise the system of a graph that has been checked.

    Where walks take up to `long_walk` steps, Cholesky will do.
    """
    l, u = np.flatnonzero(graph.labelled), np.flatnonzero(~graph.labelled)
    v = graph.v[u]
    with one_blas_thread():
        escape = graph.gamma[u] + graph.w[np.ix_(u, l)] @ graph.v[l]
        lower, steps = _cholesky(graph.w, u, v, escape)
        is_long = _whole_components(graph.w, u, ~(steps <= long_walk))
        short, long = np.flatnonzero(~is_long), np.flatnonzero(is_long)
        visits = _visits(graph.w[np.ix_(u[long], u[long])] * v[long], escape[long])
    # components have nothing in common, so a part of the factor is the factor of that part
    lower = lower[np.ix_(short, short)] if len(long) else lower
    return Factorisation(len(graph.w), u[short], np.sqrt(v[short])[:, None], lower, u[long], visits)


def _cholesky(w: Floats, u: Ints, v: Floats, escape: Floats) -> tuple[Floats, Floats]:
    """Return the factor over the vertices u, and how many steps walks take there."""
    A, root = np.empty((len(u), len(u))), np.sqrt(v)[:, None]
    write_symmetric(w, v, u, escape, A)
    diagonal = np.diagonal(A).copy()
    try:
        lower, _ = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:  # rounding has made the matrix singular
        return A, np.full(len(u), np.inf)
    return lower, _substituted(lower, root, diagonal[:, None])[:, 0]


def _substituted(lower: Floats, root: Floats, b: Floats) -> Floats:
    if len(b) == 0:  # SciPy 1.13 would refuse
        return b
    g = cho_solve((lower, True), root * b, overwrite_b=True, check_finite=False)
    return np.asarray(g / root, dtype=np.float64)


def _whole_components(w: Floats, u: Ints, chosen: Bools) -> Bools:
    """Return which of the vertices u are joined to one that is chosen."""
    if not chosen.any():
        return chosen
    _, component = connected_components(csr_array(w[np.ix_(u, u)]), directed=False)
    return np.isin(component, component[chosen])


def _visits(flow: Floats, escape: Floats) -> Floats:
    """Inverse of diag(Σ_{j≠i} flow_ij + escape_i) − flow, without a single subtraction.

    Entry ij is the expected number of visits to j of the walk from i, over the diagonal at j.
    Eliminating the first half of the vertices leaves a system of the same form on the second:
    flows and escapes by way of the first are added on. Sums of products of positive numbers lose
    nothing, so every entry is right to a few roundings even where d + γ = d in floating point
    (Grassmann, Taksar and Heyman 1985). Diagonal entries of `flow` are not used.
    """
    n = len(escape)
    if n <= FEW:
        visits = np.eye(n)
        eliminate(flow.copy(), escape.copy(), visits)
        return visits
    half = n // 2
    out, home = flow[:half, half:], flow[half:, :half]
    first = _visits(flow[:half, :half], escape[:half] + out.sum(axis=1))
    arrive = first @ out
    second = _visits(
        flow[half:, half:] + home @ arrive, escape[half:] + home @ (first @ escape[:half])
    )
    back = second @ (home @ first)
    return np.block([[first + arrive @ back, arrive @ second], [back, second]])
