"""How long writes take until they are answered, over the last of them."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future
from typing import Any

import numpy as np

ROOM = 1024  # answers
RECENT = 30.0  # seconds: older ones say nothing of now


class Timing:
    """The times of the last writes that were answered.

    Examples
    --------
    >>> from concurrent.futures import Future
    >>> timing, answer = Timing(), Future()
    >>> timing.begin(answer)
    >>> timing.percentiles()
    {'p50': None, 'p99': None}
    >>> answer.set_result("done")
    >>> timing.percentiles()["p50"] < 1000
    True
    """

    def __init__(self) -> None:
        self._took: deque[tuple[float, float]] = deque(maxlen=ROOM)

    def begin(self, answer: Future[Any]) -> None:
        """Measure from now until the answer is there; refusals do not count."""
        began = time.monotonic()

        def end(answered: Future[Any]) -> None:
            if not answered.cancelled() and answered.exception() is None:
                now = time.monotonic()
                self._took.append((now, now - began))

        answer.add_done_callback(end)

    def percentiles(self) -> dict[str, float | None]:
        """Return the median and the 99th percentile in milliseconds; None without writes."""
        since = time.monotonic() - RECENT
        recent = [took for at, took in tuple(self._took) if at >= since]
        if not recent:
            return {"p50": None, "p99": None}
        p50, p99 = (1000.0 * np.percentile(recent, [50, 99])).tolist()
        return {"p50": round(p50, 3), "p99": round(p99, 3)}
