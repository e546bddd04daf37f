"""One example after another: Figure 1 as a compiled loop that stops where rarer work is due.

The loop takes rows until one needs what only the caller can do (more room, a coarsening, an exact
solution, ...), says so with an event, and goes on with the same row when it is called again. Every
choice depends on the state alone, so a stream cut into other chunks takes the very same steps.
"""

from __future__ import annotations

from labelwalk.arrays import Floats, Ints, Record
from labelwalk.kernels.comparison import Comparison, distances_to, gaussian, is_outlier
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.cover import UNLABELLED, Vertices, found, nearest, same_point
from labelwalk.kernels.progress import ARRIVED, COMPARED, LEARNED, NEVER, SOLVED, WAITING, Rules
from labelwalk.kernels.settle import UNPROVEN, error_at, settle
from labelwalk.kernels.system import STEPS, System, attach, reweigh
from labelwalk.kernels.verdict import Answers, write_answer

# What the caller has to do before the loop can go on.
DONE, GROW, MEASURE, COMPARE, TRIM, COARSEN, REBALANCE, SOLVE = range(8)

MEAN_STEP = 1.05  # the mean weight follows in steps of five percent


@compiled
def add_to_moments(moments: Floats, n_seen: int, x: Floats) -> None:
    """Let the row move the running means and summed squared deviations (Welford)."""
    means, squares = moments[0], moments[1]
    for p in range(x.shape[0]):
        gap = x[p] - means[p]
        means[p] += gap / n_seen
        squares[p] += gap * (x[p] - means[p])


@compiled
def enter(
    vertices: Vertices,
    system: System,
    here: Record,
    rules: Rules,
    beside: Comparison,
    x: Floats,
    label: int,
) -> None:
    """Found a vertex on the row, labelled or not."""
    i = here.n
    found(vertices, i, x, beside.distances, label)
    for j in range(i):
        if rules.own_similarities:
            system.w[i, j] = beside.similarities[j]
        else:
            system.w[i, j] = gaussian(beside.distances[j], here.sigma, here.cutoff)
    system.clamped[i] = label != UNLABELLED
    for column in range(system.f.shape[0]):
        system.f[column, i] = 0.0
    weight, mean = 1.0, 1.0
    if rules.label_weight > 0.0:
        mean = here.mu
    if label != UNLABELLED:
        system.f[STEPS + 1 + label, i] = 1.0
        weight = rules.label_weight * mean if rules.label_weight > 0.0 else 1.0
    else:
        here.n_unlabelled += 1
        here.mass += 1
    attach(system, i, weight, rules.sink * mean)
    here.n += 1
    here.n_founded += 1
    here.vertex = i


@compiled
def support(
    vertices: Vertices, system: System, here: Record, rules: Rules, i: int, distance: float
) -> None:
    """Let vertex i stand for the row too."""
    vertices.examples[i] += 1
    vertices.reach[i] = max(vertices.reach[i], distance)
    free = vertices.label[i] == UNLABELLED
    if free:
        here.mass += 1
    if free or rules.label_weight == 0.0:
        reweigh(system, here.n, i, 1.0)
    here.vertex = i


@compiled
def learn(
    vertices: Vertices,
    system: System,
    here: Record,
    rules: Rules,
    beside: Comparison,
    x: Floats,
    label: int,
) -> None:
    """Give the row to a vertex, old or new."""
    if label != UNLABELLED:
        twin = same_point(vertices, here.n, beside.distances, label)
        if twin >= 0:
            support(vertices, system, here, rules, twin, 0.0)
        else:
            enter(vertices, system, here, rules, beside, x, label)
        return
    taker, distance = nearest(vertices, here.n, beside.distances, rules.absorb)
    if taker >= 0 and (distance < here.radius or distance == 0.0):
        support(vertices, system, here, rules, taker, distance)
    else:
        enter(vertices, system, here, rules, beside, x, UNLABELLED)


@compiled
def chores(vertices: Vertices, here: Record, rules: Rules, label: int) -> int:
    """Return what is due now that the row is learned, or DONE."""
    if here.n_founded >= here.measure_at_founded:
        return MEASURE
    if here.n_unlabelled > rules.n_centroids:
        return COARSEN
    if label != UNLABELLED:
        same = 0
        for j in range(here.n):
            same += vertices.label[j] == label
        if same > rules.labels_per_class:
            return TRIM
    if rules.label_weight > 0.0 and here.n_unlabelled > 0:
        mean = here.mass / here.n_unlabelled
        if mean > MEAN_STEP * here.mu or here.mu > MEAN_STEP * mean:
            return REBALANCE
    return DONE


@compiled
def feed(
    vertices: Vertices,
    system: System,
    progress: Record,
    rules: Rules,
    beside: Comparison,
    rows: Floats,
    labels: Ints,
    start: int,
    answers: Answers,
) -> tuple[int, int]:
    """Take rows from `start` on; return the row that is next and the event it waits for."""
    here = progress[0]
    for row in range(start, rows.shape[0]):
        x, label = rows[row], labels[row]
        if here.stage == WAITING:
            if here.n == vertices.examples.shape[0]:
                return row, GROW
            here.n_seen += 1
            if here.measure_at_seen != NEVER:
                add_to_moments(beside.moments, here.n_seen, x)
            here.stage = ARRIVED
            if here.n_seen >= here.measure_at_seen:
                return row, MEASURE
        if here.stage == ARRIVED:
            if rules.own_distances and here.n > 0:
                return row, COMPARE
            distances_to(vertices.points, here.n, x, beside.distances)
            here.stage = COMPARED
        if here.stage == COMPARED:
            if label == UNLABELLED and is_outlier(here, rules, beside):
                here.n_outliers += 1
                answers.outlier[row] = True
                here.stage = WAITING
                continue
            learn(vertices, system, here, rules, beside, x, label)
            here.stage = LEARNED
        if here.stage == LEARNED:
            event = chores(vertices, here, rules, label)
            if event != DONE:
                return row, event
        if label == UNLABELLED:
            if here.stage == SOLVED:
                error = error_at(system, here.n, here.vertex)
            else:
                error = settle(system, here.n, here.vertex, rules.tolerance)
                if error == UNPROVEN:
                    return row, SOLVE
            write_answer(answers, row, system.f[STEPS + 1 :, here.vertex], error)
        here.stage = WAITING
    return rows.shape[0], DONE
