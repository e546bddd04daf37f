"""Nothing stops an example halfway, and what fails halfway is noticed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numba import config, njit
from numba.core.codegen import CPUCodeLibrary
from sklearn.datasets import load_digits

import labelwalk.learner
from labelwalk import OnlineLearner, concurrency, load
from labelwalk.concurrency import defer_interrupts, deliver_interrupts, recover_interrupts
from labelwalk.engine import cover
from labelwalk.engine.engine import Engine
from labelwalk.storage.model_file import ModelFileError
from tests.support.interrupts import interrupt_at_event

# An interrupt inside the lock of the coverage tracer would leave it locked for all later tests.
pytestmark = pytest.mark.no_cover


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done = []

    def work() -> None:
        with defer_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("after the signal")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["after the signal"]


def test_the_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with defer_interrupts():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_other_threads_hold_nothing() -> None:
    seen: list[Any] = []

    def work() -> None:
        before = signal.getsignal(signal.SIGINT)
        with defer_interrupts():
            seen.append(signal.getsignal(signal.SIGINT) == before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]


def test_nothing_is_left_to_deliver_after_a_block() -> None:
    with pytest.raises(KeyboardInterrupt), defer_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
    deliver_interrupts()


@contextmanager
def handled(number: int, handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Handle a signal inside the block; afterwards, all handlers are as before."""
    before = {each: signal.getsignal(each) for each in concurrency.SIGNALS}
    signal.signal(number, handler)
    try:
        yield
    finally:
        for each, previous in before.items():
            signal.signal(each, previous)


def ring(number: int, frame: Any) -> None:
    raise TimeoutError


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_handler_that_raises_while_others_are_replaced_leaves_them_in_place(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarms = [signal.SIGALRM]

    def replace(each: int, handler: Any) -> None:
        signal.signal(each, handler)
        if each == number and alarms:
            signal.raise_signal(alarms.pop())

    with handled(signal.SIGTERM, print), handled(signal.SIGALRM, ring):
        before = {each: signal.getsignal(each) for each in concurrency.SIGNALS}
        with monkeypatch.context() as patch:
            patch.setattr(concurrency, "set_handler", replace)
            with pytest.raises(TimeoutError), defer_interrupts():
                raise AssertionError("the block was entered")
        assert {each: signal.getsignal(each) for each in concurrency.SIGNALS} == before


@pytest.mark.parametrize("delivers", [False, True])
def test_every_deferred_signal_is_delivered_even_if_a_handler_raises(delivers: bool) -> None:
    heard: list[int] = []

    def work() -> None:
        with defer_interrupts():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
                signal.raise_signal(number)
            assert heard == []
            if delivers:
                deliver_interrupts()

    with handled(signal.SIGTERM, lambda number, _: heard.append(number)):
        with pytest.raises(KeyboardInterrupt):
            work()
        assert heard == [signal.SIGTERM, signal.SIGTERM]


@pytest.mark.parametrize("action", ["teach", "observe", "teach_later"])
def test_the_loop_is_compiled_before_interrupts_are_deferred(
    action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = OnlineLearner(5)
    learner.observe([[0.0], [1.0]])
    handlers: list[object] = []
    monkeypatch.setattr(
        Engine, "compile", lambda self: handlers.append(signal.getsignal(signal.SIGINT))
    )
    labelwalk.learner._compile_loop.cache_clear()
    if action == "observe":
        learner.observe([[2.0]])
    elif action == "teach":
        learner.teach([2.0], "a")
    else:
        learner.teach_later(0, "a")
    assert len(handlers) == 1
    assert handlers[0] != concurrency._hold


@pytest.mark.parametrize("error", [None, RuntimeError("no compiled object yet")])
def test_an_interrupt_that_a_library_swallows_is_raised(error: Exception | None) -> None:
    before = signal.getsignal(signal.SIGINT)

    def work() -> None:
        with suppress(KeyboardInterrupt):  # as Python does in a callback from C
            signal.raise_signal(signal.SIGINT)
        if error:
            raise error

    with pytest.raises(KeyboardInterrupt), recover_interrupts():
        work()
    assert signal.getsignal(signal.SIGINT) == before


def test_another_error_or_a_handler_that_does_not_raise_is_not_an_interrupt() -> None:
    heard: list[int] = []

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError

    previous = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with pytest.raises(ZeroDivisionError), recover_interrupts():
            work()
    finally:
        signal.signal(signal.SIGINT, previous)
    assert heard == [signal.SIGINT]


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_in_a_callback_of_the_compiler_is_raised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def set_compiled(library: CPUCodeLibrary, value: bool) -> None:
        vars(library)["_compiled"] = value
        if value:  # the compiler has called back with machine code for the cache
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    kernel: Callable[[float], float] = njit(cache=True)(lambda x: x + 1.0)
    with monkeypatch.context() as patch:
        compiled = property(lambda library: vars(library)["_compiled"], set_compiled)
        patch.setattr(CPUCodeLibrary, "_compiled", compiled, raising=False)
        with pytest.raises(KeyboardInterrupt), recover_interrupts():
            kernel(1.0)
    assert kernel(1.0) == 2.0


@pytest.mark.parametrize("scale", ["none", "robust"])
def test_an_interrupted_learner_has_learned_whole_rows(scale: Literal["none", "robust"]) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 3))
    learner, straight = (OnlineLearner(10, scale=scale) for _ in range(2))
    for each in (learner, straight):
        each.teach(rows[:2], ["a", "b"])
    with interrupt_at_event(40), pytest.raises(KeyboardInterrupt):
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


