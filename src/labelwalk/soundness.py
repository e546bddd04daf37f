"""What must hold of a state read from a file before it is believed.

The checksum of a model file guards against damage. This guards against a file that no learner has
written: the compiled loops trust numbers such as the label of a vertex.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.drift import BLOCK
from labelwalk.kernels.progress import NEVER, WAITING
from labelwalk.kernels.system import STEPS, System, rebuild, rounding
from labelwalk.rows import LARGEST
from labelwalk.settings import Settings
from labelwalk.signs import SIGNS
from labelwalk.similarity import SelfTuning
from labelwalk.state import State


def check_sound(state: State, settings: Settings) -> None:
    """Raise a ValueError that names the first law the state breaks."""
    for law, holds in _laws(state, settings):
        if not holds:
            raise ValueError(f"its numbers do not fit together: {law}")


def _laws(state: State, settings: Settings) -> Iterator[tuple[str, bool]]:
    here, vertices, system = state.here, state.vertices, state.system
    watching = (*state.watch, *state.diary)
    arrays = (*vertices, *system, state.beside.moments, *state.quarantine, *watching)
    scales = [here.radius, here.mu, here.sigma, here.typical, here.load]
    numbers = [*scales, here.width, here.evenness, here.sharpness, *system.drift]
    numbers += [here.usual, here.unsteady, here.suspicion, here.alarm]
    finite = all(np.all(np.isfinite(array)) for array in arrays) and np.all(np.isfinite(numbers))
    yield "all numbers are finite", bool(finite)
    yield "no row is half learned", here.stage == WAITING and -1 <= here.vertex < max(state.n, 1)
    yield "vertices have features", state.n_features > 0 or state.n == 0
    rule = getattr(settings.similarity, "bandwidth", None)
    rule = "cover" if isinstance(settings.similarity, SelfTuning) else rule
    by_scale, by_cover = here.measure_at_seen != NEVER, here.measure_at_founded != NEVER
    begun = state.n_features > 0
    scheduled = (by_scale, by_cover) == (begun and rule == "scale", begun and rule == "cover")
    yield "a bandwidth is measured where it is not given", scheduled

    free = vertices.label == UNLABELLED
    yield "labels are classes", bool(np.all(free | (vertices.label >= 0)))
    yield "labels are known classes", bool(np.all(vertices.label < state.n_classes))
    yield "labelled vertices are clamped", bool(np.all(free != system.clamped))
    yield "every vertex stands for an example", bool(np.all(vertices.examples >= 1))
    yield "unlabelled vertices are counted", here.n_unlabelled == free.sum()
    yield "their examples are counted", here.mass == vertices.examples[free].sum()
    yield "outliers are examples", 0 <= here.n_outliers <= here.n_seen
    yield "vertices were founded", here.n_founded >= state.n
    k = settings.n_centroids
    yield "there are at most n_centroids", k is None or here.n_unlabelled <= k

    yield from _watching_laws(state)

    points = (vertices.points, vertices.means)
    yield "points can be compared", all(bool(np.all(np.abs(p) <= LARGEST)) for p in points)
    yield "means are kept where they move", bool(len(vertices.means)) == (begun and settings.moving)
    drawn = (vertices.drawn >= 1) & (vertices.drawn <= vertices.examples)
    yield "vertices were drawn", bool(np.all(drawn))
    biased = np.all(system.bias > 0) and (settings.prior is not None or np.all(system.bias == 1))
    yield "only a prior prefers classes", bool(biased)
    chosen = here.width > 0 <= here.evenness <= 1 <= here.sharpness
    yield "graph and sharpness can be chosen", bool(chosen)
    lengths = (vertices.distance, vertices.apart, vertices.reach, vertices.bandwidth)
    positive = (*lengths, system.w, system.d, system.f, system.drift, system.peak)
    signs = all(np.all(array >= 0) for array in positive)
    yield "lengths and probabilities are not negative", bool(signs)
    yield "probabilities are at most 1", bool(np.all(system.f[1:] <= 1))
    spans = (here.radius, here.sigma, here.typical, here.load)
    yield "radius and bandwidth are not negative", all(span >= 0 for span in spans)
    matrices = (system.w, vertices.distance, vertices.apart)
    diagonals = [np.diagonal(matrix) for matrix in matrices]
    yield "no vertex is its own neighbour", not any(np.any(diagonal) for diagonal in diagonals)
    weighty = np.all(system.v > 0) and np.all(system.g > 0)
    yield "weights and sinks are positive", bool(weighty and here.mu > 0)
    yield "residuals are those of the values", _residuals_hold(system, state.n)


def _watching_laws(state: State) -> Iterator[tuple[str, bool]]:
    here, watch, diary = state.here, state.watch, state.diary
    counts = (here.watched, here.blocks, here.n_events, here.alarm_at, here.first_taught)
    yield "what is watched is counted", all(count >= 0 for count in counts)
    seen = (here.watched, here.alarm_at, here.last_taught)
    yield "what is watched was seen", all(count <= here.n_seen for count in seen)
    ordered = here.first_taught <= here.last_taught
    yield "the first label came before the last", bool(ordered)
    yield "signs are judged in time", 0 < here.judge_at_seen - here.n_seen <= BLOCK
    now = np.array([here.n_seen, here.n_founded, here.n_outliers])
    began = (watch.marks[0] >= 0) & (watch.marks[0] <= watch.marks[1]) & (watch.marks[1] <= now)
    yield "blocks began in the past", bool(np.all(began))
    spreads = (watch.frame[1], watch.noise, watch.chance)
    scales = all(np.all(array >= 0) for array in spreads)
    scales &= here.blocks < 2 or bool(np.all(watch.chance > 0))
    yield "deviations are not negative", scales and here.unsteady >= 0
    yield "suspicion is not negative", here.suspicion >= 0 and here.alarm >= 0
    known = (diary.event_sign >= 0) & (diary.event_sign < len(SIGNS))
    yield "events are of known signs", bool(np.all(known))


def _residuals_hold(system: System, n: int) -> bool:
    fresh = system._replace(
        d=system.d.copy(), r=system.r.copy(), drift=system.drift.copy(), peak=system.peak.copy()
    )
    rebuild(fresh, n)
    free, total = ~system.clamped, fresh.d + fresh.g
    drift = rounding(system) + rounding(fresh)
    allowed = drift * total * (1.0 + system.f[STEPS].max(initial=0.0))
    return bool(np.all(np.abs(fresh.r - system.r)[:, free] <= allowed[free]))
