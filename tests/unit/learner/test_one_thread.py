"""Results do not depend on the number of BLAS threads, and the limit ends with its block."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from labelwalk.concurrency import single_blas_thread
from labelwalk.solver.harmonic import solve, solve_soft
from tests.support.small_graphs import mask


def blas_threads() -> set[int]:
    """Return the limits of the BLAS libraries of NumPy and SciPy; OpenCV may load another one."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    ours = [pool for pool in pools if "opencv" not in pool["filepath"]]
    return {pool["num_threads"] for pool in ours}


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2))
    w = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2))
    y = np.eye(5)[rng.integers(0, 5, 300)]
    answers = set()
    for threads in (1, 2, 4):
        with threadpool_limits(threads, user_api="blas"):
            f = solve(w, mask(300, *range(10)), y, sink=0.01)
            g = solve_soft(w, mask(300, 1), y, c_u=0.1, sink=1e-9, normalised=True)
            answers.add(f.tobytes() + g.tobytes())
    assert len(answers) == 1


def test_nested_and_lifted() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_blas_thread():
            with single_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_lifted_after_an_error() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(ZeroDivisionError), single_blas_thread():
            _ = 1 / 0
        assert blas_threads() == before


def test_several_threads_take_turns() -> None:
    seen: list[set[int]] = []

    def work() -> None:
        for _ in range(20):
            with single_blas_thread():
                seen.append(blas_threads())

    before = blas_threads()
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert seen == [{1}] * 80
    assert blas_threads() == before
