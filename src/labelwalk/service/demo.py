"""A stream that comes with the package, fed to a learner at a pace that a person can watch."""

from __future__ import annotations

import threading

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.service.database import DiskError
from labelwalk.service.events import Observe
from labelwalk.service.inbox import BusyError
from labelwalk.service.keeper import Keeper, NameTakenError, NoLearnerError

NAME = "demo"
AT_ONCE, PAUSE = 2, 0.1  # examples, and seconds between
SEED = 2016
STRANGE = 211  # one in so many examples is like nothing else
NOISE = 0.1


def stream(first: int, n: int) -> Floats:
    """Return n examples of two features from the stream, beginning with number `first`.

    Two moons, a ring with a core, and two spots: each hangs together, and is far from the others.

    Examples
    --------
    >>> stream(7, 1).tolist() == stream(0, 10)[7:8].tolist()
    True
    """
    return np.array([_example(i) for i in range(first, first + n)]).reshape(n, 2)


def _example(i: int) -> Floats:
    rng = np.random.default_rng([SEED, i])
    angle, noise = rng.uniform(0.0, np.pi), rng.normal(scale=NOISE, size=2)
    if i % STRANGE == STRANGE - 1:
        return rng.uniform(-9.0, 9.0, size=2)
    kind = rng.integers(6)
    arc = np.array([np.cos(angle), np.sin(angle)])
    if kind == 0:
        return np.array([-4.0, 1.5]) + 2.0 * arc + noise
    if kind == 1:
        return np.array([-2.0, 2.2]) - 2.0 * arc + noise
    if kind == 2:
        return np.array([3.0, 2.0]) + 2.0 * np.array([np.cos(2 * angle), np.sin(2 * angle)]) + noise
    centre = np.array([[3.0, 2.0], [-3.0, -3.5], [3.0, -3.5]])[kind - 3]
    return np.asarray(centre + 3.5 * noise)


class Demo:
    """Feeds a learner called demo for ever; where it was, if it is there already.

    Parameters
    ----------
    keeper : Keeper
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> str:
        """Make the learner if it is not there, feed it from now on, and return its name.

        Raises
        ------
        ValueError
            There is a learner of that name which takes other examples.
        """
        with self._lock:
            number = self._learner()
            if self._thread is None or not self._thread.is_alive():
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
            number = self._keeper.number(NAME)
        except NoLearnerError:
            learner = OnlineLearner(200, unreached="abstain")
            return self._keeper.create(NAME, learner).result()
        features = self._keeper.look(number, lambda pupil: pupil.learner.n_features).result()
        if features not in (None, 2):
            raise NameTakenError(
                f"there is a learner {NAME!r} of {features} features. Rename or delete that one."
            )
        return number

    def _feed(self, number: int) -> None:
        try:
            at = self._keeper.look(number, lambda pupil: pupil.n_numbered).result()
            while not self._end.wait(PAUSE):
                try:
                    told = self._keeper.change(number, Observe(stream(at, AT_ONCE))).result()
                except BusyError:
                    continue
                at = told.first + AT_ONCE
        except (NoLearnerError, DiskError, BusyError):
            return  # it was deleted, or there is no disk any more
