"""Assignment of a row: to an existing vertex, to a new vertex, or to the quarantine.

A ring of the last rows records where each went.
"""

from __future__ import annotations

from typing import NamedTuple

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels.compare import (
    RowComparison,
    compute_row_similarities,
    gaussian_row,
    measure_distances,
)
from labelwalk.kernels.counters import Counters, KernelParams, age
from labelwalk.kernels.cover import (
    UNLABELLED,
    Vertices,
    append_vertex,
    find_nearest_vertex,
    find_same_point,
    has_contradiction,
    has_moved,
    measure_mean_distances,
    move_mean,
)
from labelwalk.kernels.jit import jit
from labelwalk.kernels.system import (
    STEPS,
    System,
    add_weight,
    attach,
    change_edge,
    find_components,
    have_common_neighbour,
    rebuild,
)

MAX_DEGREE_SHRINKAGE = 1e3  # factor by which a degree may fall before residuals are recomputed
MAX_GROUPS = 64  # in quarantine
OUTLIER_SLOT, REMOVED = -1, -2  # instead of a vertex: an outlier, or an example that was removed


@jit
def learn(
    vertices: Vertices,
    system: System,
    counters: Counters,
    params: KernelParams,
    comparison: RowComparison,
    x: Floats,
    label: int,
) -> None:
    """Assign a row to an existing vertex, or found a new one."""
    distances = comparison.distances
    i, distance = -1, 0.0
    if label != UNLABELLED:
        i = find_same_point(vertices, counters.n, distances, label)
        counters.n_conflicts += has_contradiction(vertices, counters.n, distances, label)
    else:
        i, distance = find_nearest_vertex(vertices, counters.n, distances, params.absorb)
        if distance > 0.0 and distance >= counters.radius:
            i = -1
    if i < 0:
        create_vertex(vertices, system, counters, params, comparison, x, label)
    else:
        join_vertex(vertices, system, counters, params, comparison, x, label, i, distance)


@jit
def create_vertex(
    vertices: Vertices,
    system: System,
    counters: Counters,
    params: KernelParams,
    comparison: RowComparison,
    x: Floats,
    label: int,
) -> None:
    """Make a row a new vertex, labelled or not."""
    i = counters.n
    append_vertex(vertices, i, x, comparison, label, counters.id)
    vertices.bandwidth[i] = compute_row_similarities(
        vertices.bandwidth, counters, params, comparison
    )
    for j in range(i):
        system.w[i, j] = comparison.similarities[j]
    system.clamped[i] = label != UNLABELLED
    for column in range(system.f.shape[0]):
        system.f[column, i] = 0.0
    weight, mean = 1.0, 1.0
    if params.label_weight > 0.0:
        mean = counters.mean_weight
    if label != UNLABELLED:
        system.f[STEPS + 1 + label, i] = 1.0
        weight = params.label_weight * mean if params.label_weight > 0.0 else 1.0
    else:
        weight = min(1.0, params.weight_cap * mean)
        counters.n_unlabelled += 1
        counters.n_absorbed += 1
        counters.total_weight += weight
    attach(system, i, weight, params.sink * mean)
    counters.n += 1
    counters.n_founded += 1
    counters.vertex = i


@jit
def join_vertex(
    vertices: Vertices,
    system: System,
    counters: Counters,
    params: KernelParams,
    comparison: RowComparison,
    x: Floats,
    label: int,
    i: int,
    distance: float,
) -> None:
    """Add a row to vertex i.

    A label moves the mean only, so that it can be undone; similarities follow with a later row.
    """
    add_example(vertices, system, counters, params, i)
    vertices.taught[i] += label != UNLABELLED
    vertices.reach[i] = max(vertices.reach[i], distance)
    if move_mean(vertices, i, x) and label == UNLABELLED and has_moved(vertices, i):
        update_similarities(vertices, system, counters.n, params.cut, comparison, i)
    counters.vertex = i


@jit
def add_example(
    vertices: Vertices, system: System, counters: Counters, params: KernelParams, i: int
) -> None:
    """Count one more example of vertex i; its weight is capped."""
    vertices.examples[i] += 1
    vertices.decayed_count[i] += 1.0
    if vertices.label[i] == UNLABELLED:
        counters.n_absorbed += 1
    if params.label_weight == 0.0:
        add_weight(system, counters.n, i, 1.0)
    elif vertices.label[i] == UNLABELLED:
        max_weight = params.weight_cap * counters.mean_weight
        change = min(vertices.decayed_count[i], max_weight) - system.v[i]
        if change > 0.0:
            counters.total_weight += change
            add_weight(system, counters.n, i, change)


