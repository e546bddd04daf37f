"""Commands for tests, and a process that applies them and says which are on disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice

import numpy as np

from labelwalk import OnlineLearner
from labelwalk.cli.options import PASSPHRASE_VARIABLE
from labelwalk.service import encryption
from labelwalk.service.commands import Adjust, Command, Observe, Teach, TeachLater
from labelwalk.service.learner_store import LearnerStore

K, D, EVERY = 20, 3, 150


def events(seed: int) -> Iterator[Command]:
    """Yield valid commands of all kinds, the same for the same seed."""
    rng = np.random.default_rng(seed)
    yield Teach(np.array([[0.0] * D, [6.0] * D]), ("low", "high"))
    n, fresh = 2, list[int]()
    while True:
        rows = 6.0 * rng.integers(2, size=(int(rng.integers(1, 20)), 1)) + rng.normal(size=(1, D))
        kind = rng.random()
        if kind < 0.8 or not fresh:
            fresh = list(range(n, n + len(rows)))
            yield Observe(rows if kind < 0.4 else rows.astype(np.float32))
        elif kind < 0.9:
            yield Teach(rows, tuple(["low" if row[0] < 3 else "high" for row in rows]))
        elif kind < 0.93:
            yield Adjust({"sink": float(rng.choice([1e-4, 1e-2])), "abstain_below": 0.2})
            continue
        else:
            yield TeachLater(fresh.pop(), "low")
            continue
        n += len(rows)


def digest(store: LearnerStore, learner_id: int) -> str:
    """Return the digest of a learner."""
    value: str = store.query(learner_id, lambda managed: managed.learner.digest()).result()
    return value


def main(folder: str, seed: str, most: str = "") -> None:
    """Continue the learner of a folder, forever or for a number of commands.

    The passphrase of the folder is in the environment, if it has one.
    """
    encryption.SCRYPT_N = 2  # no need to make guessing expensive
    store = LearnerStore(
        folder, snapshot_every=EVERY, passphrase=os.environ.get(PASSPHRASE_VARIABLE)
    )
    done = store.query_all(lambda learners: dict(learners)).result()
    number = next(iter(done), None) or store.create("only", OnlineLearner(K)).result()
    stream = islice(events(int(seed)), int(most) if most else None)
    for i, event in enumerate(stream):
        told = store.submit(number, event, key=f"event {i}").result()
        os.write(1, f"{i} {told.first}\n".encode())
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
