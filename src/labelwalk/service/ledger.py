"""Reading what was written: every event proved by the chain of hashes over all before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from labelwalk.service.cipher import Cipher, Plain, UnlockError
from labelwalk.service.database import DamagedError, Database
from labelwalk.service.sealed import HASH, UnreadableError, committed, opened
from labelwalk.service.witness import Seen

NOTHING = Seen(0, bytes(HASH))
AT_ONCE = 256  # events, where many are read


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


class Opened(NamedTuple):
    """What an event holds: its parts, and the answer that goes with a key; None where erased."""

    parts: list[bytes | None]
    answer: bytes | None


TYPES = [int, int, int, str, str, str, bytes, bytes]


class Ledger:
    """The events in a database, of a journal in use or of a copy.

    Parameters
    ----------
    database : Database
    cipher : Cipher, optional
        What its contents are locked by. Without it they can be proved, but not read.
    """

    def __init__(self, database: Database, cipher: Cipher | None = None) -> None:
        self.database, self.cipher = database, cipher or Plain()

    def events(self, after: int | None = None, at_once: int = AT_ONCE) -> Iterator[Stored]:
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
            for row in map(Stored._make, rows):
                self._prove(row, last)
                last = Seen(row.sequence, row.chain)
                yield row

    def event(self, sequence: int) -> Stored:
        """Return one event, proved by its chain.

        Raises
        ------
        DamagedError
            It was changed or is missing.
        """
        return next(self.events(after=sequence - 1, at_once=1))

    def unlocked(self, event: Stored) -> Opened:
        """Return what an event holds.

        Raises
        ------
        DamagedError
            It was locked as something else, or by another key.
        """
        kept = [part.content for part in opened(event.payload)]
        try:
            parts = self.cipher.unlocked(kept, told(event))
        except UnlockError as error:
            raise DamagedError(f"{self.place(event.sequence)} {error}") from error
        return Opened(parts[:-1], parts[-1]) if event.key else Opened(parts, None)

    def at(self, sequence: int) -> Seen:
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

    def anchor(self) -> Seen:
        """Return what comes before the first event that is kept."""
        rows = self.database.read("SELECT sequence, chain FROM anchor")
        return self._seen(rows[0]) if rows else NOTHING

    def end(self) -> Seen:
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

    def drop(self, to: Seen) -> None:
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

    def _seen(self, row: tuple[Any, ...]) -> Seen:
        if [type(value) for value in row] != [int, bytes]:
            raise DamagedError(f"{self.place(row[0])} was changed")
        return Seen(*row)

    def _prove(self, row: Stored, before: Seen) -> None:
        if row.sequence != before.sequence + 1:
            raise DamagedError(self.missing(before.sequence + 1))
        if [type(value) for value in row] != TYPES:
            raise DamagedError(f"{self.place(row.sequence)} was changed")
        try:
            commitment = committed(row.payload)
        except UnreadableError as error:
            raise DamagedError(f"{self.place(row.sequence)} is spoiled: {error}") from error
        if chained(before.chain, commitment, told(row)) != row.chain:
            raise DamagedError(f"{self.place(row.sequence)} was changed")


def chained(before: bytes, commitment: bytes, said: bytes) -> bytes:
    """Return the hash of the chain so far and of all of a row but its payload's bytes."""
    return blake2b(b"".join([before, commitment, said]), digest_size=HASH).digest()


def told(row: Stored) -> bytes:
    """Return all of a row but its payload and its chain; no two rows tell the same."""
    words = "\0".join([row.kind, row.about, row.key])
    numbers = f"{row.sequence} {row.at} {row.learner} {len(row.kind)} {len(row.about)}"
    return f"{numbers}\0{words}".encode()
