"""Everything that was accepted, in order, with a chain of hashes over it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from labelwalk.service.cipher import Cipher
from labelwalk.service.database import DamagedError, Database
from labelwalk.service.ledger import NOTHING, Ledger, Stored, chained, told
from labelwalk.service.owner import Owner
from labelwalk.service.passphrase import cipher_of
from labelwalk.service.sealed import seal
from labelwalk.service.witness import Seen, Witness

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


class Journal(Ledger):
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
            opened.callback(Owner(folder).release)
            self._witness = Witness(os.path.join(folder, WITNESS))
            opened.callback(self._witness.close)
            self._start(path)
            database = Database(path)
            opened.callback(database.close)
            super().__init__(database, cipher_of(database, passphrase))
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
            last = Seen(row.sequence, row.chain)
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
        seen = self._witness.seen or NOTHING
        if seen != NOTHING:
            raise DamagedError(
                f"{path} is missing or empty, but {seen.sequence} events were kept in it"
            )
        for _ in range(2):  # both places, and before the file: one without a witness has lost it
            self._witness.write(NOTHING, now=True)

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


def _row(entry: Entry, before: Seen, cipher: Cipher) -> Stored:
    row = Stored(
        sequence=before.sequence + 1,
        at=time.time_ns() // 1_000_000,
        learner=entry.learner,
        kind=entry.kind,
        about=entry.about,
        key=entry.key,
        payload=b"",
        chain=b"",
    )
    said = told(row)
    payload, commitment = seal(cipher.locked(entry.parts, said))
    return row._replace(payload=payload, chain=chained(before.chain, commitment, said))
