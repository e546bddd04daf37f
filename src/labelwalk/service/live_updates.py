"""Live updates for the page: learners are sampled, and changes sent as server-sent events.

One thread samples the learners: five times a second if something has changed and a page is open.
Each connection reads the last sample at its own pace, so a slow browser gets fewer events, and
neither a browser nor a write waits for another.
"""

import asyncio
import json
import os
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from labelwalk.service.commands import UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.errors import TooManyPagesError
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.views import list_recent
from labelwalk.service.worker import BusyError

TICK_S = 0.2
STATUS_TICKS, HISTORY_TICKS = 5, 25  # between two of them
MAX_HISTORY_POINTS = 720  # an hour
MAX_SAMPLED_VERDICTS = 20
MIB = 1 << 20
MAX_PAGES = 50
KEEP_ALIVE_S = 15.0  # without an event, a comment is sent
SEND_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class LearnerSample:
    """How many changes and examples a learner has had, and its newest verdicts."""

    n_changes: int
    examples: int
    n_observed: int
    verdicts: list[dict[str, Any]]


class HistoryPoint(NamedTuple):
    """Measurements of a learner at a time."""

    at: float
    health: dict[str, float]
    rate: float
    latency_ms: float | None
    memory_mib: float


@dataclass
class SampledLearner:
    """The samples and measurements of a learner."""

    sample: LearnerSample | None = None
    status: dict[str, Any] = field(default_factory=dict)  # the last measurements
    n_statuses: int = 0
    history: deque[HistoryPoint] = field(default_factory=lambda: deque(maxlen=MAX_HISTORY_POINTS))
    last_count: tuple[float, int] | None = None  # seconds and examples, for the rate


class PageSampler:
    """Samples the learners of a store in a thread.

    Connections are closed when `is_stopping` returns that the server stops.
    """

    def __init__(self, store: LearnerStore) -> None:
        self._store = store
        self._learners: dict[int, SampledLearner] = {}
        self._pages: Counter[int] = Counter()
        self._n_ticks = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page sampler", daemon=True)
        self.is_stopping: Callable[[], bool] = lambda: False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def n_pages(self) -> int:
        """Number of open pages."""
        return self._pages.total()

    def open_page(self, number: int) -> None:
        """Count a page that shows a learner; the first one gets a new sample."""
        learner = self._learners.get(number)
        if learner is not None and self._pages[number] == 0:
            learner.sample = None
        self._pages[number] += 1

    def close_page(self, number: int) -> None:
        """Stop counting a page."""
        self._pages[number] -= 1

    def get(self, number: int) -> SampledLearner | None:
        """Return the samples of a learner; None if it was deleted."""
        if number not in self._store.count_changes():
            return None
        return self._learners.setdefault(number, SampledLearner())

    def tick(self) -> None:
        """Sample learners that have changed, and measure them all from time to time."""
        changes = self._store.count_changes()
        for number in set(self._learners) - changes.keys():
            del self._learners[number]
        for number in changes:
            self._learners.setdefault(number, SampledLearner())
        try:
            self._sample(changes)
            if self._n_ticks % STATUS_TICKS == 0:
                self._measure(is_history=self._n_ticks % HISTORY_TICKS == 0)
        except (BusyError, DiskError, DamagedError, UnfinishedError):
            pass  # the next tick tries again; the service itself reports the error
        self._n_ticks += 1

    def get_history(self, number: int) -> dict[str, Any]:
        """Return the measurements of the last hour, one every five seconds."""
        learner = self.get(number)
        points = [] if learner is None else list(learner.history)
        metrics = points[-1].health if points else ()
        signs = {name: [point.health.get(name) for point in points] for name in metrics}
        names = ("at", "rate", "latency_ms", "memory_mib")
        return {"signs": signs} | {name: [getattr(each, name) for each in points] for name in names}

    def _run(self) -> None:
        while not self._end.wait(TICK_S):
            self.tick()

    def _sample(self, changes: dict[int, int]) -> None:
        def has_changed(number: int) -> bool:
            last = self._learners[number].sample
            return last is None or last.n_changes != changes[number]

        numbers = [number for number in changes if self._pages[number] > 0 and has_changed(number)]
        if numbers:
            for number, sample in self._query(numbers, _sample_learner).items():
                self._learners[number].sample = sample

    def _measure(self, *, is_history: bool) -> None:
        numbers = [number for number in tuple(self._learners) if is_history or self._pages[number]]
        if not numbers:
            return
        measured = self._query(numbers, _measure_learner)
        latency, memory = self._store.timing.compute_percentiles(), measure_memory_mib()
        n_waiting, clock = self._store.count_waiting(), time.monotonic()
        shared = {"latency_ms": latency, "memory_mib": memory, "waiting": n_waiting}
        for number, (status, health) in measured.items():
            learner = self._learners[number]
            rate = _compute_rate(learner, clock, status["examples"])
            learner.status = {**status, "rate": rate, **shared}
            learner.n_statuses += 1
            if is_history:
                point = HistoryPoint(time.time(), health, rate, latency["p99"], memory)
                learner.history.append(point)

    def _query(
        self, numbers: list[int], function: Callable[[ManagedLearner], Any]
    ) -> dict[int, Any]:
        def query(learners: dict[int, ManagedLearner]) -> dict[int, Any]:
            return {number: function(learners[number]) for number in numbers if number in learners}

        results: dict[int, Any] = self._store.query_all(query).result()
        return results


