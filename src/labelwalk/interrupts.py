"""Ctrl-C, and any other signal with a handler, takes effect between two examples."""

from __future__ import annotations

import signal
import threading

# the functions of `signal` return enumerations, which takes longer than an example
from _signal import getsignal as get_handler  # type: ignore[import-not-found]
from _signal import signal as set_handler
from collections.abc import Callable
from types import FrameType
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
SIGNALS = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))

# Python runs handlers in the main thread alone, so what that thread holds back is all there is.
_held: dict[int, Callable[[int, FrameType | None], Any]] = {}
_pending: list[int] = []


def _hold(number: int, _: FrameType | None) -> None:
    _pending.append(number)


class held_interrupts:  # noqa: N801  # reads as a function
    """Hold back signals inside the block, and deliver them on the way out.

    Their handlers may raise, as that of Ctrl-C does, and must not do so while a state is changed.
    `deliver_interrupts` marks places in the block where they may. A hold within a hold, or in
    another thread than the main one, changes nothing.
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
                    set_handler(number, _hold)
                    _held[number] = handler
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
            for number in _pending.copy():
                signal.raise_signal(number)


def deliver_interrupts() -> None:
    """Let signals that came since the hold began take effect here."""
    if _pending and threading.current_thread() is threading.main_thread():
        while _pending:
            number = _pending.pop(0)
            _held[number](number, None)
