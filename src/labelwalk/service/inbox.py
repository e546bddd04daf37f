"""What waits to be done: bounded, in order, taken some at a time; what does not wait goes ahead."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class BusyError(Exception):
    """Too much is waiting."""


class Inbox(Generic[Item]):
    """A queue that refuses instead of growing, and in which some go ahead.

    Parameters
    ----------
    most : int
        Examples that may wait.
    held : function, optional
        Says whether only those that go ahead are to be taken for now.

    Examples
    --------
    >>> inbox = Inbox(most=3)
    >>> inbox.put("a", 2)
    >>> inbox.put("b", 2)
    Traceback (most recent call last):
    labelwalk.service.inbox.BusyError: 2 examples wait already. Send fewer, or try again later.
    >>> inbox.put("c", 1, ahead=True)
    >>> inbox.take(10)
    ['c', 'a']
    """

    def __init__(self, most: int, held: Callable[[], bool] = lambda: False) -> None:
        self._most, self._weight, self._closed = most, 0, False
        self._held = held
        self._ahead: list[tuple[Item, int]] = []
        self._items: deque[tuple[Item, int]] = deque()
        self._changed = threading.Condition()

    @property
    def weight(self) -> int:
        """How many examples wait."""
        return self._weight

    def put(self, item: Item, weight: int, *, ahead: bool = False) -> None:
        """Add something; one that is too large alone is taken if nothing waits.

        Raises
        ------
        BusyError
        """
        with self._changed:
            if self._closed:
                raise BusyError("It is being closed. Try again later.")
            if (self._items or self._ahead) and self.weight + weight > self._most:
                raise BusyError(
                    f"{self.weight:,} examples wait already. Send fewer, or try again later."
                )
            (self._ahead if ahead else self._items).append((item, weight))
            self._weight += weight
            self._changed.notify()

    def take(self, most: int) -> list[Item]:
        """Wait for something, and return what there is, up to so many examples; [] at the end.

        Those that go ahead come first, all of them.
        """
        with self._changed:
            while not self._is_over() and not self._ahead and not self._may_be_taken():
                self._changed.wait()
            taken, self._ahead = self._ahead, []
            weight = 0
            while self._may_be_taken() and (weight == 0 or weight + self._items[0][1] <= most):
                taken.append(self._items.popleft())
                weight += taken[-1][1]
            self._weight -= sum(one for _, one in taken)
            return [item for item, _ in taken]

    def wake(self) -> None:
        """Look again whether all may be taken."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Accept nothing more; what waits is still taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _is_over(self) -> bool:
        return self._closed and not self._items and not self._ahead

    def _may_be_taken(self) -> bool:
        return bool(self._items) and not self._held()
