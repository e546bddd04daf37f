"""Online semi-supervised boosting of neighbourhoods, one number at a time."""

from __future__ import annotations

import numpy as np

from .harmonic import Matrix


def similarity(x: Matrix, z: Matrix, sigma: float) -> float:
    squared = 0.0
    for a, b in zip(x, z, strict=True):
        squared += (a - b) ** 2
    return float(np.exp(-squared / (2 * sigma**2)))


class ReferenceSemiBoost:
    """One regressor a class; `regressors[c]` holds a pair (candidate, alpha) for each selector."""

    def __init__(
        self,
        candidates: Matrix,
        sigma: float,
        epsilon: float,
        n_selectors: int,
        n_classes: int,
        prior_epsilon: float,
    ) -> None:
        self.candidates = candidates
        self.sigma = sigma
        self.epsilon = epsilon
        self.prior_epsilon = prior_epsilon
        self.n_classes = n_classes
        self.labelled: list[tuple[Matrix, int]] = []
        n, m = min(n_selectors, len(candidates)), len(candidates)
        self.right = [[[1.0] * m for _ in range(n)] for _ in range(n_classes)]
        self.wrong = [[[1.0] * m for _ in range(n)] for _ in range(n_classes)]
        self.regressors = [[(0, 0.0)] * n for _ in range(n_classes)]

    def teach(self, x: Matrix, label: int) -> None:
        self.labelled.append((x, label))
        for c in range(self.n_classes):
            self.boost(c, x, y=1 if c == label else -1)

    def observe(self, x: Matrix) -> list[float]:
        """H / Σα of each class as it was before x."""
        H = [self.share(c, x) for c in range(self.n_classes)]
        for c in range(self.n_classes):
            self.boost(c, x, prior=self.prior(c, x))
        return H

    def weak(self, i: int, x: Matrix) -> int:
        return 1 if similarity(self.candidates[i], x, self.sigma) >= self.epsilon else 0

    def share(self, c: int, x: Matrix) -> float:
        H = sum(alpha * self.weak(i, x) for i, alpha in self.regressors[c])
        total = sum(alpha for _, alpha in self.regressors[c])
        return H / total if total > 0 else 0.0

    def prior(self, c: int, x: Matrix) -> float:
        nearest, most = -1, -1.0
        for z, label in self.labelled:
            w = similarity(z, x, self.sigma)
            if w > most + 1e-12:
                nearest, most = label, w
        if most < self.prior_epsilon:
            return 0.0
        return 1.0 if nearest == c else -1.0

    def boost(self, c: int, x: Matrix, y: int = 0, prior: float = 0.0) -> None:
        """y is +1 or -1, or 0 where x has no label."""
        H, total, taken = 0.0, 0.0, []
        for n in range(len(self.regressors[c])):
            F = H / total if total > 0 else 0.0
            if y != 0:
                z = y * np.exp(-y * F)
            else:
                z = np.tanh(2 * prior) - np.tanh(2 * F)
            best, smallest = -1, 2.0
            for i in range(len(self.candidates)):
                if self.weak(i, x) == 1 and z > 0:
                    self.right[c][n][i] += abs(z)
                if self.weak(i, x) == 1 and z < 0:
                    self.wrong[c][n][i] += abs(z)
                right, wrong = self.right[c][n][i], self.wrong[c][n][i]
                error = wrong / (right + wrong)
                # an error that differs by rounding only is the same error
                if i not in taken and error < smallest - 1e-12:
                    best, smallest = i, error
            taken.append(best)
            alpha = max(0.0, np.log((1 - smallest) / smallest))
            self.regressors[c][n] = (best, alpha)
            H += alpha * self.weak(best, x)
            total += alpha
