"""Temporal label propagation that forgets nothing: one graph of all examples there ever were.

Two unlabelled examples are joined if the window ever held both, an unlabelled and a labelled one if
the window held the first when the second was there. Nobody is eliminated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .harmonic import Matrix, hard


class ReferenceTemporal:
    def __init__(self, bandwidth: float, threshold: float, window: int, sink: float) -> None:
        self.bandwidth = bandwidth
        self.threshold = threshold
        self.window = window
        self.sink = sink
        self.points: list[Sequence[float]] = []
        self.codes: list[int] = []  # -1: unlabelled
        self.edges: dict[tuple[int, int], float] = {}

    def teach(self, x: Sequence[float], code: int) -> None:
        self.add(x, code, self.unlabelled()[-self.window :])

    def observe(self, x: Sequence[float], n_classes: int) -> Matrix:
        labelled = [i for i, code in enumerate(self.codes) if code >= 0]
        others_in_window = self.unlabelled()[-(self.window - 1) :] if self.window > 1 else []
        self.add(x, -1, labelled + others_in_window)
        answer: Matrix = self.solution(n_classes)[-1]
        return answer

    def unlabelled(self) -> list[int]:
        return [i for i, code in enumerate(self.codes) if code < 0]

    def add(self, x: Sequence[float], code: int, joined_to: list[int]) -> None:
        i = len(self.points)
        self.points.append(x)
        self.codes.append(code)
        for j in joined_to:
            squared = sum((a - b) ** 2 for a, b in zip(x, self.points[j], strict=True))
            similar = float(np.exp(-squared / (2 * self.bandwidth**2)))
            if similar >= self.threshold:
                self.edges[i, j] = similar

    def solution(self, n_classes: int) -> Matrix:
        n = len(self.points)
        W = np.zeros((n, n))
        for (i, j), similar in self.edges.items():
            W[i, j] = W[j, i] = similar
        labelled = [i for i, code in enumerate(self.codes) if code >= 0]
        Y_l = np.zeros((len(labelled), n_classes))
        for row, i in enumerate(labelled):
            Y_l[row, self.codes[i]] = 1.0
        return hard(W, labelled, Y_l, self.sink)
