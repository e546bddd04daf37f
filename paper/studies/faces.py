"""The jobs of Figure 5: precision against recall for every method, on faces.

Each method is run for all values of the parameter that trades precision for recall, and for a grid
of its other one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian
from paper.baselines.nearest import NearestLabel
from paper.baselines.semi_boost import SemiBoost
from paper.datasets import load
from paper.evaluation import (
    OUTSIDER,
    CurvePoint,
    Stream,
    confidence_curve,
    evaluate,
    labels_at_first_appearance,
    precision_recall_curve,
)
from paper.studies.contestants import typical_distance
from paper.studies.findings import Plan
from paper.studies.jobs import Found, Job

K, GROWTH, CANDIDATES = 500, 1.5, 500
SINKS = tuple(10.0 ** -(e / 2) for e in range(15))
WIDTHS = (0.08, 0.1, 0.12, 0.15, 0.2)  # bandwidths, as shares of the typical distance
QUICK_WIDTHS = (0.1, 0.15)
USELESS = 0.4  # a curve ends where precision falls below this
RADII = 16
SHARES, QUICK_SHARES = (0.85, 1.0), (1.0,)  # radii of weak learners over those of labels
QUARTERS = ("all", "first quarter", "last quarter")
STRANGERS = "one digit among strangers"  # stands in where there are no faces


def stream_of(dataset: str, quick: bool) -> Stream:
    """Return the stream, the first four examples of each class taught as they appear."""
    if dataset == STRANGERS:
        data = load("digits")
        y = np.where(data.y == 0, 0, OUTSIDER)
    else:
        data = load(dataset)
        y = data.y
    every = slice(None, None, 5) if quick and len(y) > 4000 else slice(None)
    return labels_at_first_appearance(data.X[every], y[every])


def ours(dataset: str, quick: bool, width: float) -> Found:
    """The paper's learner for one bandwidth, over the sink; ε is a tenth of that."""
    stream = stream_of(dataset, quick)
    sigma = width * typical_distance(stream.rows)

    def learner_for(sink: float) -> OnlineLearner:
        return OnlineLearner.paper(K, sigma, sink, GROWTH, threshold=0.1 * sink)

    sinks = SINKS[::2] if quick else SINKS
    return _found(_until_useless(learner_for, sinks, stream))


def default(dataset: str, quick: bool) -> Found:
    """The default profile, silent where no label is reached, over the confidence it asks for."""
    outcome = evaluate(OnlineLearner(K, unreached="abstain"), stream_of(dataset, quick))
    return _found(confidence_curve(outcome, np.linspace(0, 0.99, 34).tolist()))


def nearest(dataset: str, quick: bool) -> Found:
    """The nearest label, over its radius."""
    stream = stream_of(dataset, quick)
    return _found(precision_recall_curve(NearestLabel, radii(stream), stream))


def boosted(dataset: str, quick: bool, quarter: str, share: float) -> Found:
    """Online semi-supervised boosting on 500 weak learners of a part of the stream."""
    stream = stream_of(dataset, quick)
    candidates = stream.rows[sampled(len(stream), quarter)]

    def learner_for(radius: float) -> SemiBoost:
        # 1{w ≥ ε} is a ball; those of labels have this radius, those of weak learners a share of it
        balls = (float(np.exp(-0.5 * share**2)), float(np.exp(-0.5)))
        return SemiBoost(candidates, Gaussian(radius), balls[0], prior_epsilon=balls[1])

    return _found(precision_recall_curve(learner_for, radii(stream), stream))


def radii(stream: Stream) -> list[float]:
    """Return radii from hardly any example within reach of a label to all of them."""
    taught = stream.rows[~stream.answered]
    nearest = cdist(stream.rows[stream.answered], taught).min(axis=1)
    # more of them where few are within reach: strangers may be the larger part
    return [float(r) for r in np.quantile(nearest, np.linspace(0.1, 0.995, RADII) ** 2)]


def sampled(n: int, quarter: str) -> list[int]:
    """Return which examples are weak learners.

    Examples
    --------
    >>> max(sampled(4000, "first quarter")) < 1000 <= min(sampled(2000, "last quarter"))
    True
    """
    part = {"all": (0, n), "first quarter": (0, n // 4), "last quarter": (n - n // 4, n)}[quarter]
    rows = np.arange(*part)
    return sorted(np.random.default_rng(0).permutation(rows)[:CANDIDATES].tolist())


def curve_jobs(plan: Plan, dataset: str, *, boosting: bool) -> list[Job]:
    """Return the jobs of all curves of a data set."""
    base = {"dataset": dataset, "quick": plan.quick}
    widths = QUICK_WIDTHS if plan.quick else WIDTHS
    jobs = [Job(f"faces/{dataset}/ours-{w}", ours, {**base, "width": w}) for w in widths]
    jobs.append(Job(f"faces/{dataset}/default", default, base))
    jobs.append(Job(f"faces/{dataset}/nearest", nearest, base))
    if boosting:
        jobs += [
            Job(
                f"faces/{dataset}/boosted-{quarter.replace(' ', '-')}-{share}",
                boosted,
                {**base, "quarter": quarter, "share": share},
            )
            for quarter in QUARTERS
            for share in (QUICK_SHARES if plan.quick else SHARES)
        ]
    return jobs


def _until_useless(
    learner_for: Callable[[float], OnlineLearner], sinks: tuple[float, ...], stream: Stream
) -> list[CurvePoint]:
    curve: list[CurvePoint] = []
    for sink in sinks:
        curve += precision_recall_curve(learner_for, [sink], stream)
        if curve[-1].precision < USELESS:
            break
    return curve


def _found(curve: list[CurvePoint]) -> Found:
    columns = ("parameter", "precision", "recall")
    return Found({name: [float(getattr(p, name)) for p in curve] for name in columns}, {})
