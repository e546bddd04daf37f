"""Nothing stops an example halfway, and what fails halfway is noticed."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any, Literal

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.engine import Engine
from labelwalk.interrupts import held_interrupts


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done = []

    @held_interrupts()
    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        done.append("after the signal")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["after the signal"]


def test_the_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with held_interrupts():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_other_threads_hold_nothing() -> None:
    seen: list[Any] = []

    def work() -> None:
        before = signal.getsignal(signal.SIGINT)
        with held_interrupts():
            seen.append(signal.getsignal(signal.SIGINT) == before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]


@pytest.mark.parametrize("scale", ["none", "robust"])
def test_an_interrupted_learner_has_learned_whole_rows(
    scale: Literal["none", "robust"], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 3))
    attend, calls = Engine._attend, []

    def interrupted(self: Engine, *event: Any) -> None:
        calls.append(event)
        if len(calls) == 40:
            os.kill(os.getpid(), signal.SIGINT)
        attend(self, *event)

    learner, straight = (OnlineLearner(10, scale=scale) for _ in range(2))
    for each in (learner, straight):
        each.teach(rows[:2], ["a", "b"])
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "_attend", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.observe(rows)
    straight.observe(rows[: learner.n_seen - 2])
    assert learner.digest() == straight.digest()
    rest = rows[learner.n_seen - 2 :]
    assert learner.observe(rest).label.tolist() == straight.observe(rest).label.tolist()
    assert learner.digest() == straight.digest()


def test_a_learner_that_broke_halfway_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = OnlineLearner(3)
    rows = np.random.default_rng(1).normal(size=(50, 2))

    def broken(self: Engine, *event: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "measure", broken)
        with pytest.raises(MemoryError):
            learner.observe(rows)
    with pytest.raises(RuntimeError, match="Load it from its last file"):
        learner.observe(rows)
