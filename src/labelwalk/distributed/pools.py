"""Who does the tasks of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class Pool(Protocol):
    """Does tasks, in any order and perhaps more than once.

    A task is a function that can be imported and what it is called with; both can be pickled. It
    may be begun again anywhere when whoever did it is lost, so it must leave the same behind.
    """

    def each(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Do every task, and yield what comes of each as it is done."""


class Here:
    """Does one task after another, in this process."""

    def each(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Do every task, in order."""
        return map(function, tasks)
