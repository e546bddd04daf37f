"""SIGINT and SIGTERM end a run between two batches, or while it waits for one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):  # no error that a function of the user's may be blamed for
    """Raised while waiting for a batch, when a signal has come."""


class Stop:
    """Whether somebody has asked to stop; signals are heard inside `with`, in the main thread.

    Attributes
    ----------
    signal : int or None
        The number of the signal that came.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._waiting = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._heard) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a signal end the block at once; nothing in it may be lost by that."""
        self._waiting = True
        try:
            if self.signal is not None:
                raise Stopped
            yield
        finally:
            self._waiting = False

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:  # asked twice: at once, whatever it costs
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.signal = number
        if self._waiting:
            self._waiting = False
            raise Stopped
