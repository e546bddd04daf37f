"""Learners made to be hard: every call returns, every bound holds, every state can be saved.

A compiled loop that never ends cannot be stopped from Python, so learners run in a process of
their own, which says what it tries before it does.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk import Gaussian, OnlineLearner, SelfTuning
from labelwalk.arrays import Floats
from labelwalk.learner import from_bytes
from labelwalk.similarity import Similarity
from tests.invariants.test_extremes import assert_sound, exact_answers, unlabelled

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 240  # for 500 learners, which take half a minute on an idle processor
MOST_VERTICES = 22  # that are solved in rational numbers
WHOLE_NUMBERS = np.random.default_rng(0).integers(-3, 4, size=(300, 2)).astype(np.float64)


NAMED: dict[str, tuple[Callable[[], OnlineLearner], Floats]] = {
    "a sink that vanishes beside fading weights": (
        lambda: OnlineLearner(5, similarity=Gaussian(1.0), sink=1e-300, half_life=20),
        WHOLE_NUMBERS,
    ),
    "the same with a prior": (
        lambda: OnlineLearner(20, sink=1e-300, half_life=20, prior="uniform"),
        WHOLE_NUMBERS,
    ),
    **{
        f"growth of 1 + {excess:g}": (
            partial(OnlineLearner.paper, 5, growth=1 + excess),
            np.random.default_rng(1).normal(size=(60, 2)) * 10.0 ** np.arange(-30, 30)[:, None],
        )
        for excess in (1e-3, 1e-6, 1e-9, 1e-12, 2.3e-16)
    },
}


def random_learner(seed: int) -> tuple[OnlineLearner, Floats, list[int | None]]:
    """Return a learner of extreme settings, with rows and labels made for it."""
    rng = np.random.default_rng(seed)

    def choose(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    n, d = int(rng.integers(3, 90)), int(rng.integers(1, 4))
    scale = 10.0 ** choose(0.0, 0.0, 3.0, -3.0, -150.0, 149.5, -300.0, rng.uniform(-150, 149.5))
    normal = rng.normal(size=(n, d))
    rows = choose(
        normal,
        np.round(2 * normal),
        normal * 10.0 ** rng.uniform(-12, 0, size=(n, 1)),
        np.cumsum(np.abs(normal), axis=0) / n,
        np.where(rng.random((n, 1)) < 0.5, 1e-8, 1.0) * normal,
        rng.integers(0, 2, size=(n, d)).astype(np.float64),
    )
    threshold = choose(0.0, 1e-6, 1e-4, 0.5)
    bandwidth = max(1e-300, scale * 10.0 ** choose(0.0, -1.0, 1.0, rng.uniform(-30, 30)))
    similarity: Similarity = choose(
        SelfTuning(),
        SelfTuning(int(rng.integers(1, 8)), threshold=threshold),
        Gaussian(bandwidth, threshold),
        Gaussian("scale", threshold),
        Gaussian("cover", threshold),
    )
    label_weight = choose(3.0, None, 1e-100, 1e100, 1.0)
    forgetting: dict[str, Any] = {}
    if rng.random() < 0.35 and label_weight is not None:
        forgetting["half_life"] = choose(1.0, 2.0, 5.0, 20.0, 1000.0, 1e17, 1e80)
    learner = OnlineLearner(
        choose(1, 2, 3, 5, 8, 20),
        similarity=similarity,
        scale=choose("none", "none", "robust"),
        sink=10.0 ** choose(-4.0, -300.0, 30.0, -10.0, -1.0, rng.uniform(-300, 30)),
        growth=choose(1.5, 1.5, 2.0, 1 + 1e-9, 1.001, 1e100),
        coarsening=choose("just-enough", "doubling"),
        labelled=choose("pure", "absorb"),
        label_weight=label_weight,
        weight_cap=choose(2.0, None, 1.0001, 1e100),
        labels_per_class=choose(1, 2, 64),
        representative=choose("mean", "founder"),
        readout=choose("example", "vertex"),
        unreached=choose("nearest", "abstain"),
        quarantine=choose(5, None, 1),
        prior=choose(None, "uniform"),
        tolerance=choose(0.0, 1e-2, 1e-2, 1e-4, 1.0),
        **forgetting,
    )
    share, n_classes = choose(0.05, 0.2, 0.7), int(rng.integers(1, 5))
    labels = [int(rng.integers(n_classes)) if rng.random() < share else None for _ in range(n)]
    return learner, np.clip(rows * scale, -1e150, 1e150), labels


def learn(learner: OnlineLearner, rows: Floats, labels: list[int | None]) -> None:
    """Give a learner its rows; check each answer, and in the end all there is."""
    for row, label in zip(rows, labels, strict=True):
        if label is not None:
            learner.teach(row, label)
        else:
            assert_sound(learner.observe(row))
    assert_sound(learner.predict(rows[-1]))
    learner.ask(2)
    learner.explain(rows[0])
    learner.health()
    assert from_bytes(learner.to_bytes()).digest() == learner.digest()
    if learner.n_vertices <= MOST_VERTICES:
        check_certificate(learner)


def check_certificate(learner: OnlineLearner) -> None:
    """No vertex is further from the exact solution than the certificate says."""
    certificate, probabilities = Fraction(learner.certificate), learner.vertices.probabilities
    exact = exact_answers(learner)
    for i in np.flatnonzero(unlabelled(learner)):
        for value, right in zip(probabilities[i].tolist(), exact[i], strict=True):
            assert abs(Fraction(value) - right) <= certificate


def try_all(first: int, count: int) -> None:
    """Try the named learners and random ones; print what is tried next."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name, (make, rows) in NAMED.items():
        print(name, flush=True)
        learn(make(), rows, [i % 2 if i < 4 else None for i in range(len(rows))])
    for seed in range(first, first + count):
        print(f"seed {seed}", flush=True)
        learn(*random_learner(seed))
    print("done", flush=True)


@pytest.mark.slow
def test_every_call_returns_and_every_bound_holds(request: pytest.FixtureRequest) -> None:
    count = 2000 if request.config.getoption("--full") else 200
    timeout_s = TIMEOUT_S * (1 + count // 500)
    command = [sys.executable, "-m", "tests.invariants.test_adversarial_learners", "0", str(count)]
    try:
        run = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        tried = (error.stdout or b"").decode().splitlines()
        pytest.fail(f"no end was seen of: {tried[-1]}")
    assert run.stdout.endswith("done\n"), f"{run.stdout[-40:]}\n{run.stderr[-2000:]}"


if __name__ == "__main__":
    try_all(int(sys.argv[1]), int(sys.argv[2]))
