"""Ctrl-C, and any other signal with a handler, takes effect between two examples."""

from __future__ import annotations

# the functions of `signal` return enumerations, which takes longer than an example
import _signal  # type: ignore[import-not-found]
import signal
import threading
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
        if _held or threading.current_thread() is not threading.main_thread():
            return
        self.is_outermost = True
        _pending.clear()
        try:
            for number in SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler):
                    _signal.signal(number, _hold)
                    _held[number] = handler
        except BaseException:  # a handler that was not held yet has raised
            _release()
            raise

    def __exit__(self, *_: object) -> None:
        if self.is_outermost:
            _release()
            for number in _pending.copy():
                signal.raise_signal(number)


def _release() -> None:
    try:
        _restore_handlers()
    except BaseException:  # a handler that was restored first has raised
        _restore_handlers()
        raise
    finally:
        _held.clear()


def _restore_handlers() -> None:
    for number, handler in _held.items():
        _signal.signal(number, handler)


def deliver_interrupts() -> None:
    """Let signals that came since the hold began take effect here."""
    if _pending and threading.current_thread() is threading.main_thread():
        while _pending:
            number = _pending.pop(0)
            _held[number](number, None)