def test_a_broken_learner_leaves_the_last_file_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    learner, path = OnlineLearner(3), tmp_path / "a.labelwalk"
    rows = np.random.default_rng(1).normal(size=(50, 2))
    learner.teach(rows[0], "a")
    learner.save(path)
    saved = learner.digest()
    monkeypatch.setattr(Engine, "measure", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        learner.observe(rows)
    with pytest.raises(ModelFileError, match=r"a\.labelwalk is not written.*partially learned"):
        learner.save(path)
    with pytest.raises(ModelFileError, match="is not written"):
        learner.to_bytes()
    assert load(path).digest() == saved


def test_interrupts_are_delivered_where_they_may_be_and_once() -> None:
    done = []

    def work() -> None:
        with defer_interrupts(), defer_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("after the signal")
            deliver_interrupts()
            done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["after the signal"]
    with defer_interrupts():
        deliver_interrupts()


def test_a_handler_that_does_not_raise_is_called_and_the_stream_goes_on() -> None:
    heard: list[int] = []
    rows = np.random.default_rng(2).normal(size=(400, 3))
    learner, straight = OnlineLearner(10), OnlineLearner(10)
    previous = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with sent_after(0.0, signal.SIGINT):
            learner.observe(rows)
    finally:
        signal.signal(signal.SIGINT, previous)
    straight.observe(rows)
    assert heard == [signal.SIGINT]
    assert learner.digest() == straight.digest()


def test_any_signal_whose_handler_raises_waits_for_a_whole_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = np.random.default_rng(3).normal(size=(300, 3))
    learner, straight = OnlineLearner(10), OnlineLearner(10)
    coarsen = cover.coarsen

    def alarmed(*state: Any) -> Any:
        os.kill(os.getpid(), signal.SIGALRM)
        return coarsen(*state)

    with handled(signal.SIGALRM, ring), monkeypatch.context() as patch:
        patch.setattr(cover, "coarsen", alarmed)
        with pytest.raises(TimeoutError):
            learner.observe(rows)
    assert 0 < learner.n_seen < len(rows)
    straight.observe(rows[: learner.n_seen])
    assert learner.digest() == straight.digest()


RESEND_S = 20.0


@contextmanager
def sent_after(
    seconds: float, number: int = signal.SIGINT, sent_at: list[float] | None = None
) -> Iterator[None]:
    """Send a signal to this process after a while; `sent_at` gets the times when it was sent.

    It is sent again every `RESEND_S`: Python drops what a handler raises inside a callback of the
    garbage collector, and other libraries of the test process have such callbacks.
    """
    is_done = threading.Event()

    def send() -> None:
        time.sleep(seconds)
        is_waiting = True
        while is_waiting:
            if sent_at is not None:
                sent_at.append(time.perf_counter())
            os.kill(os.getpid(), number)
            is_waiting = not is_done.wait(RESEND_S)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        is_done.set()
        sender.join()


def test_one_call_of_many_rows_can_be_interrupted() -> None:
    rows = np.random.default_rng(4).normal(size=(600_000, 3))
    learner = OnlineLearner(20)
    learner.teach(rows[:4], ["a", "b", "a", "b"])
    with pytest.raises(KeyboardInterrupt), sent_after(0.1):
        learner.observe(rows)
    assert learner.n_seen < len(rows)

    def predict_for_ever() -> None:
        while True:
            learner.predict(rows)

    with pytest.raises(KeyboardInterrupt), sent_after(0.1):
        predict_for_ever()


DIGITS = load_digits().data
NAMES = load_digits().target
KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "half-life": {"half_life": 300.0},
    "prior": {"prior": "uniform"},
}


