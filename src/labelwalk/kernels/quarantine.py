"""Where far examples wait until there are enough of them: one may be an accident, five are news."""

from __future__ import annotations

from typing import NamedTuple

from labelwalk.arrays import Floats, Ints
from labelwalk.kernels.comparison import distances_to
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.memory import age
from labelwalk.kernels.progress import Counters, KernelParams

ROOM = 64  # groups


class Quarantine(NamedTuple):
    """Groups of far examples; only the first n_held entries are in use."""

    held_points: Floats  # (features, ROOM) the first example of each
    held_count: Ints  # examples
    held_since: Ints  # the age at which the last one came
    held_room: Floats  # of no meaning between calls


@compiled
def release(quarantine: Quarantine, counters: Counters, group: int) -> None:
    """Close the gap that a group leaves."""
    last = counters.n_held - 1
    for p in range(quarantine.held_points.shape[0]):
        quarantine.held_points[p, group] = quarantine.held_points[p, last]
    quarantine.held_count[group] = quarantine.held_count[last]
    quarantine.held_since[group] = quarantine.held_since[last]
    counters.n_held = last


@compiled
def release_old(quarantine: Quarantine, counters: Counters, since: int) -> None:
    """Let go of groups that nothing has come to since some age."""
    for group in range(counters.n_held - 1, -1, -1):
        if quarantine.held_since[group] <= since:
            release(quarantine, counters, group)


@compiled
def lightest(quarantine: Quarantine, n: int) -> int:
    """Return the group with the fewest examples; of equal ones, that which waits longest."""
    found = 0
    for j in range(1, n):
        count, least = quarantine.held_count[j], quarantine.held_count[found]
        longer = quarantine.held_since[j] < quarantine.held_since[found]
        if count < least or (count == least and longer):
            found = j
    return found


@compiled
def hold(quarantine: Quarantine, counters: Counters, rules: KernelParams, x: Floats) -> bool:
    """Let a far example wait; return whether its group is now large enough to let it in."""
    room = quarantine.held_room
    distances_to(quarantine.held_points, counters.n_held, x, room)
    group, shortest = (
        -1,
        max(counters.radius, rules.group_distance / counters.width * counters.sigma),
    )
    for j in range(counters.n_held):
        if room[j] <= shortest:
            group, shortest = j, room[j]
    if group < 0:
        if counters.n_held == ROOM:
            release(quarantine, counters, lightest(quarantine, counters.n_held))
        group = counters.n_held
        counters.n_held += 1
        quarantine.held_count[group] = 0
        for p in range(x.shape[0]):
            quarantine.held_points[p, group] = x[p]
    quarantine.held_count[group] += 1
    quarantine.held_since[group] = age(counters)
    if quarantine.held_count[group] < rules.quarantine_size:
        return False
    release(quarantine, counters, group)
    return True
