"""The write-ahead journal: every accepted event in order, verified by a chain of hashes."""

import os
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from labelwalk.service import sealed_parts
from labelwalk.service.database import DamagedError, Database, lock_folder
from labelwalk.service.encryption import Cipher, DecryptionError, NoEncryption, open_cipher

JOURNAL_FILE, MARK_FILE = "journal.db", "witness"
EVENTS_PER_QUERY = 256
MARK_SLOT_BYTES = 512  # one sector
MARK_RECORD = struct.Struct("<8sQ32s")
MARK_MAGIC = b"LWSAW\0\0\1"


class JournalPosition(NamedTuple):
    """An event, and the hash chain up to it."""

    sequence: int
    chain: bytes


JOURNAL_START = JournalPosition(0, bytes(sealed_parts.HASH_BYTES))


class StoredEvent(NamedTuple):
    """A row of the journal; `chain` is the hash chain including this event."""

    sequence: int
    at: int
    learner: int
    kind: str
    about: str
    key: str
    payload: bytes
    chain: bytes

    def encode_header(self) -> bytes:
        """Return everything but payload and chain, unambiguously."""
        texts = "\0".join([self.kind, self.about, self.key])
        lengths = f"{len(self.kind)} {len(self.about)}"
        return f"{self.sequence} {self.at} {self.learner} {lengths}\0{texts}".encode()

    def extend_chain(self, chain: bytes, commitment: bytes) -> bytes:
        """Return the hash of the chain before, the commitment of the payload and the header."""
        content = b"".join([chain, commitment, self.encode_header()])
        return blake2b(content, digest_size=sealed_parts.HASH_BYTES).digest()


COLUMN_TYPES = list(StoredEvent.__annotations__.values())


class EventContent(NamedTuple):
    """The decrypted parts of an event, and the answer stored for its key; None if erased."""

    parts: list[bytes | None]
    answer: bytes | None


@dataclass(frozen=True)
class Entry:
    """An event to be written; `about` stays readable when all parts are erased."""

    learner: int
    kind: str
    about: str
    parts: Sequence[bytes]
    key: str = ""


