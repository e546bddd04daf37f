"""The signs of a learner's health, as numbers: what each is, and the limit it should keep.

They are judged at fixed counts of examples, so that what crosses a limit, and when, does not depend
on how a stream is cut into calls: what is counted anyway every block, what takes a look at all
vertices every fourth, and what takes a direct solution when the stream has doubled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.engine import conflicts as conflicting
from labelwalk.engine.event_log import LoggedEvent
from labelwalk.engine.state import State
from labelwalk.engine.worth import Worth, worth
from labelwalk.kernels.compare import FADED
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.drift import ALARM, BLOCK, begin_anew, end_block
from labelwalk.settings import Settings
from labelwalk.solver import relaxation

# At so many bandwidths a Gaussian is zero in double precision: a vertex stands for examples that
# are not similar to it at all. Reach is a generous bound, hence the limit is: digits stand at 11.
MOST_DISTORTION = FADED
MOST_OUTLIERS = 0.05  # of all examples: more is not noise but a part of the stream left unanswered
MOST_RECENT_OUTLIERS = 0.2  # of the last block or two: fewer come and go with a noisy moment
MOST_NEW = 0.25  # of recent examples: a vertex for every fourth is no summary
GROWN_UP = 10  # examples a vertex; before that a cover is growing, and new vertices are no sign
MOST_SINK = 0.5  # of what the vertices say: past that "I don't know" outweighs all classes
ROUNDING = 1e-9  # an error that is proven so small is none, whatever the tolerance
LEAST_EVENNESS = 0.5  # of the entropy that equal classes would have: 10 classes count as 3.2
MOST_ABSORBED = 0.5  # of all examples: past that most answers are the nearest label's
MOST_CONFLICTS = 0.0  # two classes in one place are never right


class Measured(NamedTuple):
    """A number, the limit it should keep where it has one, and whether it does."""

    value: float
    limit: float | None
    ok: bool


Measure: TypeAlias = Callable[[State, Settings], Measured]


def at_most(value: float, limit: float) -> Measured:
    """Measure what should not be large."""
    return Measured(float(value), float(limit), bool(value <= limit))


def radius(now: State, settings: Settings) -> Measured:
    """R, within which an example joins its nearest vertex."""
    return Measured(float(now.counters.radius), None, True)


def distortion(now: State, settings: Settings) -> Measured:
    """The largest reach of a vertex, in bandwidths; 0 where there is no bandwidth."""
    sigma = float(now.counters.sigma)
    if sigma == 0.0:
        return Measured(0.0, None, True)
    reach = float(now.vertices.reach[: now.n].max(initial=0.0))
    return at_most(min(reach / FADED / sigma, 1e100) * FADED, MOST_DISTORTION)


def outliers(now: State, settings: Settings) -> Measured:
    """Share of all examples that were like nothing known."""
    return at_most(now.counters.n_outliers / max(1, now.counters.n_seen), MOST_OUTLIERS)


def recent_outliers(now: State, settings: Settings) -> Measured:
    """The same share since the last block began."""
    seen, _, far = _recently(now)
    return at_most(far / max(1, seen), MOST_RECENT_OUTLIERS)


def new_vertices(now: State, settings: Settings) -> Measured:
    """Share of recent examples that founded a vertex."""
    counters = now.counters
    seen, founded, _ = _recently(now)
    share = at_most(founded / max(1, seen), MOST_NEW)
    young = counters.radius == 0.0 or counters.n_seen < GROWN_UP * now.n
    return share._replace(limit=None, ok=True) if young else share


def sink(now: State, settings: Settings) -> Measured:
    """How much nobody knows: mean of 1 - Σ_c f_c over unlabelled vertices, by their examples."""
    free, examples, f = _free(now)
    missing = np.maximum(1.0 - f.sum(axis=0), 0.0)
    weights = examples * free
    return at_most((missing * weights).sum() / max(1.0, weights.sum()), MOST_SINK)


def certificate(now: State, settings: Settings) -> Measured:
    """The largest error that is left to prove once all vertices are settled, as for a prediction.

    In between, vertices that no answer needs may stand unproven: that is thrift, and no sign.
    """
    limit = max(settings.tolerance, ROUNDING)
    if now.n == 0:
        return at_most(0.0, limit)
    _, errors = relaxation.settled_copy(now.system, now.n, settings.tolerance, now.readout)
    return at_most(errors.max(), limit)


def classes(now: State, settings: Settings) -> Measured:
    """How many equal classes would be as uneven: exp of the entropy of the classes' masses."""
    _, examples, f = _free(now)
    masses = (f * examples).sum(axis=1)
    shares = masses[masses > 0] / max(masses.sum(), 1e-300)
    effective = float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else 0.0
    limit = float(now.n_classes) ** LEAST_EVENNESS
    return Measured(effective, limit, now.n_classes < 2 or effective >= limit)


