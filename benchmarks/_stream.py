"""An endless stream of digits: 10 classes, 64 features, drawn between neighbours of one class."""

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

LABELS_PER_CLASS = 4
NEIGHBOURS = 5
NOISE = 0.5


class DigitStream:
    """scikit-learn's digits, interpolated towards a neighbour of the same class, with noise."""

    def __init__(self, seed: int = 0) -> None:
        self.X, self.y = load_digits(return_X_y=True)
        self.random = np.random.default_rng(seed)
        self.neighbours = np.empty((len(self.X), NEIGHBOURS), dtype=int)
        for digit in range(10):
            members = np.flatnonzero(self.y == digit)
            search = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(self.X[members])
            near = search.kneighbors(self.X[members], return_distance=False)
            self.neighbours[members] = members[near[:, 1:]]

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        chosen = [np.flatnonzero(self.y == digit)[:LABELS_PER_CLASS] for digit in range(10)]
        rows = np.concatenate(chosen)
        return self.X[rows], self.y[rows]

    def draw(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        rows = self.random.integers(len(self.X), size=n)
        towards = self.neighbours[rows, self.random.integers(NEIGHBOURS, size=n)]
        share = self.random.random((n, 1))
        clean = self.X[rows] + share * (self.X[towards] - self.X[rows])
        return clean + NOISE * self.random.normal(size=clean.shape), self.y[rows]

    def chunks(self, n: int, size: int = 10_000) -> Iterator[np.ndarray]:
        for start in range(0, n, size):
            yield self.draw(min(size, n - start))[0]