class JournalReader:
    """The events in a database, of a journal in use or of a backup.

    Without the cipher of the folder, events can be verified but not read. Whatever differs from
    what was written raises `DamagedError`.
    """

    def __init__(self, database: Database, cipher: Cipher | None = None) -> None:
        self.database, self.cipher = database, cipher or NoEncryption()

    def read_events(
        self, after: int | None = None, per_query: int = EVENTS_PER_QUERY
    ) -> Iterator[StoredEvent]:
        """Yield the events after one, by default all, each verified by the chain."""
        last = self.read_anchor() if after is None else self.read_position(after)
        end = self.read_end().sequence
        while last.sequence < end:
            rows = self.database.read(
                "SELECT * FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?",
                (last.sequence, per_query),
            )
            if not rows:
                raise self._describe_damage(last.sequence + 1, "is missing")
            for event in map(StoredEvent._make, rows):
                self._verify(event, last)
                last = JournalPosition(event.sequence, event.chain)
                yield event

    def read_event(self, sequence: int) -> StoredEvent:
        """Return one event, verified by the chain."""
        return next(self.read_events(after=sequence - 1, per_query=1))

    def decrypt(self, event: StoredEvent) -> EventContent:
        """Return the content of an event."""
        encrypted = [part.content for part in sealed_parts.decode_parts(event.payload)]
        try:
            parts = self.cipher.decrypt(encrypted, event.encode_header())
        except DecryptionError as error:
            raise self._describe_damage(event.sequence, error) from error
        return EventContent(parts[:-1], parts[-1]) if event.key else EventContent(parts, None)

    def read_position(self, sequence: int) -> JournalPosition:
        """Return the position of a stored event, or of the anchor."""
        anchor = self.read_anchor()
        if sequence == anchor.sequence:
            return anchor
        query = "SELECT sequence, chain FROM events WHERE sequence = ?"
        position = self._read_position(query, (sequence,))
        if position is None:
            raise self._describe_damage(sequence, "is missing")
        return position

    def read_anchor(self) -> JournalPosition:
        """Return the position before the first stored event."""
        return self._read_position("SELECT sequence, chain FROM anchor") or JOURNAL_START

    def read_end(self) -> JournalPosition:
        """Return the position of the last event."""
        query = "SELECT sequence, chain FROM events ORDER BY sequence DESC LIMIT 1"
        return self._read_position(query) or self.read_anchor()

    def replace_payloads(self, payloads: Mapping[int, bytes]) -> None:
        """Replace payloads by redacted ones with the same commitments."""
        with self.database.transaction(erases=True) as connection:
            connection.executemany(
                "UPDATE events SET payload = ? WHERE sequence = ?",
                [(payload, sequence) for sequence, payload in payloads.items()],
            )

    def drop_events(self, until: JournalPosition) -> None:
        """Delete all events up to one, which becomes the anchor."""
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM anchor")
            connection.execute("INSERT INTO anchor VALUES (?, ?)", until)
            connection.execute("DELETE FROM events WHERE sequence <= ?", (until.sequence,))

    def _read_position(self, query: str, values: Sequence[Any] = ()) -> JournalPosition | None:
        rows = self.database.read(query, values)
        if not rows:
            return None
        if [type(value) for value in rows[0]] != [int, bytes]:
            raise self._describe_damage(rows[0][0], "was changed")
        return JournalPosition(*rows[0])

    def _verify(self, event: StoredEvent, before: JournalPosition) -> None:
        if event.sequence != before.sequence + 1:
            raise self._describe_damage(before.sequence + 1, "is missing")
        if [type(value) for value in event] != COLUMN_TYPES:
            raise self._describe_damage(event.sequence, "was changed")
        try:
            commitment = sealed_parts.compute_commitment(event.payload)
        except sealed_parts.InvalidPartsError as error:
            raise self._describe_damage(event.sequence, f"is damaged: {error}") from error
        if event.extend_chain(before.chain, commitment) != event.chain:
            raise self._describe_damage(event.sequence, "was changed")

    def _describe_damage(self, sequence: int, problem: object) -> DamagedError:
        return DamagedError(f"{self.database.path}: event {sequence} {problem}")


