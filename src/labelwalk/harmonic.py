"""The exact harmonic solution: hard constraints (eq. 3, Proposition 1) and soft ones (eq. 7).

Every problem in this file is one linear system in row form. With similarities w_ij, weights v_i,
sinks γ_i and degrees d_i = Σ_{j≠i} w_ij v_j, over a set of free vertices,

    (d_i + γ_i) f_i − Σ_{free j≠i} w_ij v_j f_j = b_i,                    M f = b.

It is Proposition 1 divided by v_i: V W V, which overflows what it is added to, is never formed.
f_ic is the probability that a random walk from vertex i ends at a labelled vertex of class c, and
1 − Σ_c f_ic the probability that it ends in the sink.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.one_thread import one_blas_thread

__all__ = [
    "Factorisation",
    "factorise",
    "laplacian",
    "sink_probability",
    "solve",
    "solve_normalised",
    "solve_soft",
]

# A Cholesky solution is off by about one rounding for every step the walk takes before it ends.
LONG_WALK = 1e6
ASYMMETRY = 1e-8


def solve(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    targets: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    sink: ArrayLike,
) -> Floats:
    """Harmonic solution with hard constraints: eq. (3), and Proposition 1 in row form.

    For every unlabelled vertex i and every column c

        (d_i + γ_i) f_ic = Σ_j w_ij v_j f_jc,        d_i = Σ_{j≠i} w_ij v_j,

    with f = targets at the labelled vertices. Without `weights` and with one number as `sink`
    this is eq. (3), f_u = (L_uu + γ I)⁻¹ W_ul y_l.

    Parameters
    ----------
    similarity : (n, n) array
        w, symmetric and nonnegative. The diagonal is not used.
    is_labelled : (n,) boolean array
        Which vertices are clamped to their targets.
    targets : (n, C) array
        Rows of labelled vertices are the clamped values, normally one-hot; others are not used.
    weights : (n,) array, optional
        v > 0, how many examples a vertex stands for; all 1 if left out.
    sink : float or (n,) array
        γ > 0. Entries of labelled vertices are not used.

    Returns
    -------
    f : (n, C) array
        Exactly 0 where no labelled vertex can be reached; never negative if no target is.

    Examples
    --------
    Vertex 1 stands between two labelled vertices; no edge leads to vertex 3.

    >>> import numpy as np
    >>> w = np.array([[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]])
    >>> y = np.array([[1, 0], [0, 0], [0, 1], [0, 0]])
    >>> f = solve(w, np.array([True, False, True, False]), y, sink=1.0)
    >>> print(f)
    [[1.   0.  ]
     [0.25 0.5 ]
     [0.   1.  ]
     [0.   0.  ]]
    >>> print(sink_probability(f))
    [0.   0.25 0.   1.  ]
    """
    w = _checked_similarity(similarity)
    labelled = _checked_mask(is_labelled, len(w))
    y = _clamped("targets", targets, labelled)
    v = _checked_weights(weights, w)
    gamma = _checked_positive("sink", sink, len(w))
    return _solve_hard(w, labelled, y, v, gamma)


def solve_normalised(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    targets: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    sink: ArrayLike,
) -> Floats:
    """Harmonic solution with hard constraints on the normalised Laplacian, K = L + γ I.

    A vertex of weight v_i is v_i copies of one point, joined to each other by v_i − 1 edges of
    weight w_ii each, so a copy has degree D_i = d_i + (v_i − 1) w_ii. Copies share one value, and
    the full system K_uu f_u = −K_ul y_l becomes, for every unlabelled vertex i,

        (d_i / D_i + γ_i) f_i = Σ_{j≠i} v_j w_ij f_j / √(D_i D_j).

    In g = f / √D this is Proposition 1 with sinks γ_i D_i, which is how it is solved. The inner
    edges cancel in the unnormalised Laplacian; here they stay, in D.

    Parameters
    ----------
    similarity, is_labelled, targets, sink
        As in `solve`; the diagonal of `similarity` is used where a weight exceeds 1 (it is 1 for
        a Gaussian).
    weights : (n,) array, optional
        v ≥ 1, how many copies a vertex stands for; all 1 if left out.

    Returns
    -------
    f : (n, C) array
        The value every copy of a vertex has on the full graph. Values may exceed 1 here: f √D⁻¹,
        not f, is an average of its neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> w = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
    >>> labelled = np.array([True, False, False])
    >>> y = np.array([[1.0], [0.0], [0.0]])
    >>> compact = solve_normalised(w, labelled, y, weights=[1, 1, 2], sink=0.1)
    >>> copies = [0, 1, 2, 2]
    >>> full = solve_normalised(w[np.ix_(copies, copies)], labelled[copies], y[copies], sink=0.1)
    >>> np.allclose(compact[copies], full)
    True
    """
    w = _checked_similarity(similarity)
    labelled = _checked_mask(is_labelled, len(w))
    y = _clamped("targets", targets, labelled)
    v = _checked_weights(weights, w, least=1.0)
    gamma = _checked_positive("sink", sink, len(w))
    _, D = _degrees(w, v)
    D[D == 0.0] = 1.0  # no edge at all: the solution is 0 there, whatever the sink
    root = np.sqrt(D)[:, None]
    return np.where(labelled[:, None], y, root * _solve_hard(w, labelled, y / root, v, gamma * D))


def solve_soft(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    targets: ArrayLike,
    *,
    c_l: float = 1.0,
    c_u: float,
    sink: ArrayLike,
    weights: ArrayLike | None = None,
    normalised: bool = False,
) -> Floats:
    """Harmonic solution with soft constraints: the minimum of eq. (7).

    f = (C⁻¹ K + I)⁻¹ y with K = L + γ I, C_ii = c_l at labelled and c_u at unlabelled vertices,
    and y = targets at labelled, 0 at unlabelled ones. In row form no vertex is clamped and every
    C_ii joins the sink: (d_i + γ_i + C_ii) f_i − Σ_j w_ij v_j f_j = C_ii y_i.

    Parameters
    ----------
    similarity, is_labelled, sink
        As in `solve`.
    targets : (n, m) array
        Any number of columns; rows of unlabelled vertices are not used.
    c_l, c_u : float
        How strongly labelled and unlabelled vertices hold to their y; both > 0. Section 4 of the
        paper takes c_l = 1 and c_u much smaller.
    weights : (n,) array, optional
        As in `solve`: the solution is that of the full graph in which each vertex is v_i copies,
        each with its own C and γ. At least 1 if `normalised`.
    normalised : bool
        L is the normalised Laplacian; see `laplacian`.

    Returns
    -------
    f : (n, m) array

    Examples
    --------
    >>> import numpy as np
    >>> w = np.array([[0, 1], [1, 0]])
    >>> y = np.array([[1.0], [0.0]])
    >>> f = solve_soft(w, np.array([True, False]), y, c_l=1.0, c_u=0.5, sink=0.5)
    >>> print(f.round(4))
    [[0.5 ]
     [0.25]]
    >>> C, K = np.diag([1.0, 0.5]), laplacian(w) + 0.5 * np.eye(2)
    >>> np.allclose((np.linalg.inv(C) @ K + np.eye(2)) @ f, y)
    True
    """
    w = _checked_similarity(similarity)
    labelled = _checked_mask(is_labelled, len(w))
    y = _clamped("targets", targets, labelled)
    v = _checked_weights(weights, w, least=1.0 if normalised else None)
    gamma = _checked_positive("sink", sink, len(w))
    hold = np.where(labelled, _checked_number("c_l", c_l), _checked_number("c_u", c_u))
    escape, root = gamma + hold, np.ones(len(w))
    if normalised:
        _, D = _degrees(w, v)
        escape = np.where(D > 0.0, escape * D, escape + 1.0)  # L_ii = 1 where there is no edge
        root = np.sqrt(np.where(D > 0.0, D, 1.0))
    factor = _factorise(w, np.zeros(len(w), np.bool_), v, escape, np.arange(len(w)))
    b = (root * hold)[:, None] * y
    return root[:, None] * _rounded_up(factor.solve(b), b)


def laplacian(
    similarity: ArrayLike, weights: ArrayLike | None = None, normalised: bool = False
) -> Floats:
    """Laplacian of the similarity graph, L = D − W or I − D^-½ W D^-½, on weighted vertices.

    Without weights these are the plain matrices, without self loops. With weights the result is
    Eᵀ L E, where L belongs to the full graph in which vertex i is v_i copies, joined to each
    other by edges of weight w_ii, and E copies a value at each vertex to its copies:

    - plain: v_i d_i on the diagonal and −v_i w_ij v_j off it, d_i = Σ_{j≠i} w_ij v_j. This is
      the L^q of Proposition 1; the inner edges cancel.
    - normalised: v_i d_i / D_i and −v_i w_ij v_j / √(D_i D_j), D_i = d_i + (v_i − 1) w_ii, the
      degree of a copy. The inner edges do not cancel. Without any edge the diagonal is v_i.

    So ℓᵀ (L + γ V) ℓ is the objective (2) of the full graph: γ V, not γ I.

    Parameters
    ----------
    similarity : (n, n) array
        w, symmetric and nonnegative. The diagonal is used only if `normalised`, and only where
        a weight exceeds 1.
    weights : (n,) array, optional
        v > 0, and at least 1 if `normalised`; all 1 if left out.
    normalised : bool
        Divide each edge by the roots of the degrees at its ends.

    Returns
    -------
    L : (n, n) array

    Examples
    --------
    >>> import numpy as np
    >>> w = np.array([[1, 0.5], [0.5, 1]])
    >>> print(laplacian(w))
    [[ 0.5 -0.5]
     [-0.5  0.5]]
    >>> print(laplacian(w, weights=[1, 3]))
    [[ 1.5 -1.5]
     [-1.5  1.5]]
    >>> print(laplacian(w, normalised=True))
    [[ 1. -1.]
     [-1.  1.]]
    """
    w = _checked_similarity(similarity)
    v = _checked_weights(weights, w, least=1.0 if normalised else None)
    d, D = _degrees(w, v)
    if not normalised:
        L = -(v[:, None] * w * v)
        np.fill_diagonal(L, v * d)
        return L
    isolated = D == 0.0
    D[isolated] = 1.0
    scale = v / np.sqrt(D)
    L = -(scale[:, None] * w * scale)
    np.fill_diagonal(L, v * np.where(isolated, 1.0, d / D))
    return L


def sink_probability(f: ArrayLike) -> Floats:
    """Probability that the walk from each vertex ends in the sink: 1 − Σ_c f_ic, within [0, 1].

    Parameters
    ----------
    f : (n, C) array
        Class probabilities, as `solve` returns them.

    Returns
    -------
    probability : (n,) array

    Examples
    --------
    >>> print(sink_probability([[1.0, 0.0], [0.25, 0.5]]))
    [0.   0.25]
    """
    missing: Floats = 1.0 - _checked_columns("f", f).sum(axis=1)
    return np.minimum(np.maximum(missing, 0.0), 1.0)


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
        As in `solve`. The system covers all unlabelled vertices, those without a label in their
        connected component too.

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
    w = _checked_similarity(similarity)
    labelled = _checked_mask(is_labelled, len(w))
    v = _checked_weights(weights, w)
    gamma = _checked_positive("sink", sink, len(w))
    return _factorise(w, labelled, v, gamma, np.flatnonzero(~labelled))


@dataclass(frozen=True, eq=False)
class Factorisation:
    """The factorised system M of `factorise`; `solve` answers one right-hand side after another."""

    n_vertices: int
    pieces: tuple[tuple[Ints, _Piece], ...]

    def solve(self, rhs: ArrayLike) -> Floats:
        """Solve M f = rhs.

        Parameters
        ----------
        rhs : (n, m) array
            Rows of labelled vertices are not used.

        Returns
        -------
        f : (n, m) array
            Rows of labelled vertices are 0.
        """
        b = _checked_columns("rhs", rhs, self.n_vertices)
        f = np.zeros(b.shape)
        with one_blas_thread():
            for rows, piece in self.pieces:
                f[rows] = piece.solve(b[rows])
        return f


@dataclass(frozen=True, eq=False)
class _Cholesky:
    """Factor of V^½ M V^-½, which is symmetric."""

    w: Floats
    v: Floats
    diagonal: Floats
    lower: Floats

    def solve(self, b: Floats) -> Floats:
        f = self._once(b)
        residual = b + self.w @ (self.v[:, None] * f) - self.diagonal[:, None] * f
        return f + self._once(residual)

    def _once(self, b: Floats) -> Floats:
        root = np.sqrt(self.v)[:, None]
        g = cho_solve((self.lower, True), root * b, overwrite_b=True, check_finite=False)
        return np.asarray(g / root, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Inverse:
    """M⁻¹ itself, right in every entry however long the walk."""

    visits: Floats

    def solve(self, b: Floats) -> Floats:
        return np.asarray(self.visits @ b, dtype=np.float64)


_Piece: TypeAlias = _Cholesky | _Inverse


def _solve_hard(w: Floats, labelled: Bools, y: Floats, v: Floats, gamma: Floats) -> Floats:
    f = np.where(labelled[:, None], y, 0.0)
    rows = np.flatnonzero(~labelled & _reaches_label(w, labelled))
    b = np.zeros_like(f)
    with one_blas_thread():
        b[rows] = _towards(w, rows, labelled) @ (v[:, None] * y)[labelled]
    f[rows] = _rounded_up(_factorise(w, labelled, v, gamma, rows).solve(b), b)[rows]
    return f


def _rounded_up(f: Floats, b: Floats) -> Floats:
    """Without the rounding under 0 where M⁻¹ ≥ 0 and b ≥ 0 prove f ≥ 0."""
    return np.maximum(f, 0.0) if b.min(initial=0.0) >= 0.0 else f


def _towards(w: Floats, rows: Ints, columns: Bools) -> Floats:
    return w[np.ix_(rows, np.flatnonzero(columns))]


def _reaches_label(w: Floats, labelled: Bools) -> Bools:
    if (labelled | (w[:, labelled] > 0.0).any(axis=1)).all():
        return np.ones(len(w), np.bool_)
    component = _components(w)
    return np.isin(component, component[labelled])


def _components(w: Floats) -> Ints:
    _, component = connected_components(csr_array(w), directed=False)
    return np.asarray(component, dtype=np.int64)


def _factorise(w: Floats, labelled: Bools, v: Floats, gamma: Floats, rows: Ints) -> Factorisation:
    """Factorise M over `rows`, which must be whole components less their labelled vertices."""
    inner = w[np.ix_(rows, rows)]
    np.fill_diagonal(inner, 0.0)
    with one_blas_thread():
        escape = gamma[rows] + _towards(w, rows, labelled) @ v[labelled]
        pieces = _pieces(inner, v[rows], escape)
    return Factorisation(len(w), tuple((rows[part], piece) for part, piece in pieces))


def _pieces(w: Floats, v: Floats, escape: Floats) -> list[tuple[Ints, _Piece]]:
    """Cholesky where walks are short; where they are long, an elimination without subtractions."""
    if len(v) == 0:
        return []
    whole = _cholesky(w, v, escape)
    long = _long_walks(w, whole)
    if whole is not None and not long.any():
        return [(np.arange(len(v)), whole)]
    there, rest = np.flatnonzero(long), np.flatnonzero(~long)
    inverse = _Inverse(_visits(w[np.ix_(there, there)] * v[there], escape[there]))
    others = _pieces(w[np.ix_(rest, rest)], v[rest], escape[rest])
    return [(there, inverse), *((rest[part], piece) for part, piece in others)]


def _cholesky(w: Floats, v: Floats, escape: Floats) -> _Cholesky | None:
    """Factorise, or None where rounding has made the matrix singular."""
    diagonal = w @ v + escape
    root = np.sqrt(v)
    A = -(root[:, None] * w * root)
    np.fill_diagonal(A, diagonal)
    try:
        lower, _ = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return _Cholesky(w, v, diagonal, np.asarray(lower, dtype=np.float64))


def _long_walks(w: Floats, factor: _Cholesky | None) -> Bools:
    """Vertices in a component where some walk is longer than Cholesky can follow."""
    if factor is None:
        return np.ones(len(w), np.bool_)
    steps = factor.solve(factor.diagonal[:, None])[:, 0]
    long = ~((steps > 0.0) & (steps <= LONG_WALK))
    if not long.any():
        return long
    component = _components(w)
    return np.isin(component, component[long])


def _visits(flow: Floats, escape: Floats) -> Floats:
    """Inverse of diag(Σ_{j≠i} flow_ij + escape_i) − flow, without a single subtraction.

    Entry ij is the expected number of visits to j of the walk from i, over the diagonal at j.
    Eliminating the first half of the vertices leaves a system of the same form on the second:
    flows and escapes by way of the first are added on. Sums of products of positive numbers lose
    nothing, so every entry is right to a few roundings even where d + γ = d in floating point
    (Grassmann, Taksar and Heyman 1985). Diagonal entries of `flow` are not used.
    """
    n = len(escape)
    if n == 1:
        return 1.0 / escape[:, None]
    half = n // 2
    out, home = flow[:half, half:], flow[half:, :half]
    first = _visits(flow[:half, :half], escape[:half] + out.sum(axis=1))
    arrive = first @ out
    second = _visits(
        flow[half:, half:] + home @ arrive, escape[half:] + home @ (first @ escape[:half])
    )
    back = second @ (home @ first)
    return np.block([[first + arrive @ back, arrive @ second], [back, second]])


def _degrees(w: Floats, v: Floats) -> tuple[Floats, Floats]:
    """d_i = Σ_{j≠i} w_ij v_j and D_i = d_i + (v_i − 1) w_ii, the degree of one copy."""
    itself = np.diagonal(w)
    bare = w.copy()
    np.fill_diagonal(bare, 0.0)
    with one_blas_thread():
        d: Floats = bare @ v
    return d, d + (v - 1.0) * itself


def _checked_similarity(similarity: ArrayLike) -> Floats:
    w = np.asarray(similarity, dtype=np.float64)
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(
            f"similarity has shape {w.shape}: pass a square matrix, a row and a column per vertex"
        )
    lowest, highest = w.min(initial=0.0), w.max(initial=0.0)
    if not (lowest >= 0.0 and np.isfinite(highest)):
        worst = lowest if not lowest >= 0.0 else highest
        raise ValueError(
            f"similarity contains {worst}: entries must be finite and >= 0; "
            "use exp(-(d/sigma)**2 / 2) for a distance d, and look for NaN in the examples"
        )
    gap = np.abs(w - w.T).max(initial=0.0)
    if gap > ASYMMETRY * highest:
        raise ValueError(
            f"similarity is not symmetric: entries ij and ji differ by up to {gap}; "
            "pass np.maximum(similarity, similarity.T)"
        )
    return w


def _checked_mask(is_labelled: ArrayLike, n: int) -> Bools:
    mask = np.asarray(is_labelled)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise ValueError(
            f"is_labelled has dtype {mask.dtype} and shape {mask.shape}: pass a boolean mask of "
            f"shape ({n},); from indices: mask = np.zeros({n}, bool); mask[indices] = True"
        )
    return mask


def _checked_columns(name: str, values: ArrayLike, n: int | None = None) -> Floats:
    columns = np.asarray(values, dtype=np.float64)
    if columns.ndim != 2 or (n is not None and len(columns) != n):
        rows = "n" if n is None else n
        raise ValueError(
            f"{name} has shape {columns.shape}: pass ({rows}, columns), one row per vertex; "
            f"a single column is {name}[:, None]"
        )
    return columns


def _clamped(name: str, values: ArrayLike, labelled: Bools) -> Floats:
    """Values at labelled vertices, 0 at all others."""
    columns = _checked_columns(name, values, len(labelled))
    if not np.isfinite(columns[labelled]).all():
        row = np.flatnonzero(labelled & ~np.isfinite(columns).all(axis=1))[0]
        raise ValueError(
            f"{name} of labelled vertex {row} are {columns[row]}: pass finite values, "
            "or leave the vertex unlabelled"
        )
    return np.where(labelled[:, None], columns, 0.0)


def _checked_weights(weights: ArrayLike | None, w: Floats, least: float | None = None) -> Floats:
    v = _checked_positive("weights", 1.0 if weights is None else weights, len(w))
    if least is not None and v.min(initial=least) < least:
        raise ValueError(
            f"weights contains {v.min()}: a normalised Laplacian counts the v - 1 edges between "
            "copies, so pass counts >= 1"
        )
    # in Python numbers, which overflow without a warning
    total = sum(v.tolist())
    if not math.isfinite(float(w.max(initial=0.0)) * total):
        raise ValueError(
            f"weights sum to {total}: degrees would overflow; divide all weights and the sink "
            "by one number, the solution stays the same"
        )
    return v


def _checked_positive(name: str, values: ArrayLike, n: int) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    if given.shape not in ((), (n,)):
        raise ValueError(
            f"{name} has shape {given.shape}: pass one number or one per vertex, shape ({n},)"
        )
    wrong = ~((given >= np.finfo(np.float64).tiny) & np.isfinite(given))
    if wrong.any():
        raise ValueError(
            f"{name} contains {given[wrong][0]}: every entry must be finite and > 0; "
            + ("leave out vertices of weight 0" if name == "weights" else "a small one is 1e-6")
        )
    return np.broadcast_to(given, (n,))


def _checked_number(name: str, value: float) -> float:
    return float(_checked_positive(name, value, 1)[0])
