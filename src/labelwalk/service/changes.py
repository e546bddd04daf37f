"""Changes that wait: those that only observe, one after the other, are learned in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from labelwalk.rows import NamedRows, column_names, places
from labelwalk.service.events import Happening, Observe, written
from labelwalk.service.journal import Entry


class UnfinishedError(Exception):
    """An unexpected error stopped a request; what it may have left half done is rebuilt."""

    def __init__(self, reason: str = "an unexpected error stopped this request") -> None:
        super().__init__(f"{reason}; the log says more. Try again, with the same Idempotency-Key.")


@dataclass(frozen=True)
class Change:
    """Something that is to happen to a learner.

    Attributes
    ----------
    learner : int
    event : Happening
    parts : list of bytes
        The event as it will be written.
    key : str
        By which a repetition is known; empty: by none.
    """

    learner: int
    event: Happening
    parts: list[bytes]
    key: str

    def in_order(self, names: tuple[str, ...]) -> Change:
        """Return the change with the columns in the order of a learner's, where both have names."""
        event: Any = self.event
        given = column_names(getattr(event, "rows", None))
        if not names or given in ((), names):
            return self
        event = replace(event, rows=NamedRows(event.rows[:, places(given, names)], names))
        return replace(self, event=event, parts=written(event))


@dataclass(frozen=True)
class Asked:
    """Something to be done in its turn, and where the answer goes.

    Attributes
    ----------
    do : function of a learner, or of all
        Returns an answer, and what is to be written before it is given, if anything.
    answer : Future
    change : Change or None
        What `do` does, where it changes a learner.
    alone : bool
        Whether nothing may be on its way to the disk meanwhile.
    at_once : bool
        Whether the answer need not wait until what came before is on the disk.
    learner : int or None
        Whom alone `do` is given; all learners where there is none.
    """

    do: Callable[[Any], tuple[Any, Entry | None]]
    answer: Future[Any]
    change: Change | None = None
    alone: bool = False
    at_once: bool = False
    learner: int | None = None


def runs(asked: Iterable[Asked]) -> Iterator[list[Asked]]:
    """Yield what is asked, in order, and together what can be observed as one block."""
    run: list[Asked] = []
    for one in asked:
        if run and not _go_together(run, one):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _go_together(run: list[Asked], one: Asked) -> bool:
    first, next_ = run[0].change, one.change
    if first is None or next_ is None or first.learner != next_.learner:
        return False
    blocks = [first.event, next_.event]
    if not all(isinstance(x, Observe) and not (x.sources or column_names(x.rows)) for x in blocks):
        return False
    widths = {block.rows.shape[1] for block in blocks if isinstance(block, Observe)}
    keys = {other.change.key for other in run if other.change is not None}
    return len(widths) == 1 and (not next_.key or next_.key not in keys)
