"""How far the journal had come, told by another file: so that no loss at its end goes unseen.

A log that was cut short looks just like one that was never longer. The witness is written when the
journal is on the disk, and before anybody is told: it never knows more than the disk, and after the
end of a process it knows as much. It has two places in turn, so that a torn write spoils one alone.
"""

from __future__ import annotations

import os
import struct
from hashlib import blake2b
from typing import NamedTuple

PLACE = 512  # a sector each
RECORD = struct.Struct("<8sQ32s")
MAGIC = b"LWSAW\0\0\1"
HASH = 32


class Seen(NamedTuple):
    """The last event that was on the disk, and the chain there."""

    sequence: int
    chain: bytes


class Witness:
    """The file; made if it is not there.

    Attributes
    ----------
    seen : Seen or None
        What it says; None where neither place can be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     witness = Witness(f"{folder}/witness")
    ...     witness.write(Seen(7, bytes(32)))
    ...     witness.close()
    ...     Witness(f"{folder}/witness").seen.sequence
    7
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        said = [_read(os.pread(self._file, PLACE, at)) for at in (0, PLACE)]
        self.seen = max((seen for seen in said if seen is not None), default=None)
        self._turn = 1 if said[0] is not None and said[0] == self.seen else 0

    def write(self, seen: Seen, *, now: bool = False) -> None:
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


def _read(place: bytes) -> Seen | None:
    if len(place) < PLACE:
        return None
    record = place[: RECORD.size]
    if place[RECORD.size : RECORD.size + HASH] != blake2b(record, digest_size=HASH).digest():
        return None
    magic, sequence, chain = RECORD.unpack(record)
    return Seen(sequence, chain) if magic == MAGIC else None
