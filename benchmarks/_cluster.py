"""A job on a cluster that is not there: what would happen when, by a heap of events.

Phases follow each other, as the steps of `labelwalk.distributed.job` do: a phase begins after all
tasks of the phase before it. A worker does one task at a time: it reads, computes and writes.
All workers share one storage, which serves them in order, each no faster than its own network.
The same cluster with the same seed gives the same run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

import numpy as np

DRIVER = -1
FREE, READ, COMPUTED, DONE, LOST = range(5)  # what has just happened to a worker


class Task(NamedTuple):
    """Seconds of a worker of speed 1, and bytes that come and go."""

    seconds: float
    read: float = 0.0
    written: float = 0.0


class Phase(NamedTuple):
    """Tasks that do not wait for each other."""

    name: str
    tasks: Sequence[Task]
    first: Task = Task(0.0)  # what comes on top of the first task of each worker
    on_driver: bool = False


class Cluster(NamedTuple):
    """Who works, how fast, and what gets in the way; seconds and bytes."""

    workers: int
    speed: float = 1.0
    spread: float = 0.0  # of the logarithm of speeds
    overhead: float = 0.0  # of a worker, a task
    dispatch: float = 0.0  # of the driver, a task: it hands out one after the other
    reading: float = inf  # bytes a second, all workers together
    writing: float = inf
    network: float = inf  # bytes a second, one worker
    loss: float = 0.0  # losses a second of work
    recovery: float = 0.0  # seconds until a lost worker is back
    seed: int = 0


class Span(NamedTuple):
    """What a worker did from when to when."""

    phase: str
    task: int
    worker: int
    begin: float
    end: float
    lost: bool


class Run(NamedTuple):
    """What happened."""

    seconds: float
    spans: list[Span]
    phases: dict[str, float]  # how long each took
    bytes: float  # over the network

    @property
    def busy(self) -> float:
        return sum(span.end - span.begin for span in self.spans)


class _Attempt(NamedTuple):
    task: int
    cost: Task
    begin: float
    dies: float


NOTHING = _Attempt(0, Task(0.0), 0.0, inf)


def simulate(phases: Iterable[Phase], cluster: Cluster) -> Run:
    """Return what would happen."""
    if cluster.workers < 1:
        raise ValueError(f"workers={cluster.workers}: somebody has to work. Give 1 or more.")
    going, took = _Going(cluster), dict[str, float]()
    for phase in phases:
        begun = going.now
        going.do(phase)
        took[phase.name] = took.get(phase.name, 0.0) + going.now - begun
    return Run(going.now, going.spans, took, going.bytes)


class _Going:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.random = cluster, np.random.default_rng(cluster.seed)
        drawn = self.random.normal(0.0, cluster.spread, cluster.workers)
        self.speeds = {DRIVER: 1.0} | dict(enumerate((cluster.speed * np.exp(drawn)).tolist()))
        self.spans: list[Span] = []
        self.now = self.bytes = self.read_until = self.written_until = 0.0

    def do(self, phase: Phase) -> None:
        self.phase, self.dispatched = phase, self.now
        self.waiting, self.left = deque(range(len(phase.tasks))), len(phase.tasks)
        workers = [DRIVER] if phase.on_driver else list(range(self.cluster.workers))
        self.fresh, self.idle = set(workers), list[int]()
        self.events = [
            (self.now, worker, FREE, _Attempt(0, Task(0.0), 0.0, inf)) for worker in workers
        ]
        heapify(self.events)
        while self.left:
            self.now, worker, what, attempt = heappop(self.events)
            self._go_on(worker, what, attempt)

    def _go_on(self, worker: int, what: int, attempt: _Attempt) -> None:
        cost = attempt.cost
        if what == FREE:
            self._begin(worker)
        elif what == READ:
            self._next(self.now + cost.seconds / self.speeds[worker], worker, COMPUTED, attempt)
        elif what == COMPUTED:
            self._next(self._written(cost.written), worker, DONE, attempt)
        else:
            self._end(worker, attempt, lost=what == LOST)

    def _begin(self, worker: int) -> None:
        if not self.waiting:
            self.idle.append(worker)
            return
        cluster, number = self.cluster, self.waiting.popleft()
        cost, more = self.phase.tasks[number], self.phase.first
        if worker in self.fresh:
            self.fresh.remove(worker)
            cost = Task(*(own + other for own, other in zip(cost, more, strict=True)))
        at_work = worker != DRIVER
        self.dispatched += cluster.dispatch * at_work
        begin = max(self.now, self.dispatched)
        dies = (
            begin + self.random.exponential(1.0 / cluster.loss) if at_work and cluster.loss else inf
        )
        attempt = _Attempt(number, cost, begin, dies)
        read = self._read(begin + cluster.overhead * at_work, cost.read)
        self._next(read, worker, READ, attempt)

    def _end(self, worker: int, attempt: _Attempt, lost: bool) -> None:
        self.spans.append(
            Span(self.phase.name, attempt.task, worker, attempt.begin, self.now, lost)
        )
        back = self.now
        if lost:
            self.waiting.appendleft(attempt.task)
            self.fresh.add(worker)
            back += self.cluster.recovery
            if self.idle:
                self._next(self.now, self.idle.pop(), FREE, NOTHING)
        else:
            self.left -= 1
        self._next(back, worker, FREE, NOTHING)

    def _next(self, when: float, worker: int, what: int, attempt: _Attempt) -> None:
        if when > attempt.dies:
            when, what = attempt.dies, LOST
        heappush(self.events, (when, worker, what, attempt))

    def _life(self) -> float:
        return self.random.exponential(1.0 / self.cluster.loss) if self.cluster.loss else inf

    def _read(self, now: float, n: float) -> float:
        self.bytes += n
        self.read_until = max(now, self.read_until) + n / self.cluster.reading
        return max(self.read_until, now + n / self.cluster.network)

    def _written(self, n: float) -> float:
        self.bytes += n
        self.written_until = max(self.now, self.written_until) + n / self.cluster.writing
        return max(self.written_until, self.now + n / self.cluster.network)
