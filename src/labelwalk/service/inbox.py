"""What waits to be done: bounded, in order, taken some at a time."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class BusyError(Exception):
    """Too much is waiting."""


class Inbox(Generic[Item]):
    """A queue that refuses instead of growing.

    Parameters
    ----------
    most : int
        Examples that may wait.

    Examples
    --------
    >>> inbox = Inbox(most=3)
    >>> inbox.put("a", 2)
    >>> inbox.put("b", 2)
    Traceback (most recent call last):
    labelwalk.service.inbox.BusyError: 2 examples wait already. Send fewer, or try again later.
    >>> inbox.take(10)
    ['a']
    """

    def __init__(self, most: int) -> None:
        self._most, self._weight, self._closed = most, 0, False
        self._items: deque[tuple[Item, int]] = deque()
        self._changed = threading.Condition()

    @property
    def weight(self) -> int:
        """How many examples wait."""
        return self._weight

    def put(self, item: Item, weight: int) -> None:
        """Add something; one that is too large alone is taken if nothing waits.

        Raises
        ------
        BusyError
        """
        with self._changed:
            if self._closed:
                raise BusyError("It is being closed. Try again later.")
            if self._items and self._weight + weight > self._most:
                raise BusyError(
                    f"{self._weight:,} examples wait already. Send fewer, or try again later."
                )
            self._items.append((item, weight))
            self._weight += weight
            self._changed.notify()

    def take(self, most: int) -> list[Item]:
        """Wait for something, and return what there is, up to so many examples; [] at the end."""
        with self._changed:
            while not self._items and not self._closed:
                self._changed.wait()
            taken: list[Item] = []
            weight = 0
            while self._items and (not taken or weight + self._items[0][1] <= most):
                item, one = self._items.popleft()
                taken.append(item)
                weight += one
            self._weight -= weight
            return taken

    def close(self) -> None:
        """Accept nothing more; what waits is still taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
