"""All learners as they were after an event: where a replay can begin.

A round lists every learner with the digest of its state as it is kept; a state that several rounds
share, since nothing happened to the learner in between, is kept once. The older, the fewer are
kept: wherever a replay must begin, it has at most about twice as far to go as it must.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import NamedTuple

from labelwalk.service.commands import Observe, Teach, decode_command
from labelwalk.service.database import DamagedError
from labelwalk.service.encryption import DecryptionError
from labelwalk.service.journal import JournalPosition, JournalReader, StoredEvent
from labelwalk.service.managed_learner import ManagedLearner, load_managed_learner
from labelwalk.service.sealed_parts import HASH


class Round(NamedTuple):
    """A moment: the last event in it, and the state of each learner."""

    at: JournalPosition
    states: dict[int, bytes]


class _Listed(NamedTuple):
    """A state in a round: the digest of itself, in memory alone, and of what is kept of it."""

    state: str
    kept: str


class Snapshots:
    """The rounds that are kept.

    Parameters
    ----------
    reader : JournalReader
        Whose events they go with.

    Examples
    --------
    >>> import tempfile
    >>> from labelwalk.service.journal import Entry, Journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(folder)
    ...     journal.append([Entry(1, "observe", "{}", [b"a row"])])
    ...     snapshots = Snapshots(journal)
    ...     snapshots.keep(journal.last, {1: b"one", 2: b"two"}, alive=[1, 2])
    ...     snapshots.latest().states
    {1: b'one', 2: b'two'}
    """

    def __init__(self, reader: JournalReader) -> None:
        self._ledger, self._database = reader, reader.database
        self._listed: dict[int, _Listed] = {}

    def keep(
        self, at: JournalPosition, changed: Mapping[int, bytes], alive: Collection[int]
    ) -> None:
        """Keep a round: how all learners are after an event.

        Parameters
        ----------
        at : JournalPosition
        changed : mapping from learners to states
            Of those to which something has happened since the last round.
        alive : collection of learners
            All that there are.
        """
        known = {digest for (digest,) in self._database.read("SELECT digest FROM contents")}
        listed, new = dict(self._listed), dict[str, bytes]()
        for learner, state in changed.items():
            digest, before = _digest(state), listed.get(learner)
            if before is None or before.state != digest or before.kept not in known:
                [kept] = self._ledger.cipher.encrypt([state], _what(learner))
                listed[learner] = _Listed(digest, digest if kept is state else _digest(kept))
                new[listed[learner].kept] = kept
        listed = {k: one for k, one in listed.items() if k in alive}
        listing = json.dumps(sorted((k, one.kept) for k, one in listed.items()))
        with self._database.writing() as connection:
            connection.executemany(
                "INSERT INTO contents (digest, content) VALUES (?, ?)",
                [(digest, kept) for digest, kept in new.items() if digest not in known],
            )
            connection.execute(
                "INSERT OR REPLACE INTO rounds VALUES (?, ?, ?)",
                (at.sequence, listing, _proof(at, listing)),
            )
            _thin(connection, at.sequence)
            _strike_unlisted(connection)
        self._listed = listed

    def latest(self) -> Round | None:
        """Return the last round, or None where there is none.

        Raises
        ------
        DamagedError
            It is not as it was kept.
        """
        return self.before(self._ledger.end().sequence + 1)

    def before(self, event: int) -> Round | None:
        """Return the last round before an event, or None where there is none.

        Raises
        ------
        DamagedError
            It is not as it was kept.
        """
        rows = self._database.read(
            "SELECT sequence, listing, proof FROM rounds WHERE sequence < ? "
            "ORDER BY sequence DESC LIMIT 1",
            (event,),
        )
        return None if not rows else self._read(*rows[0])

    def older_than(self, milliseconds: int) -> int | None:
        """Return the event of the last round before a moment; None where there is none."""
        rows = self._database.read(
            "SELECT max(sequence) FROM rounds JOIN events USING (sequence) WHERE at < ?",
            (milliseconds,),
        )
        found: int | None = rows[0][0]
        return found

    def strike(self, *, before: int | None = None, since: int | None = None) -> None:
        """Strike out the rounds before an event, or those since one, and their states."""
        with self._database.writing() as connection:
            connection.execute(
                "DELETE FROM rounds WHERE sequence < ? OR sequence >= ?", (before, since)
            )
            _strike_unlisted(connection)

    def _read(self, sequence: int, listing: str, proof: bytes) -> Round:
        place = f"{self._database.path}: the states after event {sequence}"
        at = self._ledger.at(sequence)
        if _proof(at, str(listing)) != proof:
            raise DamagedError(f"{place} were changed")
        states, listed = dict[int, bytes](), dict[int, _Listed]()
        for learner, digest in json.loads(listing):
            rows = self._database.read("SELECT content FROM contents WHERE digest = ?", (digest,))
            kept = rows[0][0] if rows else None
            if not isinstance(kept, bytes) or _digest(kept) != digest:
                raise DamagedError(f"{place}: that of learner {learner} is missing or was changed")
            try:
                [state] = self._ledger.cipher.decrypt([kept], _what(learner))
            except DecryptionError as error:
                raise DamagedError(f"{place}: that of learner {learner} {error}") from error
            assert state is not None
            states[learner] = state
            listed[learner] = _Listed(digest if state is kept else _digest(state), digest)
        self._listed = listed
        return Round(at, states)


def _thin(connection: sqlite3.Connection, now: int) -> None:
    """Strike out rounds whose neighbours lie close, for how long ago they were."""
    query = "SELECT sequence FROM rounds ORDER BY sequence DESC"
    kept: list[int] = []
    for (sequence,) in connection.execute(query).fetchall():
        while len(kept) >= 2 and now - sequence <= 2 * (now - kept[-2]):
            connection.execute("DELETE FROM rounds WHERE sequence = ?", (kept.pop(),))
        kept.append(sequence)


def _strike_unlisted(connection: sqlite3.Connection) -> None:
    """Strike out the states that no round lists."""
    listed = set()
    for sequence, listing in connection.execute("SELECT sequence, listing FROM rounds").fetchall():
        try:
            listed |= {digest for _, digest in json.loads(listing)}
        except (ValueError, TypeError):
            raise DamagedError(f"the states after event {sequence} were changed") from None
    for (digest,) in connection.execute("SELECT digest FROM contents").fetchall():
        if digest not in listed:
            connection.execute("DELETE FROM contents WHERE digest = ?", (digest,))


def _what(learner: int) -> bytes:
    """Say what a state is, so that it can stand for no other learner."""
    return f"state of learner {learner}".encode()


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=HASH).hexdigest()


def _proof(at: JournalPosition, listing: str) -> bytes:
    told = f"{at.sequence} {listing}".encode()
    return blake2b(at.chain + told, digest_size=HASH).digest()


CREATE, DELETE, ERASE = "create", "delete", "erase"


def restore_learners(reader: JournalReader, snapshots: Snapshots) -> dict[int, ManagedLearner]:
    """Return all learners as they are after the last event.

    Raises
    ------
    DamagedError
        Something is not as it was kept.
    """
    last = snapshots.latest()
    states = {} if last is None else last.states
    try:
        learners = {learner: load_managed_learner(content) for learner, content in states.items()}
    except ValueError as error:
        raise DamagedError(f"{reader.database.path}: a state cannot be read: it {error}") from error
    for stored in reader.events(after=None if last is None else last.at.sequence):
        try:
            replay_event(learners, reader, stored)
        except (ValueError, KeyError) as error:
            raise DamagedError(f"event {stored.sequence} cannot be done again: {error}") from error
    return learners


def replay_event(
    learners: dict[int, ManagedLearner], reader: JournalReader, stored: StoredEvent
) -> None:
    """Let an event happen again, without what is erased of it.

    What cannot be done without what is erased never was: it would have been refused.
    """
    if stored.kind == CREATE:
        [content] = reader.decrypt(stored).parts
        if content is not None:
            learners[stored.learner] = load_managed_learner(content)
    elif stored.kind == DELETE:
        del learners[stored.learner]
    else:
        learners[stored.learner].advance_ids(read_first_id(stored))
        if stored.kind != ERASE:
            _redo(learners[stored.learner], stored, reader.decrypt(stored).parts)


def _redo(managed: ManagedLearner, stored: StoredEvent, parts: list[bytes | None]) -> None:
    if managed.read_only is not None:
        return
    gone = [part is None for part in parts]
    managed.has_erasures |= any(gone)
    first, event = managed.next_example_id, decode_command(stored.kind, stored.about, parts)
    try:
        if event is not None:
            managed.apply(event)
    except ValueError as error:
        if not managed.has_erasures or type(error) is not ValueError:
            raise
        gone = [True] * len(parts)
    if stored.kind in (Observe.kind, Teach.kind):
        managed.reserve_erased(first, gone)


def read_first_id(stored: StoredEvent) -> int:
    """Return how many numbers had been given to examples before an event."""
    return int(json.loads(stored.about)["first"])
