"""Group commit: a thread writes groups of events to the journal, then sends the answers."""

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
logger = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """An executed request: where its answer goes, the answer, and what must be on disk before."""

    future: Future[Any]
    answer: Any
    entry: Entry | None


@dataclass
class EventGroup:
    """What is written together.

    When a round of snapshots is due, `learner_ids` are all learners, and `states` has those that
    have changed.
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

    After a `failure` nothing is written or answered any more. While it `is_interrupted` by another
    error, nothing is written until the learners in doubt are rebuilt. It calls `on_written` after
    each group.
    """

    def __init__(self, journal: Journal, snapshots: Snapshots, keys: IdempotencyCache) -> None:
        self._journal, self._snapshots, self.keys = journal, snapshots, keys
        self.failure: DiskError | DamagedError | None = None
        self.is_interrupted = False
        self.on_written: Callable[[], None] = lambda: None
        self._groups: Queue[EventGroup | None] = Queue()
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self._thread.start()

    def put(self, group: EventGroup) -> None:
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
            logger.error("events were not written", exc_info=error)

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

    def _write(self, group: EventGroup) -> None:
        entries = group.entries
        if self.get_refusal():  # learners may be ahead of the journal
            return
        if entries:
            first = self._journal.last.sequence + 1
            self._journal.append(entries)
            self.keys.mark_written(entries, first)
        group.is_written = True
