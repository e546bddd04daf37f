"""Who writes down what has happened, a group at a time, and then lets the answers go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.keys import Keys
from labelwalk.service.snapshots import Snapshots

BEHIND = 2  # groups that wait for the disk while the next is learned


@dataclass(frozen=True)
class Group:
    """What goes to the disk together.

    Attributes
    ----------
    entries : list of Entry
    answers : list of (Future, answer)
        Who waits for it.
    states : dict from learners to bytes
        For a round of snapshots: those that have changed.
    alive : set of learners
        All that there are, where a round is due.
    """

    entries: list[Entry] = field(default_factory=list)
    answers: list[tuple[Future[Any], Any]] = field(default_factory=list)
    states: dict[int, bytes] = field(default_factory=dict)
    alive: set[int] = field(default_factory=set)


class Scribe:
    """A thread that writes.

    Attributes
    ----------
    failed : DiskError, DamagedError or None
        Why nothing is written, and nothing answered, any more.
    when_written : function
        Called after each group.
    """

    def __init__(self, journal: Journal, snapshots: Snapshots, keys: Keys) -> None:
        self._journal, self._snapshots, self._keys = journal, snapshots, keys
        self.failed: DiskError | DamagedError | None = None
        self.when_written: Callable[[], None] = lambda: None
        self._groups: Queue[Group | None] = Queue()
        self._thread = threading.Thread(target=self._write, name="scribe", daemon=True)
        self._thread.start()

    def put(self, group: Group) -> None:
        """Hand over a group."""
        self._groups.put(group)

    def is_behind(self) -> bool:
        """Return whether it has enough to do."""
        return self._groups.unfinished_tasks >= BEHIND

    def wait(self) -> None:
        """Wait until all that was handed over is on the disk."""
        self._groups.join()

    def close(self) -> None:
        """Write what was handed over, and no more."""
        self._groups.put(None)
        self._thread.join()

    def fail(self, error: Exception) -> None:
        """Write and answer nothing any more, because of an error."""
        if isinstance(error, DiskError | DamagedError):
            self.failed = error
        else:
            self.failed = DiskError(f"it could not go on ({type(error).__name__}). Start it again")

    def refusal(self) -> Exception | None:
        """Return why nothing is answered, to be raised; None where all is well."""
        return None if self.failed is None else type(self.failed)(*self.failed.args)

    def _write(self) -> None:
        while (group := self._groups.get()) is not None:
            if self.failed is None:
                try:
                    self._put_down(group)
                except Exception as error:
                    self.fail(error)
            for answer, said in group.answers:
                if self.failed is None:
                    answer.set_result(said)
                else:  # learners know by now what the disk does not
                    answer.set_exception(self.refusal())
            self._groups.task_done()
            self.when_written()

    def _put_down(self, group: Group) -> None:
        if group.entries:
            first = self._journal.last.sequence + 1
            self._journal.append(group.entries)
            self._keys.written(group.entries, first)
        if group.alive:
            self._snapshots.keep(self._journal.last, group.states, group.alive)
