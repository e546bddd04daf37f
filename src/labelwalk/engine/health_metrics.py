"""Health metrics: how each is measured, its limit, and when it last crossed the limit.

Metrics are measured at fixed counts of examples, so that events do not depend on how a stream is
split into calls: cheap metrics after every block, those over all vertices after every fourth, and
those that require a direct solution whenever the number of examples has doubled.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from labelwalk.arrays import Bools, Floats
from labelwalk.engine.label_conflicts import find_conflicts
from labelwalk.engine.leave_one_out import find_nearest_label, has_label_sibling, held_out
from labelwalk.engine.state import LoggedEvent, State
from labelwalk.kernels.answer import NO_CLASS
from labelwalk.kernels.compare import ZERO_SIMILARITY_BANDWIDTHS
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.drift import CUSUM_LIMIT, DRIFT_BLOCK_ROWS, end_block, restart
from labelwalk.settings import Settings
from labelwalk.solver import relaxation

MIN_LABELS = 8  # with fewer, a single label changes an accuracy by more than an eighth
EXAMPLES_PER_LABEL = 10  # with fewer, the graph is too small to be judged
ONE_MOMENT = 0.1  # of the stream so far; labels taught within it are close in time


class GraphBenefit(NamedTuple):
    """Accuracy of the graph and of the nearest label on `n_labels` left-out labels."""

    n_labels: int
    graph: float
    nearest: float
    error: float  # standard error of the difference
    young: bool  # too few examples have come
    one_moment: bool  # labels are close in time

    @property
    def enough(self) -> bool:
        """Whether there are enough labels and examples for a comparison."""
        return self.n_labels >= MIN_LABELS and not self.young

    @property
    def helps(self) -> bool:
        """Whether the graph may be better than the nearest label, or both make no errors."""
        lead = self.graph - self.nearest
        return not self.enough or lead + self.error > 0 or self.nearest == 1.0


def measure_graph_benefit(state: State, settings: Settings) -> GraphBenefit:
    """Compare the accuracy of the graph and of the nearest label on left-out labels.

    Labels that are alone in their class cannot be predicted and are omitted.
    """
    n, counters = state.n, state.counters
    codes = state.vertices.label[:n].astype(np.int64)
    labels = codes[codes >= 0]
    counted = has_label_sibling(labels)
    young = bool(counters.n_seen < EXAMPLES_PER_LABEL * len(labels))
    one_moment = bool(counters.last_taught - counters.first_taught < ONE_MOMENT * counters.n_seen)
    if not counted.any():
        return GraphBenefit(0, 0.0, 0.0, 0.0, young, one_moment)
    nearest_label = find_nearest_label(state, codes)
    scores: Floats = held_out(state.graph, codes, state.n_classes) * state.system.bias[1:]
    fallback = nearest_label if settings.unreached == "nearest" else NO_CLASS
    predicted = np.where(scores.max(axis=1) > 0, scores.argmax(axis=1), fallback)
    by_graph, by_nearest = (predicted == labels)[counted], (nearest_label == labels)[counted]
    return GraphBenefit(
        n_labels=int(counted.sum()),
        graph=float(by_graph.mean()),
        nearest=float(by_nearest.mean()),
        error=_error(by_graph, by_nearest),
        young=young,
        one_moment=one_moment,
    )


def _error(is_right: Bools, is_other_right: Bools) -> float:
    gain = is_right.astype(np.float64) - is_other_right
    return float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0


# In bandwidths. At this distance a Gaussian is zero in double precision: the vertex may represent
# examples that are not similar to it. Reach only bounds the distance, so the limit is high.
MOST_DISTORTION = ZERO_SIMILARITY_BANDWIDTHS
MOST_OUTLIERS = 0.05  # of all examples; more are not noise, but a part of the stream
MOST_RECENT_OUTLIERS = 0.2  # of the last one or two blocks, which may contain more noise than usual
MOST_NEW = 0.25  # of recent examples; with more vertices, the cover does not summarize them
EXAMPLES_PER_VERTEX = 10  # with fewer, the cover is still growing, and new vertices are expected
MOST_SINK = 0.5  # of the probability; above, "I don't know" exceeds all classes together
ROUNDING = 1e-9  # errors up to it are accepted, even if the tolerance is 0
LEAST_EVENNESS = 0.5  # of the entropy of equal classes: 10 classes must be as diverse as 3.2
MOST_ABSORBED = 0.5  # of all examples; above, most answers are those of the nearest label
MOST_CONFLICTS = 0.0  # of two contradictory labels, one is wrong


class Measurement(NamedTuple):
    """A value, its limit if there is one, and whether the value is within the limit."""

    value: float
    limit: float | None
    ok: bool


MetricFunction: TypeAlias = Callable[[State, Settings], Measurement]


def at_most(value: float, limit: float) -> Measurement:
    """Return a measurement with an upper limit."""
    return Measurement(float(value), float(limit), bool(value <= limit))


def radius(state: State, settings: Settings) -> Measurement:
    """R, the distance below which an example joins its nearest vertex."""
    return Measurement(float(state.counters.radius), None, True)


def distortion(state: State, settings: Settings) -> Measurement:
    """The largest reach of a vertex, in bandwidths; 0 if there is no bandwidth."""
    sigma = float(state.counters.sigma)
    if sigma == 0.0:
        return Measurement(0.0, None, True)
    reach = float(state.vertices.reach[: state.n].max(initial=0.0))
    unit = ZERO_SIMILARITY_BANDWIDTHS
    return at_most(min(reach / unit / sigma, 1e100) * unit, MOST_DISTORTION)


def outliers(state: State, settings: Settings) -> Measurement:
    """Share of outliers in all examples."""
    return at_most(state.counters.n_outliers / max(1, state.counters.n_seen), MOST_OUTLIERS)


def recent_outliers(state: State, settings: Settings) -> Measurement:
    """Share of outliers since the last block began."""
    seen, _, n_far = _recently(state)
    return at_most(n_far / max(1, seen), MOST_RECENT_OUTLIERS)


def new_vertices(state: State, settings: Settings) -> Measurement:
    """Share of recent examples that founded a vertex."""
    counters = state.counters
    seen, founded, _ = _recently(state)
    share = at_most(founded / max(1, seen), MOST_NEW)
    is_growing = counters.radius == 0.0 or counters.n_seen < EXAMPLES_PER_VERTEX * state.n
    return share._replace(limit=None, ok=True) if is_growing else share


def sink(state: State, settings: Settings) -> Measurement:
    """Mean of 1 - Σ_c f_c over unlabelled vertices, weighted by their examples."""
    free, examples, f = _free(state)
    missing = np.maximum(1.0 - f.sum(axis=0), 0.0)
    weights = examples * free
    return at_most((missing * weights).sum() / max(1.0, weights.sum()), MOST_SINK)


def certificate(state: State, settings: Settings) -> Measurement:
    """The largest proven error after all vertices are relaxed, as for a prediction.

    Between predictions, vertices that no answer needs are not relaxed; this metric ignores that.
    """
    limit = max(settings.tolerance, ROUNDING)
    if state.n == 0:
        return at_most(0.0, limit)
    _, errors = relaxation.copy_settled(state.system, state.n, settings.tolerance, state.readout)
    return at_most(errors.max(), limit)


def classes(state: State, settings: Settings) -> Measurement:
    """The effective number of classes: exp of the entropy of the class masses."""
    _, examples, f = _free(state)
    masses = (f * examples).sum(axis=1)
    shares = masses[masses > 0] / max(masses.sum(), 1e-300)
    effective = float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else 0.0
    limit = float(state.n_classes) ** LEAST_EVENNESS
    return Measurement(effective, limit, state.n_classes < 2 or effective >= limit)


def absorbed(state: State, settings: Settings) -> Measurement:
    """Share of all examples that labelled vertices represent."""
    free, examples, _ = _free(state)
    share = at_most(examples[~free].sum() / max(1, examples.sum()), MOST_ABSORBED)
    is_growing = state.counters.n_seen < EXAMPLES_PER_VERTEX * np.count_nonzero(~free)
    return share._replace(limit=None, ok=True) if is_growing else share


def graph(state: State, settings: Settings) -> Measurement:
    """Accuracy of the graph on left-out labels, minus that of the nearest label."""
    return graph_gain(measure_graph_benefit(state, settings))


def graph_gain(benefit: GraphBenefit) -> Measurement:
    """Return the benefit of the graph as a measurement."""
    return Measurement(benefit.graph - benefit.nearest, 0.0, benefit.helps)


def conflicts(state: State, settings: Settings) -> Measurement:
    """Number of pairs of labels of different classes at the same point."""
    return at_most(len(find_conflicts(state)), MOST_CONFLICTS)


def drift(state: State, settings: Settings) -> Measurement:
    """The sum of departures from the usual levels, at present or at an alarm in progress."""
    return at_most(max(state.counters.suspicion, state.counters.alarm), CUSUM_LIMIT)


HEALTH_METRICS: dict[str, MetricFunction] = {
    "radius": radius,
    "distortion": distortion,
    "outliers": outliers,
    "recent outliers": recent_outliers,
    "new vertices": new_vertices,
    "sink": sink,
    "certificate": certificate,
    "classes": classes,
    "absorbed": absorbed,
    "graph": graph,
    "conflicts": conflicts,
    "drift": drift,
}
OVER_VERTICES = ("distortion", "sink", "classes", "absorbed", "conflicts")
OVER_THE_GRAPH = ("certificate", "graph")
OVER_VERTICES_BLOCKS = 4  # from one measurement to the next; each block: 1 µs more per example


def judge_metrics(state: State, settings: Settings) -> None:
    """End a block: check for drift, and log every metric that has crossed its limit."""
    counters = state.counters
    end_block(state.watch, state.progress)
    blocks = int(counters.n_seen) // DRIFT_BLOCK_ROWS
    for name, measure in HEALTH_METRICS.items():
        if _is_due(name, blocks):
            value, limit, ok = measure(state, settings)
            state.events.note(LoggedEvent(int(counters.n_seen), name, ok, value, limit or 0.0))
    _judge_next(state)


def _is_due(name: str, blocks: int) -> bool:
    if name in OVER_VERTICES:
        return blocks % OVER_VERTICES_BLOCKS == 0
    if name in OVER_THE_GRAPH:
        return blocks & (blocks - 1) == 0
    return True


def restart_drift_window(state: State) -> None:
    """Restart the block and drift detection, since counts have changed abruptly."""
    restart(state.watch, state.progress)
    _judge_next(state)


def _judge_next(state: State) -> None:
    n_blocks = state.counters.n_seen // DRIFT_BLOCK_ROWS
    state.counters.judge_at_seen = (n_blocks + 1) * DRIFT_BLOCK_ROWS


def _recently(state: State) -> list[int]:
    """Return the numbers of examples, new vertices and outliers since the last full block began."""
    counters = state.counters
    counts = np.array([counters.n_seen, counters.n_founded, counters.n_outliers])
    recent_counts: list[int] = (counts - state.watch.marks[0]).tolist()
    return recent_counts


def _free(state: State) -> tuple[Bools, Floats, Floats]:
    """Return a mask of unlabelled vertices, their counts of examples, and their class values."""
    n = state.n
    examples = state.vertices.examples[:n].astype(np.float64)
    return state.vertices.label[:n] == UNLABELLED, examples, state.system.f[1:, :n]
