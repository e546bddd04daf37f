"""Two states side by side in one, before their vertices are merged."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats, SmallInts
from labelwalk.engine.state import State, resized
from labelwalk.kernels.assign import Memory
from labelwalk.kernels.cover import UNKNOWN
from labelwalk.similarity import euclidean


def recoded(state: State, codes: SmallInts, n_classes: int) -> State:
    """Return a copy in which class i is called codes[i], of n_classes."""
    copy = resized(state, state.capacity, n_classes)
    copy.progress, copy.before_progress = state.progress.copy(), state.before_progress.copy()
    copy.events = state.events.copy()
    copy.memory = Memory._make(array.copy() for array in state.memory)
    for label in (copy.vertices.label[: state.n], copy.memory.seen_label):
        label[label >= 0] = codes[label[label >= 0]]
    for target, source in ((copy.system.f, state.system.f), (copy.system.r, state.system.r)):
        target[1:] = 0.0
        target[1 + codes] = source[1:]
    copy.system.bias[1 + codes] = state.system.bias[1:]
    return copy


def united(ours: State, theirs: State) -> State:
    """Return the union, our vertices first.

    The radius is the larger one. Similarities, degrees and residuals are left to be rebuilt.
    """
    n, m = ours.n, theirs.n
    both = resized(ours, n + m, theirs.n_classes)
    both.progress = ours.progress.copy()
    vertices, system = both.vertices, both.system
    old, new = slice(0, n), slice(n, n + m)
    vertices.points[:, new] = theirs.vertices.points[:, :m]
    vertices.means[:, new] = theirs.vertices.means[:, :m]
    system.f[:, new] = theirs.system.f[:, :m]
    for target, source in (
        (vertices.examples, theirs.vertices.examples),
        (vertices.taught, theirs.vertices.taught),
        (vertices.decayed_count, theirs.vertices.decayed_count),
        (vertices.reach, theirs.vertices.reach),
        (vertices.bandwidth, theirs.vertices.bandwidth),
        (vertices.similarity_count, theirs.vertices.similarity_count),
        (vertices.label, theirs.vertices.label),
        (system.g, theirs.system.g),
        (system.clamped, theirs.system.clamped),
    ):
        target[new] = source[:m]
    system.v[new] = theirs.system.v[:m]
    vertices.founder[new] = UNKNOWN  # their examples have numbers of their own
    distances = _across(ours.vertices.points[:, :n], theirs.vertices.points[:, :m])
    apart = distances
    if len(vertices.means):
        apart = _across(ours.vertices.means[:, :n], theirs.vertices.means[:, :m])
    for target, inner, across in (
        (vertices.distance, theirs.vertices.distance, distances),
        (vertices.mean_distances, theirs.vertices.mean_distances, apart),
    ):
        target[new, new] = inner[:m, :m]
        target[old, new] = across
        target[new, old] = across.T
    both.comparison.moments[:] = _pooled(ours, theirs)
    counters, there = both.counters, theirs.counters
    counts = (
        "n",
        "n_unlabelled",
        "n_absorbed",
        "n_seen",
        "n_outliers",
        "n_removed",
        "n_answer_only",
    )
    for name in (*counts, "n_founded", "n_moments", "total_weight"):
        counters[name] += there[name]
    counters.radius = max(counters.radius, there.radius)
    counters.last_taught = max(counters.last_taught, there.last_taught)
    taught = [first for first in (counters.first_taught, there.first_taught) if first > 0]
    counters.first_taught = min(taught, default=0)
    return both


def _across(points: Floats, others: Floats) -> Floats:
    """Return the distances between the columns of two matrices."""
    rows = np.ascontiguousarray(others.T)
    return np.array([euclidean(x, rows) for x in points.T]).reshape(points.shape[1], len(rows))


def _pooled(ours: State, theirs: State) -> Floats:
    n, m = int(ours.counters.n_moments), int(theirs.counters.n_moments)
    (mean, squares), (their_mean, their_squares) = (
        ours.comparison.moments,
        theirs.comparison.moments,
    )
    gap = their_mean - mean
    share = m / max(1, n + m)
    return np.stack([mean + share * gap, squares + their_squares + gap * gap * (n * share)])
