"""Threads that share an object take turns: compiled loops let others run, so something must."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Shared(Protocol):
    """What has a lock that one thread can take again and again."""

    _turn: threading.RLock


Self_ = TypeVar("Self_", bound=Shared)


def in_turn(
    method: Callable[Concatenate[Self_, Given], Answer],
) -> Callable[Concatenate[Self_, Given], Answer]:
    """Let a method wait until no other thread is in one of its kind.

    Examples
    --------
    >>> class Counter:
    ...     def __init__(self):
    ...         self._turn, self.n = threading.RLock(), 0
    ...
    ...     @in_turn
    ...     def count(self):
    ...         self.n += 1
    >>> counter = Counter()
    >>> counter.count()
    >>> counter.n
    1
    """

    @wraps(method)
    def waiting(self: Self_, /, *args: Given.args, **named: Given.kwargs) -> Answer:
        with self._turn:
            return method(self, *args, **named)

    return waiting
