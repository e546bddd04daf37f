"""Which graph, and how sure: chosen by how well labels are foretold when they are left out.

Each label taught is released in turn, and the others name it (`leave_one_out`). What foretells it
better is preferred to what is usual only where the gain exceeds its own standard error, and two
percent: labels are few, and where all of them come from one moment of the stream, each foretells
the next whatever the graph, and they say little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.engine.bandwidth import local_distances, typical
from labelwalk.engine.leave_one_out import held_out, score, told
from labelwalk.engine.state import State
from labelwalk.kernels.compare import draw, own_bandwidths
from labelwalk.kernels.counters import KernelParams
from labelwalk.settings import Settings
from labelwalk.similarity import SelfTuning

SHARPNESS = (1.0, 1.5, 2.0, 3.0)
WORTHWHILE = 0.02  # gain in the mean log probability of a label
FEWEST = 4  # labels to choose by


class Tuning(NamedTuple):
    """What is chosen."""

    width: float
    evenness: float
    sharpness: float


def is_due(settings: Settings) -> bool:
    """Say whether there is anything to choose."""
    similarity = settings.similarity
    several = isinstance(similarity, SelfTuning) and len(similarity.pairs) > 1
    return several or settings.calibrate


def choose(now: State, settings: Settings, rules: KernelParams) -> Tuning:
    """Return the width and evenness, and the sharpness, that foretell the labels taught."""
    counters, similarity = now.counters, settings.similarity
    codes = now.vertices.label[: now.n].astype(np.int64)
    labels = codes[codes >= 0]
    counted = told(labels)
    pairs = [(float(counters.width), float(counters.evenness))]
    if isinstance(similarity, SelfTuning):
        pairs = similarity.pairs
    if counted.sum() < FEWEST:
        return Tuning(*pairs[0], 1.0)
    answers = [_left_out(now, rules, codes, *pair)[counted] for pair in pairs]
    truth = labels[counted]
    best = _better([score(answer, truth) for answer in answers])
    powers = SHARPNESS if settings.calibrate else SHARPNESS[:1]
    bias = now.system.bias[1:]
    sharp = [score(_sharpened(answers[best], bias, power), truth) for power in powers]
    return Tuning(*pairs[best], powers[_better(sharp)])


def _left_out(
    now: State, rules: KernelParams, codes: Ints, width: float, evenness: float
) -> Floats:
    """What each label would be, were it alone not taught, on a graph of this width."""
    n, graph = now.n, now.graph
    if rules.neighbour > 0 and (width, evenness) != (now.counters.width, now.counters.evenness):
        trial = now.progress.copy()[0]
        local = local_distances(now.vertices, n, rules.neighbour)
        trial.width, trial.evenness, trial.typical = width, evenness, typical(local)
        bandwidths, w = np.empty(n), np.empty((n, n))
        own_bandwidths(local, trial, rules, bandwidths)
        draw(now.vertices.mean_distances, bandwidths, n, rules.cut, w)
        graph = graph._replace(w=w)
    return held_out(graph, codes, now.n_classes)


def _sharpened(answers: Floats, bias: Floats, power: float) -> Floats:
    """Raise answers to a power, under the prior; each row keeps its sum."""
    scores = answers * bias
    scores = (scores / np.maximum(scores.max(axis=1, keepdims=True), 1e-300)) ** power
    total = np.maximum(scores.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(scores / total * answers.sum(axis=1, keepdims=True))


def _better(scores: list[Floats]) -> int:
    """Return the best choice that is clearly better than the first, or the first."""
    best, most = 0, 0.0
    for i, own in enumerate(scores):
        gain = own - scores[0]
        error = float(gain.std(ddof=1)) / np.sqrt(len(gain))
        if gain.mean() > max(most, error, WORTHWHILE):
            best, most = i, float(gain.mean())
    return best
