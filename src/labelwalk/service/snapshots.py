"""Copies of all learners: snapshots with replay of later events, backups, and retention.

A round of snapshots lists every learner with the digest of its stored state; a state shared by
several rounds, because the learner did not change in between, is stored once. Older rounds are
thinned out: a replay never has much more than twice the necessary number of events to apply.
"""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Collection, Mapping
from contextlib import closing
from hashlib import blake2b
from typing import NamedTuple

from labelwalk.service.commands import Observe, Teach, decode_command
from labelwalk.service.database import DamagedError, Database
from labelwalk.service.encryption import DecryptionError
from labelwalk.service.journal import (
    JOURNAL_FILE,
    MARK_FILE,
    HighWaterMark,
    Journal,
    JournalPosition,
    JournalReader,
    StoredEvent,
)
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.sealed_parts import HASH_BYTES
from labelwalk.storage.atomic_write import sync_folder

BACKUP_FOLDER = "backups"
# Kinds of events that are not commands to a learner.
CREATE, DELETE, ERASE = "create", "delete", "erase"


class Round(NamedTuple):
    """The states of all learners by id, after the event at a position."""

    position: JournalPosition
    states: dict[int, bytes]


class _ListedState(NamedTuple):
    """Digests of a state, which is only held in memory, and of its stored, encrypted form."""

    state: str
    stored: str


