"""Who looks at learners now and then, so that any number of pages can show how they are.

One thread looks, five times a second where something has changed and a page is open, and leaves
what it saw for all to read. Nobody waits for a page, and no page makes anybody work twice.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from labelwalk.service.commands import UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.views import recent
from labelwalk.service.worker import BusyError

TICK = 0.2  # seconds
SECOND, POINT = 5, 25  # ticks between two standings, and between two points of history
POINTS = 720
VERDICTS = 20
MIB = 1 << 20


@dataclass(frozen=True)
class Glimpse:
    """What was seen of a learner: how much has happened to it, and its newest verdicts."""

    n_changes: int
    examples: int
    n_observed: int
    verdicts: list[dict[str, Any]]


@dataclass
class Watched:
    """What is known of a learner.

    Attributes
    ----------
    glimpse : Glimpse or None
        The last look; None before the first.
    standing : dict
        The last measures; empty before the first.
    standings : int
        How many there were.
    points : deque of (seconds, signs, rate, latency, MiB)
        The history.
    counted : (seconds, examples) or None
        When examples were last counted, and how many there were.
    """

    glimpse: Glimpse | None = None
    standing: dict[str, Any] = field(default_factory=dict)
    standings: int = 0
    points: deque[tuple[float, dict[str, float], float, float | None, float]] = field(
        default_factory=lambda: deque(maxlen=POINTS)
    )
    counted: tuple[float, int] | None = None


class Watcher:
    """Looks at the learners of a store.

    Parameters
    ----------
    store : LearnerStore

    Attributes
    ----------
    stopping : function
        Says whether the server is about to stop; pages are let go then.
    """

    def __init__(self, store: LearnerStore) -> None:
        self._store = store
        self._watched: dict[int, Watched] = {}
        self._pages: Counter[int] = Counter()
        self._ticks = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self.stopping: Callable[[], bool] = lambda: False

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def n_pages(self) -> int:
        """How many pages are open."""
        return self._pages.total()

    def open(self, number: int) -> None:
        """Take note that a page shows a learner; what was seen before the first one is old."""
        watched = self._watched.get(number)
        if watched is not None and self._pages[number] == 0:
            watched.glimpse = None
        self._pages[number] += 1

    def leave(self, number: int) -> None:
        """Take note that it does so no more."""
        self._pages[number] -= 1

    def of(self, number: int) -> Watched | None:
        """Return what is known of a learner; None where there is none any more."""
        if number not in self._store.count_changes():
            return None
        return self._watched.setdefault(number, Watched())

    def tick(self) -> None:
        """Look at what is new, and now and then at how all are."""
        changes = self._store.count_changes()
        for number in set(self._watched) - changes.keys():
            del self._watched[number]
        for number in changes:
            self._watched.setdefault(number, Watched())
        try:
            self._glimpse(changes)
            if self._ticks % SECOND == 0:
                self._measure(everybody=self._ticks % POINT == 0)
        except (BusyError, DiskError, DamagedError, UnfinishedError):
            pass  # there is a next time; the server itself says what is wrong
        self._ticks += 1

    def _run(self) -> None:
        while not self._end.wait(TICK):
            self.tick()

    def _glimpse(self, changes: dict[int, int]) -> None:
        def is_new(number: int) -> bool:
            last = self._watched[number].glimpse
            return last is None or last.n_changes != changes[number]

        news = [number for number in changes if self._pages[number] > 0 and is_new(number)]
        if news:
            for number, glimpse in self._asked(news, _glimpsed).items():
                self._watched[number].glimpse = glimpse

    def _measure(self, *, everybody: bool) -> None:
        numbers = [one for one in tuple(self._watched) if everybody or self._pages[one] > 0]
        if not numbers:
            return
        measured = self._asked(numbers, _measured)
        latency, memory = self._store.timing.percentiles(), memory_mib()
        waiting, now = self._store.get_status().values[1], time.monotonic()
        for number, (standing, signs) in measured.items():
            one = self._watched[number]
            rate = _rate(one, now, standing["examples"])
            one.standing = standing | {
                "rate": rate,
                "latency_ms": latency,
                "memory_mib": memory,
                "waiting": waiting,
            }
            one.standings += 1
            if everybody:
                one.points.append((time.time(), signs, rate, latency["p99"], memory))

    def _asked(
        self, numbers: list[int], question: Callable[[ManagedLearner], Any]
    ) -> dict[int, Any]:
        def ask(learners: dict[int, ManagedLearner]) -> dict[int, Any]:
            return {number: question(learners[number]) for number in numbers if number in learners}

        found: dict[int, Any] = self._store.query_all(ask).result()
        return found

    def history(self, number: int) -> dict[str, Any]:
        """Return the last hour of a learner, a point every five seconds."""
        watched = self.of(number)
        points = [] if watched is None else list(watched.points)
        names = list(points[-1][1]) if points else []
        return {
            "at": [point[0] for point in points],
            "signs": {name: [point[1].get(name) for point in points] for name in names},
            "rate": [point[2] for point in points],
            "latency_ms": [point[3] for point in points],
            "memory_mib": [point[4] for point in points],
        }


def memory_mib() -> float:
    """Return how much memory this process takes."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
    except OSError:  # not on this system: the most it has taken
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return round(pages * os.sysconf("SC_PAGE_SIZE") / MIB, 1)


def _rate(watched: Watched, now: float, examples: int) -> float:
    """Return examples a second since the last measure."""
    before, watched.counted = watched.counted, (now, examples)
    if before is None or now <= before[0]:
        return 0.0
    return round((examples - before[1]) / (now - before[0]), 1)


def _glimpsed(managed: ManagedLearner) -> Glimpse:
    return Glimpse(
        managed.n_changes,
        managed.next_example_id,
        managed.past.n_observed,
        recent(managed, VERDICTS),
    )


def _measured(managed: ManagedLearner) -> tuple[dict[str, Any], dict[str, float]]:
    learner = managed.learner
    signs = learner.health()
    standing = {
        "examples": managed.next_example_id,
        "vertices": learner.n_vertices,
        "radius": learner.radius,
        "alarms": [sign.name for sign in signs if not sign.ok],
    }
    return standing, {sign.name: sign.value for sign in signs}
