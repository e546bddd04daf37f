"""Streams with faults in the second half: accuracy after a stuck source, or outliers.

optdigits, shuffled, four labels per class, k = 500, default learner. The fault starts after half of
the stream; accuracy is that of the second half, each example answered at its own step. Means of
three seeds. "Unprotected" is the same learner without weight cap and quarantine.

    python benchmarks/defence.py --data FOLDER [--write docs/results/defence.md]
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _data import LabelledStream, optdigits
from _report import Line, run_with_data

from labelwalk import OnlineLearner

K, SEEDS = 500, 3
UNPROTECTED: dict[str, Any] = {"weight_cap": None, "quarantine": None}
Attack = Callable[[OnlineLearner, LabelledStream, np.random.Generator], object]


def nothing(learner: OnlineLearner, stream: LabelledStream, rng: np.random.Generator) -> None:
    pass


def stuck(learner: OnlineLearner, stream: LabelledStream, rng: np.random.Generator) -> None:
    copies = np.repeat(stream.rows[[17]], 10_000, axis=0)
    for _ in range(10):
        learner.observe(copies)


def outliers(n: int) -> Attack:
    def attack(learner: OnlineLearner, stream: LabelledStream, rng: np.random.Generator) -> None:
        far = rng.normal(size=(n, stream.rows.shape[1])) * 1000 * stream.rows.std()
        learner.observe(stream.rows[rng.integers(0, len(stream.rows) // 2, n)] + far)

    return attack


def one_value(learner: OnlineLearner, stream: LabelledStream, rng: np.random.Generator) -> None:
    x = stream.rows[17].copy()
    x[20] = 1e9
    learner.observe(x)


def after(attack: Attack, folder: Path, seed: int, **settings: Any) -> tuple[float, float]:
    """Return the accuracy on the second half, and by how much the attack moved the bandwidth."""
    stream = optdigits(folder, seed)
    learner = OnlineLearner(K, **settings)
    learner.teach(stream.taught, stream.labels)
    half = len(stream.rows) // 2
    learner.observe(stream.rows[:half])
    bandwidth = learner.bandwidth
    attack(learner, stream, np.random.default_rng(seed))
    moved = abs(learner.bandwidth / bandwidth - 1.0)
    right = learner.observe(stream.rows[half:]).label == stream.truth[half:]
    return float(np.mean(right)), moved


def robust_scale_moved(folder: Path, seed: int) -> float:
    """Return how much one value of 1e9 moves the scale of its feature, when it is measured."""
    rows = optdigits(folder, seed).rows[:128]
    spreads = []
    for value in (rows[64, 20], 1e9):
        learner = OnlineLearner(K, scale="robust")
        rows[64, 20] = value
        learner.observe(rows)
        spreads.append(learner._engine.scale.spread[20])
    return float(abs(spreads[1] / spreads[0] - 1.0))


def lines(folder: Path) -> Iterator[Line]:
    def mean(attack: Attack, **settings: Any) -> Any:
        return np.mean([after(attack, folder, s, **settings) for s in range(SEEDS)], axis=0)

    clean, _ = mean(nothing)
    yield Line("nothing goes wrong", f"{clean:.4f}")
    attacks: list[tuple[str, Attack, float]] = [
        ("10⁵ copies of one example", stuck, 0.01),
        (f"k / 2 = {K // 2} far outliers", outliers(K // 2), 0.01),
        (f"10 k = {10 * K} far outliers", outliers(10 * K), 0.03),
        ("one value of 1e9", one_value, 0.01),
    ]
    for name, attack, allowed in attacks:
        kept, moved = mean(attack)
        bare, _ = mean(attack, **UNPROTECTED)
        figure = f"{kept:.4f} (unprotected {bare:.4f}); bandwidth moved {moved:.1%}"
        yield Line(name, figure, f"≥ {clean - allowed:.4f}", kept >= clean - allowed)
        if attack is one_value:
            yield Line(f"{name}: bandwidth moves", f"{moved:.2%}", "≤ 5 %", moved <= 0.05)
    moved = float(np.mean([robust_scale_moved(folder, s) for s in range(SEEDS)]))
    yield Line("one value of 1e9: robust scale moves", f"{moved:.2%}", "≤ 5 %", moved <= 0.05)


if __name__ == "__main__":
    run_with_data("Defence", __doc__, lines)
