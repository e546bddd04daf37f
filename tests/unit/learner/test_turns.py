"""Threads that share a learner."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

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


def run_together(*functions: Callable[[], object]) -> None:
    """Call functions in threads; fail after a minute, or with the first error of one."""
    errors: list[BaseException] = []

    def run(function: Callable[[], object]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[each], daemon=True) for each in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    if errors:
        raise errors[0]


def start_learner(seed: int, labels: list[str]) -> OnlineLearner:
    """Return a learner that has been taught and has observed."""
    rows = np.random.default_rng(seed).normal(size=(60, 8))
    learner = OnlineLearner(n_centroids=40)
    learner.teach(rows[: len(labels)], labels)
    learner.observe(rows)
    return learner


def test_a_learner_that_observes_is_merged_between_two_calls() -> None:
    other = start_learner(0, ["a", "b"])
    rows = np.random.default_rng(1).normal(size=(2000, 8))
    counts = {other.n_seen + 200 * i for i in range(11)}
    is_done = threading.Event()

    def observe() -> None:
        for block in np.array_split(rows, 10):
            other.observe(block)
        is_done.set()

    def merge() -> None:
        last = False
        while not last:
            last = is_done.is_set()
            learner = start_learner(2, ["b", "c"])
            first = learner.n_seen
            learner.merge(other)
            assert learner.n_seen - first in counts
            assert learner.classes == ("b", "c", "a")
            assert_kept_as_recomputed(learner)
            from_bytes(learner.to_bytes())

    run_together(observe, merge)
    assert_kept_as_recomputed(other)


def test_a_merge_waits_for_the_other_learner() -> None:
    learner, other = start_learner(0, ["a", "b"]), start_learner(1, ["b", "c"])
    first = learner.n_seen
    with ThreadPoolExecutor(1) as threads:
        with other._lock:
            merged = threads.submit(learner.merge, other)
            other.observe(np.zeros((50, 8)))
            with pytest.raises(TimeoutError):
                merged.result(0.5)
        merged.result(60.0)
    assert learner.n_seen == first + other.n_seen


def test_two_learners_that_merge_each_other_do_not_wait_forever() -> None:
    one, other = start_learner(0, ["a", "b"]), start_learner(1, ["b", "c"])
    barrier = threading.Barrier(2)

    def merge(learner: OnlineLearner, source: OnlineLearner) -> None:
        for _ in range(10):
            barrier.wait(60.0)
            learner.merge(source)

    run_together(lambda: merge(one, other), lambda: merge(other, one))
    assert {*one.classes} == {*other.classes} == {"a", "b", "c"}
    for learner in (one, other):
        assert_kept_as_recomputed(learner)


def test_a_learner_can_be_merged_with_itself() -> None:
    learner = start_learner(0, ["a", "b"])
    n = learner.n_seen
    learner.merge(learner)
    assert learner.n_seen == 2 * n
    assert_kept_as_recomputed(learner)
