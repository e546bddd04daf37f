"""Invariants of a state, checked when a model file is read.

The checksum of a model file detects damage. The invariants detect files that no learner has
written, because the compiled loops do not check values such as the label of a vertex.
"""

from collections.abc import Iterator

import numpy as np

from labelwalk._validation import MAX_VALUE
from labelwalk.engine.scaling import WARM_UP, Scale
from labelwalk.engine.state import COUNTERS, PARTS, State
from labelwalk.kernels.assign import REMOVED
from labelwalk.kernels.counters import INVALID, NEVER, NO_RECORD, NO_ROW, RowStage
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.drift import DRIFT_BLOCK_ROWS
from labelwalk.kernels.loop import ANSWER_ONLY
from labelwalk.kernels.system import STEPS, System, bound_rounding, rebuild
from labelwalk.settings import Settings
from labelwalk.similarity import SelfTuning


def check_state(state: State, settings: Settings) -> None:
    """Raise a ValueError that names the first violated invariant of the state."""
    _check(_list_invariants(state, settings))


def check_scale(scale: Scale, state: State, settings: Settings) -> None:
    """Raise a ValueError that names the first violated invariant of the scale and its state."""
    _check(_list_scale_invariants(scale, state, settings))


def _check(invariants: Iterator[tuple[str, bool]]) -> None:
    for invariant, holds in invariants:
        if not holds:
            raise ValueError(f"its values are inconsistent, since this does not hold: {invariant}")


def _list_scale_invariants(
    scale: Scale, state: State, settings: Settings
) -> Iterator[tuple[str, bool]]:
    d, n = len(scale.centre), len(scale.rows)
    is_robust = settings.scale == "robust"
    yield "features are scaled only with scale=robust", is_robust or d == n == 0
    fitting = d in (0, state.n_features) and scale.spread.shape == (d,)
    yield "every feature has a centre and a spread", fitting
    bounded = np.all(np.abs(scale.centre) <= MAX_VALUE) and np.all(scale.spread <= 2 * MAX_VALUE)
    yield "spreads are positive", bool(bounded and np.all(scale.spread > 0))
    learned = 0 if scale.frozen else state.counters.n_seen
    waiting = is_robust and n < WARM_UP and (d > 0) == (state.counters.n_seen > 0)
    complete = n == learned and (scale.frozen or waiting)
    yield "the scale is frozen, or all examples are kept", complete
    fitting = scale.labels.shape == (n,) and (n == 0 or scale.rows.shape == (n, d))
    yield "kept examples have features and labels", fitting
    yield "kept examples can be compared", bool(np.all(np.abs(scale.rows) <= MAX_VALUE))
    classes = (scale.labels >= ANSWER_ONLY) & (scale.labels < state.n_classes)
    yield "kept labels are known classes", bool(np.all(classes))


def _list_invariants(state: State, settings: Settings) -> Iterator[tuple[str, bool]]:
    counters, vertices, system = state.counters, state.vertices, state.system
    arrays = [array for part in PARTS for array in getattr(state, part)]
    arrays += [state.progress[name] for name in COUNTERS]
    yield "all numbers are finite", all(np.all(np.isfinite(array)) for array in arrays)
    begun = counters.stage != RowStage.WAITING or counters.id != NO_ROW
    yield "no row is partially learned", not begun and REMOVED <= counters.vertex < max(state.n, 1)
    yield "vertices have features", state.n_features > 0 or state.n == 0
    rule = getattr(settings.similarity, "bandwidth", None)
    rule = "cover" if isinstance(settings.similarity, SelfTuning) else rule
    by_scale, by_cover = counters.measure_at_seen != NEVER, counters.measure_at_founded != NEVER
    alive = state.n_features > 0
    scheduled = (by_scale, by_cover) == (alive and rule == "scale", alive and rule == "cover")
    yield "a bandwidth is measured if it is not given", scheduled

    free = vertices.label == UNLABELLED
    yield "labels are classes", bool(np.all(free | (vertices.label >= 0)))
    yield "labels are known classes", bool(np.all(vertices.label < state.n_classes))
    yield "labelled vertices are clamped", bool(np.all(free != system.clamped))
    yield "every vertex represents an example", bool(np.all(vertices.examples >= 1))
    told = np.where(free, vertices.taught == 0, vertices.taught >= 1)
    yield "labels were taught", bool(np.all(told & (vertices.taught <= vertices.examples)))
    yield "unlabelled vertices are counted", counters.n_unlabelled == free.sum()
    yield "their examples are counted", counters.n_absorbed == vertices.examples[free].sum()
    names = ("n_outliers", "n_removed", "n_answer_only", "n_conflicts", "n_held")
    yield "examples are counted", all(0 <= counters[name] <= counters.n_seen for name in names)
    yield from _list_memory_invariants(state, settings)
    yield "vertices were founded", counters.n_founded >= state.n
    k = settings.n_centroids
    yield "there are at most n_centroids", k is None or counters.n_unlabelled <= k
    yield from _list_fading_invariants(state, settings)
    yield from _list_drift_invariants(state)
    yield from _list_graph_invariants(state, settings)


