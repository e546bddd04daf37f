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
from labelwalk.harmonic import solve
from labelwalk.learner import OnlineLearner
from labelwalk.one_thread import one_blas_thread

DECADES = 0.5  # on either side of the usual sink: how far it may be moved by what is seen
STEPS = 8  # sinks that are tried in each decade
TINY = 1e-12  # a degree like none
STRIDE = 2  # of them, in which a jump is looked for
JUMP = 0.03  # of all examples, newly claimed within a stride
LEAST = 5  # vertices, before anything can be seen
BEYOND = 0.5  # decades below all that can be chosen: a cliff just there is one to keep away from


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
    """

    similarity: Floats
    named: Bools
    names: Bools
    weight: Floats
    examples: Ints


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
    exponents = np.arange(-STEPS * DECADES, STEPS * (DECADES + BEYOND) + 1) / STEPS
    sinks = usual_sink(graph, profile) / 10.0**exponents
    claimed = claims(graph, sinks)
    usual = int(STEPS * DECADES)
    chosen, cliff = choice(claimed, usual, lowest=2 * usual)
    edge = None if cliff is None else float(sinks[cliff])
    return Survey(sinks, claimed, float(sinks[chosen]), edge)


def graph_of(learner: OnlineLearner, profile: Profile) -> Vertices | None:
    """Return the graph of a learner; None where there are too few vertices, or nobody is named."""
    table = learner.vertices
    named = np.array([label is not None for label in table.label], dtype=bool)
    if (~named).sum() < LEAST or not named.any():
        return None
    return Vertices(
        similarity=similarities(table.means, profile.bandwidth, profile.threshold),
        named=named,
        names=np.array([[label == one for one in learner.classes] for label in table.label]),
        weight=table.weight * profile.label_weight / table.weight[named].max(),
        examples=table.count,
    )


def usual_sink(graph: Vertices, profile: Profile) -> float:
    """Return the sink to begin with: where vertices are dense, bridges are broad too.

    It grows with the root of the mean similarity of a vertex to all others.
    """
    degrees = (graph.similarity * graph.weight).sum(axis=1)[~graph.named]
    return float(profile.sink * np.sqrt(max(TINY, degrees.mean())))


def claims(graph: Vertices, sinks: Floats) -> Floats:
    """Return the share of examples that would be named under each sink."""
    free = ~graph.named
    count, names = graph.examples[free], graph.names.astype(np.float64)
    shares = []
    for sink in sinks:
        f = solve(graph.similarity, graph.named, names, weights=graph.weight, sink=sink)
        shares.append(count[f[free].max(axis=1) > MAJORITY].sum() / count.sum())
    return np.array(shares)


def similarities(means: Floats, bandwidth: float, threshold: float) -> Floats:
    """Return the similarity of each two vertices, and 0 on the diagonal."""
    with one_blas_thread():
        products = means @ means.T
    squares = np.diag(products)
    away = np.maximum(0.0, squares[:, None] + squares - 2.0 * products)
    w: Floats = np.exp(-away / (2.0 * bandwidth**2))
    w[w < threshold] = 0.0
    np.fill_diagonal(w, 0.0)
    return w


def choice(claimed: Floats, usual: int, lowest: int) -> tuple[int, int | None]:
    """Return which sink to take, and where the cliff is, if anywhere.

    From the usual sink it goes up while the next stride claims much at once, and then down to a
    stride before that. Jumps further up are trusted: there people join views of their own.

    Parameters
    ----------
    claimed : array
        By sinks from high to low.
    usual, lowest : int
        The sink to begin with, and the lowest that may be chosen.

    Examples
    --------
    >>> choice(np.array([0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.7, 0.9]), usual=2, lowest=8)
    (3, 5)
    >>> choice(np.full(9, 0.2), usual=4, lowest=7)
    (7, None)
    """
    ahead = claimed[np.minimum(np.arange(len(claimed)) + STRIDE, len(claimed) - 1)]
    jumps = ahead - claimed > JUMP
    at = usual
    while at > 0 and jumps[at]:
        at -= 1
    while at < len(claimed) - 1 and not jumps[at]:
        at += 1
    if not jumps[at]:
        return lowest, None
    return min(max(at - STRIDE, 0), lowest), at
