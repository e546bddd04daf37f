"""A process that writes events, and says which are on the disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import numpy as np

from labelwalk.service.database import DiskError
from labelwalk.service.journal import Entry, Journal, StoredEvent
from labelwalk.service.sealed_parts import decode_parts
from tests.service.seeded_bugs import BUGS_OF_KEEPING, BUGS_OF_THE_DISK

TRIES = 5  # after a failure


def entries(rng: np.random.Generator) -> list[Entry]:
    """Return a few events of any size."""
    return [
        Entry(
            int(rng.integers(1, 4)),
            "observe",
            '{"d": 4}',
            [rng.bytes(int(rng.choice([8, 32, 3000]))) for _ in range(int(rng.integers(1, 4)))],
            key=str(rng.integers(10**9)),
        )
        for _ in range(int(rng.integers(1, 4)))
    ]


def groups(seed: int) -> Iterator[list[Entry]]:
    """Yield what is written together, always the same for a seed."""
    rng = np.random.default_rng(seed)
    while True:
        yield entries(rng)


def whole_groups(found: list[StoredEvent], seed: int) -> bool:
    """Return whether events are those of a writer, in order, once each, and no group is torn."""
    rest = list(found)
    for group in groups(seed):
        if not rest:
            return True
        now, rest = rest[: len(group)], rest[len(group) :]
        if [_entry(event) for event in now] != group:
            return False
    raise AssertionError


def _entry(event: StoredEvent) -> Entry:
    parts = [part.content or b"" for part in decode_parts(event.payload)]
    return Entry(event.learner, event.kind, event.about, parts, event.key)


def main(folder: str, seed: str, most: str, bug: str = "") -> None:
    """Write until there are so many events, with a mistake where one is named.

    Where the disk fails, try some more none the less.
    """
    if bug:
        (BUGS_OF_THE_DISK | BUGS_OF_KEEPING)[bug](setattr)
    journal, failures = Journal(folder), 0
    for group in groups(int(seed)):
        if journal.last.sequence >= int(most) or failures == TRIES:
            break
        try:
            journal.append(group)
        except DiskError:
            failures += 1
        else:
            os.write(1, f"{journal.last.sequence} {journal.last.chain.hex()}\n".encode())
    journal.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
