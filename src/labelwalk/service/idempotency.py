"""Answers to repeated commands: the same idempotency key gets the same answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from labelwalk.service.commands import LearnerCommand
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.managed_learner import CommandResult, told_from_json

MOST = 100_000  # events in which a key is looked for


class KeyReusedError(ValueError):
    """A key that stands for something else already."""


@dataclass(frozen=True)
class _Underway:
    change: LearnerCommand
    told: CommandResult


class IdempotencyCache:
    """The keys of the last events, and those that are not written yet.

    Parameters
    ----------
    journal : Journal
    """

    def __init__(self, journal: Journal) -> None:
        self._journal, self._lock = journal, threading.Lock()
        self._known: dict[tuple[int, str], int | _Underway] = dict(journal.keys(MOST))

    def know(self, change: LearnerCommand) -> bool:
        """Return whether there is an answer, or a reason to refuse, under the key of a change."""
        return bool(change.key) and (change.learner, change.key) in self._known

    def answer(self, change: LearnerCommand) -> CommandResult | None:
        """Return what was answered under the key of a change; None where it is new.

        Raises
        ------
        KeyReusedError
            It stands for something else.
        """
        found = self._known.get((change.learner, change.key)) if change.key else None
        if found is None:
            return None
        if isinstance(found, int) and found <= self._journal.anchor().sequence:
            return None
        if isinstance(found, _Underway):
            before, told = found.change, found.told
            same = (before.event.kind, before.parts) == (change.event.kind, change.parts)
        else:
            stored = self._journal.event(found)
            parts, content = self._journal.decrypt(stored)
            if content is None:
                raise KeyReusedError(f"what was sent under key {change.key!r} has been erased.")
            same = (stored.kind, parts) == (change.event.kind, change.parts)
            told = told_from_json(content)
        if not same:
            raise KeyReusedError(
                f"key {change.key!r} was used for something else. Take another one."
            )
        return told

    def keep(self, change: LearnerCommand, told: CommandResult) -> None:
        """Remember an answer that is on its way to the disk."""
        with self._lock:
            self._known[change.learner, change.key] = _Underway(change, told)

    def written(self, entries: Sequence[Entry], first: int) -> None:
        """Take note that entries are on the disk, numbered from `first` on."""
        with self._lock:
            for sequence, entry in enumerate(entries, first):
                if entry.key:
                    self._known[entry.learner, entry.key] = sequence
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]
