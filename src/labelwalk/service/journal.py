"""Everything that was accepted, in order, with a chain of hashes over it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from labelwalk.service.database import DamagedError, Database
from labelwalk.service.owner import Owner
from labelwalk.service.sealed import HASH, UnreadableError, committed, seal
from labelwalk.service.witness import Seen, Witness

FILE, WITNESS = "journal.db", "witness"
NOTHING = Seen(0, bytes(HASH))
AT_ONCE = 256  # events, where many are read


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


class Stored(NamedTuple):
    """What was written, and the chain after it."""

    sequence: int
    at: int
    learner: int
    kind: str
    about: str
    key: str
    payload: bytes
    chain: bytes


TYPES = [int, int, int, str, str, str, bytes, bytes]


class Journal:
    """The events of all learners, in a folder that one process owns.

    What `append` was given is on the disk when it returns. Opening it shows that all is there that
    anybody was told of.

    Parameters
    ----------
    folder : str
        Made if it is not there.

    Attributes
    ----------
    last : Seen
        The last event.
    database : Database
        Where it is kept; snapshots lie there too.

    Raises
    ------
    DamagedError
        Events are missing at the end.
    OwnedError
        Another process has the folder.

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

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, FILE)
        with ExitStack() as opened:
            opened.callback(Owner(folder).release)
            self._witness = Witness(os.path.join(folder, WITNESS))
            opened.callback(self._witness.close)
            self._start(path)
            self.database = Database(path)
            opened.callback(self.database.close)
            self.last = self._found_last()
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
            row = _row(entry, last)
            rows.append(row)
            last = Seen(row.sequence, row.chain)
        with self.database.writing() as connection:
            connection.executemany("INSERT INTO events VALUES (?,?,?,?,?,?,?,?)", rows)
        try:
            self._witness.write(last)
        except OSError as error:
            self.database.fail(f"the witness cannot be written ({error.strerror})")
        self.last = last

    def events(self, after: int | None = None) -> Iterator[Stored]:
        """Yield what was written after an event, or all that is kept, each proved by its chain.

        Raises
        ------
        DamagedError
            One was changed or is missing; says which.
        """
        last, end = self._anchor() if after is None else self.at(after), self.last.sequence
        while last.sequence < end:
            rows = self.database.read(
                "SELECT * FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?",
                (last.sequence, AT_ONCE),
            )
            if not rows:
                raise DamagedError(self._missing(last.sequence + 1))
            for row in map(Stored._make, rows):
                self._prove(row, last)
                last = Seen(row.sequence, row.chain)
                yield row

    def at(self, sequence: int) -> Seen:
        """Return an event that is kept, or the one before the first, and the chain there.

        Raises
        ------
        DamagedError
            It is missing.
        """
        anchor = self._anchor()
        if sequence == anchor.sequence:
            return anchor
        rows = self.database.read(
            "SELECT sequence, chain FROM events WHERE sequence = ?", (sequence,)
        )
        if not rows:
            raise DamagedError(self._missing(sequence))
        return self._seen(rows[0])

    def event(self, sequence: int) -> Stored:
        """Return one event, proved by its chain.

        Raises
        ------
        DamagedError
            It was changed or is missing.
        """
        return next(self.events(after=sequence - 1))

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
        seen = self._witness.seen or NOTHING
        if seen != NOTHING:
            raise DamagedError(
                f"{path} is missing or empty, but {seen.sequence} events were kept in it"
            )
        for _ in range(2):  # both places, and before the file: one without a witness has lost it
            self._witness.write(NOTHING, now=True)

    def _found_last(self) -> Seen:
        rows = self.database.read(
            "SELECT sequence, chain FROM events ORDER BY sequence DESC LIMIT 1"
        )
        return self._seen(rows[0]) if rows else self._anchor()

    def _ask_witness(self) -> None:
        seen = self._witness.seen
        if seen is None:
            raise DamagedError(f"{WITNESS} beside {self.database.path} is damaged: both records")
        if seen.sequence > self.last.sequence:
            raise DamagedError(
                f"{self._missing(self.last.sequence + 1)}: events up to {seen.sequence} were kept. "
                f"Look at the end of {self.database.path}-wal"
            )
        if seen.sequence >= self._anchor().sequence and self.at(seen.sequence) != seen:
            raise DamagedError(f"{self._event(seen.sequence)} is not the one that was kept")

    def _anchor(self) -> Seen:
        """Return what comes before the first event that is kept."""
        rows = self.database.read("SELECT sequence, chain FROM anchor")
        return self._seen(rows[0]) if rows else NOTHING

    def _seen(self, row: tuple[Any, ...]) -> Seen:
        if [type(value) for value in row] != [int, bytes]:
            raise DamagedError(f"{self._event(row[0])} was changed")
        return Seen(*row)

    def _missing(self, sequence: int) -> str:
        return f"{self._event(sequence)} is missing"

    def _event(self, sequence: int) -> str:
        return f"{self.database.path}: event {sequence}"

    def _prove(self, row: Stored, before: Seen) -> None:
        if row.sequence != before.sequence + 1:
            raise DamagedError(self._missing(before.sequence + 1))
        if [type(value) for value in row] != TYPES:
            raise DamagedError(f"{self._event(row.sequence)} was changed")
        try:
            commitment = committed(row.payload)
        except UnreadableError as error:
            raise DamagedError(f"{self._event(row.sequence)} is spoiled: {error}") from error
        if _chained(before.chain, row, commitment) != row.chain:
            raise DamagedError(f"{self._event(row.sequence)} was changed")


def _row(entry: Entry, before: Seen) -> Stored:
    payload, commitment = seal(entry.parts)
    row = Stored(
        sequence=before.sequence + 1,
        at=time.time_ns() // 1_000_000,
        learner=entry.learner,
        kind=entry.kind,
        about=entry.about,
        key=entry.key,
        payload=payload,
        chain=b"",
    )
    return row._replace(chain=_chained(before.chain, row, commitment))


def _chained(before: bytes, row: Stored, commitment: bytes) -> bytes:
    """Return the hash of the chain so far and of all of a row but its payload's bytes."""
    words = "\0".join([row.kind, row.about, row.key])
    numbers = f"{row.sequence} {row.at} {row.learner} {len(row.kind)} {len(row.about)}"
    told = f"{numbers}\0{words}".encode()
    return blake2b(b"".join([before, commitment, told]), digest_size=HASH).digest()
