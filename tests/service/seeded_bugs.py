"""Mistakes that a store could make; each must be caught by some test."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from labelwalk.service import database, journal, journal_writer
from labelwalk.service.database import Database
from labelwalk.service.journal import (
    Entry,
    HighWaterMark,
    Journal,
    JournalPosition,
    JournalReader,
    StoredEvent,
)
from labelwalk.service.snapshots import Snapshots

Patch = Callable[[object, str, Any], object]


def without_setting(patch: Patch, name: str, value: str) -> None:
    others = [one for one in database.PRAGMAS if not one.startswith(name)]
    patch(database, "PRAGMAS", (*others, f"{name} = {value}"))


def commits_late(patch: Patch) -> None:
    """Each transaction is ended by the next one."""

    @contextmanager
    def transaction(self: Database, *, erases: bool = False) -> Iterator[sqlite3.Connection]:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        self._connection.execute("BEGIN IMMEDIATE")
        yield self._connection

    patch(Database, "transaction", transaction)


def mark_first(patch: Patch) -> None:
    append = Journal.append

    def early(self: Journal, entries: list[Entry]) -> None:
        last = self.last
        for entry in entries:
            row = journal._create_event(entry, last, self.reader.cipher)
            last = JournalPosition(row.sequence, row.chain)
        self._mark.write(last, sync=True)
        append(self, entries)

    patch(Journal, "append", early)


def unchecked_mark(patch: Patch) -> None:
    patch(Journal, "_check_mark", lambda self: None)


def unwritten_mark(patch: Patch) -> None:
    write = HighWaterMark.write

    def at_first(self: HighWaterMark, seen: JournalPosition, *, sync: bool = False) -> None:
        if seen == journal.JOURNAL_START:
            write(self, seen, sync=sync)

    patch(HighWaterMark, "write", at_first)


def chain_unread(patch: Patch) -> None:
    patch(JournalReader, "_verify", lambda self, row, before: None)


def payload_unread(patch: Patch) -> None:
    def prove(self: JournalReader, row: StoredEvent, before: JournalPosition) -> None:
        assert row.sequence == before.sequence + 1

    patch(JournalReader, "_verify", prove)


def errors_swallowed(patch: Patch) -> None:
    @contextmanager
    def transaction(self: Database, *, erases: bool = False) -> Iterator[sqlite3.Connection]:
        with suppress(sqlite3.Error):
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")

    patch(Database, "transaction", transaction)


def goes_on_after_a_failure(patch: Patch) -> None:
    def fail(self: Database, reason: str) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        raise database.DiskError(reason)

    patch(Database, "fail", fail)


def keys_unwritten(patch: Patch) -> None:
    patch(journal_writer, "MAX_KEYS", 0)


def snapshot_too_early(patch: Patch) -> None:
    """A round is said to be one event older than it is."""
    save = Snapshots.save

    def early(self: Snapshots, at: JournalPosition, changed: Any, alive: Any) -> None:
        save(self, self._reader.read_position(at.sequence - 1), changed, alive)

    patch(Snapshots, "save", early)


BUGS_OF_THE_DISK: dict[str, Callable[[Patch], None]] = {
    "no fsync": lambda patch: without_setting(patch, "synchronous", "OFF"),
    "fsync at checkpoints only": lambda patch: without_setting(patch, "synchronous", "NORMAL"),
    "acknowledged before it is written": commits_late,
    "the high-water mark runs ahead": mark_first,
}
BUGS_OF_READING: dict[str, Callable[[Patch], None]] = {
    "the high-water mark is not checked": unchecked_mark,
    "the high-water mark is not written": unwritten_mark,
    "the chain is not read": chain_unread,
    "the payload is not proved": payload_unread,
}
BUGS_OF_KEEPING: dict[str, Callable[[Patch], None]] = {
    "errors of the disk are swallowed": errors_swallowed,
    "it goes on after a failure": goes_on_after_a_failure,
    "keys are forgotten": keys_unwritten,
    "a snapshot is dated too early": snapshot_too_early,
}
