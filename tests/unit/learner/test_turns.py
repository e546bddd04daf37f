"""Threads that share a learner."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from labelwalk import OnlineLearner
from labelwalk.learner import from_bytes
from tests.unit.kernels.test_certificate import (
    ROUNDING,
    assert_kept_as_recomputed,
    exact,
    stored_graph,
    worst,
)


def test_threads_share_a_learner() -> None:
    rng = np.random.default_rng(0)
    rows = 6.0 * rng.integers(3, size=(2400, 1)) + rng.normal(size=(2400, 8))
    learner = OnlineLearner(n_centroids=40)
    learner.teach(rows[:3], ["a", "b", "c"])
    known = set(learner.classes)

    def observe(block: Any) -> Any:
        return learner.observe(block).label.tolist()

    def look(i: int) -> Any:
        found = learner.predict(rows[i : i + 50])
        assert np.isfinite(found.confidence).all()
        copy = from_bytes(learner.to_bytes())
        assert copy.n_vertices == len(copy.vertices)
        assert all(np.isfinite(sign.value) for sign in learner.health())
        return found.label.tolist()

    with ThreadPoolExecutor(6) as threads:
        said = [threads.submit(observe, block) for block in np.array_split(rows, 48)]
        said += [threads.submit(look, 40 * i) for i in range(48)]
        answers = [one.result() for one in said]
    assert learner.n_seen == 3 + len(rows)
    assert {label for labels in answers for label in labels} <= known | {None}
    assert_kept_as_recomputed(learner)  # in whatever order they came
    truth = exact(stored_graph(learner))
    assert worst(learner.vertices.probabilities, truth) <= learner.certificate + ROUNDING
