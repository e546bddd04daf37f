"""The demo: feeds a built-in stream to a learner, slowly enough to watch."""

import threading

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.service.commands import Observe, UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.worker import BusyError, NameTakenError, NoLearnerError

DEMO_LEARNER = "demo"
EXAMPLES_PER_BLOCK, BLOCK_INTERVAL_S = 2, 0.1
STREAM_SEED = 2016
SPOT_CENTERS = np.array([[0.0, 0.0], [-6.0, -5.0], [6.0, -5.0], [0.0, 8.0]])


def make_examples(first: int, n: int) -> Floats:
    """Return n examples of the stream from number `first` on, with two features.

    The classes are two moons and four spots, which are connected in themselves and far apart.
    """
    return np.array([_make_example(i) for i in range(first, first + n)]).reshape(n, 2)


def _make_example(i: int) -> Floats:
    rng = np.random.default_rng([STREAM_SEED, i])
    angle, noise, kind = rng.uniform(0.0, np.pi), rng.normal(size=2), int(rng.integers(6))
    arc = 2.0 * np.array([np.cos(angle), np.sin(angle)])
    if kind == 0:
        return np.array([-7.0, 3.0]) + arc + 0.35 * noise
    if kind == 1:
        return np.array([7.0, 5.0]) - arc + 0.35 * noise
    return np.asarray(SPOT_CENTERS[kind - 2] + 0.6 * noise)


class Demo:
    """Feeds the learner "demo" in a thread, from where it stopped if it already exists."""

    def __init__(self, store: LearnerStore) -> None:
        self._store = store
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._learner = 0

    def start(self) -> str:
        """Create the learner if it does not exist, start to feed it, and return its name."""
        with self._lock:
            learner = self._find_or_create()
            if self._thread is None or not self._thread.is_alive() or learner != self._learner:
                self._learner = learner
                self._thread = threading.Thread(
                    target=self._feed, args=(learner,), name="demo", daemon=True
                )
                self._thread.start()
        return DEMO_LEARNER

    def close(self) -> None:
        """Stop feeding."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def _find_or_create(self) -> int:
        try:
            learner = self._store.find_id(DEMO_LEARNER)
        except NoLearnerError:
            new = OnlineLearner(200, unreached="abstain")
            return self._store.create(DEMO_LEARNER, new).result()
        features = self._store.query(learner, lambda managed: managed.learner.n_features).result()
        if features not in (None, 2):
            raise NameTakenError(
                f"A learner {DEMO_LEARNER!r} with {features} features already exists. Delete it, "
                "or use another folder."
            )
        return learner

    def _feed(self, learner: int) -> None:
        try:
            position = self._store.query(learner, lambda managed: managed.next_example_id).result()
            while not self._end.wait(BLOCK_INTERVAL_S):
                block = Observe(make_examples(position, EXAMPLES_PER_BLOCK))
                try:
                    result = self._store.submit(learner, block).result()
                except (BusyError, UnfinishedError):
                    continue
                position = result.first + EXAMPLES_PER_BLOCK
        except (NoLearnerError, ValueError, DiskError, DamagedError, BusyError):
            return  # it was deleted or taught rows of another width, or the disk failed
