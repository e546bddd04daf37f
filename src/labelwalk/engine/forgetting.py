"""What is old fades with a half-life, vertices that have become light leave, and R comes down."""

from __future__ import annotations

import math

import numpy as np

from labelwalk.arrays import Ints
from labelwalk.engine.state import State
from labelwalk.kernels.assign import release_old
from labelwalk.kernels.counters import Counters, age
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.settings import Settings

STEPS_PER_HALF_LIFE = 16
MIN_EXAMPLES = 0.25  # what a vertex must still weigh to stay
FADED_HALF_LIVES = 2  # half-lives after which an example is as light as that
MAX_STEP = 2**60  # examples between two steps: more than any stream has
SPARSE_SHARE = 0.8  # of k: with fewer vertices, R comes down
MIN_RADIUS = 1e-160  # the square of a smaller distance vanishes


def schedule(counters: Counters, half_life: float) -> None:
    """Set the count of examples at which they fade next."""
    counters.forget_at = age(counters) + step_size(half_life)


def step_size(half_life: float) -> int:
    """Return how many examples pass between two steps of fading."""
    return max(1, round(min(half_life / STEPS_PER_HALF_LIFE, MAX_STEP)))


def fade(now: State, half_life: float) -> None:
    """Let all unlabelled examples weigh less, and release groups that wait in quarantine."""
    free = now.vertices.label[: now.n] == UNLABELLED
    now.vertices.decayed_count[: now.n][free] *= 0.5 ** (step_size(half_life) / half_life)
    release_old(
        now.quarantine, now.counters, age(now.counters) - math.ceil(FADED_HALF_LIVES * half_life)
    )


def find_light(now: State) -> Ints:
    """Return the vertices that have become too light to stay."""
    free = now.vertices.label[: now.n] == UNLABELLED
    return np.flatnonzero(free & (now.vertices.decayed_count[: now.n] < MIN_EXAMPLES))


def lower_radius(counters: Counters, settings: Settings) -> None:
    """Make room for finer vertices where many have left; in the end R starts anew."""
    if (
        settings.n_centroids is not None
        and counters.n_unlabelled < SPARSE_SHARE * settings.n_centroids
    ):
        finer = counters.radius / settings.growth
        counters.radius = finer if finer >= MIN_RADIUS else 0.0