def measure_memory_mib() -> float:
    """Return the resident memory of this process."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
    except OSError:  # no /proc on this system: use the peak instead
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return round(pages * os.sysconf("SC_PAGE_SIZE") / MIB, 1)


def _compute_rate(learner: SampledLearner, clock: float, examples: int) -> float:
    """Return examples per second since the last measurement."""
    before, learner.last_count = learner.last_count, (clock, examples)
    if before is None or clock <= before[0]:
        return 0.0
    return round((examples - before[1]) / (clock - before[0]), 1)


def _sample_learner(managed: ManagedLearner) -> LearnerSample:
    return LearnerSample(
        managed.n_changes,
        managed.next_example_id,
        managed.history.n_observed,
        list_recent(managed, MAX_SAMPLED_VERDICTS),
    )


def _measure_learner(managed: ManagedLearner) -> tuple[dict[str, Any], dict[str, float]]:
    learner = managed.learner
    metrics = learner.health()
    status = {
        "examples": managed.next_example_id,
        "vertices": learner.n_vertices,
        "radius": learner.radius,
        "alarms": [metric.name for metric in metrics if not metric.ok],
    }
    return status, {metric.name: metric.value for metric in metrics}


class LiveUpdates(StreamingResponse):
    """Server-sent events until the page closes, the learner is deleted, or the server stops."""

    def __init__(self, sampler: PageSampler, number: int) -> None:
        if sampler.n_pages >= MAX_PAGES:
            raise TooManyPagesError(f"{MAX_PAGES} pages are open. Close one, or try again later.")
        super().__init__(self._list_events(), media_type="text/event-stream")
        self._sampler, self._number = sampler, number
        sampler.open_page(number)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events."""

        async def send_in_time(message: Message) -> None:
            await asyncio.wait_for(send(message), SEND_TIMEOUT_S)

        try:
            await super().__call__(scope, receive, send_in_time)
        except (TimeoutError, ClientDisconnect):
            pass  # the browser does not read any more
        finally:
            self._sampler.close_page(self._number)

    async def _list_events(self) -> AsyncIterator[str]:
        learner = self._sampler.get(self._number)
        differ, quiet_s = EventDiff(learner.n_statuses if learner else 0), 0.0
        while not self._sampler.is_stopping():
            learner = self._sampler.get(self._number)
            if learner is None:
                return
            text = "".join(differ.list_new(learner))
            quiet_s = 0.0 if text else quiet_s + TICK_S
            if quiet_s >= KEEP_ALIVE_S:
                text, quiet_s = ": keep-alive\n\n", 0.0
            if text:
                yield text
            await asyncio.sleep(TICK_S)


class EventDiff:
    """Finds what one page has not been sent yet; the first `n_statuses` are not sent."""

    def __init__(self, n_statuses: int) -> None:
        self._sample: LearnerSample | None = None
        self._n_statuses = n_statuses

    def list_new(self, learner: SampledLearner) -> Iterator[str]:
        """Yield events for what is new since the last call."""
        sample, last = learner.sample, self._sample
        if sample is not None and (last is None or sample.n_changes != last.n_changes):
            yield _format_event("map", {"version": sample.n_changes, "examples": sample.examples})
            n_new = 0 if last is None else sample.n_observed - last.n_observed
            if n_new > 0:
                verdicts = {"verdicts": sample.verdicts[:n_new], "passed": n_new}
                yield _format_event("verdicts", verdicts)
            self._sample = sample
        if learner.n_statuses != self._n_statuses:
            self._n_statuses = learner.n_statuses
            yield _format_event("standing", learner.status)


def _format_event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
