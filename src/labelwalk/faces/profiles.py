"""Profiles, the parameters of a learner for vectors of one representation, and choice of its sink.

The lower the sink, the further names reach: first to other views of the named people, and then, at
the cliff, to half of all strangers at once. The share of examples that names claim shows this
without ground truth: as a function of the sink it is flat while few examples are undecided, and
steep at the cliff. The sink is chosen as low as possible without one chain of look-alikes joining
two people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.concurrency import single_blas_thread
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian
from labelwalk.solver.linear_system import Graph, factorise_graph

MAJORITY = 0.5  # of walks that end at a name: more give the name
TOLERANCE = 0.03  # of that share: 0.7 % of the faces of eight people are this close to half
RANGE_DECADES = 0.5  # how far the sink may move from the usual one, to either side
MARGIN_DECADES = 0.5  # below the lowest candidate: a cliff in this margin also counts
SINKS_PER_DECADE = 8
USUAL = int(SINKS_PER_DECADE * RANGE_DECADES)  # index of the usual sink
LOWEST = 2 * USUAL  # index of the lowest candidate
N_SINKS = LOWEST + int(SINKS_PER_DECADE * MARGIN_DECADES) + 1
STRIDE = 2  # sinks between which a jump is searched
JUMP = 0.03  # share of all examples that is newly claimed within a stride
MIN_DEGREE = 1e-12
MIN_UNNAMED_VERTICES = 5
LONG_WALK_STEPS = 1e9  # shares are then accurate to about 1e-6, which changes no majority


@dataclass(frozen=True)
class Profile:
    """Parameters for vectors of one kind.

    A face gets a name if a random walk from it ends at that name more often than not, and not in
    the sink.
    """

    bandwidth: float  # σ of the Gaussian similarity
    threshold: float  # ε: smaller similarities count as 0
    sink: float  # γ around which a recognizer searches its own, for a vertex of degree 1
    # The largest weight of a vertex, and the weight of a label, as multiples of the mean.
    weight_cap: float
    label_weight: float
    kin: float  # vectors at least this similar show one person

    def similarity(self, a: Floats, b: Floats) -> Floats:
        """Return the similarity of vectors, from 0 to 1."""
        similarity: Floats = np.exp(-((a - b) ** 2).sum(axis=-1) / (2.0 * self.bandwidth**2))
        return similarity

    def are_kin(self, a: Floats, b: Floats) -> bool:
        """Return whether two vectors are similar enough to show one person."""
        return bool(self.similarity(a, b) >= self.kin)

    def learner(self, n_centroids: int = 500) -> OnlineLearner:
        """Return a new learner for such vectors."""
        return OnlineLearner(
            n_centroids,
            similarity=Gaussian(self.bandwidth, threshold=self.threshold),
            sink=self.sink,
            weight_cap=self.weight_cap,
            label_weight=self.label_weight,
            unreached="abstain",
            calibrate=False,
            tolerance=TOLERANCE,
            abstain_below=MAJORITY,
        )


PIXELS = Profile(
    bandwidth=0.025, threshold=5e-9, sink=1e-6, weight_cap=2.0, label_weight=3.0, kin=1e-4
)
VECTORS = Profile(
    bandwidth=0.1, threshold=5e-6, sink=2.35e-4, weight_cap=20.0, label_weight=10.0, kin=3e-3
)


class SinkSweep(NamedTuple):
    """What names would claim under each sink."""

    sinks: Floats  # from high to low
    claimed: Floats  # share of examples that would get a name
    chosen: float  # the lowest candidate at least a stride above the cliff
    cliff: float | None  # where the claimed share jumps; None if it does not


class VertexGraph(NamedTuple):
    """The part of a learner's graph from which a walk can reach a name.

    It is scaled to a mean vertex weight of 1. Two numbers describe the unnamed vertices of the
    whole graph.
    """

    similarity: Floats
    named: Bools
    names: Bools
    weight: Floats
    examples: Ints  # number of examples of each vertex
    n_unnamed: int  # number of all unnamed examples
    mean_degree: float  # of all unnamed vertices


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

    def choose(self, usual: int, lowest: int) -> tuple[int, int | None]:
        """Return the index of the sink to use, and that of the cliff, if there is one.

        From the usual sink it goes up while the next stride jumps, and then down to a stride before
        the next jump. Jumps further up are safe: there, people join views of their own.
        """
        cliff = None
        if self.has_jump(usual, self.n - 1):
            index = usual
            while index > 0 and self.has_jump(index, index + STRIDE):
                index -= 1
            jumps = (i for i in range(index, self.n) if self.has_jump(i, i + STRIDE))
            cliff = next(jumps, None)
        return lowest if cliff is None else min(max(cliff - STRIDE, 0), lowest), cliff


def sweep_sinks(learner: OnlineLearner, profile: Profile) -> SinkSweep | None:
    """Evaluate all sinks; return None if there are too few vertices, or no names."""
    graph = make_graph(learner, profile)
    if graph is None:
        return None
    sinks, curve = make_curve(graph, profile)
    shares = np.array([curve.claimed(i) for i in range(N_SINKS)])
    chosen, i = curve.choose(USUAL, LOWEST)
    return SinkSweep(sinks, shares, float(sinks[chosen]), None if i is None else float(sinks[i]))


def choose_sink(learner: OnlineLearner, profile: Profile) -> float | None:
    """Return the sink that `sweep_sinks` would choose, with few evaluations."""
    graph = make_graph(learner, profile)
    if graph is None:
        return None
    sinks, curve = make_curve(graph, profile)
    return float(sinks[curve.choose(USUAL, LOWEST)[0]])


def make_graph(learner: OnlineLearner, profile: Profile) -> VertexGraph | None:
    """Return what names can reach; None if there are too few vertices, or no names."""
    table = learner.graph
    named = np.array([label is not None for label in table.label], dtype=bool)
    if (~named).sum() < MIN_UNNAMED_VERTICES or not named.any():
        return None
    names = np.array([[label == name for name in learner.classes] for label in table.label])
    weight = table.weight * profile.label_weight / table.weight[named].max()
    with single_blas_thread():
        degrees = (table.similarity @ weight)[~named]
    _, component = connected_components(table.similarity > 0.0, directed=False)
    reached = np.isin(component, component[named])
    return VertexGraph(
        similarity=table.similarity[np.ix_(reached, reached)],
        named=named[reached],
        names=names[reached],
        weight=weight[reached],
        examples=table.count[reached],
        n_unnamed=int(table.count[~named].sum()),
        mean_degree=degrees.mean(),
    )


def make_curve(graph: VertexGraph, profile: Profile) -> tuple[Floats, ClaimCurve]:
    """Return all candidates and those of the margin, from high to low, and what they claim.

    The usual sink grows with the root of the mean degree: where vertices are dense, bridges between
    two people are wide too.
    """
    usual = profile.sink * np.sqrt(max(MIN_DEGREE, graph.mean_degree))
    sinks: Floats = usual / 10.0 ** ((np.arange(N_SINKS) - USUAL) / SINKS_PER_DECADE)
    most = float(graph.examples[~graph.named].sum() / graph.n_unnamed)
    return sinks, ClaimCurve(lambda i: compute_claim(graph, sinks[i]), N_SINKS, most)


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
