"""Late labels: the effect of one label, and teach_later compared with teach.

One late label: nine digits, or nine of ten clusters, are taught four labels each, and 50 000
examples pass. Then one example of the tenth is taught. The table counts the vertices of the tenth
(by the class of the nearest of 2000 examples) that get its label immediately. Late and immediate
labels: optdigits, k = 500, 1000 examples, then labels of 40 of them, by id or as examples; accuracy
on the rest, means of three seeds.

    python benchmarks/late_labels.py --data FOLDER [--write docs/results/late-labels.md]
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _data import optdigits
from _report import Line, run_with_data
from _stream import DigitStream

from labelwalk import OnlineLearner

LAST = 9  # the class that is taught late
Draw = Callable[[int], tuple[Any, Any]]


def clusters() -> Draw:
    """Ten Gaussian clusters in 16 dimensions that hardly touch."""
    rng = np.random.default_rng(0)
    centres = 3.0 * rng.normal(size=(10, 16))

    def draw(n: int) -> tuple[Any, Any]:
        y = rng.integers(0, 10, n)
        return centres[y] + rng.normal(size=(n, 16)), y

    return draw


def measure_late_label(draw: Draw, k: int, **settings: Any) -> float:
    """Return the share of the last class's vertices that one late label names."""
    learner = OnlineLearner(k, **settings)
    X, y = draw(2000)
    for c in range(LAST):
        learner.teach(X[y == c][:4], [c] * 4)
    for _ in range(10):
        learner.observe(draw(5000)[0])
    learner.teach(X[y == LAST][7], LAST)
    points = learner.vertices.means
    nearest = np.array([((X - point) ** 2).sum(axis=1).argmin() for point in points])
    named = learner.predict(points).label
    return float(np.mean(named[y[nearest] == LAST] == LAST))


def late_or_not(folder: Path, seed: int) -> tuple[float, float]:
    stream = optdigits(folder, seed)
    rng, right = np.random.default_rng(seed), []
    chosen = rng.permutation(1000)[:40]
    for late in (True, False):
        learner = OnlineLearner(500, remember=2000)
        learner.observe(stream.rows[:1000])
        for i in chosen.tolist():
            if late:
                learner.teach_later(i, int(stream.truth[i]))
            else:
                learner.teach(stream.rows[i], int(stream.truth[i]))
        verdicts = learner.observe(stream.rows[1000:])
        right.append(float(np.mean(verdicts.label == stream.truth[1000:])))
    return right[0], right[1]


def lines(folder: Path) -> Iterator[Line]:
    for k in (200, 500):
        for name, draw in (("clusters", clusters()), ("digits", DigitStream().draw)):
            share = measure_late_label(draw, k)
            goal = "≥ 80 %" if name == "clusters" else ""
            figure = f"{share:.0%} of its vertices"
            yield Line(f"one late label, {name}, k={k}", figure, goal, not goal or share >= 0.8)
    late, at_once = np.mean([late_or_not(folder, seed) for seed in range(3)], axis=0)
    figure = f"{late:.4f} by teach_later, {at_once:.4f} by teach"
    yield Line("40 labels of earlier examples", figure, "the same", abs(late - at_once) <= 0.005)


if __name__ == "__main__":
    run_with_data("Late labels", __doc__, lines)
