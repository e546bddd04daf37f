"""Online manifold regularization of one support vector machine, by its gradient in plain loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .harmonic import Matrix


@dataclass
class Kept:
    point: Matrix
    alpha: float
    labelled: bool


def kernel(x: Matrix, z: Matrix, sigma: float) -> float:
    squared = sum((a - b) ** 2 for a, b in zip(x, z, strict=True))
    return float(np.exp(-squared / (2 * sigma**2)))


@dataclass
class ReferenceManifoldSVM:
    sigma: float
    threshold: float
    size: int
    step: float
    lambda_1: float
    lambda_2: float

    def __post_init__(self) -> None:
        self.buffer: list[Kept] = []
        self.t = 0

    def f(self, x: Matrix) -> float:
        return sum(kept.alpha * kernel(kept.point, x, self.sigma) for kept in self.buffer)

    def squared_norm(self) -> float:
        return sum(kept.alpha * self.f(kept.point) for kept in self.buffer)

    def weight(self, x: Matrix, z: Matrix) -> float:
        w = kernel(x, z, self.sigma)
        return w if w >= self.threshold else 0.0

    def risk(self, x: Matrix, y: float | None) -> float:
        """The instantaneous risk J_t(f) of an example; y is +1, -1 or unknown."""
        loss = max(0.0, 1.0 - y * self.f(x)) if y is not None else 0.0
        rough = 0.0
        for kept in self.buffer:
            rough += self.weight(kept.point, x) * (self.f(kept.point) - self.f(x)) ** 2
        return loss + self.lambda_1 / 2 * self.squared_norm() + self.lambda_2 * rough

    def learn(self, x: Matrix, y: float | None) -> None:
        self.t += 1
        eta = self.step / np.sqrt(self.t)
        norm = np.sqrt(max(0.0, self.squared_norm()))
        if norm > np.sqrt(2 / self.lambda_1):
            for kept in self.buffer:
                kept.alpha *= np.sqrt(2 / self.lambda_1) / norm
        f_t = self.f(x)
        gradient = []
        own = 0.0
        for kept in self.buffer:
            slope = 2 * self.lambda_2 * self.weight(kept.point, x) * (self.f(kept.point) - f_t)
            gradient.append(self.lambda_1 * kept.alpha + slope)
            own -= slope
        if y is not None and y * f_t < 1:
            own -= y
        for kept, slope in zip(self.buffer, gradient, strict=True):
            kept.alpha -= eta * slope
        if len(self.buffer) == self.size:
            unlabelled = [kept for kept in self.buffer if not kept.labelled]
            leaving = unlabelled[0] if unlabelled else self.buffer[0]
            self.buffer = [kept for kept in self.buffer if kept is not leaving]
        self.buffer.append(Kept(x, -eta * own, y is not None))
