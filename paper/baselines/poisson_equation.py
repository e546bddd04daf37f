"""The Poisson equation on a graph: labels are sources of a potential, not values of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.one_thread import one_blas_thread
from labelwalk.solver.factorisation import factorise_graph
from labelwalk.solver.graphs import Graph, degrees


class Potentials(NamedTuple):
    """The potential of each vertex and class, and the connected component of each vertex.

    Of each component: the mean size of its potentials, and which classes were taught there.
    """

    u: Floats
    component: Ints
    size: Floats
    taught: Bools


def poisson(w: Floats, v: Floats, labels: Floats) -> Potentials:
    """Solve L u = Σ_j (y_j − ȳ) δ_j on the graph V W V, with u of mean 0, vertices by degree.

    Each component is a graph of its own: ȳ is the mean of its own labels, and its mean of u is 0.

    Parameters
    ----------
    w : (n, n) array
        Similarities, symmetric, 0 on the diagonal.
    v : (n,) array
        Weights > 0.
    labels : (n, C) array
        How many labelled examples of each class a vertex stands for.

    Returns
    -------
    potentials : Potentials

    Examples
    --------
    >>> w = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> y = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    >>> print(poisson(w, np.ones(3), y).u.round(6) + 0.0)
    [[ 0.5 -0.5]
     [ 0.   0. ]
     [-0.5  0.5]]
    """
    n_components, small = connected_components(csr_array(w), directed=False)
    component = small.astype(np.int64)
    member = np.eye(n_components)[component]
    with one_blas_thread():
        met = member.T @ labels
        mean = met / _or_one(met.sum(axis=1, keepdims=True))
        sources = labels - labels.sum(axis=1, keepdims=True) * mean[component]
        u = _up_to_constants(w, v, sources, component)
        share = member * (v * degrees(w, v)[0])[:, None]
        share /= _or_one(share.sum(axis=0))
        u -= (share.T @ u)[component]
        size = (share.T @ np.abs(u)).sum(axis=1) / max(1, labels.shape[1])
    return Potentials(u, component, size, met > 0.0)


def _up_to_constants(w: Floats, v: Floats, sources: Floats, component: Ints) -> Floats:
    """Solve with a potential of 0 at the first vertex of each component."""
    _, first = np.unique(component, return_index=True)
    grounded = np.isin(np.arange(len(w)), first)
    system = factorise_graph(Graph(w, v, np.zeros(len(w)), grounded))
    return system.solve(sources / v[:, None])


def _or_one(totals: Floats) -> Floats:
    """Replace the total of nothing, under which there are zeros."""
    return np.where(totals > 0.0, totals, 1.0)