def absorbed(now: State, settings: Settings) -> Measured:
    """Share of all examples that labelled vertices stand for."""
    free, examples, _ = _free(now)
    share = at_most(examples[~free].sum() / max(1, examples.sum()), MOST_ABSORBED)
    young = now.counters.n_seen < GROWN_UP * np.count_nonzero(~free)
    return share._replace(limit=None, ok=True) if young else share


def graph(now: State, settings: Settings) -> Measured:
    """How many more of the left-out labels the graph names rightly than the nearest label."""
    return graph_gain(worth(now, settings))


def graph_gain(found: Worth) -> Measured:
    """Measure what the graph is worth."""
    return Measured(found.graph - found.nearest, 0.0, found.helps)


def conflicts(now: State, settings: Settings) -> Measured:
    """Pairs of labels of different classes in one and the same place."""
    return at_most(len(conflicting.conflicts(now)), MOST_CONFLICTS)


def drift(now: State, settings: Settings) -> Measured:
    """What departures from the usual have summed up to, now or at an alarm that still holds."""
    return at_most(max(now.counters.suspicion, now.counters.alarm), ALARM)


SIGNS: dict[str, Measure] = {
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
SELDOM = 4  # blocks between two looks at all vertices; each block would cost 1 µs an example


def judge(now: State, settings: Settings) -> None:
    """End a block: look for drift, and write down every sign that has crossed its limit."""
    counters = now.counters
    end_block(now.watch, now.progress)
    blocks = int(counters.n_seen) // BLOCK
    for name, measure in SIGNS.items():
        if _is_due(name, blocks):
            value, limit, ok = measure(now, settings)
            now.events.note(LoggedEvent(int(counters.n_seen), name, ok, value, limit or 0.0))
    _judge_next(now)


def _is_due(name: str, blocks: int) -> bool:
    if name in OVER_VERTICES:
        return blocks % SELDOM == 0
    if name in OVER_THE_GRAPH:
        return blocks & (blocks - 1) == 0
    return True


def watch_anew(now: State) -> None:
    """Begin a block and the watch for drift again, since counts have jumped."""
    begin_anew(now.watch, now.progress)
    _judge_next(now)


def _judge_next(now: State) -> None:
    now.counters.judge_at_seen = (now.counters.n_seen // BLOCK + 1) * BLOCK


def _recently(now: State) -> tuple[int, int, int]:
    """Examples, founded vertices and outliers since the last full block began."""
    counters, (seen, founded, far) = now.counters, now.watch.marks[0].tolist()
    return (
        int(counters.n_seen) - seen,
        int(counters.n_founded) - founded,
        int(counters.n_outliers) - far,
    )


def _free(now: State) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], Floats, Floats]:
    """Which vertices are unlabelled, how many examples each stands for, and the classes' values."""
    n = now.n
    examples = now.vertices.examples[:n].astype(np.float64)
    return now.vertices.label[:n] == UNLABELLED, examples, now.system.f[1:, :n]
