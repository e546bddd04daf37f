"""Selection of the sink: as low as possible without one chain of look-alikes joining two people.

The lower the sink, the further names reach: first to other views of the named people, and then, at
the cliff, to half of all strangers at once. The share of examples that names claim shows this
without ground truth: as a function of the sink it is flat while few examples are undecided, and
steep at the cliff.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.concurrency import single_blas_thread
from labelwalk.faces.profiles import MAJORITY, Profile
from labelwalk.learner import OnlineLearner
from labelwalk.solver.linear_system import Graph, factorise_graph

RANGE_DECADES = 0.5  # how far the sink may move from the usual one, to either side
SINKS_PER_DECADE = 8
MARGIN_DECADES = 0.5  # below the lowest candidate: a cliff in this margin also counts
USUAL = int(SINKS_PER_DECADE * RANGE_DECADES)  # index of the usual sink
LOWEST = 2 * USUAL  # index of the lowest candidate
STRIDE = 2  # sinks between which a jump is searched
JUMP = 0.03  # share of all examples that is newly claimed within a stride
MIN_DEGREE = 1e-12
MIN_UNNAMED_VERTICES = 5
LONG_WALK_STEPS = 1e9  # shares are then accurate to about 1e-6, which changes no majority


class SinkSweep(NamedTuple):
    """What names would claim under each sink."""

    sinks: Floats  # from high to low
    claimed: Floats  # share of examples that would get a name
    chosen: float  # the lowest candidate at least a stride above the cliff
    cliff: float | None  # where the claimed share jumps; None if it does not


class VertexGraph(NamedTuple):
    """The graph of a learner, scaled to a mean vertex weight of 1."""

    similarity: Floats
    named: Bools
    names: Bools
    weight: Floats
    examples: Ints  # number of examples of each vertex
    # Number of examples of all unnamed vertices, including those outside of this part.
    n_unnamed: int


class ClaimCurve:
    """Claimed share by the index of the sink, from high to low, computed at first use.

    A lower sink never claims less, so two equal values determine all values between them.
    """

    def __init__(self, claimed: Callable[[int], float], n: int, most: float = 1.0) -> None:
        self.claimed, self.n, self.most = cache(claimed), n, most

    def has_jump(self, high: int, low: int) -> bool:
        """Return whether a sink newly claims many examples, compared with a higher one."""
        before = self.claimed(high)
        if self.most - before <= JUMP:
            return False
        return self.claimed(min(low, self.n - 1)) - before > JUMP

    def find_jump(self, start: int, end: int) -> int | None:
        """Return the first index in a range from which a stride jumps."""
        if start == end or not self.has_jump(start, end - 1 + STRIDE):
            return None
        if end - start == 1:
            return start
        middle = (start + end) // 2
        first = self.find_jump(start, middle)
        return self.find_jump(middle, end) if first is None else first

    def choose(self, usual: int, lowest: int) -> tuple[int, int | None]:
        """Return the index of the sink to use, and that of the cliff, if there is one.

        From the usual sink it goes up while the next stride jumps, and then down to a stride before
        the next jump. Jumps further up are safe: there, people join views of their own.

        Examples
        --------
        >>> shares = [0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.7, 0.9]
        >>> ClaimCurve(shares.__getitem__, 9).choose(usual=2, lowest=8)
        (3, 5)
        >>> ClaimCurve(lambda index: 0.2, 9).choose(usual=4, lowest=7)
        (7, None)
        """
        if not self.has_jump(usual, self.n - 1):
            return lowest, None
        index = usual
        while index > 0 and self.has_jump(index, index + STRIDE):
            index -= 1
        cliff = self.find_jump(index, self.n)
        if cliff is None:
            return lowest, None
        return min(max(cliff - STRIDE, 0), lowest), cliff


def sweep_sinks(learner: OnlineLearner, profile: Profile) -> SinkSweep | None:
    """Evaluate all sinks; return None if there are too few vertices, or no names."""
    graph = make_graph(learner, profile)
    if graph is None:
        return None
    sinks = list_sinks(compute_usual_sink(graph, profile))
    shares = compute_claims(graph, sinks)
    chosen, cliff = ClaimCurve(shares.__getitem__, len(sinks)).choose(USUAL, LOWEST)
    return SinkSweep(
        sinks, shares, float(sinks[chosen]), None if cliff is None else float(sinks[cliff])
    )


def choose_sink(learner: OnlineLearner, profile: Profile) -> float | None:
    """Return the sink that `sweep_sinks` would choose, with as few evaluations as possible."""
    graph = make_graph(learner, profile)
    if graph is None:
        return None
    sinks, part = list_sinks(compute_usual_sink(graph, profile)), select_reachable(graph)
    most = float(part.examples[~part.named].sum() / part.n_unnamed)
    curve = ClaimCurve(lambda i: compute_claim(part, sinks[i]), len(sinks), most)
    return float(sinks[curve.choose(USUAL, LOWEST)[0]])


def list_sinks(usual: float) -> Floats:
    """Return all candidates and those of the margin, from high to low."""
    first, last = -RANGE_DECADES, RANGE_DECADES + MARGIN_DECADES
    exponents = np.arange(SINKS_PER_DECADE * first, SINKS_PER_DECADE * last + 1) / SINKS_PER_DECADE
    sinks: Floats = usual / 10.0**exponents
    return sinks


def make_graph(learner: OnlineLearner, profile: Profile) -> VertexGraph | None:
    """Return the graph of a learner; None if there are too few vertices, or no names."""
    table = learner.graph
    named = np.array([label is not None for label in table.label], dtype=bool)
    if (~named).sum() < MIN_UNNAMED_VERTICES or not named.any():
        return None
    return VertexGraph(
        similarity=table.similarity,
        named=named,
        names=np.array([[label == name for name in learner.classes] for label in table.label]),
        weight=table.weight * profile.label_weight / table.weight[named].max(),
        examples=table.count,
        n_unnamed=int(table.count[~named].sum()),
    )


def compute_usual_sink(graph: VertexGraph, profile: Profile) -> float:
    """Return the first candidate, which grows with the root of the mean degree.

    Where vertices are dense, bridges between two people are wide too.
    """
    with single_blas_thread():
        degrees = (graph.similarity @ graph.weight)[~graph.named]
    return float(profile.sink * np.sqrt(max(MIN_DEGREE, degrees.mean())))


def select_reachable(graph: VertexGraph) -> VertexGraph:
    """Return the part of a graph from which a walk can reach a name."""
    reached, front = graph.named.copy(), graph.named
    while front.any():
        front = graph.similarity[front].any(axis=0) & ~reached
        reached |= front
    if reached.all():
        return graph
    return VertexGraph(
        similarity=graph.similarity[np.ix_(reached, reached)],
        named=graph.named[reached],
        names=graph.names[reached],
        weight=graph.weight[reached],
        examples=graph.examples[reached],
        n_unnamed=graph.n_unnamed,
    )


def compute_claims(graph: VertexGraph, sinks: Floats) -> Floats:
    """Return the share of examples that each sink would name."""
    part = select_reachable(graph)
    return np.array([compute_claim(part, sink) for sink in sinks])


def compute_claim(graph: VertexGraph, sink: float) -> float:
    """Return the share of examples that a sink would name."""
    named, free, weight = graph.named, ~graph.named, graph.weight
    if not free.any():
        return 0.0
    sinks = np.full(len(weight), sink)
    system = factorise_graph(Graph(graph.similarity, weight, sinks, named), LONG_WALK_STEPS)
    with single_blas_thread():
        votes = graph.similarity[:, named] @ (weight[named, None] * graph.names[named])
    largest = system.solve(votes)[free].max(axis=1)
    return float(graph.examples[free][largest > MAJORITY].sum() / graph.n_unnamed)
