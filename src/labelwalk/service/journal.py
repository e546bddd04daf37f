"""How far the journal had come, told by another file: so that no loss at its end goes unseen.

A log that was cut short looks just like one that was never longer. The witness is written when the
journal is on the disk, and before anybody is told: it never knows more than the disk, and after the
end of a process it knows as much. It has two places in turn, so that a torn write spoils one alone.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from labelwalk.service.database import DamagedError, Database, FolderLock
from labelwalk.service.encryption import Cipher, DecryptionError, NoEncryption, open_cipher
from labelwalk.service.sealed_parts import (
    HASH,
    InvalidPartsError,
    compute_commitment,
    decode_parts,
    encode_parts,
)

PLACE = 512  # a sector each
RECORD = struct.Struct("<8sQ32s")
MAGIC = b"LWSAW\0\0\1"


class JournalPosition(NamedTuple):
    """The last event that was on the disk, and the chain there."""

    sequence: int
    chain: bytes


class HighWaterMark:
    """The file; made if it is not there.

    Attributes
    ----------
    seen : JournalPosition or None
        What it says; None where neither place can be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     witness = HighWaterMark(f"{folder}/witness")
    ...     witness.write(JournalPosition(7, bytes(32)))
    ...     witness.close()
    ...     HighWaterMark(f"{folder}/witness").seen.sequence
    7
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        said = [_read(os.pread(self._file, PLACE, at)) for at in (0, PLACE)]
        self.seen = max((seen for seen in said if seen is not None), default=None)
        self._turn = 1 if said[0] is not None and said[0] == self.seen else 0

    def write(self, seen: JournalPosition, *, now: bool = False) -> None:
        """Say how far the journal has come; the disk learns it in its own time, or now."""
        record = RECORD.pack(MAGIC, *seen)
        content = (record + blake2b(record, digest_size=HASH).digest()).ljust(PLACE, b"\0")
        os.pwrite(self._file, content, self._turn * PLACE)
        self._turn, self.seen = 1 - self._turn, seen
        if now:
            os.fsync(self._file)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def _read(place: bytes) -> JournalPosition | None:
    if len(place) < PLACE:
        return None
    record = place[: RECORD.size]
    if place[RECORD.size : RECORD.size + HASH] != blake2b(record, digest_size=HASH).digest():
        return None
    magic, sequence, chain = RECORD.unpack(record)
    return JournalPosition(sequence, chain) if magic == MAGIC else None


START = JournalPosition(0, bytes(HASH))
AT_ONCE = 256  # events, where many are read


class StoredEvent(NamedTuple):
    """What was written, and the chain after it."""

    sequence: int
    at: int
    learner: int
    kind: str
    about: str
    key: str
    payload: bytes
    chain: bytes


class EventContent(NamedTuple):
    """What an event holds: its parts, and the answer that goes with a key; None where erased."""

    parts: list[bytes | None]
    answer: bytes | None


TYPES = [int, int, int, str, str, str, bytes, bytes]


