"""Explanation of an answer: the labels that a random walk reaches, and the most probable path.

The example is one more unlabelled vertex that is not in the graph: walks leave it and never return.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from labelwalk.arrays import Floats, Label
from labelwalk.concurrency import single_blas_thread
from labelwalk.engine.engine import Engine
from labelwalk.solver.linear_system import Graph, degrees, factorise_graph


class Path(NamedTuple):
    """The vertices of a walk from x, in order, and the probability of each step."""

    vertices: list[int]
    steps: list[float]


def compute_absorption(graph: Graph, similar: Floats, sink: float) -> Floats:
    """Return the probability that a walk from x ends at each labelled vertex, in their order.

    `similar` are the similarities of x to all vertices. V M is symmetric. With p the first step of
    x, the row pᵀ M⁻¹ W V of all labelled vertices therefore requires a single solution,
    M⁻¹ (V⁻¹ p), instead of one per label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.solver.linear_system import as_graph
    >>> w = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> graph = as_graph(w, np.array([True, False, True]), None, sink=1.0)
    >>> print(compute_absorption(graph, np.array([0.0, 1.0, 1.0]), sink=2.0))
    [0.0625 0.375 ]
    """
    l, u = np.flatnonzero(graph.labelled), np.flatnonzero(~graph.labelled)
    first = similar / _leaving(graph, similar, sink)
    visits = factorise_graph(graph).solve(first[:, None])[u, 0]
    with single_blas_thread():
        later = graph.w[np.ix_(l, u)] @ (graph.v[u] * visits)
    return np.asarray(graph.v[l] * (first[l] + later), dtype=np.float64)


def find_strongest_path(graph: Graph, similar: Floats, sink: float, target: int) -> Path:
    """Return the most probable path from x to a labelled vertex; empty if no walk ends there.

    It has the largest product of step probabilities of all walks that end at `target` and visit no
    other labelled vertex: the shortest path if a step of probability p has length −log p.

    Examples
    --------
    Two likely steps beat a single faint one.

    >>> import numpy as np
    >>> from labelwalk.solver.linear_system import as_graph
    >>> w = np.array([[0.0, 3.0], [3.0, 0.0]])
    >>> graph = as_graph(w, np.array([False, True]), None, sink=1.0)
    >>> print(find_strongest_path(graph, np.array([0.75, 0.05]), sink=0.2, target=1))
    Path(vertices=[0, 1], steps=[0.75, 0.75])
    """
    n = len(graph.w)
    if not (0 <= target < n and graph.labelled[target]):
        raise ValueError(f"target={target} is not labelled: pass the index of a labelled vertex")
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


SHOWN = 0.0005  # what is less likely is not printed


@dataclass(frozen=True, slots=True, eq=False)
class Waypoint:
    """A vertex on a path, or a label that is reached.

    Attributes
    ----------
    probability : float
        For a label, the probability that a walk ends at it; on a path, that of the step to this
        vertex.
    label : str, int or None
        The label of the vertex; None if it is unlabelled.
    example_id : int
        Id of the example that created it; -1 if unknown.
    point : array
        Its representative.
    count : int
        Number of examples that it represents.
    vertex : int
        The row of `learner.vertices`.
    """

    probability: float
    label: Label | None
    example_id: int
    point: Floats
    count: int
    vertex: int


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Explanation of the answer to an example.

    Attributes
    ----------
    met : list of Waypoint
        The labelled vertices at which a random walk from the example may end, most probable first.
    sink : float
        The probability that it reaches none: "I don't know".
    path : list of Waypoint
        The most probable path to the first of `met`, which is its last vertex. Empty if there is
        none.
    """

    met: list[Waypoint]
    sink: float
    path: list[Waypoint]

    def __str__(self) -> str:
        likely = [end for end in self.met if end.probability >= SHOWN]
        lines = [f"{end.probability:7.1%}  {end.label}: {_describe_point(end)}" for end in likely]
        lines.append(f"{self.sink:7.1%}  no label")
        if self.path:
            path = " -> ".join(_describe_point(point) for point in self.path)
            lines.append(f"most probable path: {path}")
        return "\n".join(lines)


def _describe_point(point: Waypoint) -> str:
    return "a merged vertex" if point.example_id < 0 else f"example {point.example_id}"


def explain(engine: Engine, x: Floats, classes: Sequence[Label]) -> Explanation:
    """Explain the answer to an example."""
    if engine.state.n == 0:
        return Explanation([], 1.0, [])
    graph, similar = engine.state.graph, engine.similarities(x)
    labelled = np.flatnonzero(graph.labelled)
    chances = np.minimum(compute_absorption(graph, similar, engine.sink), 1.0)
    order = [int(a) for a in np.argsort(-chances, kind="stable") if chances[a] > 0.0]
    met = [_waypoint(engine, classes, int(labelled[a]), float(chances[a])) for a in order]
    path = []
    if met:
        way = find_strongest_path(graph, similar, engine.sink, met[0].vertex)
        pairs = zip(way.vertices, way.steps, strict=True)
        path = [_waypoint(engine, classes, i, probability) for i, probability in pairs]
    return Explanation(met, max(0.0, 1.0 - float(chances.sum())), path)


def _waypoint(engine: Engine, classes: Sequence[Label], i: int, probability: float) -> Waypoint:
    vertices = engine.state.vertices
    code = int(vertices.label[i])
    return Waypoint(
        probability=probability,
        label=classes[code] if code >= 0 else None,
        example_id=int(vertices.founder[i]),
        point=engine.scale.original(np.array(engine.state.representatives[:, i])),
        count=int(vertices.examples[i]),
        vertex=i,
    )