@jit
def update_similarities(
    vertices: Vertices, system: System, n: int, cut: float, comparison: RowComparison, i: int
) -> None:
    """Recompute the similarities of a vertex whose mean has moved."""
    similarities, bandwidths = comparison.similarities, vertices.bandwidth
    measure_mean_distances(vertices, n, i, comparison.mean, comparison.distances)
    gaussian_row(comparison.distances, n, bandwidths[i], bandwidths, cut, similarities)
    similarities[i] = 0.0
    is_split = False
    before = system.w[i]
    for j in range(n):  # most similarities stay 0, and a comparison costs less than a call
        if similarities[j] != before[j] and change_edge(system, n, i, j, similarities[j]):
            is_split = is_split or not have_common_neighbour(system, i, j)
    if is_split:
        find_components(system, n)
    if system.drift[1] > MAX_DEGREE_SHRINKAGE:
        rebuild(system, n)


class Quarantine(NamedTuple):
    """Groups of outliers; only the first n_held entries are in use."""

    held_points: Floats  # (features, MAX_GROUPS) first example of each group
    held_count: Ints  # examples
    held_since: Ints  # age at the last example
    held_room: Floats  # work array for distances


@jit
def quarantine_row(
    quarantine: Quarantine, counters: Counters, params: KernelParams, x: Floats
) -> bool:
    """Add an outlier to its group; return whether the group is large enough to release it."""
    distances = quarantine.held_room
    measure_distances(quarantine.held_points, counters.n_held, x, distances)
    shortest = max(counters.radius, params.group_distance / counters.width * counters.sigma)
    group = -1
    for j in range(counters.n_held):
        if distances[j] <= shortest:
            group, shortest = j, distances[j]
    if group < 0:
        if counters.n_held == MAX_GROUPS:
            release(quarantine, counters, find_smallest_group(quarantine, counters.n_held))
        group = counters.n_held
        counters.n_held += 1
        quarantine.held_count[group] = 0
        for p in range(x.shape[0]):
            quarantine.held_points[p, group] = x[p]
    quarantine.held_count[group] += 1
    quarantine.held_since[group] = age(counters)
    if quarantine.held_count[group] < params.quarantine_size:
        return False
    release(quarantine, counters, group)
    return True


@jit
def release(quarantine: Quarantine, counters: Counters, group: int) -> None:
    """Remove a group; the last one takes its place."""
    last = counters.n_held - 1
    for p in range(quarantine.held_points.shape[0]):
        quarantine.held_points[p, group] = quarantine.held_points[p, last]
    quarantine.held_count[group] = quarantine.held_count[last]
    quarantine.held_since[group] = quarantine.held_since[last]
    counters.n_held = last


@jit
def release_old(quarantine: Quarantine, counters: Counters, since: int) -> None:
    """Remove the groups whose last example came at an age of at most `since`."""
    for group in range(counters.n_held - 1, -1, -1):
        if quarantine.held_since[group] <= since:
            release(quarantine, counters, group)


@jit
def find_smallest_group(quarantine: Quarantine, n: int) -> int:
    """Return the group with the fewest examples; in a tie, the one waiting longest."""
    group = 0
    for j in range(1, n):
        count, smallest = quarantine.held_count[j], quarantine.held_count[group]
        is_older = quarantine.held_since[j] < quarantine.held_since[group]
        if count < smallest or (count == smallest and is_older):
            group = j
    return group


class Memory(NamedTuple):
    """The last rows, in a ring: the row at age i is at index i modulo the capacity.

    Answer-only rows are not recorded, so a source beyond its share cannot displace others.
    """

    seen_rows: Floats  # (capacity, features)
    seen_vertex: SmallInts  # the vertex that represents it, or OUTLIER_SLOT, or REMOVED
    seen_label: SmallInts  # its class if it was taught, else UNLABELLED
    seen_number: Ints  # its number, or NO_ROW
    seen_first: Ints  # the same; if it was taught late, its first number


@jit
def record_row(memory: Memory, counters: Counters, x: Floats, label: int) -> None:
    """Record the current row in place of the oldest."""
    capacity = memory.seen_vertex.shape[0]
    if capacity == 0:
        return
    place = (age(counters) - 1) % capacity
    for p in range(x.shape[0]):
        memory.seen_rows[place, p] = x[p]
    memory.seen_vertex[place] = counters.vertex
    memory.seen_label[place] = label
    memory.seen_number[place] = counters.n_seen - 1
    memory.seen_first[place] = counters.id
