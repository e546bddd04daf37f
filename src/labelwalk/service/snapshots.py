"""All learners as they were after an event: where a replay can begin.

A round lists every learner with the digest of its state; a state that several rounds share, since
nothing happened to the learner in between, is kept once. The older, the fewer are kept: wherever a
replay must begin, it has at most about twice as far to go as it must.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import NamedTuple

from labelwalk.service.database import DamagedError
from labelwalk.service.ledger import Ledger
from labelwalk.service.sealed import HASH
from labelwalk.service.witness import Seen


class Round(NamedTuple):
    """A moment: the last event in it, and the state of each learner."""

    at: Seen
    states: dict[int, bytes]


class Snapshots:
    """The rounds that are kept.

    Parameters
    ----------
    ledger : Ledger
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

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._database = ledger, ledger.database
        self._listed: dict[int, str] = {}

    def keep(self, at: Seen, changed: Mapping[int, bytes], alive: Collection[int]) -> None:
        """Keep a round: how all learners are after an event.

        Parameters
        ----------
        at : Seen
        changed : mapping from learners to states
            Of those to which something has happened since the last round.
        alive : collection of learners
            All that there are.
        """
        digests = {learner: _digest(content) for learner, content in changed.items()}
        listed = {k: v for k, v in (self._listed | digests).items() if k in alive}
        known = {digest for (digest,) in self._database.read("SELECT digest FROM contents")}
        new = {digests[k]: content for k, content in changed.items() if digests[k] not in known}
        listing = json.dumps(sorted(listed.items()))
        with self._database.writing() as connection:
            connection.executemany(
                "INSERT INTO contents (digest, content) VALUES (?, ?)", list(new.items())
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
        states = {}
        for learner, digest in json.loads(listing):
            rows = self._database.read("SELECT content FROM contents WHERE digest = ?", (digest,))
            if not rows or not isinstance(rows[0][0], bytes) or _digest(rows[0][0]) != digest:
                raise DamagedError(f"{place}: that of learner {learner} is missing or was changed")
            states[int(learner)] = rows[0][0]
        self._listed = {int(learner): str(digest) for learner, digest in json.loads(listing)}
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


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=HASH).hexdigest()


def _proof(at: Seen, listing: str) -> bytes:
    told = f"{at.sequence} {listing}".encode()
    return blake2b(at.chain + told, digest_size=HASH).digest()
