"""Copies of vertices, graph and remembered examples, for people and tests to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.engine.state import State
from labelwalk.kernels.counters import NO_ROW


@dataclass(frozen=True, slots=True)
class VertexTable:
    """One row a vertex, oldest first.

    Attributes
    ----------
    points : array of shape (n, d)
        The founders: an example joins the nearest one within R.
    means : array of shape (n, d)
        The representatives, which similarities are measured between: means of the examples, or
        the founders themselves.
    bandwidth : array of n floats
        Of each representative's Gaussian; like reach in scaled units, where features are scaled.
    count : array of n integers
        Examples each stands for.
    weight : array of n floats
        What each weighs in the graph.
    reach : array of n floats
        No example is further from its vertex.
    label : array of n labels
        None where unlabelled.
    founder : array of n integers
        The id of the example each was founded on; -1 where unknown.
    probabilities : array of shape (n, classes)
        As they stand; `learner.certificate` bounds their error.
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
    """The graph that is solved, vertex by vertex as in `VertexTable`.

    Attributes
    ----------
    similarity : array of shape (n, n)
        Of each two vertices, as last drawn; 0 to itself.
    weight, sink : arrays of n floats
        What each weighs, and how strongly it is drawn to the sink.
    count : array of n integers
        Examples each stands for.
    label : array of n labels
        None where unlabelled.
    """

    similarity: Floats
    weight: Floats
    sink: Floats
    count: Ints
    label: NDArray[np.object_]


def vertex_table(state: State, classes: Sequence[Label]) -> VertexTable:
    """Copy the vertices of a state."""
    n = state.n
    vertices, system = state.vertices, state.system
    return VertexTable(
        points=vertices.points[:, :n].T.copy(),
        means=state.representatives.T.copy(),
        bandwidth=vertices.bandwidth[:n].copy(),
        count=vertices.examples[:n].copy(),
        weight=system.v[:n].copy(),
        reach=vertices.reach[:n].copy(),
        label=_labels(state, classes),
        founder=vertices.founder[:n].copy(),
        probabilities=system.f[1:, :n].T.copy(),
    )


def graph_table(state: State, classes: Sequence[Label]) -> GraphTable:
    """Copy the graph of a state."""
    graph = state.graph
    return GraphTable(
        similarity=graph.w.copy(),
        weight=graph.v.copy(),
        sink=graph.gamma.copy(),
        count=state.vertices.examples[: state.n].copy(),
        label=_labels(state, classes),
    )


def _labels(state: State, classes: Sequence[Label]) -> NDArray[np.object_]:
    names = np.empty(len(classes) + 1, dtype=object)
    names[: len(classes)] = classes
    labels: NDArray[np.object_] = names[state.vertices.label[: state.n]]
    return labels


@dataclass(frozen=True, slots=True)
class ExampleTable:
    """One row an example, oldest first.

    Attributes
    ----------
    id : array of n integers
        The number it came under first, by which it can be taught or taken back.
    row : array of shape (n, d)
        The example.
    vertex : array of n integers
        The place of the vertex that stands for it; negative where none does.
    label : array of n labels
        What it was taught; None where nothing was.
    """

    id: Ints
    row: Floats
    vertex: Ints
    label: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.id)


def example_table(state: State, classes: Sequence[Label]) -> ExampleTable:
    """Copy the examples that are remembered."""
    memory = state.memory
    slots = np.flatnonzero(memory.seen_number != NO_ROW)
    slots = slots[np.argsort(memory.seen_number[slots])]
    names = np.empty(len(classes) + 1, dtype=object)
    names[: len(classes)] = classes
    return ExampleTable(
        id=memory.seen_first[slots],
        row=memory.seen_rows[slots],
        vertex=memory.seen_vertex[slots].astype(np.int64),
        label=names[memory.seen_label[slots]],
    )


def newest(state: State) -> Ints:
    """Return the id of the newest remembered example of each vertex, -1 where there is none."""
    memory = state.memory
    held = np.flatnonzero((memory.seen_number != NO_ROW) & (memory.seen_vertex >= 0))
    held = held[np.argsort(memory.seen_number[held])]
    ids: Ints = np.full(state.n, -1, dtype=np.int64)
    ids[memory.seen_vertex[held]] = memory.seen_first[held]  # oldest first: the last one stays
    return ids


def waiting(state: State) -> Floats:
    """Return the first example of each group in quarantine."""
    return state.quarantine.held_points[:, : int(state.counters.n_held)].T.copy()
