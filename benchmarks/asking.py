"""Requested labels against random labels: how many give the same accuracy.

The learner first sees 2000 unlabelled examples. Then it is taught labels, either of random examples
or of those it asks for (four questions at a time), and it labels 2000 later examples. Means of five
seeds; faces are shuffled. The learner has default settings.

    python benchmarks/asking.py --data FOLDER [--write docs/results/asking.md]
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _data import Loader, faces, optdigits
from _report import Line, run_with_data

from labelwalk import OnlineLearner

SEEN, NAMED, TOGETHER, SEEDS = 2000, 2000, 4, 5
STREAMS: dict[str, tuple[Loader, int, int]] = {
    "optdigits": (optdigits, 500, 80),
    "faces": (faces, 300, 32),
}


def load_shuffled(load: Loader, folder: Path, seed: int) -> tuple[Any, Any]:
    stream = load(folder, seed).whole
    order = np.random.default_rng(seed).permutation(len(stream.rows))
    return stream.rows[order], stream.truth[order]


def accuracies(X: Any, y: Any, k: int, budgets: list[int], rule: str, seed: int) -> list[float]:
    learner = OnlineLearner(k, remember=2 * SEEN)
    learner.observe(X[:SEEN])
    at_random = iter(np.random.default_rng(seed).permutation(SEEN).tolist())
    n_taught, reached = 0, []
    for budget in budgets:
        while n_taught < budget:
            few = min(TOGETHER, budget - n_taught)
            for number in _chosen(learner, few, rule, at_random):
                learner.teach_later(number, int(y[number]))
                n_taught += 1
        named = learner.predict(X[SEEN : SEEN + NAMED]).label
        reached.append(float(np.mean(named == y[SEEN : SEEN + NAMED])))
    return reached


def _chosen(learner: OnlineLearner, n: int, rule: str, at_random: Iterator[int]) -> list[int]:
    if rule == "random":
        return [next(at_random) for _ in range(n)]
    return [question.example_id for question in learner.ask(n, by=rule)]  # type: ignore[misc, arg-type]


def lines(folder: Path) -> Iterator[Line]:
    for name, (load, k, many) in STREAMS.items():
        data = [load_shuffled(load, folder, seed) for seed in range(SEEDS)]
        budgets = [many // 4, many // 2, many]
        figures = {
            rule: np.mean(
                [accuracies(X, y, k, budgets, rule, s) for s, (X, y) in enumerate(data)], axis=0
            )
            for rule in ("random", "error", "uncertainty", "variance")
        }
        random = figures["random"][-1]
        for rule, reached in figures.items():
            figure = ", ".join(f"{b}: {a:.3f}" for b, a in zip(budgets, reached, strict=True))
            goal = f"{many // 2} labels: ≥ {random:.3f}" if rule == "error" else ""
            how = "at random" if rule == "random" else f"asked by {rule}"
            yield Line(f"{name}, {how}", figure, goal, not goal or reached[1] >= random)


if __name__ == "__main__":
    run_with_data("Asking", __doc__, lines)
