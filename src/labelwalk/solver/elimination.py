"""Vertices leave a graph and the walks that went through them stay: star-mesh elimination.

Without vertex i, a walk that stepped j → i → k steps j → k, and one that ended in the sink of i
ends in the sink of j. No other vertex notices (with t = d_i + γ_i):

    w_jk += w_ji v_i w_ik / t,        γ_j += w_ji v_i γ_i / t.

A vertex with m neighbours leaves up to m (m − 1) / 2 edges behind. Keeping only the strongest of
them keeps a graph sparse, for an error that `proven_error` bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.one_thread import one_blas_thread
from labelwalk.solver.factorisation import factorise_graph
from labelwalk.solver.graphs import Graph, degrees


class Elimination(NamedTuple):
    """The graph that is left, and which vertex of the old one each of its vertices was."""

    graph: Graph
    kept: Ints


def eliminate(graph: Graph, gone: ArrayLike, strongest: int | None = None) -> Elimination:
    """Remove unlabelled vertices one after another; the others keep their solution.

    Parameters
    ----------
    graph : Graph
    gone : array of int
        The vertices to remove, in this order.
    strongest : int, optional
        Of the edges each vertex leaves behind, add only so many, those with the largest
        v_j Δw_jk v_k, older pairs first where these are equal. Edges between two labelled
        vertices, which no walk takes, are then left out. All edges are added if not given, and
        the solution is unchanged, even if labels are taken back later.

    Returns
    -------
    elimination : Elimination
        Similarities may exceed 1, and the diagonal is 0.

    Raises
    ------
    ValueError
        A vertex is labelled, unknown or named twice, or `strongest` is negative.

    Examples
    --------
    The middle of a chain leaves; its two neighbours meet.

    >>> import numpy as np
    >>> from labelwalk.solver.graphs import as_graph
    >>> w = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> graph = as_graph(w, np.array([True, False, False]), None, sink=1.0)
    >>> left = eliminate(graph, [1])
    >>> print(left.kept, left.graph.gamma)
    [0 2] [1.25 1.5 ]
    >>> print(left.graph.w)
    [[0.  0.5]
     [0.5 0. ]]
    """
    leaving = _checked(graph, gone)
    if strongest is not None and strongest < 0:
        raise ValueError(f"strongest is {strongest}: pass a number of edges >= 0, or None for all")
    w, v, gamma = graph.w.copy(), graph.v, graph.gamma.copy()
    np.fill_diagonal(w, 0.0)
    for i in leaving:
        near = np.flatnonzero(w[i])
        links = w[i, near]
        total = (links * v[near]).sum() + gamma[i]
        gamma[near] += links * v[i] * (gamma[i] / total)
        # roots keep the mesh symmetric to the bit
        spokes = links * (np.sqrt(v[i]) / np.sqrt(total))
        mesh = np.outer(spokes, spokes)
        np.fill_diagonal(mesh, 0.0)
        if strongest is not None:
            mesh = _strongest(mesh, v[near], graph.labelled[near], strongest)
        w[np.ix_(near, near)] += mesh
        w[i] = w[:, i] = 0.0
    kept = np.setdiff1d(np.arange(len(w)), leaving)
    rest = Graph(w[np.ix_(kept, kept)], v[kept], gamma[kept], graph.labelled[kept])
    return Elimination(rest, kept)


def proven_error(elimination: Elimination, f: Floats) -> Floats:
    """Bound on the difference between f and the exact solution on the graph that is left.

    With f* that solution and r = M (f* − f) the residual of f, |f* − f| ≤ M⁻¹ max_c |r_c|, since no
    entry of M⁻¹ is negative. With ρ the largest |r_i| / (d_i + γ_i) this is at most ρ times the
    expected steps of the walk, M⁻¹ (d + γ).

    Parameters
    ----------
    elimination : Elimination
        What `eliminate` returned.
    f : (n, C) array
        A solution, a row for each vertex before the elimination.

    Returns
    -------
    bound : (n_kept,) array
        No column of `f[kept]` is further than this from the exact solution, what rounding may
        have hidden included. 0 at labelled vertices.

    Examples
    --------
    A vertex between two others and a label leaves, and one of three edges stays.

    >>> import numpy as np
    >>> from labelwalk.solver.graphs import as_graph
    >>> w = np.ones((4, 4))
    >>> graph = as_graph(w, np.array([True, False, False, False]), [3, 1, 1, 1], sink=1.0)
    >>> f = np.array([[1.0], [0.75], [0.75], [0.75]])
    >>> print(proven_error(eliminate(graph, [3]), f).round(3))
    [0. 0. 0.]
    >>> print(proven_error(eliminate(graph, [3], strongest=1), f).round(3))
    [0.    0.004 0.025]
    """
    after, values = elimination.graph, f[elimination.kept]
    d, _ = degrees(after.w, after.v)
    total = d + after.gamma
    bare = after.w.copy()
    np.fill_diagonal(bare, 0.0)
    with one_blas_thread():
        residual = bare @ (after.v[:, None] * values) - total[:, None] * values
    # of sums of n products, in the degrees and in the residuals
    rounding = 4 * (len(total) + 4) * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
    worst = np.abs(residual).max(axis=1, initial=0.0) + rounding * total
    return factorise_graph(after).solve(worst[:, None])[:, 0]


def _checked(graph: Graph, gone: ArrayLike) -> Ints:
    leaving = np.asarray(gone, dtype=np.int64).reshape(-1)
    free = np.flatnonzero(~graph.labelled)
    wrong = leaving[~np.isin(leaving, free)]
    if len(wrong):
        raise ValueError(f"gone contains {wrong[0]}: pass indices of unlabelled vertices")
    if len(np.unique(leaving)) < len(leaving):
        raise ValueError(f"gone is {leaving.tolist()}: a vertex can leave only once")
    return leaving


def _strongest(mesh: Floats, v: Floats, labelled: Bools, K: int) -> Floats:
    j, k = np.triu_indices(len(mesh), 1)
    walked = ~(labelled[j] & labelled[k])
    j, k = j[walked], k[walked]
    first = np.argsort(-v[j] * mesh[j, k] * v[k], kind="stable")[:K]
    thin = np.zeros_like(mesh)
    thin[j[first], k[first]] = mesh[j[first], k[first]]
    return thin + thin.T