def interrupted(seed: int, folder: Path) -> float:
    """Interrupt a learner at random; check what is left of it; return how long that took."""
    rng = np.random.default_rng(seed)
    settings = KINDS[sorted(KINDS)[seed % len(KINDS)]]
    learner, twin, other = (OnlineLearner(int(40 + seed % 5 * 100), **settings) for _ in range(3))
    other.teach(DIGITS[:20], NAMES[:20])
    other.observe(DIGITS[20:120])
    first, second = folder / f"{seed}-first.labelwalk", folder / f"{seed}-second.labelwalk"
    calls: list[tuple[str, Any, Any, int]] = []
    sent_at: list[float] = []

    def call_for_ever() -> None:
        while True:
            action = str(rng.choice(["observe", "observe", "teach", "predict", "merge", "save"]))
            start = int(rng.integers(0, 900))
            rows, labels = DIGITS[start : start + 700], NAMES[start : start + 20]
            calls.append((action, rows, labels, learner.n_seen))
            if action == "teach":
                learner.teach(rows[:20], labels)
            elif action == "merge":
                learner.merge(other)
            elif action == "save":
                learner.save(first)
            else:
                getattr(learner, action)(rows)

    with (
        pytest.raises(KeyboardInterrupt),
        sent_after(float(rng.exponential(0.15)), sent_at=sent_at),
    ):
        call_for_ever()
    took_s = time.perf_counter() - sent_at[-1]
    ends = [n_seen for *_, n_seen in calls[1:]] + [learner.n_seen] * bool(calls)
    for (action, rows, labels, n_seen), end in zip(calls, ends, strict=True):
        learned = end - n_seen
        if action == "merge" and learned:
            assert learned == other.n_seen
            twin.merge(other)
        elif action == "teach" and learned:
            twin.teach(rows[:learned], labels[:learned])
        elif action == "observe" and learned:
            twin.observe(rows[:learned])
    assert learner.digest() == twin.digest()
    if first.exists():
        load(first).observe(DIGITS[:20])
    learner.save(second)
    again = load(second)
    assert again.observe(DIGITS[:50]).label.tolist() == learner.observe(DIGITS[:50]).label.tolist()
    return took_s


@pytest.mark.slow
def test_interrupts_at_random_leave_whole_rows(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    n_interrupts = 500 if request.config.getoption("--full") else 40
    took_s = [interrupted(seed, tmp_path) for seed in range(n_interrupts)]
    print(f"{n_interrupts} interrupts; seconds until Ctrl-C returned: {max(took_s):.3f} at most")
