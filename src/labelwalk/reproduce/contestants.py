"""Every method with the parameters that are tried for it, as many for each as it has dials.

Bandwidths are given as shares of the typical distance of two examples, so that one list serves all
data. The weak learners of boosting are drawn from the whole stream, which it could not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from labelwalk.baselines.every_example import EveryExample
from labelwalk.baselines.k_means import KMeansHarmonic
from labelwalk.baselines.manifold_svm import ManifoldSVM
from labelwalk.baselines.nearest import NearestLabel
from labelwalk.baselines.nystrom import NystromHarmonic
from labelwalk.baselines.offline import OfflineHarmonic
from labelwalk.baselines.poisson import QuantizedPoisson
from labelwalk.baselines.random_sample import SampleHarmonic
from labelwalk.baselines.semi_boost import SemiBoost
from labelwalk.baselines.temporal import TemporalPropagation
from labelwalk.evaluation import Stream, StreamLearner
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian, SelfTuning

K = 500
WIDTHS = (0.05, 0.08, 0.12, 0.2, 0.3)
TUNED = (0.2, 0.28, 0.4)
BALL = float(np.exp(-0.5))  # 1{w ≥ this} is a ball whose radius is the bandwidth

Parameters = dict[str, float]
Maker = Callable[[Stream, Parameters], StreamLearner]


def typical_distance(stream: Stream) -> float:
    """Return the median distance of two examples: a yardstick that knows no labels."""
    some = stream.rows[np.random.default_rng(0).permutation(len(stream))[:500]]
    apart = cdist(some, some)
    return float(np.median(apart[apart > 0.0])) if apart.any() else 1.0


def gaussian(stream: Stream, width: float) -> Gaussian:
    """Return a Gaussian of so many typical distances."""
    return Gaussian(width * typical_distance(stream))


def _widths(**others: float) -> list[Parameters]:
    return [{"width": width, **others} for width in WIDTHS]


def _default(stream: Stream, chosen: Parameters) -> OnlineLearner:
    return OnlineLearner(K)


def _paper(stream: Stream, chosen: Parameters) -> OnlineLearner:
    sigma = chosen["width"] * typical_distance(stream)
    return OnlineLearner.paper(K, sigma, chosen["sink"], 1.5, threshold=0.1 * chosen["sink"])


def _local_or_not(stream: Stream, chosen: Parameters) -> Gaussian | SelfTuning:
    if "tuned" in chosen:
        return SelfTuning(width=chosen["tuned"])
    return gaussian(stream, chosen["width"])


def _boosted(stream: Stream, chosen: Parameters) -> SemiBoost:
    rows = np.random.default_rng(0).permutation(len(stream))[:K]
    return SemiBoost(stream.rows[rows], gaussian(stream, chosen["width"]), BALL)


LOCAL = [{"tuned": width} for width in TUNED]
METHODS: dict[str, tuple[Maker, list[Parameters]]] = {
    "ours, default profile": (_default, [{}]),
    "ours, Figure 1": (_paper, [*_widths(sink=1e-2), *_widths(sink=1e-5)]),
    "nearest label": (lambda stream, chosen: NearestLabel(), [{}]),
    "all examples, offline": (
        lambda stream, chosen: OfflineHarmonic(_local_or_not(stream, chosen)),
        [*LOCAL, *_widths()],
    ),
    "all examples so far": (
        lambda stream, chosen: EveryExample(gaussian(stream, chosen["width"]), sink=1e-3),
        _widths(),
    ),
    "k-means, offline": (
        lambda stream, chosen: KMeansHarmonic(K, similarity=_local_or_not(stream, chosen)),
        [*LOCAL, *_widths()],
    ),
    "random sample, offline": (
        lambda stream, chosen: SampleHarmonic(K, similarity=_local_or_not(stream, chosen)),
        [*LOCAL, *_widths()],
    ),
    "Nyström, offline": (
        lambda stream, chosen: NystromHarmonic(
            K, similarity=Gaussian(chosen["width"] * typical_distance(stream), threshold=0.0)
        ),
        [*_widths(), {"width": 0.5}, {"width": 1.0}],
    ),
    "temporal propagation": (
        lambda stream, chosen: TemporalPropagation(gaussian(stream, chosen["width"]), window=300),
        _widths(),
    ),
    "Poisson, quantized": (
        lambda stream, chosen: QuantizedPoisson(K, similarity=_local_or_not(stream, chosen)),
        [*LOCAL, *_widths()],
    ),
    "semi-supervised boosting": (
        _boosted,
        [{"width": width} for width in (0.2, 0.3, 0.4, 0.5, 0.7)],
    ),
    "online manifold SVM": (
        lambda stream, chosen: ManifoldSVM(gaussian(stream, chosen["width"])),
        [{"width": width} for width in (0.1, 0.2, 0.3, 0.5, 1.0)],
    ),
}
MOST_EXAMPLES = {"all examples so far": 600, "online manifold SVM": 3000}  # they are slow


def made(method: str, stream: Stream, chosen: Parameters) -> Any:
    """Return a new learner of a method."""
    return METHODS[method][0](stream, chosen)
