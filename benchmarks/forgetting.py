"""Classes that move away and come back, with and without forgetting.

An endless stream of digits (64 features, 10 classes, 4 labels per class at the start), k = 500.
Every class moves in its own direction by twice the distance between class means, stays there, and
comes back. "Back" is the accuracy over 500 examples, 1500 examples after the return; R is the
radius within which an example joins a vertex. Means of three seeds.

    python benchmarks/forgetting.py [--write docs/results/forgetting.md]
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from _report import Line, make_parser, report
from _stream import DigitStream

from labelwalk import OnlineLearner

K, SEEDS = 500, 3
AWAY = 2.0  # distances between class means
STEPS, AT_REST = 20, 6  # moves of 200 examples, and thousands of examples at either place


class MovingDigits:
    """Digits whose classes can be moved."""

    def __init__(self, seed: int) -> None:
        self.stream = DigitStream(seed)
        X, y = self.stream.draw(5000)
        means = np.array([X[y == c].mean(axis=0) for c in range(10)])
        apart = np.linalg.norm(means[:, None] - means, axis=2)
        way = np.random.default_rng(seed).normal(size=means.shape)
        self.way = way / np.linalg.norm(way, axis=1, keepdims=True) * apart[apart > 0].mean()

    def draw(self, n: int, moved: float) -> tuple[Any, Any]:
        X, y = self.stream.draw(n)
        return X + moved * self.way[y], y


def journey(seed: int, **settings: Any) -> dict[str, float]:
    """Take a learner away and back; return accuracies and radii on the way."""
    digits = MovingDigits(seed)
    learner = OnlineLearner(K, **settings)
    learner.teach(*digits.stream.labels())

    def accuracy(n: int, moved: float) -> float:
        X, y = digits.draw(n, moved)
        return float(np.mean(learner.observe(X).label == y))

    for _ in range(AT_REST):
        before = accuracy(1000, 0.0)
    figures = {"before": before, "R before": learner.radius}
    for step in range(STEPS):
        accuracy(200, AWAY * (step + 1) / STEPS)
    for _ in range(AT_REST):
        figures["away"] = accuracy(1000, AWAY)
    figures["R away"] = learner.radius
    for step in range(STEPS):
        accuracy(200, AWAY * (1.0 - (step + 1) / STEPS))
    figures["R on return"] = learner.radius
    accuracy(1500, 0.0)
    figures["back"] = accuracy(500, 0.0)
    for _ in range(AT_REST):
        accuracy(1000, 0.0)
    figures["R at last"] = learner.radius
    return figures


def lines() -> Iterator[Line]:
    for name, settings in (
        ("nothing is forgotten", {}),
        ("half_life=500", {"half_life": 500}),
        ("half_life=1000", {"half_life": 1000}),
    ):
        journeys = [journey(seed, **settings) for seed in range(SEEDS)]
        means = {what: float(np.mean([one[what] for one in journeys])) for what in journeys[0]}
        before, back = means["before"], means["back"]
        accuracies = f"before {before:.3f}, away {means['away']:.3f}, back {back:.3f}"
        goal = f"back ≥ {0.95 * before:.3f}" if settings else ""
        yield Line(name, accuracies, goal, not goal or back >= 0.95 * before)
        places = ("before", "away", "on return", "at last")
        radii = ", ".join(f"{place} {means['R ' + place]:.2f}" for place in places)
        down = means["R at last"] < max(means["R away"], means["R on return"])
        yield Line(f"{name}: R", radii, "comes down" if settings else "", not settings or down)


if __name__ == "__main__":
    sys.exit(report("Forgetting", __doc__, lines(), make_parser(__doc__).parse_args().write))
