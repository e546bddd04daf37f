"""How fast the learner is here: microseconds an example, beside one bare pass over the vertices."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner

CLASSES = 10
BARE = 2000  # examples that the bare pass is timed on


@dataclass(frozen=True)
class Speed:
    """Microseconds an example.

    Attributes
    ----------
    n_centroids : int
    observe : float
        To learn and answer a row of a block.
    predict : float
        To answer a row of a block.
    bare : float
        To find the nearest of as many points with NumPy: a reference of the same machine and
        moment.
    """

    n_centroids: int
    observe: float
    predict: float
    bare: float


def measure(n_centroids: int, n_features: int = 16, n_examples: int = 20_000) -> Speed:
    """Time a learner of default settings on clusters made from a seed; the first tenth warms up.

    Examples
    --------
    >>> measured = measure(20, n_features=4, n_examples=100)
    >>> measured.observe > 0.0
    True
    """
    rows, centres = _clusters(n_features, n_examples)
    learner = OnlineLearner(n_centroids)
    learner.teach(centres, range(CLASSES))
    warm = n_examples // 10
    learner.observe(rows[:warm])
    learner.predict(rows[:warm])
    points = rows[:n_centroids]
    return Speed(
        n_centroids,
        observe=_timed(lambda: learner.observe(rows[warm:]), n_examples - warm),
        predict=_timed(lambda: learner.predict(rows[warm:]), n_examples - warm),
        bare=_timed(lambda: [_nearest(points, row) for row in rows[:BARE]], min(BARE, n_examples)),
    )


def _clusters(n_features: int, n_examples: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    centres = 4.0 * rng.normal(size=(CLASSES, n_features))
    rows = centres[rng.integers(CLASSES, size=n_examples)]
    return rows + rng.normal(size=rows.shape), centres


def _nearest(points: Floats, row: Floats) -> int:
    return int(np.square(points - row).sum(axis=1).argmin())


def _timed(work: Callable[[], object], n: int) -> float:
    start = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - start) / n
