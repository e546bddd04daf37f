"""Idempotency keys: a repeated command gets its first answer and is not applied again."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from labelwalk.errors import LabelwalkError
from labelwalk.service.commands import CommandResult, LearnerCommand
from labelwalk.service.journal import Entry, Journal

MAX_KEYS = 100_000  # also the number of events in which keys are looked for


class KeyReusedError(LabelwalkError, ValueError):
    """The idempotency key was used for another command."""


class _Pending(NamedTuple):
    """A command that was applied and is not on disk yet."""

    request: LearnerCommand
    result: CommandResult


class IdempotencyCache:
    """The keys of the last events in the journal, and of commands that are not written yet."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._lock = journal, threading.Lock()
        self._keys: dict[tuple[int, str], int | _Pending] = dict(journal.read_keys(MAX_KEYS))

    def contains(self, request: LearnerCommand) -> bool:
        """Return whether the key of a request has an answer, or is a reason to refuse it."""
        return bool(request.key) and (request.learner_id, request.key) in self._keys

    def find_result(self, request: LearnerCommand) -> CommandResult | None:
        """Return the answer to the same request; None if its key is new."""
        match = self._keys.get((request.learner_id, request.key)) if request.key else None
        if match is None:
            return None
        if isinstance(match, _Pending):
            first, result = match
            is_same = (first.command.kind, first.parts) == (request.command.kind, request.parts)
        elif match <= self._journal.reader.read_anchor().sequence:  # the event was dropped
            return None
        else:
            event = self._journal.reader.read_event(match)
            parts, answer = self._journal.reader.decrypt(event)
            if answer is None:
                raise KeyReusedError(
                    f"the command sent with key {request.key!r} has been erased. Use a new key."
                )
            is_same = (event.kind, parts) == (request.command.kind, request.parts)
            result = CommandResult.from_json(answer)
        if not is_same:
            raise KeyReusedError(
                f"key {request.key!r} was used for another command. Use a new key."
            )
        return result

    def add_pending(self, request: LearnerCommand, result: CommandResult) -> None:
        """Store an answer whose command is not on disk yet."""
        with self._lock:
            self._keys[request.learner_id, request.key] = _Pending(request, result)

    def mark_written(self, entries: Sequence[Entry], first: int) -> None:
        """Record that entries are on disk, with sequences from `first` on."""
        with self._lock:
            for sequence, entry in enumerate(entries, first):
                if entry.key:
                    self._keys[entry.learner, entry.key] = sequence
            while len(self._keys) > MAX_KEYS:
                del self._keys[next(iter(self._keys))]
