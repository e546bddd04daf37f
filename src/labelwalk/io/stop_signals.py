"""SIGINT and SIGTERM end a run between two batches, or while it waits for one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """Raised while waiting for a batch. Not an `Exception`, which user code might catch."""


class StopSignals:
    """Whether a signal has asked to stop; handlers are installed inside `with`, in the main thread.

    Attributes
    ----------
    signal : int or None
        The number of the signal.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._is_waiting = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
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
