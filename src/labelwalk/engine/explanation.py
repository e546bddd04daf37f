"""Why a walk from x ends where it ends: the labels it meets, and the way it most likely took.

x is one more unlabelled vertex, which is not in the graph: walks leave it and never come back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from labelwalk.arrays import Floats
from labelwalk.one_thread import one_blas_thread
from labelwalk.solver.factorisation import factorise_graph
from labelwalk.solver.graphs import Graph, degrees


class Path(NamedTuple):
    """The vertices a walk from x passes, in order, and the probability of each step to them."""

    vertices: list[int]
    steps: list[float]


def ends(graph: Graph, similar: Floats, sink: float) -> Floats:
    """Probability that a walk from x ends at each labelled vertex.

    V M is symmetric, so absorption is read backwards: with p the first step of x, the row
    pᵀ M⁻¹ W V of all labelled vertices takes one solution, M⁻¹ (V⁻¹ p), and not one per label.

    Parameters
    ----------
    graph : Graph
    similar : (n,) array
        Similarities ≥ 0 of x to all vertices.
    sink : float
        The sink of x, > 0.

    Returns
    -------
    probability : (n_labelled,) array
        In the order of the labelled vertices; sums to 1 minus the probability of the sink.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.solver.graphs import as_graph
    >>> w = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> graph = as_graph(w, np.array([True, False, True]), None, sink=1.0)
    >>> print(ends(graph, np.array([0.0, 1.0, 1.0]), sink=2.0))
    [0.0625 0.375 ]
    """
    l, u = np.flatnonzero(graph.labelled), np.flatnonzero(~graph.labelled)
    first = similar / _leaving(graph, similar, sink)
    visits = factorise_graph(graph).solve(first[:, None])[u, 0]
    with one_blas_thread():
        later = graph.w[np.ix_(l, u)] @ (graph.v[u] * visits)
    return np.asarray(graph.v[l] * (first[l] + later), dtype=np.float64)


def strongest_path(graph: Graph, similar: Floats, sink: float, target: int) -> Path:
    """Most probable way from x to a labelled vertex.

    Of all walks that end at `target` the one with the largest product of step probabilities, which
    passes through no other labelled vertex: the shortest path where a step of probability p is
    −log p long.

    Parameters
    ----------
    graph, similar, sink
        As in `ends`.
    target : int
        A labelled vertex.

    Returns
    -------
    path : Path
        The last vertex is `target`; empty where no walk from x ends there.

    Raises
    ------
    ValueError
        `target` is not labelled.

    Examples
    --------
    Two likely steps beat a single faint one.

    >>> import numpy as np
    >>> from labelwalk.solver.graphs import as_graph
    >>> w = np.array([[0.0, 3.0], [3.0, 0.0]])
    >>> graph = as_graph(w, np.array([False, True]), None, sink=1.0)
    >>> print(strongest_path(graph, np.array([0.75, 0.05]), sink=0.2, target=1))
    Path(vertices=[0, 1], steps=[0.75, 0.75])
    """
    n = len(graph.w)
    if not (0 <= target < n and graph.labelled[target]):
        raise ValueError(f"target is {target}: pass the index of a labelled vertex")
    p = _step_probabilities(graph, similar, sink)
    start, end = np.nonzero(p)
    lengths = csr_array((-np.log(np.minimum(p[start, end], 1.0)), (start, end)), shape=p.shape)
    distance, before = dijkstra(lengths, indices=[n], return_predecessors=True)
    if not np.isfinite(distance[0, target]):
        return Path([], [])
    way = [target]
    while way[0] != n:
        way.insert(0, int(before[0, way[0]]))
    return Path(way[1:], [float(p[step]) for step in pairwise(way)])


def _step_probabilities(graph: Graph, similar: Floats, sink: float) -> Floats:
    """Return the steps of a walk, none out of labelled vertices; x is the last vertex."""
    n = len(graph.w)
    d, _ = degrees(graph.w, graph.v)
    free = ~graph.labelled
    p = np.zeros((n + 1, n + 1))
    p[:n, :n][free] = (graph.w * graph.v / (d + graph.gamma)[:, None])[free]
    p[n, :n] = similar * graph.v / _leaving(graph, similar, sink)
    np.fill_diagonal(p, 0.0)
    return p


def _leaving(graph: Graph, similar: Floats, sink: float) -> float:
    return float((similar * graph.v).sum() + sink)
