"""Manifolds and drifting clusters, made from a seed."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from paper.datasets.dataset import Dataset


def moons(n: int = 2000, noise: float = 0.08, seed: int = 0) -> Dataset:
    """Two crescents that reach into each other.

    Examples
    --------
    >>> moons(10).n_classes
    2
    """
    random = np.random.default_rng(seed)
    y, angle = random.integers(2, size=n), np.pi * random.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y == 1] = [1.0, 0.5] - X[y == 1]
    return Dataset("moons", _noisy(X, noise, random), y, False, "two crescents, made from a seed")


def spirals(n: int = 3000, arms: int = 3, noise: float = 0.05, seed: int = 0) -> Dataset:
    """Arms that wind around each other once and a half.

    Examples
    --------
    >>> spirals(10, arms=2).n_classes
    2
    """
    random = np.random.default_rng(seed)
    y, along = np.arange(n) % arms, np.sqrt(random.random(n))
    random.shuffle(y)
    angle = 3 * np.pi * along + 2 * np.pi * y / arms
    X = 3 * along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    note = f"{arms} spirals, made from a seed"
    return Dataset("spirals", _noisy(X, noise, random), y, False, note)


def swiss_roll(n: int = 3000, classes: int = 4, noise: float = 0.2, seed: int = 0) -> Dataset:
    """A rolled-up sheet in three dimensions; classes are strips along the roll.

    Examples
    --------
    >>> swiss_roll(100).X.shape
    (100, 3)
    """
    random = np.random.default_rng(seed)
    along = random.random(n)
    angle = 1.5 * np.pi * (1 + 2 * along)
    X = np.column_stack([angle * np.cos(angle), 21 * random.random(n), angle * np.sin(angle)])
    y = np.minimum((classes * along).astype(np.int64), classes - 1)
    note = f"a rolled-up sheet in {classes} strips, made from a seed"
    return Dataset("swiss_roll", _noisy(X, noise, random), y, False, note)


def drifting(n: int = 6000, classes: int = 4, seed: int = 0) -> Dataset:
    """Gaussian clusters that move around a circle, once around while the stream passes.

    Examples
    --------
    >>> drifting(100).in_time
    True
    """
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    angle = 2 * np.pi * (y / classes + np.arange(n) / n)
    X = 5 * np.column_stack([np.cos(angle), np.sin(angle)])
    note = f"{classes} Gaussian clusters that move around a circle, made from a seed"
    return Dataset("drifting", _noisy(X, 0.5, random), y, True, note)


def _noisy(X: Floats, noise: float, random: np.random.Generator) -> Floats:
    return np.asarray(X + noise * random.normal(size=X.shape))


def uniform_cube(n: int, dimensions: int, seed: int = 0) -> Floats:
    """Return points spread evenly over a cube: a manifold whose dimension is known.

    Examples
    --------
    >>> uniform_cube(5, 2).shape
    (5, 2)
    """
    return np.random.default_rng(seed).random((n, dimensions))
