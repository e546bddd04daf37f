"""Assignment of rows: to an existing vertex, a new vertex, or the quarantine; the last rows."""

from typing import NamedTuple

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.kernels import cover
from labelwalk.kernels.compare import (
    RowComparison,
    compute_row_similarities,
    gaussian_row,
    measure_distances,
)
from labelwalk.kernels.counters import Counters, CountersArray, KernelParams, age, weight_unit
from labelwalk.kernels.cover import UNLABELLED, Vertices
from labelwalk.kernels.jit import jit
from labelwalk.kernels.system import STEPS, System, add_weight, attach, change_edges

MAX_GROUPS = 64  # in quarantine
OUTLIER_SLOT, REMOVED = -1, -2  # instead of a vertex: an outlier, or an example that was removed


class LoopState(NamedTuple):
    """What most functions of the loop need; from Python, its parts arrive a microsecond earlier."""

    vertices: Vertices
    system: System
    progress: CountersArray
    params: KernelParams
    comparison: RowComparison


@jit
def learn(state: LoopState, x: Floats, label: int) -> None:
    """Assign a row to an existing vertex, or found a new one."""
    vertices, counters, distances = state.vertices, state.progress[0], state.comparison.distances
    if label != UNLABELLED:
        i, is_contradicted = cover.find_same_point(vertices, counters.n, distances, label)
        counters.n_conflicts += is_contradicted
        distance = 0.0
    else:
        absorb = state.params.absorb
        i, distance = cover.find_nearest_vertex(vertices, counters.n, distances, absorb)
        if distance > 0.0 and distance >= counters.radius:
            i = -1
    if i < 0:
        create_vertex(state, x, label)
    else:
        join_vertex(state, x, label, i, distance)


@jit
def create_vertex(state: LoopState, x: Floats, label: int) -> None:
    """Make a row a new vertex, labelled or not."""
    vertices, system, progress, params, comparison = state
    counters = progress[0]
    i = counters.n
    cover.append_vertex(vertices, i, x, comparison, label, counters.id)
    vertices.bandwidth[i] = compute_row_similarities(
        vertices.bandwidth, counters, params, comparison
    )
    system.w[i, :i] = comparison.similarities[:i]
    system.clamped[i] = label != UNLABELLED
    system.f[:, i] = 0.0
    unit = weight_unit(counters, params)
    if label != UNLABELLED:
        system.f[STEPS + 1 + label, i] = 1.0
        weight = params.label_weight * unit if params.label_weight > 0.0 else 1.0
    else:
        weight = min(1.0, params.weight_cap * unit)
        counters.n_unlabelled += 1
        counters.n_absorbed += 1
        counters.total_weight += weight
    attach(system, i, weight, params.sink * unit)
    counters.n += 1
    counters.n_founded += 1
    counters.vertex = i


@jit
def join_vertex(state: LoopState, x: Floats, label: int, i: int, distance: float) -> None:
    """Add a row to vertex i, whose weight is capped.

    A label moves the mean only, so that it can be undone; similarities follow with a later row.
    """
    vertices, system, progress, params, _ = state
    counters, is_free = progress[0], vertices.label[i] == UNLABELLED
    vertices.examples[i] += 1
    vertices.decayed_count[i] += 1.0
    counters.n_absorbed += is_free
    if params.label_weight == 0.0:
        add_weight(system, counters.n, i, 1.0)
    elif is_free:
        max_weight = params.weight_cap * counters.mean_weight
        change = min(vertices.decayed_count[i], max_weight) - system.v[i]
        if change > 0.0:
            counters.total_weight += change
            add_weight(system, counters.n, i, change)
    vertices.taught[i] += label != UNLABELLED
    vertices.reach[i] = max(vertices.reach[i], distance)
    if cover.move_mean(vertices, i, x) and label == UNLABELLED and cover.has_moved(vertices, i):
        update_similarities(state, i)
    counters.vertex = i


@jit
def update_similarities(state: LoopState, i: int) -> None:
    """Recompute the similarities of a vertex whose mean has moved."""
    vertices, system, progress, params, comparison = state
    n, bandwidths, distances = progress[0].n, vertices.bandwidth, comparison.distances
    cover.measure_mean_distances(vertices, n, i, comparison.mean, distances)
    gaussian_row(distances, n, bandwidths[i], bandwidths, params.cut, comparison.similarities)
    comparison.similarities[i] = 0.0
    change_edges(system, n, i, comparison.similarities)


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
        quarantine.held_points[:, group] = x
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
    quarantine.held_points[:, group] = quarantine.held_points[:, last]
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
    group, counts, since = 0, quarantine.held_count, quarantine.held_since
    for j in range(1, n):
        if (counts[j], since[j]) < (counts[group], since[group]):
            group = j
    return group


class Memory(NamedTuple):
    """The last rows, in a ring: the row at age i is at index i modulo the capacity."""

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
    memory.seen_rows[place] = x
    memory.seen_vertex[place] = counters.vertex
    memory.seen_label[place] = label
    memory.seen_number[place] = counters.n_seen - 1
    memory.seen_first[place] = counters.id
