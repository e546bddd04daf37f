"""Group commit: a thread that writes groups of events to the journal, then sends the answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Queue
from typing import Any, NamedTuple

from labelwalk.service.commands import UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.idempotency import IdempotencyCache
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.snapshots import Snapshots

MAX_GROUPS_WAITING = 2  # while these wait for the disk, the next one is learned
LOGGER = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """An executed request: where its answer goes, the answer, and what must be on disk before."""

    future: Future[Any]
    answer: Any
    entry: Entry | None


@dataclass
class Group:
    """What is written together.

    Attributes
    ----------
    outcomes : list of Outcome
    states : dict of bytes by learner id
        For a round of snapshots: the learners that have changed.
    learner_ids : set of int
        All learners, if a round of snapshots is due.
    is_written : bool
    """

    outcomes: list[Outcome] = field(default_factory=list)
    states: dict[int, bytes] = field(default_factory=dict)
    learner_ids: set[int] = field(default_factory=set)
    is_written: bool = False

    @property
    def entries(self) -> list[Entry]:
        """The events to be written."""
        return [outcome.entry for outcome in self.outcomes if outcome.entry is not None]


class JournalWriter:
    """The thread that writes.

    Attributes
    ----------
    failure : DiskError, DamagedError or None
        Why nothing is written or answered any more.
    is_interrupted : bool
        Whether another error stops writing until the learners in doubt are rebuilt.
    keys : IdempotencyCache
    on_written : function
        Called after each group.
    """

    def __init__(self, journal: Journal, snapshots: Snapshots, keys: IdempotencyCache) -> None:
        self._journal, self._snapshots, self.keys = journal, snapshots, keys
        self.failure: DiskError | DamagedError | None = None
        self.is_interrupted = False
        self.on_written: Callable[[], None] = lambda: None
        self._groups: Queue[Group | None] = Queue()
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self._thread.start()

    def put(self, group: Group) -> None:
        """Enqueue a group."""
        self._groups.put(group)

    def is_behind(self) -> bool:
        """Return whether enough groups wait for the disk."""
        return self._groups.unfinished_tasks >= MAX_GROUPS_WAITING

    def wait(self) -> None:
        """Wait until all enqueued groups are written."""
        self._groups.join()

    def close(self) -> None:
        """Write the enqueued groups and end the thread."""
        self._groups.put(None)
        self._thread.join()

    def fail(self, error: Exception) -> None:
        """Stop writing and answering: for good, or until `is_interrupted` is reset."""
        if isinstance(error, DiskError | DamagedError):
            self.failure = error
        else:
            self.is_interrupted = True
            LOGGER.error("events were not written", exc_info=error)

    def get_refusal(self) -> Exception | None:
        """Return the error with which requests are refused, if any."""
        if self.failure is not None:
            return type(self.failure)(*self.failure.args)
        return UnfinishedError() if self.is_interrupted else None

    def _run(self) -> None:
        while (group := self._groups.get()) is not None:
            self._try(self._write, group)
            for outcome in group.outcomes:
                with suppress(Exception):  # a failed callback must not stop the other answers
                    if group.is_written:
                        outcome.future.set_result(outcome.answer)
                    else:
                        outcome.future.set_exception(self.get_refusal())
            if group.is_written and group.learner_ids:
                position = self._journal.last
                self._try(self._snapshots.save, position, group.states, group.learner_ids)
            self._groups.task_done()
            self.on_written()

    def _try(self, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments)
        except Exception as error:
            self.fail(error)

    def _write(self, group: Group) -> None:
        entries = group.entries
        if self.get_refusal():  # learners may be ahead of the journal
            return
        if entries:
            first = self._journal.last.sequence + 1
            self._journal.append(entries)
            self.keys.mark_written(entries, first)
        group.is_written = True
