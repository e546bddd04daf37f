"""Drift detection without labels: each block of examples is compared with the blocks before it.

The statistics of a block are the mean and the mean absolute value of each feature, in units of the
first block. Its departure is their distance from their usual levels, in units of their usual
deviation. The excess of departures over their usual value is summed (CUSUM). A sum above the limit
is an alarm, and all levels are estimated again from the next block on.
"""

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.counters import Counters, CountersArray
from labelwalk.kernels.jit import jit

DRIFT_BLOCK_ROWS = 256  # examples per block
MIN_BLOCK_ROWS = DRIFT_BLOCK_ROWS // 2  # unlabelled examples; a block with fewer is continued
MAX_ROW_DEVIATION = 4.0  # deviations that a single example counts at most
WARM_UP_BLOCKS = 8  # after the first; only then are blocks compared, and an alarm takes two
AVERAGED_BLOCKS = 128  # blocks over which levels are averaged
PRIOR_BLOCKS = 4  # weight in blocks of the initial departure and variance
MAX_BLOCK_EXCESS = 6.0  # deviations that a single block counts at most: an alarm takes two
INITIAL_DEPARTURE, INITIAL_VARIANCE = 1.0, 0.25
CUSUM_SLACK = 1.0  # deviations that are subtracted from each excess
CUSUM_LIMIT = 8.0  # 64 stationary streams of 200 000 examples stayed below 6.4
MIN_VARIANCE = 0.01  # of a feature, in units of the first block
MIN_DEVIATION = 1e-150  # by which a feature is divided
MIN_DEPARTURE_DEVIATION = 0.05  # of the departures
MAX_LEVEL_DEVIATION = 3.0  # deviations that a block can move levels at most


class DriftWindow(NamedTuple):
    """Statistics of blocks; the scalars are in `Counters`."""

    frame: Floats  # (2, features) of the first block: means, and reciprocal deviations
    sums: Floats  # (3, features) of this block, in units of the first: y, |y|, y²
    level: Floats  # (2, features) usual means of y and |y|
    noise: Floats  # (2, features) half the mean squared difference of consecutive blocks
    chance: Floats  # (2, features) variance of the mean of independent examples
    latest: Floats  # (2, features) means of the last block
    marks: Ints  # (2, 3) n_seen, n_founded, n_outliers at the start of the last and this block


@jit
def add_row(watch: DriftWindow, counters: Counters, x: Floats) -> None:
    """Add an unlabelled example to its block."""
    counters.watched += 1
    means, spread = watch.frame[0], watch.frame[1]
    if counters.blocks == 0:
        for p in range(x.shape[0]):
            gap = x[p] - means[p]
            means[p] += gap / counters.watched
            spread[p] += gap * (x[p] - means[p])
        return
    plain, absolute, squared = watch.sums[0], watch.sums[1], watch.sums[2]
    for p in range(x.shape[0]):
        gap = x[p] - means[p]
        y = max(-MAX_ROW_DEVIATION, min(MAX_ROW_DEVIATION, gap * spread[p]))
        plain[p] += y
        absolute[p] += abs(y)
        squared[p] += y * y


@jit
def end_block(watch: DriftWindow, progress: CountersArray) -> None:
    """Compare the block with the previous ones, update the alarm, and start the next block."""
    counters = progress[0]
    advance_marks(watch, counters)
    n = counters.watched
    if n < MIN_BLOCK_ROWS:
        return
    if counters.blocks == 0:  # any change of a constant feature is large
        for p in range(watch.frame.shape[1]):
            watch.frame[1, p] = 1.0 / max(np.sqrt(watch.frame[1, p] / n), MIN_DEVIATION)
    else:
        watch.sums[:] /= n
        if counters.blocks > WARM_UP_BLOCKS:
            update_suspicion(counters, compute_departure(watch))
            counters.alarm = 0.0
        if counters.suspicion > CUSUM_LIMIT:
            counters.alarm = counters.suspicion
            counters.alarm_at = counters.n_seen
            reset_levels(watch, counters)
            return
        update_levels(watch, counters.blocks, n)
    watch.sums[:] = 0.0
    counters.watched = 0
    counters.blocks += 1


