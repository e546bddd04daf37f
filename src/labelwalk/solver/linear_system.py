"""The linear system of a weighted graph: validated and factorized once, solved many times.

With similarities w_ij, weights v_i, sinks γ_i and degrees d_i = Σ_{j≠i} w_ij v_j, the system over
the unlabelled vertices is

    (d_i + γ_i) f_i − Σ_{unlabelled j≠i} w_ij v_j f_j = b_i,                M f = b.

It is Proposition 1 divided by v_i, which avoids V W V, whose entries can overflow.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.concurrency import single_blas_thread
from labelwalk.kernels.relaxation import eliminate
from labelwalk.kernels.system import write_symmetric

ASYMMETRY = 1e-8


class Graph(NamedTuple):
    """Similarities w, weights v and sinks γ, and which vertices are labelled."""

    w: Floats
    v: Floats
    gamma: Floats
    labelled: Bools


def as_graph(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    weights: ArrayLike | None,
    sink: ArrayLike,
    *,
    copies: bool = False,
) -> Graph:
    """Return the graph; with `copies` its weights must be at least 1.

    Raises
    ------
    ValueError
        Similarities are not a symmetric matrix of numbers >= 0, the mask is not boolean, a weight
        or a sink is not > 0, or a shape is wrong.
    """
    w = as_similarity(similarity)
    v = as_weights(weights, w, copies=copies)
    return Graph(w, v, as_positive("sink", sink, len(w)), as_mask(is_labelled, len(w)))


def as_similarity(similarity: ArrayLike) -> Floats:
    """Return a symmetric matrix of finite numbers >= 0."""
    w = np.asarray(similarity, dtype=np.float64)
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(
            f"similarity has shape {w.shape}: pass a square matrix, with a row and a column per "
            "vertex"
        )
    lowest, highest = w.min(initial=0.0), w.max(initial=0.0)
    if not (lowest >= 0.0 and np.isfinite(highest)):
        worst = lowest if not lowest >= 0.0 else highest
        raise ValueError(
            f"similarity contains {worst}: entries must be finite and >= 0; use exp(-(d/sigma)**2 "
            "/ 2) for a distance d, and check the examples for NaN"
        )
    gap = np.abs(w - w.T).max(initial=0.0)
    if gap > ASYMMETRY * highest:
        raise ValueError(
            f"similarity is not symmetric: entries ij and ji differ by up to {gap}; "
            "pass np.maximum(similarity, similarity.T)"
        )
    return w


def as_weights(weights: ArrayLike | None, w: Floats, *, copies: bool = False) -> Floats:
    """Return weights > 0 whose degrees do not overflow; all 1 by default."""
    v = as_positive("weights", 1.0 if weights is None else weights, len(w))
    if copies and v.min(initial=1.0) < 1.0:
        raise ValueError(
            f"weights contains {v.min()}: a normalised Laplacian has v - 1 edges between copies, "
            "so pass counts >= 1"
        )
    # in Python numbers, which overflow without a warning
    total = sum(v.tolist())
    if not math.isfinite(float(w.max(initial=0.0)) * total):
        raise ValueError(
            f"weights sum to {total}: degrees would overflow; divide all weights and the sink by "
            "the same number, which does not change the solution"
        )
    return v


def as_positive(name: str, values: ArrayLike, n: int) -> Floats:
    """Return n finite numbers > 0, from n numbers or a single one."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (n,)):
        raise ValueError(
            f"{name} has shape {array.shape}: pass one number or one per vertex, shape ({n},)"
        )
    wrong = ~((array >= np.finfo(np.float64).tiny) & np.isfinite(array))
    if wrong.any():
        raise ValueError(
            f"{name} contains {array[wrong][0]}: every entry must be finite and > 0; "
            + ("leave out vertices of weight 0" if name == "weights" else "a small one is 1e-6")
        )
    return np.broadcast_to(array, (n,))


def as_columns(name: str, values: ArrayLike, n: int | None = None) -> Floats:
    """Return a matrix with a row per vertex."""
    columns = np.asarray(values, dtype=np.float64)
    if columns.ndim != 2 or (n is not None and len(columns) != n):
        rows = "n" if n is None else n
        raise ValueError(
            f"{name} has shape {columns.shape}: pass ({rows}, columns), one row per vertex; "
            f"a single column is {name}[:, None]"
        )
    return columns


def as_targets(values: ArrayLike, labelled: Bools) -> Floats:
    """Return the targets of labelled vertices, and 0 at all others."""
    targets = as_columns("targets", values, len(labelled))
    wrong = labelled & ~np.isfinite(targets).all(axis=1)
    if wrong.any():
        row = np.flatnonzero(wrong)[0]
        raise ValueError(
            f"targets of labelled vertex {row} are {targets[row]}: pass finite values, "
            "or leave the vertex unlabelled"
        )
    return np.where(labelled[:, None], targets, 0.0)


