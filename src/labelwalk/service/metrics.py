"""Metrics for Prometheus, and the latency of writes."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the store measures its latency here
    from labelwalk.service.learner_store import LearnerStore

METRICS_TYPE = "text/plain; version=0.0.4"
STORE_METRICS = {
    "labelwalk_events_total": ("counter", "Events on disk."),
    "labelwalk_waiting_examples": ("gauge", "Examples waiting to be learned."),
    "labelwalk_failed": ("gauge", "1 if the disk has failed and no writes are accepted."),
    "labelwalk_damaged": ("gauge", "1 if an old event is damaged."),
}
LEARNER_METRICS = {
    "labelwalk_examples": ("counter", "Examples that the learner has seen."),
    "labelwalk_vertices": ("gauge", "Vertices of the learner."),
    "labelwalk_outliers": ("counter", "Outliers that the learner has seen."),
    "labelwalk_classes": ("gauge", "Classes of the learner."),
}
LATENCY_CAPACITY = 1024  # writes
LATENCY_WINDOW_S = 30.0


def format_metrics(store: LearnerStore) -> str:
    """Return all metrics in the text format of Prometheus."""
    status = store.get_status()
    lines: list[str] = []
    counts = status.n_events, status.n_waiting, status.has_failed, status.is_damaged
    for (name, description), value in zip(STORE_METRICS.items(), counts, strict=True):
        lines += [*_format_header(name, *description), f"{name} {int(value)}"]
    for i, (name, description) in enumerate(LEARNER_METRICS.items()):
        lines += _format_header(name, *description)
        for learner, values in status.learners.items():
            lines.append(f'{name}{{learner="{_escape(learner)}"}} {values[i]}')
    return "\n".join(lines) + "\n"


def _format_header(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


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
