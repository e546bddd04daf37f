"""Every method with the parameters that are tried for it: bandwidths, and sinks where they matter.

Bandwidths are given as shares of the typical distance of two examples, so that one list serves all
data. That distance is measured on the whole stream, and the weak learners of boosting are drawn
from it: no method could know that, and each is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian, SelfTuning
from paper.baselines.every_example import EveryExample
from paper.baselines.k_means import KMeansHarmonic
from paper.baselines.manifold_svm import ManifoldSVM
from paper.baselines.nearest import NearestLabel
from paper.baselines.nystrom import NystromHarmonic
from paper.baselines.offline import OfflineHarmonic
from paper.baselines.poisson import QuantizedPoisson
from paper.baselines.random_sample import SampleHarmonic
from paper.baselines.semi_boost import SemiBoost
from paper.baselines.temporal import TemporalPropagation
from paper.evaluation import StreamLearner

K = 500
WIDTHS = (0.05, 0.08, 0.12, 0.2, 0.3)
TUNED = (0.2, 0.28, 0.4)
BALL = float(np.exp(-0.5))  # 1{w ≥ this} is a ball whose radius is the bandwidth

Parameters = dict[str, float]
Maker = Callable[[Floats, Parameters], StreamLearner]


def typical_distance(rows: Floats) -> float:
    """Return the median distance of two examples: a yardstick that knows no labels."""
    some = rows[np.random.default_rng(0).permutation(len(rows))[:500]]
    apart = cdist(some, some)
    return float(np.median(apart[apart > 0.0])) if apart.any() else 1.0


def gaussian(rows: Floats, width: float) -> Gaussian:
    """Return a Gaussian of so many typical distances."""
    return Gaussian(width * typical_distance(rows))


def _widths(**others: float) -> list[Parameters]:
    return [{"width": width, **others} for width in WIDTHS]


def _default(rows: Floats, chosen: Parameters) -> OnlineLearner:
    return OnlineLearner(K)


def _paper(rows: Floats, chosen: Parameters) -> OnlineLearner:
    sigma = chosen["width"] * typical_distance(rows)
    return OnlineLearner.paper(K, sigma, chosen["sink"], 1.5, threshold=0.1 * chosen["sink"])


def _local_or_not(rows: Floats, chosen: Parameters) -> Gaussian | SelfTuning:
    if "tuned" in chosen:
        return SelfTuning(width=chosen["tuned"])
    return gaussian(rows, chosen["width"])


def _boosted(rows: Floats, chosen: Parameters) -> SemiBoost:
    sample = np.random.default_rng(0).permutation(len(rows))[:K]
    return SemiBoost(rows[sample], gaussian(rows, chosen["width"]), BALL)


LOCAL = [{"tuned": width} for width in TUNED]
METHODS: dict[str, tuple[Maker, list[Parameters]]] = {
    "ours, default profile": (_default, [{}]),
    "ours, Figure 1": (_paper, [*_widths(sink=1e-2), *_widths(sink=1e-5)]),
    "nearest label": (lambda rows, chosen: NearestLabel(), [{}]),
    "all examples, offline": (
        lambda rows, chosen: OfflineHarmonic(_local_or_not(rows, chosen)),
        [*LOCAL, *_widths()],
    ),
    "all examples so far": (
        lambda rows, chosen: EveryExample(gaussian(rows, chosen["width"]), chosen["sink"]),
        [*_widths(sink=1e-2), *_widths(sink=1.0)],
    ),
    "k-means, offline": (
        lambda rows, chosen: KMeansHarmonic(K, similarity=_local_or_not(rows, chosen)),
        [*LOCAL, *_widths()],
    ),
    "random sample, offline": (
        lambda rows, chosen: SampleHarmonic(K, similarity=_local_or_not(rows, chosen)),
        [*LOCAL, *_widths()],
    ),
    "Nyström, offline": (
        lambda rows, chosen: NystromHarmonic(
            K,
            similarity=Gaussian(chosen["width"] * typical_distance(rows), threshold=0.0),
            sink=chosen["sink"],
        ),
        [*_widths(sink=1e-3), *_widths(sink=0.1), {"width": 0.5, "sink": 0.1}],
    ),
    "temporal propagation": (
        lambda rows, chosen: TemporalPropagation(gaussian(rows, chosen["width"]), window=K),
        _widths(),
    ),
    "Poisson, quantized": (
        lambda rows, chosen: QuantizedPoisson(K, similarity=_local_or_not(rows, chosen)),
        [*LOCAL, *_widths()],
    ),
    "semi-supervised boosting": (
        _boosted,
        [{"width": width} for width in (0.2, 0.3, 0.4, 0.5, 0.7)],
    ),
    "online manifold SVM": (
        lambda rows, chosen: ManifoldSVM(gaussian(rows, chosen["width"])),
        [{"width": width} for width in (0.03, 0.07, 0.15, 0.3, 0.6)],
    ),
}
MOST_EXAMPLES = {"all examples so far": 600, "online manifold SVM": 3000}  # they are slow
MOST_TO_TUNE = {"temporal propagation": 2000}  # slow too, and it sees no more than its window


def made(method: str, rows: Floats, chosen: Parameters) -> Any:
    """Return a new learner of a method; of the rows it knows how far apart they are."""
    return METHODS[method][0](rows, chosen)