class HighWaterMark:
    """A file next to the journal with the position of its last event; None if it is damaged.

    A journal whose end is cut off looks like one that was never longer; the mark shows the
    difference. It is written after the journal is on disk and before anybody gets an answer, into
    two slots in turn, so that a torn write damages only one of them.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        slots = [
            _decode_mark(os.pread(self._file, MARK_SLOT_BYTES, at)) for at in (0, MARK_SLOT_BYTES)
        ]
        self.position = max((slot for slot in slots if slot is not None), default=None)
        self._next_slot = 1 if slots[0] is not None and slots[0] == self.position else 0

    def write(self, position: JournalPosition, *, sync: bool = False) -> None:
        """Store a position; without `sync` it survives the process, but not a power cut."""
        record = MARK_RECORD.pack(MARK_MAGIC, *position)
        content = record + blake2b(record, digest_size=sealed_parts.HASH_BYTES).digest()
        slot = content.ljust(MARK_SLOT_BYTES, b"\0")
        os.pwrite(self._file, slot, self._next_slot * MARK_SLOT_BYTES)
        self._next_slot, self.position = 1 - self._next_slot, position
        if sync:
            os.fsync(self._file)

    def write_twice(self, position: JournalPosition) -> None:
        """Store a position in both slots, on disk."""
        for _ in range(2):
            self.write(position, sync=True)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _decode_mark(slot: bytes) -> JournalPosition | None:
    record, checksum = slot[: MARK_RECORD.size], slot[MARK_RECORD.size :][: sealed_parts.HASH_BYTES]
    is_whole = len(slot) == MARK_SLOT_BYTES
    if not is_whole or checksum != blake2b(record, digest_size=sealed_parts.HASH_BYTES).digest():
        return None
    magic, sequence, chain = MARK_RECORD.unpack(record)
    return JournalPosition(sequence, chain) if magic == MARK_MAGIC else None


class Journal:
    """The events of all learners, in a folder that one process owns; `last` is the last event.

    The folder is created if needed; a new folder takes the passphrase as its own. Opening raises
    `DamagedError` if events are missing at the end, `FolderInUseError` if another process uses the
    folder, and `PassphraseError`.
    """

    def __init__(self, folder: str, passphrase: str | None = None) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, JOURNAL_FILE)
        with ExitStack() as resources:
            resources.enter_context(lock_folder(folder))
            self._mark = HighWaterMark(os.path.join(folder, MARK_FILE))
            resources.callback(self._mark.close)
            self._check_file(path)
            self.database = Database(path)
            resources.callback(self.database.close)
            self.reader = JournalReader(self.database, open_cipher(self.database, passphrase))
            self.last = self.reader.read_end()
            self._check_mark()
            self._resources = resources.pop_all()

    def append(self, entries: Sequence[Entry]) -> None:
        """Write entries in order, all or none; they are on disk when this returns.

        After a `DiskError` they may or may not be on disk, and all further writes are refused.
        """
        events, last = [], self.last
        for entry in entries:
            event = _create_event(entry, last, self.reader.cipher)
            events.append(event)
            last = JournalPosition(event.sequence, event.chain)
        with self.database.transaction() as connection:
            connection.executemany("INSERT INTO events VALUES (?,?,?,?,?,?,?,?)", events)
        try:
            self._mark.write(last)
        except OSError as error:
            self.database.fail(f"the file {MARK_FILE} cannot be written ({error.strerror})")
        self.last = last

    def reload_end(self) -> None:
        """Read the last event again, after an error in the middle of `append`."""
        with self.database.transaction():  # refused if a transaction was left open
            self.last = self.reader.read_end()

    def read_keys(self, n_events: int) -> dict[tuple[int, str], int]:
        """Return the sequences of the last events with a key, by learner and idempotency key."""
        rows = self.database.read(
            "SELECT learner, key, sequence FROM events WHERE sequence > ? AND key != '' "
            "ORDER BY sequence",
            (self.last.sequence - n_events,),
        )
        return {(learner, key): sequence for learner, key, sequence in rows}

    def close(self) -> None:
        """Close all files and unlock the folder."""
        self._resources.close()

    def _check_file(self, path: str) -> None:
        """Allow a new database only in a folder that never had events."""
        if os.path.exists(path) and os.path.getsize(path) > 0:
            return
        position = self._mark.position or JOURNAL_START
        if position != JOURNAL_START:
            raise DamagedError(
                f"{path} is missing or empty, but {position.sequence} events were written to it"
            )
        # Before the database exists: a database without a mark means that the mark was lost.
        self._mark.write_twice(JOURNAL_START)

    def _check_mark(self) -> None:
        position, last, path = self._mark.position, self.last.sequence, self.database.path
        if position is None:
            raise DamagedError(
                f"the file {MARK_FILE} next to {path} is damaged: no record in it can be read"
            )
        if position.sequence > last:
            raise DamagedError(
                f"{path}: event {last + 1} is missing: events up to {position.sequence} were "
                f"written. Check the end of {path}-wal"
            )
        is_stored = position.sequence >= self.reader.read_anchor().sequence
        if is_stored and self.reader.read_position(position.sequence) != position:
            raise DamagedError(f"{path}: event {position.sequence} differs from what was written")


def _create_event(entry: Entry, before: JournalPosition, cipher: Cipher) -> StoredEvent:
    sequence, at = before.sequence + 1, time.time_ns() // 1_000_000
    names = entry.kind, entry.about, entry.key
    event = StoredEvent(sequence, at, entry.learner, *names, payload=b"", chain=b"")
    parts = cipher.encrypt(entry.parts, event.encode_header())
    payload, commitment = sealed_parts.encode_parts(parts)
    return event._replace(payload=payload, chain=event.extend_chain(before.chain, commitment))
