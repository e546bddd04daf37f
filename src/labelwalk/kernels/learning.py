"""A row finds its vertex: an old one takes it in, and may move; or it founds a new one."""

from __future__ import annotations

from labelwalk.arrays import Floats
from labelwalk.kernels.comparison import RowComparison, compare_with, gaussian_row
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
from labelwalk.kernels.edges import attach, change_edge
from labelwalk.kernels.jit import compiled
from labelwalk.kernels.links import find_components, share_a_neighbour
from labelwalk.kernels.progress import Counters, KernelParams
from labelwalk.kernels.system import STEPS, System, rebuild, reweigh

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
