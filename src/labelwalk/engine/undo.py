"""Labels are taken back without a trace, if nothing came after them: what stood before is kept."""

from __future__ import annotations

import numpy as np

from labelwalk.engine.state import State
from labelwalk.kernels.counters import INVALID, NEVER, NO_RECORD

# What labels may change beside the vertices they found.
RESTORED = (
    *("n_moments", "total_weight", "measure_at_seen", "choose_at_seen"),
    *("sigma", "width", "evenness", "sharpness", "typical"),
)


def record(now: State) -> None:
    """Write down what labels that are taught next may change, unless that is written already."""
    if now.counters.n_pending == NO_RECORD:
        n = now.n
        now.counters.n_pending = 0
        now.before_progress[...] = now.progress
        now.before.before_bandwidth[:n] = now.vertices.bandwidth[:n]
        now.before.before_moments[...] = now.comparison.moments


def drop_record(now: State) -> None:
    """Labels taught so far can no longer be taken back without a trace."""
    if now.counters.n_pending != NO_RECORD:
        spoil(now)
        now.counters.n_pending = NO_RECORD


def spoil(now: State) -> None:
    """Drop the record, and let there be no other until something is observed."""
    if now.counters.n_pending >= 0:
        now.counters.n_pending = INVALID
        now.before_progress[...] = np.zeros(1, dtype=now.before_progress.dtype)
        now.before.before_bandwidth[:] = 0.0
        now.before.before_moments[:] = 0.0


def taken_back(now: State, since: int, n_labels: int = 1) -> bool:
    """Count labels taught since some example as taken back.

    Return whether these are all since the record; what it holds is restored then.
    """
    counters = now.counters
    if counters.n_pending < n_labels or since < now.before_progress[0].n_seen:
        drop_record(now)
        return False
    counters.n_pending -= n_labels
    if counters.n_pending > 0:
        return False
    before = now.before_progress[0]
    for name in RESTORED:
        counters[name] = before[name]
    if counters.measure_at_founded != NEVER:  # vertices that were founded stay counted
        counters.measure_at_founded = (
            before.measure_at_founded + counters.n_founded - before.n_founded
        )
    now.vertices.bandwidth[: now.n] = now.before.before_bandwidth[: now.n]
    now.comparison.moments[:] = now.before.before_moments
    drop_record(now)
    return True
