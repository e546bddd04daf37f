"""Where one chain of look-alikes would bridge two people, seen from the vertices alone.

As the sink falls, names reach further: first other views of the people who bear them, and then, at
once, half of all strangers. The share of examples that names claim shows it without any truth: it
is a staircase, flat where nobody is near the edge, and steep at the cliff.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.faces.profiles import MAJORITY, Profile
from labelwalk.faces.staircase import Staircase, choice
from labelwalk.learner import OnlineLearner
from labelwalk.one_thread import one_blas_thread
from labelwalk.solver.factorisation import factorise_graph
from labelwalk.solver.graphs import Graph

DECADES = 0.5  # on either side of the usual sink: how far it may be moved by what is seen
STEPS = 8  # sinks that are tried in each decade
TINY = 1e-12  # a degree like none
LEAST = 5  # vertices, before anything can be seen
BEYOND = 0.5  # decades below all that can be chosen: a cliff just there is one to keep away from
USUAL = int(STEPS * DECADES)  # the place of the usual sink,
LOWEST = 2 * USUAL  # and of the lowest that can be chosen
LONG_WALK = 1e9  # steps: a share is then off by a millionth or so, which gives nobody a name


class Survey(NamedTuple):
    """What names would claim, sink by sink.

    Attributes
    ----------
    sinks : array
        From high to low.
    claimed : array
        The share of examples that would be named under each.
    chosen : float
        The sink that is as low as it can be, and a stride away from the cliff.
    cliff : float or None
        From here on down names claim much at once; None where that is nowhere in sight.
    """

    sinks: Floats
    claimed: Floats
    chosen: float
    cliff: float | None


class Vertices(NamedTuple):
    """The graph of a learner, in units in which a mean vertex weighs 1.

    Attributes
    ----------
    similarity : array (n, n)
    named : array of n bools
    names : array (n, people) of bools
    weight : array of n floats
    examples : array of n integers
        How many each stands for.
    unnamed : int
        How many those without a name stand for, in all of the graph.
    """

    similarity: Floats
    named: Bools
    names: Bools
    weight: Floats
    examples: Ints
    unnamed: int


def surveyed(learner: OnlineLearner, profile: Profile) -> Survey | None:
    """Look over the vertices of a learner; None where there are too few, or nobody is named.

    Parameters
    ----------
    learner : OnlineLearner
        As `profile.learner` makes it. It is not changed.
    profile : Profile
    """
    graph = graph_of(learner, profile)
    if graph is None:
        return None
    sinks = sinks_about(usual_sink(graph, profile))
    shares = claims(graph, sinks)
    chosen, cliff = choice(Staircase(shares.__getitem__, len(sinks)), USUAL, LOWEST)
    edge = None if cliff is None else float(sinks[cliff])
    return Survey(sinks, shares, float(sinks[chosen]), edge)


def near_side(learner: OnlineLearner, profile: Profile) -> float | None:
    """Return the sink that a survey would choose, without looking at more sinks than it must.

    Parameters
    ----------
    learner, profile
        As `surveyed` takes them.
    """
    graph = graph_of(learner, profile)
    if graph is None:
        return None
    sinks, near = sinks_about(usual_sink(graph, profile)), within_reach(graph)
    most = float(near.examples[~near.named].sum() / near.unnamed)
    chosen, _ = choice(
        Staircase(lambda i: claimed(near, sinks[i]), len(sinks), most), USUAL, LOWEST
    )
    return float(sinks[chosen])


def sinks_about(usual: float) -> Floats:
    """Return all sinks that are looked at, from high to low."""
    exponents = np.arange(-STEPS * DECADES, STEPS * (DECADES + BEYOND) + 1) / STEPS
    sinks: Floats = usual / 10.0**exponents
    return sinks


def graph_of(learner: OnlineLearner, profile: Profile) -> Vertices | None:
    """Return the graph of a learner; None where there are too few vertices, or nobody is named."""
    table = learner.graph
    named = np.array([label is not None for label in table.label], dtype=bool)
    if (~named).sum() < LEAST or not named.any():
        return None
    return Vertices(
        similarity=table.similarity,
        named=named,
        names=np.array([[label == one for one in learner.classes] for label in table.label]),
        weight=table.weight * profile.label_weight / table.weight[named].max(),
        examples=table.count,
        unnamed=int(table.count[~named].sum()),
    )


def usual_sink(graph: Vertices, profile: Profile) -> float:
    """Return the sink to begin with: where vertices are dense, bridges are broad too.

    It grows with the root of the mean similarity of a vertex to all others.
    """
    with one_blas_thread():
        degrees = (graph.similarity @ graph.weight)[~graph.named]
    return float(profile.sink * np.sqrt(max(TINY, degrees.mean())))


def within_reach(graph: Vertices) -> Vertices:
    """Return the part of a graph from which a walk can reach a name; the rest is never claimed."""
    reached, edge = graph.named.copy(), graph.named
    while edge.any():
        edge = graph.similarity[edge].any(axis=0) & ~reached
        reached |= edge
    if reached.all():
        return graph
    return Vertices(
        similarity=graph.similarity[np.ix_(reached, reached)],
        named=graph.named[reached],
        names=graph.names[reached],
        weight=graph.weight[reached],
        examples=graph.examples[reached],
        unnamed=graph.unnamed,
    )


def claims(graph: Vertices, sinks: Floats) -> Floats:
    """Return the share of examples that would be named under each sink."""
    near = within_reach(graph)
    return np.array([claimed(near, sink) for sink in sinks])


def claimed(graph: Vertices, sink: float) -> float:
    """Return the share of examples that would be named under a sink."""
    named, free, weight = graph.named, ~graph.named, graph.weight
    if not free.any():
        return 0.0
    system = factorise_graph(
        Graph(graph.similarity, weight, np.full(len(weight), sink), named), LONG_WALK
    )
    with one_blas_thread():
        votes = graph.similarity[:, named] @ (weight[named, None] * graph.names[named])
    likeliest = system.solve(votes)[free].max(axis=1)
    return float(graph.examples[free][likeliest > MAJORITY].sum() / graph.unnamed)