class JournalReader:
    """The events in a database, of a journal in use or of a copy.

    Parameters
    ----------
    database : Database
    cipher : Cipher, optional
        What its contents are locked by. Without it they can be proved, but not read.
    """

    def __init__(self, database: Database, cipher: Cipher | None = None) -> None:
        self.database, self.cipher = database, cipher or NoEncryption()

    def events(self, after: int | None = None, at_once: int = AT_ONCE) -> Iterator[StoredEvent]:
        """Yield what was written after an event, or all that is kept, each proved by its chain.

        Parameters
        ----------
        after : int, optional
        at_once : int
            How many are read at a time.

        Raises
        ------
        DamagedError
            One was changed or is missing; says which.
        """
        last, end = self.anchor() if after is None else self.at(after), self.end().sequence
        while last.sequence < end:
            rows = self.database.read(
                "SELECT * FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?",
                (last.sequence, at_once),
            )
            if not rows:
                raise DamagedError(self.missing(last.sequence + 1))
            for row in map(StoredEvent._make, rows):
                self._prove(row, last)
                last = JournalPosition(row.sequence, row.chain)
                yield row

    def event(self, sequence: int) -> StoredEvent:
        """Return one event, proved by its chain.

        Raises
        ------
        DamagedError
            It was changed or is missing.
        """
        return next(self.events(after=sequence - 1, at_once=1))

    def decrypt(self, event: StoredEvent) -> EventContent:
        """Return what an event holds.

        Raises
        ------
        DamagedError
            It was locked as something else, or by another key.
        """
        kept = [part.content for part in decode_parts(event.payload)]
        try:
            parts = self.cipher.decrypt(kept, encode_header(event))
        except DecryptionError as error:
            raise DamagedError(f"{self.place(event.sequence)} {error}") from error
        return EventContent(parts[:-1], parts[-1]) if event.key else EventContent(parts, None)

    def at(self, sequence: int) -> JournalPosition:
        """Return an event that is kept, or the one before the first, and the chain there.

        Raises
        ------
        DamagedError
            It is missing.
        """
        anchor = self.anchor()
        if sequence == anchor.sequence:
            return anchor
        rows = self.database.read(
            "SELECT sequence, chain FROM events WHERE sequence = ?", (sequence,)
        )
        if not rows:
            raise DamagedError(self.missing(sequence))
        return self._seen(rows[0])

    def anchor(self) -> JournalPosition:
        """Return what comes before the first event that is kept."""
        rows = self.database.read("SELECT sequence, chain FROM anchor")
        return self._seen(rows[0]) if rows else START

    def end(self) -> JournalPosition:
        """Return the last event."""
        rows = self.database.read(
            "SELECT sequence, chain FROM events ORDER BY sequence DESC LIMIT 1"
        )
        return self._seen(rows[0]) if rows else self.anchor()

    def rewrite(self, payloads: Mapping[int, bytes]) -> None:
        """Put other bytes in the place of payloads: with parts erased, and the same commitments."""
        with self.database.writing(erasing=True) as connection:
            connection.executemany(
                "UPDATE events SET payload = ? WHERE sequence = ?",
                [(payload, sequence) for sequence, payload in payloads.items()],
            )

    def drop(self, to: JournalPosition) -> None:
        """Let go of all events up to one, and begin after it."""
        with self.database.writing() as connection:
            connection.execute("DELETE FROM anchor")
            connection.execute("INSERT INTO anchor VALUES (?, ?)", to)
            connection.execute("DELETE FROM events WHERE sequence <= ?", (to.sequence,))

    def missing(self, sequence: int) -> str:
        """Say that an event is not there."""
        return f"{self.place(sequence)} is missing"

    def place(self, sequence: int) -> str:
        """Say where an event is."""
        return f"{self.database.path}: event {sequence}"

    def _seen(self, row: tuple[Any, ...]) -> JournalPosition:
        if [type(value) for value in row] != [int, bytes]:
            raise DamagedError(f"{self.place(row[0])} was changed")
        return JournalPosition(*row)

    def _prove(self, row: StoredEvent, before: JournalPosition) -> None:
        if row.sequence != before.sequence + 1:
            raise DamagedError(self.missing(before.sequence + 1))
        if [type(value) for value in row] != TYPES:
            raise DamagedError(f"{self.place(row.sequence)} was changed")
        try:
            commitment = compute_commitment(row.payload)
        except InvalidPartsError as error:
            raise DamagedError(f"{self.place(row.sequence)} is spoiled: {error}") from error
        if extend_chain(before.chain, commitment, encode_header(row)) != row.chain:
            raise DamagedError(f"{self.place(row.sequence)} was changed")


def extend_chain(before: bytes, commitment: bytes, said: bytes) -> bytes:
    """Return the hash of the chain so far and of all of a row but its payload's bytes."""
    return blake2b(b"".join([before, commitment, said]), digest_size=HASH).digest()


def encode_header(row: StoredEvent) -> bytes:
    """Return all of a row but its payload and its chain; no two rows tell the same."""
    words = "\0".join([row.kind, row.about, row.key])
    numbers = f"{row.sequence} {row.at} {row.learner} {len(row.kind)} {len(row.about)}"
    return f"{numbers}\0{words}".encode()


FILE, WITNESS = "journal.db", "witness"


@dataclass(frozen=True)
class Entry:
    """What is to be written.

    Attributes
    ----------
    learner : int
    kind : str
    about : str
        What may be known even when all parts are erased.
    parts : sequence of bytes
    key : str
        By which the sender knows it again; empty: by none.
    """

    learner: int
    kind: str
    about: str
    parts: Sequence[bytes]
    key: str = ""


