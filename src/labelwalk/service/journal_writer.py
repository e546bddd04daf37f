"""Who writes down what has happened, a group at a time, and then lets the answers go."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

from labelwalk.service.commands import UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.idempotency import IdempotencyCache
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.snapshots import Snapshots

BEHIND = 2  # groups that wait for the disk while the next is learned
LOGGER = logging.getLogger(__name__)


@dataclass
class Group:
    """What goes to the disk together.

    Attributes
    ----------
    done : list of (Future, answer, Entry or None)
        Who waits for what was done, and how it is to be written, if at all.
    states : dict from learners to bytes
        For a round of snapshots: those that have changed.
    alive : set of learners
        All that there are, where a round is due.
    is_written : bool
    """

    done: list[tuple[Future[Any], Any, Entry | None]] = field(default_factory=list)
    states: dict[int, bytes] = field(default_factory=dict)
    alive: set[int] = field(default_factory=set)
    is_written: bool = False


class JournalWriter:
    """A thread that writes.

    Attributes
    ----------
    failed : DiskError, DamagedError or None
        Why nothing is written, and nothing answered, any more.
    is_interrupted : bool
        Whether an error that is not the disk's keeps anything from being written for now.
    keys : IdempotencyCache
    when_written : function
        Called after each group.
    """

    def __init__(self, journal: Journal, snapshots: Snapshots, keys: IdempotencyCache) -> None:
        self._journal, self._snapshots, self.keys = journal, snapshots, keys
        self.failed: DiskError | DamagedError | None = None
        self.is_interrupted = False
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
        """Write and answer nothing because of an error: any more, or while interrupted."""
        if isinstance(error, DiskError | DamagedError):
            self.failed = error
        else:
            self.is_interrupted = True
            LOGGER.error("events were not written", exc_info=error)

    def refusal(self) -> Exception | None:
        """Return why nothing is answered, to be raised; None where all is well."""
        if self.failed is not None:
            return type(self.failed)(*self.failed.args)
        return UnfinishedError() if self.is_interrupted else None

    def _write(self) -> None:
        while (group := self._groups.get()) is not None:
            self._try(self._put_down, group)
            for answer, said, _ in group.done:
                with suppress(Exception):  # so that all others are answered
                    if group.is_written:
                        answer.set_result(said)
                    else:
                        answer.set_exception(self.refusal())
            if group.is_written and group.alive:
                at = self._journal.last
                self._try(self._snapshots.keep, at, group.states, group.alive)
            self._groups.task_done()
            self.when_written()

    def _try(self, step: Callable[..., None], *given: Any) -> None:
        """Take a step, and write no more where it fails."""
        try:
            step(*given)
        except Exception as error:
            self.fail(error)

    def _put_down(self, group: Group) -> None:
        entries = [entry for *_, entry in group.done if entry is not None]
        if self.refusal():  # learners may know by now what the journal does not
            return
        if entries:
            first = self._journal.last.sequence + 1
            self._journal.append(entries)
            self.keys.written(entries, first)
        group.is_written = True
