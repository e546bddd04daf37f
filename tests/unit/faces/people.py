"""People as vectors: each drifts from view to view around a place of their own."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats

APART = 0.75  # as far as faces of two people are in dlib's vectors
SPREAD = 0.006  # of the noise in each of the features
D = 128


def views(n: int, who: int, *, seed: int = 0) -> Floats:
    """Return n views of somebody, in the order of time."""
    centre = np.random.default_rng([who, 0]).normal(size=D)
    centre *= APART / np.sqrt(2) / np.linalg.norm(centre)
    turn = np.random.default_rng([who, 1]).normal(size=(2, D))
    turn *= 0.2 / np.linalg.norm(turn, axis=1, keepdims=True)
    rng = np.random.default_rng([who, 2, seed])
    angle = 0.1 * np.arange(n)[:, None]
    noise = SPREAD * rng.normal(size=(n, D))
    found: Floats = centre + np.sin(angle) * turn[0] + (1 - np.cos(angle)) * turn[1] + noise
    return found


def look_alike(a: Floats, b: Floats) -> Floats:
    """Return a face between those of two people that are nearest, a little nearer to the first."""
    apart = np.linalg.norm(a[:, None] - b, axis=2)
    i, j = np.unravel_index(apart.argmin(), apart.shape)
    between: Floats = 0.55 * a[i] + 0.45 * b[j]
    return between