def _list_graph_invariants(state: State, settings: Settings) -> Iterator[tuple[str, bool]]:
    counters, vertices, system = state.counters, state.vertices, state.system
    points = (vertices.points, vertices.means)
    yield "points can be compared", all(bool(np.all(np.abs(p) <= MAX_VALUE)) for p in points)
    are_moving = settings.moving and state.n_features > 0
    yield "means are stored if they move", bool(len(vertices.means)) == are_moving
    drawn = (vertices.similarity_count >= 1) & (vertices.similarity_count <= vertices.examples)
    yield "similarities of vertices are computed", bool(np.all(drawn))
    biased = np.all(system.bias > 0) and (settings.prior is not None or np.all(system.bias == 1))
    yield "only a prior prefers classes", bool(biased)
    chosen = counters.width > 0 <= counters.evenness <= 1 <= counters.sharpness
    yield "graph and sharpness can be chosen", bool(chosen)
    lengths = (vertices.distance, vertices.mean_distances, vertices.reach, vertices.bandwidth)
    positive = (*lengths, system.w, system.d, system.f, system.drift, system.peak)
    signs = all(np.all(array >= 0) for array in positive)
    yield "lengths and probabilities are not negative", bool(signs)
    yield "probabilities are at most 1", bool(np.all(system.f[1:] <= 1))
    spans = (counters.radius, counters.sigma, counters.typical, counters.total_weight)
    yield "radius and bandwidth are not negative", all(span >= 0 for span in spans)
    matrices = (system.w, vertices.distance, vertices.mean_distances)
    diagonals = [np.diagonal(matrix) for matrix in matrices]
    yield "no vertex is its own neighbour", not any(np.any(diagonal) for diagonal in diagonals)
    weighty = np.all(system.v > 0) and np.all(system.g > 0)
    yield "weights and sinks are positive", bool(weighty and counters.mean_weight > 0)
    yield "residuals agree with the values", _residuals_hold(system, state.n)


def _list_fading_invariants(state: State, settings: Settings) -> Iterator[tuple[str, bool]]:
    vertices = state.vertices
    fading = settings.half_life is not None and state.n_features > 0
    scheduled = state.counters.forget_at != NEVER
    yield "old examples fade if there is a half-life", scheduled == fading
    count, examples = vertices.decayed_count, vertices.examples
    whole = fading or np.all(count == examples)
    yield (
        "no example weighs more than one",
        bool(whole and np.all((count > 0) & (count <= 1.001 * examples))),
    )


def _list_memory_invariants(state: State, settings: Settings) -> Iterator[tuple[str, bool]]:
    counters, memory, before = state.counters, state.memory, state.before_progress[0]
    room = settings.remember if state.n_features else 0
    yield "as many examples are remembered as the settings require", len(memory.seen_rows) == room
    known = (memory.seen_vertex >= REMOVED) & (memory.seen_vertex < max(state.n, 1))
    classes = (memory.seen_label >= UNLABELLED) & (memory.seen_label < state.n_classes)
    yield "remembered labels are known classes", bool(np.all(known & classes))
    past = bool(np.all(memory.seen_first <= counters.n_seen))
    yield "examples came before they were taught", past
    future = (memory.seen_number < NO_ROW) | (memory.seen_number >= max(counters.n_seen, 1))
    yield "no remembered example is newer than the last one", not np.any(future)
    yield "founders were seen", bool(np.all(state.vertices.founder < max(counters.n_seen, 1)))
    values = [before[name] for name in COUNTERS]
    yield "the stored previous values are finite", bool(np.all(np.isfinite(values)))
    chosen = before.width > 0 <= before.evenness <= 1 <= before.sharpness
    lengths = (before.sigma, before.typical, before.total_weight, *state.before.before_bandwidth)
    fine = chosen and bool(np.all(np.array(lengths) >= 0))
    recorded = counters.n_pending in (NO_RECORD, INVALID) or (
        0 < counters.n_pending <= counters.n_seen and fine
    )
    yield "labels can be retracted", bool(recorded)


def _list_drift_invariants(state: State) -> Iterator[tuple[str, bool]]:
    counters, watch = state.counters, state.watch
    counts = (counters.watched, counters.blocks, counters.alarm_at, counters.first_taught)
    yield "observed blocks are counted", all(count >= 0 for count in counts)
    seen = (counters.watched, counters.alarm_at, counters.last_taught)
    yield "observed blocks were seen", all(count <= counters.n_seen for count in seen)
    ordered = counters.first_taught <= counters.last_taught
    yield "the first label came before the last", bool(ordered)
    distance = counters.judge_at_seen - counters.n_seen
    yield "metrics are measured on schedule", 0 < distance <= DRIFT_BLOCK_ROWS
    marks_now = (counters.n_seen, counters.n_founded, counters.n_outliers)
    marks = np.array([(0, 0, 0), *watch.marks, marks_now])
    yield "blocks began in the past", bool(np.all(marks[:-1] <= marks[1:]))
    spreads = (watch.frame[1], watch.noise, watch.chance)
    scales = all(np.all(array >= 0) for array in spreads)
    scales &= counters.blocks < 2 or bool(np.all(watch.chance > 0))
    yield "deviations are not negative", scales and counters.unsteady >= 0
    yield "suspicion is not negative", counters.suspicion >= 0 and counters.alarm >= 0


def _residuals_hold(system: System, n: int) -> bool:
    changed = ("d", "r", "drift", "peak")
    fresh = system._replace(**{name: getattr(system, name).copy() for name in changed})
    rebuild(fresh, n)
    free, total = ~system.clamped, fresh.d + fresh.g
    drift = bound_rounding(system) + bound_rounding(fresh)
    allowed = drift * total * (1.0 + system.f[STEPS].max(initial=0.0))
    return bool(np.all(np.abs(fresh.r - system.r)[:, free] <= allowed[free]))
