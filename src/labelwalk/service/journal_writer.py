"""Group commit: a thread writes groups of events to the journal, then sends the answers.

An idempotency key is in the same event as its command: a repeated command gets its first answer.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Queue
from typing import Any, NamedTuple

from labelwalk.errors import LabelwalkError
from labelwalk.service.commands import CommandResult, LearnerCommand, UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.snapshots import Snapshots

MAX_GROUPS_WAITING = 2  # while these wait for the disk, the next one is learned
MAX_KEYS = 100_000  # idempotency keys, and the number of events in which they are looked for
logger = logging.getLogger(__name__)


class KeyReusedError(LabelwalkError, ValueError):
    """The idempotency key was used for another command."""


class _Pending(NamedTuple):
    """A command that was applied and is not on disk yet."""

    kind: str
    parts: Sequence[bytes | None]
    result: CommandResult


class IdempotencyCache:
    """The keys of the last events in the journal, and of commands that are not written yet."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._lock = journal, threading.Lock()
        self._keys: dict[tuple[int, str], int | _Pending] = {**journal.read_keys(MAX_KEYS)}

    def contains(self, request: LearnerCommand) -> bool:
        """Return whether the key of a request has an answer, or is a reason to refuse it."""
        return bool(request.key) and (request.learner_id, request.key) in self._keys

    def find_result(self, request: LearnerCommand) -> CommandResult | None:
        """Return the answer to the same request; None if its key is new."""
        match = self._keys.get((request.learner_id, request.key)) if request.key else None
        if match is None:
            return None
        if isinstance(match, _Pending):
            kind, parts, result = match
        elif match <= self._journal.reader.read_anchor().sequence:  # the event was dropped
            return None
        else:
            event = self._journal.reader.read_event(match)
            kind, (parts, answer) = event.kind, self._journal.reader.decrypt(event)
            if answer is None:
                raise KeyReusedError(
                    f"the command sent with key {request.key!r} has been erased. Use a new key."
                )
            result = CommandResult.from_json(answer)
        if (kind, parts) != (request.command.kind, request.parts):
            raise KeyReusedError(
                f"key {request.key!r} was used for another command. Use a new key."
            )
        return result

    def add_pending(self, request: LearnerCommand, result: CommandResult) -> None:
        """Store an answer whose command is not on disk yet."""
        with self._lock:
            pending = _Pending(request.command.kind, request.parts, result)
            self._keys[request.learner_id, request.key] = pending

    def mark_written(self, entries: Sequence[Entry], first: int) -> None:
        """Record that entries are on disk, with sequences from `first` on."""
        with self._lock:
            for sequence, entry in enumerate(entries, first):
                if entry.key:
                    self._keys[entry.learner, entry.key] = sequence
            while len(self._keys) > MAX_KEYS:
                del self._keys[next(iter(self._keys))]


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

    After a `failure` nothing more is written or answered. While it `is_interrupted` by another
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