class Journal(JournalReader):
    """The events of all learners, in a folder that one process owns.

    What `append` was given is on the disk when it returns. Opening it shows that all is there that
    anybody was told of.

    Parameters
    ----------
    folder : str
        Made if it is not there.
    passphrase : str, optional
        That of the folder; one that is new takes it as its own.

    Attributes
    ----------
    last : JournalPosition
        The last event.
    database : Database
        Where it is kept; snapshots lie there too.

    Raises
    ------
    DamagedError
        Events are missing at the end.
    FolderInUseError
        Another process has the folder.
    PassphraseError
        It is not the one of the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(folder)
    ...     journal.append([Entry(1, "observe", "{}", [b"a row"])])
    ...     journal.close()
    ...     [(event.sequence, event.kind) for event in Journal(folder).events()]
    [(1, 'observe')]
    """

    def __init__(self, folder: str, passphrase: str | None = None) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, FILE)
        with ExitStack() as opened:
            opened.callback(FolderLock(folder).release)
            self._witness = HighWaterMark(os.path.join(folder, WITNESS))
            opened.callback(self._witness.close)
            self._start(path)
            database = Database(path)
            opened.callback(database.close)
            super().__init__(database, open_cipher(database, passphrase))
            self.last = self.end()
            self._ask_witness()
            self._opened = opened.pop_all()

    def append(self, entries: Sequence[Entry]) -> None:
        """Write entries in order, all or none; they are on the disk when this returns.

        Raises
        ------
        DiskError
            They may be there or not. Nothing is accepted any more.
        """
        rows, last = [], self.last
        for entry in entries:
            row = _row(entry, last, self.cipher)
            rows.append(row)
            last = JournalPosition(row.sequence, row.chain)
        with self.database.writing() as connection:
            connection.executemany("INSERT INTO events VALUES (?,?,?,?,?,?,?,?)", rows)
        try:
            self._witness.write(last)
        except OSError as error:
            self.database.fail(f"the witness cannot be written ({error.strerror})")
        self.last = last

    def catch_up(self) -> None:
        """Take note of what is there, after an error in the middle of `append`."""
        with self.database.writing():  # refused where a transaction was left open
            self.last = self.end()

    def keys(self, most: int) -> Iterator[tuple[tuple[int, str], int]]:
        """Yield learner, key and number of those of the last events that have a key."""
        rows = self.database.read(
            "SELECT learner, key, sequence FROM events WHERE sequence > ? AND key != '' "
            "ORDER BY sequence",
            (self.last.sequence - most,),
        )
        yield from (((learner, key), sequence) for learner, key, sequence in rows)

    def close(self) -> None:
        """Let go of the folder."""
        self._opened.close()

    def _start(self, path: str) -> None:
        """See that a journal that is not there never was."""
        if os.path.exists(path) and os.path.getsize(path) > 0:
            return
        seen = self._witness.seen or START
        if seen != START:
            raise DamagedError(
                f"{path} is missing or empty, but {seen.sequence} events were kept in it"
            )
        for _ in range(2):  # both places, and before the file: one without a witness has lost it
            self._witness.write(START, now=True)

    def _ask_witness(self) -> None:
        seen = self._witness.seen
        if seen is None:
            raise DamagedError(f"{WITNESS} beside {self.database.path} is damaged: both records")
        if seen.sequence > self.last.sequence:
            raise DamagedError(
                f"{self.missing(self.last.sequence + 1)}: events up to {seen.sequence} were kept. "
                f"Look at the end of {self.database.path}-wal"
            )
        if seen.sequence >= self.anchor().sequence and self.at(seen.sequence) != seen:
            raise DamagedError(f"{self.place(seen.sequence)} is not the one that was kept")


def _row(entry: Entry, before: JournalPosition, cipher: Cipher) -> StoredEvent:
    row = StoredEvent(
        sequence=before.sequence + 1,
        at=time.time_ns() // 1_000_000,
        learner=entry.learner,
        kind=entry.kind,
        about=entry.about,
        key=entry.key,
        payload=b"",
        chain=b"",
    )
    said = encode_header(row)
    payload, commitment = encode_parts(cipher.encrypt(entry.parts, said))
    return row._replace(payload=payload, chain=extend_chain(before.chain, commitment, said))