def as_mask(is_labelled: ArrayLike, n: int) -> Bools:
    """Return which of n vertices are labelled."""
    mask = np.asarray(is_labelled)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise ValueError(
            f"is_labelled has dtype {mask.dtype} and shape {mask.shape}: pass a boolean mask of "
            f"shape ({n},); from indices: mask = np.zeros({n}, bool); mask[indices] = True"
        )
    return mask


def degrees(w: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Return d_i = Σ_{j≠i} w_ij v_j, and D_i = d_i + (v_i − 1) w_ii, the degree of one copy."""
    bare = w.copy()
    np.fill_diagonal(bare, 0.0)
    with single_blas_thread():
        d: Floats = bare @ v
    return d, d + (v - 1.0) * np.diagonal(w)


# A Cholesky solution is off by about one rounding for every step the walk takes before it ends.
LONG_WALK = 1e6
FEW = 32  # vertices that are eliminated one by one


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A factorized system M; `solve` solves it for one right-hand side after another.

    It holds the Cholesky factor of V^½ M V^-½, which is symmetric, if walks are short, and M⁻¹
    itself if they are long.
    """

    n_vertices: int
    short: Ints
    root: Floats
    lower: Floats
    long: Ints
    visits: Floats

    def solve(self, rhs: ArrayLike) -> Floats:
        """Solve M f = rhs for the columns of rhs.

        Parameters
        ----------
        rhs : (n, m) array
            Rows of labelled vertices are not used.

        Returns
        -------
        f : (n, m) array
            Rows of labelled vertices are 0. Never negative if rhs is not.
        """
        b = as_columns("rhs", rhs, self.n_vertices)
        f = np.zeros(b.shape)
        with single_blas_thread():
            f[self.short] = _substitute(self.lower, self.root, b[self.short])
            f[self.long] = self.visits @ b[self.long]
        return f


def factorise_graph(graph: Graph, long_walk: float = LONG_WALK) -> Factorisation:
    """Factorize the row form of Proposition 1, to solve it for many right-hand sides.

    The system includes all unlabelled vertices, also those without a label in their connected
    component. Cholesky is accurate enough for walks of up to `long_walk` steps.

    Examples
    --------
    The expected number of steps of the walk solves M t = d + γ.

    >>> import numpy as np
    >>> w = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> graph = as_graph(w, np.array([True, False, False]), None, sink=[1.0, 0.25, 0.6])
    >>> print(factorise_graph(graph).solve(np.array([[0.0], [2.25], [1.6]])))
    [[0.  ]
     [2.  ]
     [2.25]]
    """
    l, u = np.flatnonzero(graph.labelled), np.flatnonzero(~graph.labelled)
    v = graph.v[u]
    with single_blas_thread():
        escape = graph.gamma[u] + graph.w[np.ix_(u, l)] @ graph.v[l]
        lower, steps = _cholesky(graph.w, u, v, escape)
        is_long = _whole_components(graph.w, u, ~(steps <= long_walk))
        short, long = np.flatnonzero(~is_long), np.flatnonzero(is_long)
        visits = _visits(graph.w[np.ix_(u[long], u[long])] * v[long], escape[long])
    # components have nothing in common, so a part of the factor is the factor of that part
    lower = lower[np.ix_(short, short)] if len(long) else lower
    return Factorisation(len(graph.w), u[short], np.sqrt(v[short])[:, None], lower, u[long], visits)


def _cholesky(w: Floats, u: Ints, v: Floats, escape: Floats) -> tuple[Floats, Floats]:
    """Return the factor for the vertices u, and the number of steps of walks there."""
    A, root = np.empty((len(u), len(u))), np.sqrt(v)[:, None]
    write_symmetric(w, v, u, escape, A)
    diagonal = np.diagonal(A).copy()
    try:
        lower, _ = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:  # rounding has made the matrix singular
        return A, np.full(len(u), np.inf)
    return lower, _substitute(lower, root, diagonal[:, None])[:, 0]


def _substitute(lower: Floats, root: Floats, b: Floats) -> Floats:
    if len(b) == 0:  # SciPy 1.13 would refuse
        return b
    g = cho_solve((lower, True), root * b, overwrite_b=True, check_finite=False)
    return np.asarray(g / root, dtype=np.float64)


def _whole_components(w: Floats, u: Ints, chosen: Bools) -> Bools:
    """Return which of the vertices u are connected to a chosen one."""
    if not chosen.any():
        return chosen
    _, component = connected_components(csr_array(w[np.ix_(u, u)]), directed=False)
    return np.isin(component, component[chosen])


def _visits(flow: Floats, escape: Floats) -> Floats:
    """Inverse of diag(Σ_{j≠i} flow_ij + escape_i) − flow, without a single subtraction.

    Entry ij is the expected number of visits to j of the walk from i, divided by the diagonal at j.
    Eliminating the first half of the vertices leaves a system of the same form on the second half,
    with the flows and escapes through the first half added. Sums of products of positive numbers
    have no cancellation, so every entry is accurate to a few roundings even if d + γ = d in
    floating point (Grassmann, Taksar and Heyman 1985). Diagonal entries of `flow` are not used.
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
