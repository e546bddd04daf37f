"""Bandwidths: measured from the stream, and tuned by how well left-out labels are predicted.

Each label is left out in turn and predicted from the others (`leave_one_out`). A choice that
predicts them better replaces the default only if the gain exceeds its standard error and two
percent. The reason is that labels are few, and that labels from one moment of the stream predict
each other on any graph.
"""

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.engine.leave_one_out import has_label_sibling, held_out, score
from labelwalk.engine.state import State
from labelwalk.kernels.compare import compute_bandwidths, compute_similarities, local_distances
from labelwalk.kernels.counters import NEVER, Counters, KernelParams
from labelwalk.settings import Settings
from labelwalk.similarity import COVER_FRACTION, COVER_NEIGHBOUR, Gaussian, SelfTuning, Similarity

KEPT_WITHIN = 1.05  # a cover's bandwidth that has moved less than five percent stays
FEWER = 8  # and is measured again when an eighth more vertices have been founded


def schedule(counters: Counters, similarity: Similarity) -> None:
    """Schedule the measurement of bandwidths, or set the bandwidth if it is given."""
    if isinstance(similarity, SelfTuning):
        counters.measure_at_founded = 2
        counters.width, counters.evenness = similarity.pairs[0]
    elif similarity.bandwidth == "scale":
        counters.measure_at_seen = 2
    elif similarity.bandwidth == "cover":
        counters.measure_at_founded = 2
    else:
        counters.sigma = float(similarity.bandwidth)


def measure(state: State, similarity: Similarity, rules: KernelParams) -> bool:
    """Measure all bandwidths, schedule the next time, and return whether any has changed."""
    counters, vertices = state.counters, state.vertices
    before = vertices.bandwidth[: state.n].copy()
    if counters.measure_at_founded != NEVER:
        counters.measure_at_founded = counters.n_founded + max(1, counters.n // FEWER)
    if isinstance(similarity, SelfTuning):
        local = local_distances(vertices.mean_distances, state.n, rules.neighbour)
        counters.typical = typical(local)
        counters.sigma = counters.width * counters.typical
        compute_bandwidths(local, counters, vertices.bandwidth)
    else:
        _measure_one(state, similarity)
        vertices.bandwidth[: state.n] = counters.sigma
    return bool(np.any(vertices.bandwidth[: state.n] != before))


def _measure_one(state: State, similarity: Gaussian) -> None:
    counters = state.counters
    if similarity.bandwidth == "scale":
        counters.sigma = from_features(state.comparison.moments, counters.n_moments)
        is_measured = counters.sigma > 0
        counters.measure_at_seen = 2 * counters.n_seen if is_measured else counters.n_seen + 1
    elif similarity.bandwidth == "cover":
        local = local_distances(state.vertices.mean_distances, state.n, COVER_NEIGHBOUR)
        sigma = COVER_FRACTION * typical(local)
        if not counters.sigma / KEPT_WITHIN <= sigma <= counters.sigma * KEPT_WITHIN:
            counters.sigma = sigma


def from_features(moments: Floats, n_seen: int) -> float:
    """Return σ with 2σ² = 2ps²: p features, s the mean of their standard deviations (5.1)."""
    deviations = np.sqrt(moments[1] / n_seen)
    return float(np.sqrt(len(deviations)) * deviations.mean())


def typical(local: Floats) -> float:
    """Return the median of the local distances that are not zero; 0 if all are."""
    positive = local[local > 0]
    return float(np.median(positive)) if len(positive) else 0.0


def measure_soon(counters: Counters) -> None:
    """Schedule the measurement of bandwidths that follow the cover before the next answer."""
    if counters.measure_at_founded != NEVER:
        counters.measure_at_founded = counters.n_founded


SHARPNESS = (1.0, 1.5, 2.0, 3.0)
WORTHWHILE = 0.02  # gain in the mean log probability of a label
MIN_LABELS_TO_TUNE = 4  # labels to choose by


class Tuning(NamedTuple):
    """The chosen parameters."""

    width: float
    evenness: float
    sharpness: float


def needs_tuning(settings: Settings) -> bool:
    """Return whether there is anything to choose."""
    similarity = settings.similarity
    several = isinstance(similarity, SelfTuning) and len(similarity.pairs) > 1
    return several or settings.calibrate


def tune(state: State, settings: Settings, rules: KernelParams) -> Tuning:
    """Return the width, evenness and sharpness that best predict left-out labels."""
    counters, similarity = state.counters, settings.similarity
    codes = state.vertices.label[: state.n].astype(np.int64)
    labels = codes[codes >= 0]
    counted = has_label_sibling(labels)
    pairs = [(float(counters.width), float(counters.evenness))]
    if isinstance(similarity, SelfTuning):
        pairs = similarity.pairs
    if counted.sum() < MIN_LABELS_TO_TUNE:
        return Tuning(*pairs[0], 1.0)
    answers = [_predict_left_out(state, rules, codes, *pair)[counted] for pair in pairs]
    truth = labels[counted]
    best = _better([score(answer, truth) for answer in answers])
    powers = SHARPNESS if settings.calibrate else SHARPNESS[:1]
    bias = state.system.bias[1:]
    sharp = [score(_sharpen(answers[best], bias, power), truth) for power in powers]
    return Tuning(*pairs[best], powers[_better(sharp)])


def _predict_left_out(
    state: State, rules: KernelParams, codes: Ints, width: float, evenness: float
) -> Floats:
    """Predict each label from the others, on a graph of this width and evenness."""
    n, graph = state.n, state.graph
    if rules.neighbour > 0 and (width, evenness) != (state.counters.width, state.counters.evenness):
        trial = state.progress.copy()[0]
        local = local_distances(state.vertices.mean_distances, n, rules.neighbour)
        trial.width, trial.evenness, trial.typical = width, evenness, typical(local)
        bandwidths, w = np.empty(n), np.empty((n, n))
        compute_bandwidths(local, trial, bandwidths)
        compute_similarities(state.vertices.mean_distances, bandwidths, n, rules.cut, w)
        graph = graph._replace(w=w)
    return held_out(graph, codes, state.n_classes)


def _sharpen(answers: Floats, bias: Floats, power: float) -> Floats:
    """Raise answers to a power, with the biases of the prior; row sums do not change."""
    scores = answers * bias
    scores = (scores / np.maximum(scores.max(axis=1, keepdims=True), 1e-300)) ** power
    total = np.maximum(scores.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(scores / total * answers.sum(axis=1, keepdims=True))


def _better(scores: list[Floats]) -> int:
    """Return the best choice that is clearly better than the first, or the first."""
    best, best_gain = 0, 0.0
    for i, candidate in enumerate(scores):
        gain = candidate - scores[0]
        error = float(gain.std(ddof=1)) / np.sqrt(len(gain))
        if gain.mean() > max(best_gain, error, WORTHWHILE):
            best, best_gain = i, float(gain.mean())
    return best
