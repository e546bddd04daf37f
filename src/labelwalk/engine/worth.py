"""Is the graph worth its while? Left-out labels are named by the graph, and by the nearest label.

Each label taught is released in turn, and foretold by the others: along the walks of the graph
(`leave_one_out`), and by the nearest of them. Where all labels come from one moment of the stream,
each foretells the next either way, and the comparison may see nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.engine.leave_one_out import held_out, told
from labelwalk.engine.state import State
from labelwalk.settings import Settings

FEWEST = 8  # labels: with fewer, one more or less that is named rightly is past an eighth
EXAMPLES = 10  # a label, before there is a graph to speak of
ONE_MOMENT = 0.1  # of the stream so far: labels that came within it are close in time


class Worth(NamedTuple):
    """How many labels were left out, and what share of them each way named rightly."""

    n_labels: int
    graph: float
    nearest: float
    error: float  # standard error of the difference
    young: bool  # too few examples have come
    one_moment: bool  # labels are close in time

    @property
    def enough(self) -> bool:
        """Whether there are enough labels and examples to tell by."""
        return self.n_labels >= FEWEST and not self.young

    @property
    def helps(self) -> bool:
        """Whether the graph may be better than the nearest label, or both are faultless."""
        hopeful = self.graph - self.nearest + self.error > 0
        return not self.enough or hopeful or self.nearest == 1.0


def worth(now: State, settings: Settings) -> Worth:
    """Compare the graph with the nearest label on the labels taught.

    Only labels of a class that has another one can be foretold.
    """
    n, counters = now.n, now.counters
    codes = now.vertices.label[:n].astype(np.int64)
    labels = codes[codes >= 0]
    counted = told(labels)
    young = bool(counters.n_seen < EXAMPLES * len(labels))
    one_moment = bool(counters.last_taught - counters.first_taught < ONE_MOMENT * counters.n_seen)
    if not counted.any():
        return Worth(0, 0.0, 0.0, 0.0, young, one_moment)
    near = nearest_other(now, codes)
    walked = _walked(now, codes, near if settings.unreached == "nearest" else None)
    by_graph, by_nearest = (walked == labels)[counted], (near == labels)[counted]
    return Worth(
        n_labels=int(counted.sum()),
        graph=float(by_graph.mean()),
        nearest=float(by_nearest.mean()),
        error=_error(by_graph, by_nearest),
        young=young,
        one_moment=one_moment,
    )


def nearest_other(now: State, codes: Ints) -> Ints:
    """Class of the nearest other label; of equally near ones, the oldest."""
    l = np.flatnonzero(codes >= 0)
    apart = now.vertices.mean_distances[np.ix_(l, l)].copy()
    np.fill_diagonal(apart, np.inf)
    near: Ints = codes[l][apart.argmin(axis=1)]
    return near


def _walked(now: State, codes: Ints, guess: Ints | None) -> Ints:
    """Class that walks from each label find most often among the others, -1 where they find none.

    There the guess stands in, as it does in a verdict.
    """
    scores: Floats = held_out(now.graph, codes, now.n_classes) * now.system.bias[1:]
    lost: Ints = np.full(len(scores), -1) if guess is None else guess
    return np.where(scores.max(axis=1) > 0, scores.argmax(axis=1), lost)


def _error(one: Bools, other: Bools) -> float:
    gain = one.astype(np.float64) - other
    return float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
