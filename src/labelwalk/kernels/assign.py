"""Assignment of a row: to an existing vertex, to a new vertex, or to the quarantine.

A ring of the last rows records where each went.
"""

from __future__ import annotations

from typing import NamedTuple

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.compare import RowComparison, compare_with, distances_to, gaussian_row
from labelwalk.kernels.counters import Counters, KernelParams, age
from labelwalk.kernels.cover import (
    UNLABELLED,
    Vertices,
    contradicts,
    found,
    has_moved,
    measure_apart,
    move_mean,
    nearest,
    same_point,
)
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.system import (
    STEPS,
    System,
    attach,
    change_edge,
    find_components,
    rebuild,
    reweigh,
    share_a_neighbour,
)

MOST_SHRUNK = 1e3  # a degree may lose so much of itself before residuals are recomputed


@compiled
def enter(
    vertices: Vertices,
    system: System,
    counters: Counters,
    rules: KernelParams,
    comparison: RowComparison,
    x: Floats,
    label: int,
) -> None:
    """Found a vertex on the row, labelled or not."""
    i = counters.n
    found(vertices, i, x, comparison.distances, comparison.row_mean_distances, label, counters.id)
    vertices.bandwidth[i] = compare_with(vertices.bandwidth, counters, rules, comparison)
    for j in range(i):
        system.w[i, j] = comparison.similarities[j]
    system.clamped[i] = label != UNLABELLED
    for column in range(system.f.shape[0]):
        system.f[column, i] = 0.0
    weight, mean = 1.0, 1.0
    if rules.label_weight > 0.0:
        mean = counters.mean_weight
    if label != UNLABELLED:
        system.f[STEPS + 1 + label, i] = 1.0
        weight = rules.label_weight * mean if rules.label_weight > 0.0 else 1.0
    else:
        weight = min(1.0, rules.weight_cap * mean)
        counters.n_unlabelled += 1
        counters.n_absorbed += 1
        counters.total_weight += weight
    attach(system, i, weight, rules.sink * mean)
    counters.n += 1
    counters.n_founded += 1
    counters.vertex = i


@compiled
def redraw(
    vertices: Vertices,
    system: System,
    counters: Counters,
    rules: KernelParams,
    comparison: RowComparison,
    i: int,
) -> None:
    """Draw the similarities of a vertex anew, since its representative has moved."""
    measure_apart(vertices, counters.n, i, comparison.mean, comparison.distances)
    similar, bandwidths = comparison.similarities, vertices.bandwidth
    gaussian_row(comparison.distances, counters.n, bandwidths[i], bandwidths, rules.cut, similar)
    similar[i] = 0.0
    split = False
    before = system.w[i]
    for j in range(
        counters.n
    ):  # most similarities are zero and stay so; a call costs more than a look
        if similar[j] != before[j] and change_edge(system, counters.n, i, j, similar[j]):
            split = split or not share_a_neighbour(system, i, j)
    if split:
        find_components(system, counters.n)
    if system.drift[1] > MOST_SHRUNK:
        rebuild(system, counters.n)


@compiled
def stand_for_another(
    vertices: Vertices, system: System, counters: Counters, rules: KernelParams, i: int
) -> None:
    """Let vertex i stand for one example more, its weight capped."""
    vertices.examples[i] += 1
    vertices.decayed_count[i] += 1.0
    if vertices.label[i] == UNLABELLED:
        counters.n_absorbed += 1
    if rules.label_weight == 0.0:
        reweigh(system, counters.n, i, 1.0)
    elif vertices.label[i] == UNLABELLED:
        weight = min(vertices.decayed_count[i], rules.weight_cap * counters.mean_weight)
        if weight > system.v[i]:
            counters.total_weight += weight - system.v[i]
            reweigh(system, counters.n, i, weight - system.v[i])


@compiled
def support(
    vertices: Vertices,
    system: System,
    counters: Counters,
    rules: KernelParams,
    comparison: RowComparison,
    x: Floats,
    label: int,
    i: int,
    distance: float,
) -> None:
    """Let vertex i take the row in.

    A label moves the mean alone, so that it can be taken back; it is drawn with what comes next.
    """
    stand_for_another(vertices, system, counters, rules, i)
    vertices.taught[i] += label != UNLABELLED
    vertices.reach[i] = max(vertices.reach[i], distance)
    if move_mean(vertices, i, x) and label == UNLABELLED and has_moved(vertices, i):
        redraw(vertices, system, counters, rules, comparison, i)
    counters.vertex = i


@compiled
def learn(
    vertices: Vertices,
    system: System,
    counters: Counters,
    rules: KernelParams,
    comparison: RowComparison,
    x: Floats,
    label: int,
) -> None:
    """Give the row to a vertex, old or new."""
    taker, distance = -1, 0.0
    if label != UNLABELLED:
        taker = same_point(vertices, counters.n, comparison.distances, label)
        counters.n_conflicts += contradicts(vertices, counters.n, comparison.distances, label)
    else:
        taker, distance = nearest(vertices, counters.n, comparison.distances, rules.absorb)
        if distance > 0.0 and distance >= counters.radius:
            taker = -1
    if taker >= 0:
        support(vertices, system, counters, rules, comparison, x, label, taker, distance)
    else:
        enter(vertices, system, counters, rules, comparison, x, label)


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


OUTLIER_SLOT, REMOVED = -1, -2  # in place of a vertex: kept out as an outlier, or no longer counted


class Memory(NamedTuple):
    """A ring: the example that came after i others, the barred not counted, lies at i modulo room.

    A source that has its share cannot flood it.
    """

    seen_rows: Floats  # (room, features)
    seen_vertex: SmallInts  # which vertex stands for it, or OUT, or GONE
    seen_label: SmallInts  # its class if it was taught, else UNLABELLED
    seen_number: Ints  # its number, or NO_ROW
    seen_first: Ints  # the same; where it was taught late, that under which it came first


@compiled
def remember(memory: Memory, counters: Counters, x: Floats, label: int, vertex: int) -> None:
    """Keep the row in hand, in place of the oldest."""
    room = memory.seen_vertex.shape[0]
    if room == 0:
        return
    place = (age(counters) - 1) % room
    for p in range(x.shape[0]):
        memory.seen_rows[place, p] = x[p]
    memory.seen_vertex[place] = vertex
    memory.seen_label[place] = label
    memory.seen_number[place] = counters.n_seen - 1
    memory.seen_first[place] = counters.id
