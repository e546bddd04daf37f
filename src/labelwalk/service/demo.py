"""A stream that comes with the package, fed to a learner at a pace that a person can watch."""

from __future__ import annotations

import threading

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.service.commands import Observe, UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.learner_store import LearnerStore, NameTakenError
from labelwalk.service.worker import BusyError, NoLearnerError

NAME = "demo"
AT_ONCE, PAUSE = 2, 0.1  # examples, and seconds between
SEED = 2016
SPOTS = np.array([[0.0, 0.0], [-6.0, -5.0], [6.0, -5.0], [0.0, 8.0]])


def stream(first: int, n: int) -> Floats:
    """Return n examples of two features from the stream, beginning with number `first`.

    Two moons and four spots, so far apart that each hangs together and with no other.

    Examples
    --------
    >>> stream(7, 1).tolist() == stream(0, 10)[7:8].tolist()
    True
    """
    return np.array([_example(i) for i in range(first, first + n)]).reshape(n, 2)


def _example(i: int) -> Floats:
    rng = np.random.default_rng([SEED, i])
    angle, noise, kind = rng.uniform(0.0, np.pi), rng.normal(size=2), int(rng.integers(6))
    arc = 2.0 * np.array([np.cos(angle), np.sin(angle)])
    if kind == 0:
        return np.array([-7.0, 3.0]) + arc + 0.35 * noise
    if kind == 1:
        return np.array([7.0, 5.0]) - arc + 0.35 * noise
    return np.asarray(SPOTS[kind - 2] + 0.6 * noise)


class Demo:
    """Feeds a learner called demo for ever; where it was, if it is there already.

    Parameters
    ----------
    store : LearnerStore
    """

    def __init__(self, store: LearnerStore) -> None:
        self._store = store
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._fed = 0  # the number of the learner

    def start(self) -> str:
        """Make the learner if it is not there, feed it from now on, and return its name.

        Raises
        ------
        ValueError
            There is a learner of that name which takes other examples.
        """
        with self._lock:
            number = self._learner()
            if self._thread is None or not self._thread.is_alive() or number != self._fed:
                self._fed = number
                self._thread = threading.Thread(
                    target=self._feed, args=(number,), name="demo", daemon=True
                )
                self._thread.start()
        return NAME

    def close(self) -> None:
        """Feed it no more."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def _learner(self) -> int:
        try:
            number = self._store.find_id(NAME)
        except NoLearnerError:
            learner = OnlineLearner(200, unreached="abstain")
            return self._store.create(NAME, learner).result()
        features = self._store.query(number, lambda managed: managed.learner.n_features).result()
        if features not in (None, 2):
            raise NameTakenError(
                f"there is a learner {NAME!r} of {features} features. Rename or delete that one."
            )
        return number

    def _feed(self, number: int) -> None:
        try:
            at = self._store.query(number, lambda managed: managed.next_example_id).result()
            while not self._end.wait(PAUSE):
                try:
                    told = self._store.submit(number, Observe(stream(at, AT_ONCE))).result()
                except (BusyError, UnfinishedError):
                    continue
                at = told.first + AT_ONCE
        except (NoLearnerError, ValueError, DiskError, DamagedError, BusyError):
            return  # it was deleted, taught rows of another width, or has no disk any more
