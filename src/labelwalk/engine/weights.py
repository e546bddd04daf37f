"""What vertices weigh: their counts, capped, and labels and sinks in proportion to the mean."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.engine.state import State
from labelwalk.kernels.counters import KernelParams


def weigh(now: State, rules: KernelParams) -> None:
    """Weigh all vertices anew; degrees and residuals are out of date then."""
    counters, n = now.counters, now.n
    free, v = ~now.system.clamped[:n], now.system.v[:n]
    v[:] = now.vertices.decayed_count[:n]
    if rules.label_weight > 0:
        if counters.n_unlabelled:
            counters.mean_weight = capped_mean(v[free], rules.weight_cap)
        v[free] = np.minimum(v[free], rules.weight_cap * counters.mean_weight)
        v[~free] = rules.label_weight * counters.mean_weight
        now.system.g[:n] = rules.sink * counters.mean_weight
    counters.total_weight = float(v[free].sum())


def capped_mean(counts: Floats, cap: float) -> float:
    """Return the mean weight of vertices that weigh their counts, but at most `cap` means.

    With the m heaviest capped the mean is that of the others, over n - cap * m.
    """
    n, ascending = len(counts), np.sort(counts)
    light, mean = np.cumsum(ascending), float(ascending[0])
    for m in range(n):
        mean = float(light[n - 1 - m]) / (n - cap * m if m else n)
        if ascending[n - 1 - m] <= cap * mean:
            break
    return mean