class Snapshots:
    """The stored rounds of snapshots; a damaged round raises `DamagedError`."""

    def __init__(self, reader: JournalReader) -> None:
        self._reader, self._database = reader, reader.database
        self._listed: dict[int, _ListedState] = {}

    def save(
        self, position: JournalPosition, changed: Mapping[int, bytes], learner_ids: Collection[int]
    ) -> None:
        """Store a round: the states of learners that have changed since the last one."""
        stored = {digest for (digest,) in self._database.read("SELECT digest FROM contents")}
        listed, new = dict(self._listed), dict[str, bytes]()
        for learner_id, state in changed.items():
            digest, before = _digest(state), listed.get(learner_id)
            if before is None or before.state != digest or before.stored not in stored:
                [content] = self._reader.cipher.encrypt([state], _context(learner_id))
                content_digest = digest if content is state else _digest(content)
                listed[learner_id] = _ListedState(digest, content_digest)
                new[content_digest] = content
        listed = {i: entry for i, entry in listed.items() if i in learner_ids}
        listing = json.dumps(sorted((i, entry.stored) for i, entry in listed.items()))
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT INTO contents (digest, content) VALUES (?, ?)",
                [(digest, content) for digest, content in new.items() if digest not in stored],
            )
            connection.execute(
                "INSERT OR REPLACE INTO rounds VALUES (?, ?, ?)",
                (position.sequence, listing, _compute_proof(position, listing)),
            )
            _thin_out(connection, position.sequence)
            _delete_unlisted(connection)
        self._listed = listed

    def read_latest(self) -> Round | None:
        """Return the last round, if any."""
        return self.read_before(self._reader.read_end().sequence + 1)

    def read_before(self, sequence: int) -> Round | None:
        """Return the last round before an event, if any."""
        rows = self._database.read(
            "SELECT sequence, listing, proof FROM rounds WHERE sequence < ? "
            "ORDER BY sequence DESC LIMIT 1",
            (sequence,),
        )
        return None if not rows else self._read(*rows[0])

    def apply_retention(self, retain_s: float) -> None:
        """Delete events older than a number of seconds, as far as a round can replace them."""
        query = "SELECT max(sequence) FROM rounds JOIN events USING (sequence) WHERE at < ?"
        [(sequence,)] = self._database.read(query, (int(1000 * (time.time() - retain_s)),))
        if sequence is not None:
            self._reader.drop_events(self._reader.read_position(sequence))
            self.delete(before=sequence)

    def delete(self, *, before: int | None = None, since: int | None = None) -> None:
        """Delete the rounds before an event, or those since an event."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM rounds WHERE sequence < ? OR sequence >= ?", (before, since)
            )
            _delete_unlisted(connection)

    def _read(self, sequence: int, listing: str, proof: bytes) -> Round:
        place = f"{self._database.path}: the states after event {sequence}"
        position = self._reader.read_position(sequence)
        if _compute_proof(position, str(listing)) != proof:
            raise DamagedError(f"{place} were changed")
        states, listed = dict[int, bytes](), dict[int, _ListedState]()
        for learner_id, digest in json.loads(listing):
            place_of_state = f"{place}: the state of learner {learner_id}"
            rows = self._database.read("SELECT content FROM contents WHERE digest = ?", (digest,))
            content = rows[0][0] if rows else None
            if not isinstance(content, bytes) or _digest(content) != digest:
                raise DamagedError(f"{place_of_state} is missing or was changed")
            try:
                [state] = self._reader.cipher.decrypt([content], _context(learner_id))
            except DecryptionError as error:
                raise DamagedError(f"{place_of_state} {error}") from error
            assert state is not None
            states[learner_id] = state
            state_digest = digest if state is content else _digest(state)
            listed[learner_id] = _ListedState(state_digest, digest)
        self._listed = listed
        return Round(position, states)


def restore_learners(reader: JournalReader, snapshots: Snapshots) -> dict[int, ManagedLearner]:
    """Return all learners as they are after the last event, or raise `DamagedError`."""
    latest = snapshots.read_latest()
    states = {} if latest is None else latest.states
    try:
        learners = {i: ManagedLearner.from_bytes(content) for i, content in states.items()}
    except ValueError as error:
        raise DamagedError(f"{reader.database.path}: a state cannot be read ({error})") from error
    for event in reader.read_events(after=None if latest is None else latest.position.sequence):
        try:
            replay_event(learners, reader, event)
        except (ValueError, KeyError) as error:
            raise DamagedError(f"event {event.sequence} cannot be replayed: {error}") from error
    return learners


def rebuild_learner(
    reader: JournalReader, snapshots: Snapshots, learner_id: int, before: int
) -> dict[int, ManagedLearner]:
    """Return a learner, if it exists, restored from a snapshot before an event."""
    start = snapshots.read_before(before)
    learners = dict[int, ManagedLearner]()
    if start is not None and learner_id in start.states:
        learners[learner_id] = ManagedLearner.from_bytes(start.states[learner_id])
    for event in reader.read_events(after=None if start is None else start.position.sequence):
        if event.learner == learner_id:
            replay_event(learners, reader, event)
    return learners


def replay_event(
    learners: dict[int, ManagedLearner], reader: JournalReader, event: StoredEvent
) -> None:
    """Apply an event again, without its erased parts."""
    if event.kind == CREATE:
        [content] = reader.decrypt(event).parts
        if content is not None:
            learners[event.learner] = ManagedLearner.from_bytes(content)
    elif event.kind == DELETE:
        del learners[event.learner]
    else:
        learners[event.learner].advance_ids(read_first_id(event))
        if event.kind != ERASE:
            _replay_command(learners[event.learner], event, reader.decrypt(event).parts)


def _replay_command(managed: ManagedLearner, event: StoredEvent, parts: list[bytes | None]) -> None:
    if managed.read_only is not None:
        return
    are_erased = [part is None for part in parts]
    managed.has_erasures |= any(are_erased)
    first, command = managed.next_example_id, decode_command(event.kind, event.about, parts)
    try:
        if command is not None:
            managed.apply(command)
    except ValueError as error:
        # A command that is invalid without what was erased would have been refused then.
        if not managed.has_erasures or type(error) is not ValueError:
            raise
        are_erased = [True] * len(parts)
    if event.kind in (Observe.kind, Teach.kind):
        managed.reserve_erased(first, are_erased)


def read_first_id(event: StoredEvent) -> int:
    """Return the id that the next example had before an event."""
    return int(json.loads(event.about)["first"])


def back_up(journal: Journal) -> str:
    """Write a backup of all acknowledged events, and return its file name."""
    folder = os.path.join(os.path.dirname(journal.database.path), BACKUP_FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    moment = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime())
    name = f"{moment}-{journal.last.sequence}.db"
    part = os.path.join(folder, f"{name}.part")
    journal.database.copy_to(part)
    os.replace(part, os.path.join(folder, name))
    sync_folder(folder)
    return name


def restore(backup: str, folder: str) -> int:
    """Make a backup a data folder of its own, and return how many events it has.

    The backup is verified without its passphrase, which the folder takes over. A folder with
    learners raises `FileExistsError`. A damaged backup raises `DamagedError` and leaves nothing.
    """
    path, mark = os.path.join(folder, JOURNAL_FILE), os.path.join(folder, MARK_FILE)
    if os.path.exists(path) or os.path.exists(mark):
        raise FileExistsError(f"{folder} already contains learners. Choose another folder.")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(backup, "rb") as source, open(os.open(path, flags, 0o600), "wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())  # before the mark says that the events are there
        n_events = _verify(path, mark)
        sync_folder(folder)
        return n_events
    except DamagedError:
        for name in filter(os.path.exists, (path, f"{path}-wal", mark)):
            os.remove(name)
        raise


def _verify(path: str, mark_path: str) -> int:
    """Verify everything in a database, and write its high-water mark."""
    with closing(Database(path)) as database:
        reader = JournalReader(database)
        for _ in reader.read_events():
            pass
        Snapshots(reader).read_latest()
        end = reader.read_end()
    with closing(HighWaterMark(mark_path)) as mark:
        mark.write_twice(end)
    return end.sequence


def _thin_out(connection: sqlite3.Connection, last: int) -> None:
    """Delete rounds whose neighbors are close, relative to their age."""
    query = "SELECT sequence FROM rounds ORDER BY sequence DESC"
    remaining: list[int] = []
    for (sequence,) in connection.execute(query).fetchall():
        while len(remaining) >= 2 and last - sequence <= 2 * (last - remaining[-2]):
            connection.execute("DELETE FROM rounds WHERE sequence = ?", (remaining.pop(),))
        remaining.append(sequence)


def _delete_unlisted(connection: sqlite3.Connection) -> None:
    """Delete the states that no round lists."""
    listed = set()
    for sequence, listing in connection.execute("SELECT sequence, listing FROM rounds").fetchall():
        try:
            listed |= {digest for _, digest in json.loads(listing)}
        except (ValueError, TypeError):
            raise DamagedError(f"the states after event {sequence} were changed") from None
    for (digest,) in connection.execute("SELECT digest FROM contents").fetchall():
        if digest not in listed:
            connection.execute("DELETE FROM contents WHERE digest = ?", (digest,))


def _context(learner_id: int) -> bytes:
    """Return the context of encryption: a state decrypts for no other learner."""
    return f"state of learner {learner_id}".encode()


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=HASH_BYTES).hexdigest()


def _compute_proof(position: JournalPosition, listing: str) -> bytes:
    text = f"{position.sequence} {listing}".encode()
    return blake2b(position.chain + text, digest_size=HASH_BYTES).digest()