@jit
def restart(watch: DriftWindow, progress: CountersArray) -> None:
    """Start a block and all levels again, after the counts have changed abruptly."""
    reset_levels(watch, progress[0])
    progress[0].alarm = 0.0
    advance_marks(watch, progress[0])
    advance_marks(watch, progress[0])


@jit
def advance_marks(watch: DriftWindow, counters: Counters) -> None:
    """Record the counts at the start of a block."""
    watch.marks[0] = watch.marks[1]
    watch.marks[1, 0] = counters.n_seen
    watch.marks[1, 1] = counters.n_founded
    watch.marks[1, 2] = counters.n_outliers


@jit
def reset_levels(watch: DriftWindow, counters: Counters) -> None:
    """Reset all levels; the next block is the first."""
    for array in (watch.frame, watch.sums, watch.level, watch.noise, watch.chance, watch.latest):
        array[:] = 0.0
    counters.watched = 0
    counters.blocks = 0
    counters.suspicion = 0.0
    counters.usual = INITIAL_DEPARTURE
    counters.unsteady = INITIAL_VARIANCE


@jit
def compute_departure(watch: DriftWindow) -> float:
    """Return the root mean square distance of the block from the usual levels, in deviations.

    Means that are farther away are clipped, so that levels follow a change slowly.
    """
    total = 0.0
    for a in range(2):
        for p in range(watch.level.shape[1]):
            deviation = np.sqrt(max(watch.noise[a, p], watch.chance[a, p]))
            gap = (watch.sums[a, p] - watch.level[a, p]) / deviation
            total += gap * gap
            if abs(gap) > MAX_LEVEL_DEVIATION:
                clipped = MAX_LEVEL_DEVIATION if gap > 0.0 else -MAX_LEVEL_DEVIATION
                watch.sums[a, p] = watch.level[a, p] + clipped * deviation
    return np.sqrt(total / watch.level.size)


@jit
def update_suspicion(counters: Counters, departed: float) -> None:
    """Add the excess of a departure to the sum; update the usual departure."""
    deviation = np.sqrt(max(counters.unsteady, MIN_DEPARTURE_DEVIATION * MIN_DEPARTURE_DEVIATION))
    excess = (departed - counters.usual) / deviation
    counters.suspicion = max(0.0, counters.suspicion + min(excess, MAX_BLOCK_EXCESS) - CUSUM_SLACK)
    step = min(max(excess, -MAX_LEVEL_DEVIATION), MAX_LEVEL_DEVIATION) * deviation
    rate = max(1.0 / AVERAGED_BLOCKS, 1.0 / (PRIOR_BLOCKS + counters.blocks - WARM_UP_BLOCKS))
    counters.usual += rate * step
    counters.unsteady = (1.0 - rate) * (counters.unsteady + rate * step * step)


@jit
def update_levels(watch: DriftWindow, blocks: int, n: int) -> None:
    """Update levels and deviations with the means of a block; the second block sets the levels."""
    rate = max(1.0 / AVERAGED_BLOCKS, 1.0 / blocks)
    noise_rate = max(1.0 / AVERAGED_BLOCKS, 1.0 / (blocks - 1)) if blocks > 1 else 0.0
    for a in range(2):
        for p in range(watch.level.shape[1]):
            mean = watch.sums[a, p]
            gap = mean - watch.latest[a, p]
            chance = max(watch.sums[2, p] - mean * mean, MIN_VARIANCE) / n
            watch.noise[a, p] += noise_rate * (0.5 * gap * gap - watch.noise[a, p])
            watch.chance[a, p] += rate * (chance - watch.chance[a, p])
            watch.level[a, p] += rate * (mean - watch.level[a, p])
            watch.latest[a, p] = mean
