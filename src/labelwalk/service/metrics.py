"""Metrics of the service: counters and gauges for Prometheus, and the latency of writes."""

import time
from collections import deque
from collections.abc import Collection
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from labelwalk.service.managed_learner import ManagedLearner

METRICS_TYPE = "text/plain; version=0.0.4"
LATENCY_CAPACITY = 1024  # writes
LATENCY_WINDOW_S = 30.0


class Metric(NamedTuple):
    """A counter or gauge for Prometheus: one value, or one for each learner by name."""

    name: str
    kind: str
    meaning: str
    value: int | dict[str, int]

    def format(self) -> str:
        """Return the metric in the text format of Prometheus."""
        lines = [f"# HELP {self.name} {self.meaning}", f"# TYPE {self.name} {self.kind}"]
        if isinstance(self.value, int):
            lines.append(f"{self.name} {int(self.value)}")
        else:
            for learner, value in self.value.items():
                text = learner.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
                lines.append(f'{self.name}{{learner="{text}"}} {value}')
        return "\n".join(lines) + "\n"


def list_metrics(
    learners: Collection[ManagedLearner],
    *,
    n_events: int,
    n_waiting: int,
    has_failed: bool,
    is_damaged: bool,
) -> list[Metric]:
    """Return the metrics of the service and of its learners."""
    examples = {each.name: each.next_example_id for each in learners}
    vertices = {each.name: each.learner.n_vertices for each in learners}
    outliers = {each.name: each.learner.n_outliers for each in learners}
    classes = {each.name: len(each.learner.classes) for each in learners}
    failed = "1 if the disk has failed and no writes are accepted."
    waiting, seen = "Examples waiting to be learned.", "that the learner has seen."
    return [
        Metric("labelwalk_events_total", "counter", "Events on disk.", n_events),
        Metric("labelwalk_waiting_examples", "gauge", waiting, n_waiting),
        Metric("labelwalk_failed", "gauge", failed, has_failed),
        Metric("labelwalk_damaged", "gauge", "1 if an old event is damaged.", is_damaged),
        Metric("labelwalk_examples", "counter", f"Examples {seen}", examples),
        Metric("labelwalk_vertices", "gauge", "Vertices of the learner.", vertices),
        Metric("labelwalk_outliers", "counter", f"Outliers {seen}", outliers),
        Metric("labelwalk_classes", "gauge", "Classes of the learner.", classes),
    ]


class WriteLatency:
    """The latencies of recent writes.

    Examples
    --------
    >>> latency, write = WriteLatency(), Future()
    >>> latency.start(write)
    >>> latency.compute_percentiles()
    {'p50': None, 'p99': None}
    >>> write.set_result("done")
    >>> latency.compute_percentiles()["p50"] < 1000
    True
    """

    def __init__(self) -> None:
        self._latencies: deque[tuple[float, float]] = deque(maxlen=LATENCY_CAPACITY)

    def start(self, write: Future[Any]) -> None:
        """Measure until a write succeeds; one that fails does not count."""
        start = time.monotonic()

        def stop(finished: Future[Any]) -> None:
            if not finished.cancelled() and finished.exception() is None:
                end = time.monotonic()
                self._latencies.append((end, end - start))

        write.add_done_callback(stop)

    def compute_percentiles(self) -> dict[str, float | None]:
        """Return the median and the 99th percentile in milliseconds; None without writes."""
        since = time.monotonic() - LATENCY_WINDOW_S
        recent = [latency for at, latency in tuple(self._latencies) if at >= since]
        if not recent:
            return {"p50": None, "p99": None}
        p50, p99 = (1000.0 * np.percentile(recent, [50, 99])).tolist()
        return {"p50": round(p50, 3), "p99": round(p99, 3)}
