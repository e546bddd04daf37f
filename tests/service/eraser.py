"""A process that erases, and says when it is done."""

from __future__ import annotations

import os
import sys

from labelwalk.cli.options import PASSPHRASE_VARIABLE
from labelwalk.service.learner_store import LearnerStore

EVERY = 40


def main(folder: str, number: str, label: str) -> None:
    """Erase a class."""
    store = LearnerStore(
        folder, snapshot_every=EVERY, passphrase=os.environ.get(PASSPHRASE_VARIABLE)
    )
    os.write(1, b"begun\n")
    store.erase(int(number), label=label).result()
    os.write(1, b"erased\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
