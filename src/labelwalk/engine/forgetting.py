"""What is old fades with a half-life, or leaves a window; and R comes down again."""

from __future__ import annotations

import math

import numpy as np

from labelwalk.arrays import Ints, Record
from labelwalk.engine import departure
from labelwalk.engine.state import State
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.forgetting import leave_window, measure_reach
from labelwalk.kernels.memory import age
from labelwalk.kernels.quarantine import release_old
from labelwalk.kernels.system import STEPS
from labelwalk.settings import Settings
from labelwalk.solver.elimination import Elimination, eliminate, proven_error

FADINGS = 16  # in a half-life
SLIDES = 64  # of a window, in its own length
LIGHT = 0.25  # of an example: what a vertex must still weigh to stay
LONGEST = 1e18  # examples of a half-life that can be counted
FADED = 2  # half-lives after which an example is as light as that
STRONGEST = 16  # edges that a vertex leaves behind when it fades away
DUST = 1e-6  # similarities left behind by others that are too small to keep
SPARSE = 0.8  # of k: with fewer vertices, R comes down
LONGEST = 2**60  # examples between two fadings: more than any stream has
SMALLEST = 1e-160  # radius; the square of a smaller distance vanishes


def schedule(here: Record, settings: Settings) -> None:
    """Say from which count on there is something to forget."""
    if settings.window is not None:
        here.forget_at = settings.window + 1
    elif settings.half_life is not None:
        here.forget_at = _step(settings)


def _step(settings: Settings) -> int:
    """Return how many examples pass between one forgetting and the next."""
    if settings.window is not None:
        return max(1, settings.window // SLIDES)
    assert settings.half_life is not None
    return max(1, round(min(settings.half_life / FADINGS, LONGEST)))


def next_time(here: Record, settings: Settings) -> None:
    """Say when to forget again."""
    here.forget_at = age(here) + _step(settings)


def slide(now: State, settings: Settings, *, euclidean: bool) -> None:
    """Let what has left the window go; vertices that stand for nothing any more go too."""
    assert settings.window is not None
    here = now.here
    end = age(here) - settings.window + _step(settings) - 1
    leave_window(now.memory, now.vertices, here, end)
    departure.remove(now, np.flatnonzero(now.vertices.examples[: now.n] == 0))
    if euclidean:
        measure_reach(now.memory, now.vertices, here)


def fade(now: State, settings: Settings) -> None:
    """Let all unlabelled examples, and what vertices have left behind, weigh less."""
    assert settings.half_life is not None
    n, left = now.n, 0.5 ** (_step(settings) / settings.half_life)
    now.vertices.fresh[:n][now.vertices.label[:n] == UNLABELLED] *= left
    mesh, leak = now.system.mesh[0, :n, :n], now.system.leak[0, :n]
    mesh *= left
    mesh[mesh < DUST] = 0.0
    leak *= left


def leave_quarantine(now: State, settings: Settings) -> None:
    """Let go of far examples that wait in vain: since a window, or until they would be light."""
    patience = settings.window or math.ceil(FADED * (settings.half_life or 0.0))
    release_old(now.quarantine, now.here, age(now.here) - patience)


def light(now: State) -> Ints:
    """Return the vertices that have become too light to stay."""
    free = now.vertices.label[: now.n] == UNLABELLED
    return np.flatnonzero(free & (now.vertices.fresh[: now.n] < LIGHT))


def fade_away(now: State, gone: Ints, sink: float) -> None:
    """Remove light vertices; what walks went through them stays in edges between the others.

    `here.leap` is how far any value may be from the solution on the graph that is left.
    """
    n, system, here = now.n, now.system, now.here
    graph = now.graph
    drawn = graph.w - system.mesh[0, :n, :n]
    after, kept = eliminate(graph, gone, STRONGEST)
    drawn = drawn[np.ix_(kept, kept)]
    mesh = np.maximum(after.w - drawn, 0.0)
    mesh[mesh < DUST] = 0.0
    leak = np.maximum(after.gamma / float(here.mu) - sink, 0.0)
    left = after._replace(w=drawn + mesh, gamma=float(here.mu) * (sink + leak))
    error = proven_error(Elimination(left, kept), system.f[STEPS + 1 :, :n].T)
    here.leap = min(1.0, float(error.max(initial=0.0)))
    departure.remove(now, gone)
    m = now.n
    system.mesh[0, :m, :m], system.leak[0, :m] = mesh, leak
    system.w[:m, :m], system.g[:m] = left.w, left.gamma


def come_down(here: Record, settings: Settings) -> None:
    """Make room for finer vertices where many have left; in the end R starts anew."""
    if settings.n_centroids is not None and here.n_unlabelled < SPARSE * settings.n_centroids:
        finer = here.radius / settings.growth
        here.radius = finer if finer >= SMALLEST else 0.0
