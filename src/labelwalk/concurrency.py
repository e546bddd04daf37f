"""Concurrency: locks, deferred interrupts, signals that end a run, and BLAS with one thread."""

import os
import signal
import threading
from _signal import getsignal as get_handler  # type: ignore[import-not-found]
from _signal import signal as set_handler
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from types import FrameType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from threadpoolctl import ThreadpoolController

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Lockable(Protocol):
    """An object with a reentrant lock."""

    _lock: threading.RLock


Self_ = TypeVar("Self_", bound=Lockable)


def synchronized(
    method: Callable[Concatenate[Self_, Given], Answer],
) -> Callable[Concatenate[Self_, Given], Answer]:
    """Execute the synchronized methods of an object in one thread at a time.

    Examples
    --------
    >>> class Counter:
    ...     def __init__(self):
    ...         self._lock, self.n = threading.RLock(), 0
    ...
    ...     @synchronized
    ...     def count(self):
    ...         self.n += 1
    >>> counter = Counter()
    >>> counter.count()
    >>> counter.n
    1
    """

    @wraps(method)
    def waiting(self: Self_, /, *args: Given.args, **named: Given.kwargs) -> Answer:
        with self._lock:
            return method(self, *args, **named)

    return waiting


_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
SIGNALS = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))

# Python runs handlers in the main thread alone, so what that thread holds back is all there is.
_held: dict[int, Callable[[int, FrameType | None], Any]] = {}
_pending: list[int] = []


def _hold(number: int, _: FrameType | None) -> None:
    _pending.append(number)


class defer_interrupts:  # noqa: N801  # reads as a function
    """Defer signals inside the block, and deliver them at its end.

    Their handlers may raise an exception, as that of Ctrl-C does, which must not happen while a
    state is changed. `deliver_interrupts` marks places in the block where it may. The function has
    no effect inside another such block, or outside the main thread.
    """

    is_outermost = False

    def __enter__(self) -> None:
        if _held or threading.get_ident() != threading.main_thread().ident:
            return
        self.is_outermost = True
        _pending.clear()
        try:
            for number in SIGNALS:
                handler = get_handler(number)
                if callable(handler):
                    _held[number] = handler  # first: another handler may raise at any time
                    set_handler(number, _hold)
        except BaseException:  # a handler that was not held yet has raised
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if not self.is_outermost:
            return
        try:
            for number, handler in _held.items():
                set_handler(number, handler)
        except BaseException:  # a handler that was restored first has raised
            for number, handler in _held.items():
                set_handler(number, handler)
            raise
        finally:
            _held.clear()
            if _pending:
                with ExitStack() as stack:  # it calls all handlers, even if one raises
                    while _pending:
                        stack.callback(signal.raise_signal, _pending.pop())


def deliver_interrupts() -> None:
    """Deliver the signals that were deferred since the block began."""
    if _pending and threading.current_thread() is threading.main_thread():
        while _pending:
            number = _pending.pop(0)
            _held[number](number, None)


@contextmanager
def recover_interrupts() -> Iterator[None]:
    """Raise what a signal handler has raised in the block, even if a library has swallowed it.

    Python drops exceptions in callbacks from C, such as those of a compiler, which then fails with
    another error or continues. The function has no effect outside the main thread.
    """
    handlers = {number: get_handler(number) for number in SIGNALS}
    raised: list[BaseException] = []

    def call_handler(number: int, frame: FrameType | None) -> None:
        try:
            handlers[number](number, frame)
        except BaseException as error:
            raised.append(error)
            raise

    numbers = [number for number, handler in handlers.items() if callable(handler)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    try:
        for number in numbers:
            set_handler(number, call_handler)
        yield
    except Exception:
        if not raised:
            raise
    finally:
        for number in numbers:
            set_handler(number, handlers[number])
    if raised:
        raise raised[-1]


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """Raised while waiting for a batch. Not an `Exception`, which user code might catch."""


class StopSignals:
    """SIGINT and SIGTERM end a run between two batches, or while it waits for one.

    `signal` is the number of the signal, if one has come. Handlers are installed inside `with`, in
    the main thread.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._is_waiting = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = {n: signal.signal(n, self._handle) for n in STOP_SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Raise `Stopped` inside the block as soon as a signal arrives."""
        self._is_waiting = True
        try:
            if self.signal is not None:
                raise Stopped
            yield
        finally:
            self._is_waiting = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:  # the second signal ends the process at once
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.signal = number
        if self._is_waiting:
            self._is_waiting = False
            raise Stopped


_blas_lock = threading.RLock()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block.

    At the sizes solved here, two BLAS threads on a busy machine are up to a hundred times slower
    than one, and split sums differently. Blocks may be nested. Blocks of several threads exclude
    each other, because most BLAS libraries have one limit for the whole process, and the first
    thread to leave its block would remove it. So keep blocks short, and do not wait in a block for
    another thread. A limit that a thread of the program has set with threadpoolctl stays in effect.

    Examples
    --------
    >>> import numpy as np
    >>> with single_blas_thread():
    ...     print(np.eye(2) @ np.ones(2))
    [1. 1.]
    """
    with _blas_lock, _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    # A controller only knows the libraries loaded before it: scipy brings a BLAS of its own.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
