"""Weights of vertices, which are capped and fade."""

import math

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.engine.state import State
from labelwalk.kernels.assign import release_old
from labelwalk.kernels.counters import Counters, KernelParams, age
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.settings import Settings


def weigh(state: State, rules: KernelParams) -> None:
    """Recompute the weights of all vertices; degrees and residuals must be rebuilt afterwards."""
    counters, n = state.counters, state.n
    free, v = ~state.system.clamped[:n], state.system.v[:n]
    v[:] = state.vertices.decayed_count[:n]
    if rules.label_weight > 0:
        if counters.n_unlabelled:
            counters.mean_weight = compute_capped_mean(v[free], rules.weight_cap)
        v[free] = np.minimum(v[free], rules.weight_cap * counters.mean_weight)
        v[~free] = rules.label_weight * counters.mean_weight
        state.system.g[:n] = rules.sink * counters.mean_weight
    counters.total_weight = float(v[free].sum())


def compute_capped_mean(counts: Floats, cap: float) -> float:
    """Return the mean weight if each vertex has its count as weight, but at most `cap` means.

    If the m heaviest are capped, the mean is the sum of the others divided by n - cap * m.
    """
    n, ascending = len(counts), np.sort(counts)
    light, mean = np.cumsum(ascending), float(ascending[0])
    for m in range(n):
        mean = float(light[n - 1 - m]) / (n - cap * m if m else n)
        if ascending[n - 1 - m] <= cap * mean:
            break
    return mean


STEPS_PER_HALF_LIFE = 16
MIN_EXAMPLES = 0.25  # what a vertex must still weigh to stay
FADED_HALF_LIVES = 2  # half-lives after which an example is as light as that
MAX_STEP = 2**60  # examples between two steps: more than any stream has
SPARSE_SHARE = 0.8  # of k: with fewer vertices, R comes down
MIN_RADIUS = 1e-160  # the square of a smaller distance vanishes


def schedule_fading(counters: Counters, half_life: float) -> None:
    """Set the count of examples at which the next step of fading is due."""
    counters.forget_at = age(counters) + step_size(half_life)


def step_size(half_life: float) -> int:
    """Return the number of examples between two steps of fading."""
    return max(1, round(min(half_life / STEPS_PER_HALF_LIFE, MAX_STEP)))


def fade(state: State, half_life: float) -> None:
    """Reduce the weights of all unlabelled examples, and drop old groups in quarantine."""
    free = state.vertices.label[: state.n] == UNLABELLED
    state.vertices.decayed_count[: state.n][free] *= 0.5 ** (step_size(half_life) / half_life)
    oldest = age(state.counters) - math.ceil(FADED_HALF_LIVES * half_life)
    release_old(state.quarantine, state.counters, oldest)


def find_light(state: State) -> Ints:
    """Return the vertices that have become too light to keep."""
    free = state.vertices.label[: state.n] == UNLABELLED
    return np.flatnonzero(free & (state.vertices.decayed_count[: state.n] < MIN_EXAMPLES))


def lower_radius(counters: Counters, settings: Settings) -> None:
    """Lower R if many vertices were removed, so that finer ones fit; in the end R starts again."""
    k = settings.n_centroids
    if k is not None and counters.n_unlabelled < SPARSE_SHARE * k:
        finer = counters.radius / settings.growth
        counters.radius = finer if finer >= MIN_RADIUS else 0.0
