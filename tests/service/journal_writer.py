"""A process that writes events, and says which are on the disk."""

from __future__ import annotations

import os
import sys

import numpy as np

from labelwalk.service.journal import Entry, Journal
from tests.service.seeded_bugs import BUGS_OF_THE_DISK


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


def main(folder: str, seed: str, most: str, bug: str = "") -> None:
    """Write until there are so many events, with a mistake where one is named."""
    if bug:
        BUGS_OF_THE_DISK[bug](setattr)
    rng = np.random.default_rng(int(seed))
    journal = Journal(folder)
    while journal.last.sequence < int(most):
        journal.append(entries(rng))
        os.write(1, f"{journal.last.sequence} {journal.last.chain.hex()}\n".encode())
    journal.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
