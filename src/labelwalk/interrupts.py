"""Ctrl-C waits until an example is learned whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Hold back SIGINT inside the block, and deliver it on the way out.

    Python hands signals to the main thread alone, so other threads have nothing to hold.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or previous is None:
        yield
        return
    held: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: held.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if held and callable(previous):
            previous(signal.SIGINT, held[0])
