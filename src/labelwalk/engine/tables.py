"""Tables of vertices, graph and remembered examples, as copies for inspection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.engine.scaling import Scale
from labelwalk.engine.state import State
from labelwalk.kernels.counters import NO_ROW
from labelwalk.verdicts import label_array


@dataclass(frozen=True, slots=True)
class VertexTable:
    """The vertices, oldest first.

    Attributes
    ----------
    points : array of shape (n, d)
        The founders: an example joins the nearest one within R.
    means : array of shape (n, d)
        The representatives, between which similarities are measured: means of the examples, or the
        founders.
    bandwidth : array of n floats
        Bandwidth of each representative; like `reach`, in scaled units if features are scaled.
    count : array of n integers
        Number of examples that each represents.
    weight : array of n floats
        Weight of each in the graph.
    reach : array of n floats
        Bound on the distance of its examples.
    label : array of n labels
        None if unlabelled.
    founder : array of n integers
        Id of the example that created each vertex; -1 if unknown.
    probabilities : array of shape (n, classes)
        Present probabilities; `learner.certificate` bounds their error.
    """

    points: Floats
    means: Floats
    bandwidth: Floats
    count: Ints
    weight: Floats
    reach: Floats
    label: NDArray[np.object_]
    founder: Ints
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.count)


@dataclass(frozen=True, slots=True)
class GraphTable:
    """The graph that is solved; vertices are in the order of `VertexTable`.

    Attributes
    ----------
    similarity : array of shape (n, n)
        Similarities of pairs of vertices; 0 on the diagonal.
    weight, sink : arrays of n floats
        Weight and sink of each vertex.
    count : array of n integers
        Number of examples that each represents.
    label : array of n labels
        None if unlabelled.
    """

    similarity: Floats
    weight: Floats
    sink: Floats
    count: Ints
    label: NDArray[np.object_]


def vertex_table(state: State, scale: Scale, classes: Sequence[Label]) -> VertexTable:
    """Return a copy of the vertices of a state, in original units."""
    n = state.n
    vertices, system = state.vertices, state.system
    return VertexTable(
        points=scale.original(vertices.points[:, :n].T.copy()),
        means=scale.original(state.representatives.T.copy()),
        bandwidth=vertices.bandwidth[:n].copy(),
        count=vertices.examples[:n].copy(),
        weight=system.v[:n].copy(),
        reach=vertices.reach[:n].copy(),
        label=label_array(vertices.label[:n], classes),
        founder=vertices.founder[:n].copy(),
        probabilities=system.f[1:, :n].T.copy(),
    )


def graph_table(state: State, classes: Sequence[Label]) -> GraphTable:
    """Return a copy of the graph of a state."""
    n, vertices, graph = state.n, state.vertices, state.graph
    return GraphTable(
        similarity=graph.w.copy(),
        weight=graph.v.copy(),
        sink=graph.gamma.copy(),
        count=vertices.examples[:n].copy(),
        label=label_array(vertices.label[:n], classes),
    )


@dataclass(frozen=True, slots=True)
class ExampleTable:
    """The remembered examples, oldest first.

    Attributes
    ----------
    id : array of n integers
        Id by which the example can be taught or retracted.
    row : array of shape (n, d)
        The example.
    vertex : array of n integers
        Index of the vertex that represents the example; negative if there is none.
    label : array of n labels
        The taught label; None if there is none.
    """

    id: Ints
    row: Floats
    vertex: Ints
    label: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.id)


def example_table(state: State, scale: Scale, classes: Sequence[Label]) -> ExampleTable:
    """Return a copy of the remembered examples, in original units."""
    memory = state.memory
    slots = np.flatnonzero(memory.seen_number != NO_ROW)
    slots = slots[np.argsort(memory.seen_number[slots])]
    return ExampleTable(
        id=memory.seen_first[slots],
        row=scale.original(memory.seen_rows[slots]),
        vertex=memory.seen_vertex[slots].astype(np.int64),
        label=label_array(memory.seen_label[slots], classes),
    )


def newest(state: State) -> Ints:
    """Return the id of the newest remembered example of each vertex; -1 if there is none."""
    memory = state.memory
    held = np.flatnonzero((memory.seen_number != NO_ROW) & (memory.seen_vertex >= 0))
    held = held[np.argsort(memory.seen_number[held])]
    ids: Ints = np.full(state.n, -1, dtype=np.int64)
    ids[memory.seen_vertex[held]] = memory.seen_first[held]  # oldest first: the last one stays
    return ids


def list_quarantined(state: State, scale: Scale) -> Floats:
    """Return the first example of each group in quarantine, in original units."""
    return scale.original(state.quarantine.held_points[:, : int(state.counters.n_held)].T.copy())
