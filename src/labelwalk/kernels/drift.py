"""Has the stream changed? Each block of examples is compared with the blocks before it.

Without a label: feature by feature, the mean of a block and its mean absolute value, in units of
the first block. How far these depart from their usual levels, in usual block-to-block deviations,
is one number a block. What it exceeds its own usual value by is summed (CUSUM), and a sum that
gets too large is an alarm: the stream is another, and is learned anew from the next block on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.counters import Counters, CountersArray
from labelwalk.kernels.jit import compiled

DRIFT_BLOCK_ROWS = 256  # examples between two looks
MIN_BLOCK_ROWS = DRIFT_BLOCK_ROWS // 2  # unlabelled ones among them; a block of fewer goes on
MAX_ROW_DEVIATION = 4.0  # deviations that a single example counts for: one glitch is no change
WARM_UP_BLOCKS = 8  # blocks that levels are learned from before any is judged
AVERAGED_BLOCKS = 128  # blocks that levels are averaged over
PRIOR_BLOCKS = 4  # blocks that the first guess of the usual departure counts for
MAX_BLOCK_EXCESS = 6.0  # deviations that a single block counts for: it takes two to alarm
INITIAL_DEPARTURE, INITIAL_VARIANCE = 1.0, 0.25  # that guess, and its variance
CUSUM_SLACK = 1.0  # deviations that a block may depart by for nothing
CUSUM_LIMIT = (
    8.0  # sums of 64 stationary streams of 200 000 examples were 6.4 at most, in a prototype
)
MIN_VARIANCE = 0.01  # the least variance a feature is granted, in units of the first block
MIN_DEVIATION = 1e-150  # deviation that a feature is divided by
MIN_DEPARTURE_DEVIATION = 0.05  # and the least deviation of the departures
MAX_LEVEL_DEVIATION = 3.0  # deviations by which a block may move what is usual


class DriftWindow(NamedTuple):
    """What blocks are compared by; the rest is in the record of where the stream stands."""

    frame: Floats  # (2, features) of the first block: means, and 1 over deviations
    sums: Floats  # (3, features) over this block, in that frame: y, |y|, y²
    level: Floats  # (2, features) usual block means of y and |y|
    noise: Floats  # (2, features) half the mean squared difference of two blocks in a row
    chance: Floats  # (2, features) the variance that independent examples would have
    latest: Floats  # (2, features) means of the last block
    marks: Ints  # (2, 3) n_seen, n_founded, n_outliers when the last block and this one began


@compiled
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


@compiled
def end_block(watch: DriftWindow, progress: CountersArray) -> None:
    """Compare the block with those before, raise an alarm or not, and begin the next."""
    counters = progress[0]
    advance_marks(watch, counters)
    if counters.watched < MIN_BLOCK_ROWS:
        return
    if counters.blocks > 0:
        divide_sums(watch.sums, counters.watched)
    if counters.blocks == 0:
        set_frame(watch.frame, counters.watched)
    elif counters.blocks == 1:
        begin_levels(watch, counters.watched)
    else:
        if counters.blocks > WARM_UP_BLOCKS:
            update_suspicion(counters, compute_departure(watch))
            counters.alarm = 0.0
        if counters.suspicion > CUSUM_LIMIT:
            counters.alarm = counters.suspicion
            counters.alarm_at = counters.n_seen
            reset_levels(watch, counters)
            return
        update_levels(watch, counters.blocks, counters.watched)
    watch.sums[:] = 0.0
    counters.watched = 0
    counters.blocks += 1


@compiled
def restart(watch: DriftWindow, progress: CountersArray) -> None:
    """Begin a block and all levels again, where counts have jumped."""
    reset_levels(watch, progress[0])
    progress[0].alarm = 0.0
    advance_marks(watch, progress[0])
    advance_marks(watch, progress[0])


@compiled
def advance_marks(watch: DriftWindow, counters: Counters) -> None:
    """Note the counts at which a block begins."""
    watch.marks[0] = watch.marks[1]
    watch.marks[1, 0] = counters.n_seen
    watch.marks[1, 1] = counters.n_founded
    watch.marks[1, 2] = counters.n_outliers


@compiled
def reset_levels(watch: DriftWindow, counters: Counters) -> None:
    """Forget all levels: the next block is the first one."""
    watch.frame[:] = 0.0
    watch.sums[:] = 0.0
    watch.level[:] = 0.0
    watch.noise[:] = 0.0
    watch.chance[:] = 0.0
    watch.latest[:] = 0.0
    counters.watched = 0
    counters.blocks = 0
    counters.suspicion = 0.0
    counters.usual = INITIAL_DEPARTURE
    counters.unsteady = INITIAL_VARIANCE


@compiled
def set_frame(frame: Floats, n: int) -> None:
    """Turn summed squared deviations into factors; any change of a constant is a large one."""
    for p in range(frame.shape[1]):
        frame[1, p] = 1.0 / max(np.sqrt(frame[1, p] / n), MIN_DEVIATION)


@compiled
def divide_sums(sums: Floats, n: int) -> None:
    """Turn the sums of a block into means."""
    for a in range(sums.shape[0]):
        for p in range(sums.shape[1]):
            sums[a, p] /= n


@compiled
def independent_variance(sums: Floats, a: int, p: int, n: int) -> float:
    """Return the variance of a block mean, were its examples independent."""
    return max(sums[2, p] - sums[a, p] * sums[a, p], MIN_VARIANCE) / n


@compiled
def begin_levels(watch: DriftWindow, n: int) -> None:
    """Take the first levels from the second block."""
    for a in range(2):
        for p in range(watch.level.shape[1]):
            watch.level[a, p] = watch.latest[a, p] = watch.sums[a, p]
            watch.chance[a, p] = independent_variance(watch.sums, a, p, n)


@compiled
def compute_departure(watch: DriftWindow) -> float:
    """Return how far the block is from the usual levels, in usual deviations (root mean square).

    And draw in what is farther than BELIEVED, so that levels follow a change but slowly.
    """
    total = 0.0
    for a in range(2):
        for p in range(watch.level.shape[1]):
            deviation = np.sqrt(max(watch.noise[a, p], watch.chance[a, p]))
            gap = (watch.sums[a, p] - watch.level[a, p]) / deviation
            total += gap * gap
            if abs(gap) > MAX_LEVEL_DEVIATION:
                drawn = MAX_LEVEL_DEVIATION if gap > 0.0 else -MAX_LEVEL_DEVIATION
                watch.sums[a, p] = watch.level[a, p] + drawn * deviation
    return np.sqrt(total / watch.level.size)


@compiled
def update_suspicion(counters: Counters, departed: float) -> None:
    """Sum up what departures exceed the usual by; let the usual follow."""
    deviation = np.sqrt(max(counters.unsteady, MIN_DEPARTURE_DEVIATION * MIN_DEPARTURE_DEVIATION))
    excess = (departed - counters.usual) / deviation
    counters.suspicion = max(0.0, counters.suspicion + min(excess, MAX_BLOCK_EXCESS) - CUSUM_SLACK)
    step = min(max(excess, -MAX_LEVEL_DEVIATION), MAX_LEVEL_DEVIATION) * deviation
    rate = max(1.0 / AVERAGED_BLOCKS, 1.0 / (PRIOR_BLOCKS + counters.blocks - WARM_UP_BLOCKS))
    counters.usual += rate * step
    counters.unsteady = (1.0 - rate) * (counters.unsteady + rate * step * step)


@compiled
def update_levels(watch: DriftWindow, blocks: int, n: int) -> None:
    """Let levels and deviations follow the block."""
    rate, differing = (
        max(1.0 / AVERAGED_BLOCKS, 1.0 / blocks),
        max(1.0 / AVERAGED_BLOCKS, 1.0 / (blocks - 1)),
    )
    for a in range(2):
        for p in range(watch.level.shape[1]):
            value = watch.sums[a, p]
            gap = value - watch.latest[a, p]
            watch.noise[a, p] += differing * (0.5 * gap * gap - watch.noise[a, p])
            watch.chance[a, p] += rate * (
                independent_variance(watch.sums, a, p, n) - watch.chance[a, p]
            )
            watch.level[a, p] += rate * (value - watch.level[a, p])
            watch.latest[a, p] = value
