"""The exact harmonic solution: hard constraints (eq. 3, Proposition 1) and soft ones (eq. 7).

f_ic is the probability that a random walk from vertex i ends at a labelled vertex of class c, and
1 − Σ_c f_ic the probability that it ends in the sink. Every problem here is the linear system of
`linear_system`, with other sinks and right-hand sides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats
from labelwalk.concurrency import single_blas_thread
from labelwalk.solver import linear_system as linear
from labelwalk.solver.linear_system import Graph, as_graph, factorise_graph

__all__ = ["laplacian", "sink_probability", "solve", "solve_normalised", "solve_soft"]


def solve(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    targets: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    sink: ArrayLike,
) -> Floats:
    """Harmonic solution with hard constraints: eq. (3), and Proposition 1 in row form.

    For every unlabelled vertex i and every column c::

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
        v > 0, the number of examples that a vertex represents; default: all 1.
    sink : float or (n,) array
        γ > 0. Entries of labelled vertices are not used.

    Returns
    -------
    f : (n, C) array
        Exactly 0 if no labelled vertex can be reached; never negative if no target is.

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
    graph = as_graph(similarity, is_labelled, weights, sink)
    return _solve_hard(graph, linear.as_targets(targets, graph.labelled))


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
    the full system K_uu f_u = −K_ul y_l becomes, for every unlabelled vertex i::

        (d_i / D_i + γ_i) f_i = Σ_{j≠i} v_j w_ij f_j / √(D_i D_j).

    With g = f / √D this is Proposition 1 with sinks γ_i D_i, and is solved as such. The inner edges
    cancel in the unnormalised Laplacian; here they contribute to D.

    Parameters
    ----------
    similarity, is_labelled, targets, sink
        As in `solve`; the diagonal of `similarity` is used if a weight exceeds 1 (it is 1 for a
        Gaussian).
    weights : (n,) array, optional
        v ≥ 1, the number of copies that a vertex represents; default: all 1.

    Returns
    -------
    f : (n, C) array
        The value of every copy of a vertex on the full graph. Values may exceed 1, since f √D⁻¹,
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
    graph = as_graph(similarity, is_labelled, weights, sink, copies=True)
    y = linear.as_targets(targets, graph.labelled)
    _, D = linear.degrees(graph.w, graph.v)
    D[D == 0.0] = 1.0  # no edge at all: the solution is 0 there, whatever the sink
    root = np.sqrt(D)[:, None]
    f = root * _solve_hard(graph._replace(gamma=graph.gamma * D), y / root)
    return np.where(graph.labelled[:, None], y, f)


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
        Weights of the targets of labelled and unlabelled vertices; both > 0. Section 4 of the paper
        uses c_l = 1 and a much smaller c_u.
    weights : (n,) array, optional
        As in `solve`: the solution on the full graph, in which each vertex is v_i copies with their
        own C and γ. At least 1 if `normalised`.
    normalised : bool
        Whether L is the normalised Laplacian; see `laplacian`.

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
    graph = as_graph(similarity, is_labelled, weights, sink, copies=normalised)
    w, v, gamma, labelled = graph
    y = linear.as_targets(targets, labelled)
    hold = np.where(labelled, linear.as_positive("c_l", c_l, 1), linear.as_positive("c_u", c_u, 1))
    escape, root = gamma + hold, np.ones(len(w))
    if normalised:
        _, D = linear.degrees(w, v)
        escape = np.where(D > 0.0, escape * D, escape + 1.0)  # L_ii = 1 where there is no edge
        root = np.sqrt(np.where(D > 0.0, D, 1.0))
    nobody = np.zeros(len(w), np.bool_)
    system = factorise_graph(graph._replace(gamma=escape, labelled=nobody))
    return root[:, None] * system.solve((root * hold)[:, None] * y)


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
      degree of a copy. The inner edges do not cancel. Without edges the diagonal is v_i.

    So ℓᵀ (L + γ V) ℓ is the objective (2) of the full graph: γ V, not γ I.

    Parameters
    ----------
    similarity : (n, n) array
        w, symmetric and nonnegative. The diagonal is used only if `normalised`, and only where
        a weight exceeds 1.
    weights : (n,) array, optional
        v > 0, and at least 1 if `normalised`; default: all 1.
    normalised : bool
        Whether to divide each edge by the roots of the degrees at its ends.

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
    w = linear.as_similarity(similarity)
    v = linear.as_weights(weights, w, copies=normalised)
    d, D = linear.degrees(w, v)
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
    missing: Floats = 1.0 - linear.as_columns("f", f).sum(axis=1)
    return np.minimum(np.maximum(missing, 0.0), 1.0)


def _solve_hard(graph: Graph, y: Floats) -> Floats:
    with single_blas_thread():
        votes = graph.w @ (graph.v[:, None] * y)
    f = factorise_graph(graph).solve(votes)
    return np.where(graph.labelled[:, None], y, f)
