"""Every method with the parameters that are tried for it: bandwidths, and sinks if they matter.

Bandwidths are shares of the typical distance of two examples, so that one list serves all data.
That distance is measured on the whole stream, and the weak learners of boosting are drawn from it:
no method could know that, and each is given it.
"""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian, SelfTuning
from paper.baselines.full_graph import EveryExample, OfflineHarmonic, TemporalPropagation
from paper.baselines.manifold_svm import ManifoldSVM
from paper.baselines.nearest import NearestLabel
from paper.baselines.poisson import QuantizedPoisson
from paper.baselines.quantized import KMeansHarmonic, NystromHarmonic, SampleHarmonic
from paper.baselines.semi_boost import SemiBoost
from paper.evaluation import StreamLearner

K = 500
WIDTHS = (0.05, 0.08, 0.12, 0.2, 0.3)
LOCAL_WIDTHS = (0.2, 0.28, 0.4)
BALL = float(np.exp(-0.5))  # 1{w ≥ this} is a ball whose radius is the bandwidth

Parameters = dict[str, float]


def measure_typical_distance(rows: Floats) -> float:
    """Return the median distance of two examples, which needs no labels."""
    sample = rows[np.random.default_rng(0).permutation(len(rows))[:500]]
    distances = cdist(sample, sample)
    return float(np.median(distances[distances > 0.0])) if distances.any() else 1.0


def _gaussian(rows: Floats, chosen: Parameters) -> Gaussian:
    return Gaussian(chosen["width"] * measure_typical_distance(rows))


def _local(rows: Floats, chosen: Parameters) -> Gaussian | SelfTuning:
    return SelfTuning(width=chosen["tuned"]) if "tuned" in chosen else _gaussian(rows, chosen)


def _make_paper(rows: Floats, chosen: Parameters) -> OnlineLearner:
    sigma, sink = chosen["width"] * measure_typical_distance(rows), chosen["sink"]
    return OnlineLearner.paper(K, sigma, sink, 1.5, threshold=0.1 * sink)


def _make_nystrom(rows: Floats, chosen: Parameters) -> NystromHarmonic:
    return NystromHarmonic(K, chosen["width"] * measure_typical_distance(rows), chosen["sink"])


def _make_boosting(rows: Floats, chosen: Parameters) -> SemiBoost:
    sample = np.random.default_rng(0).permutation(len(rows))[:K]
    return SemiBoost(rows[sample], _gaussian(rows, chosen), BALL)


def _list_widths(widths: tuple[float, ...] = WIDTHS, **fixed: float) -> list[Parameters]:
    return [{"width": width, **fixed} for width in widths]


LOCAL: list[Parameters] = [{"tuned": width} for width in LOCAL_WIDTHS] + _list_widths()
# name -> a function that makes a learner from the rows and a choice of parameters; the choices
METHODS: dict[str, tuple[Callable[[Floats, Parameters], StreamLearner], list[Parameters]]] = {
    "ours, default profile": (lambda rows, chosen: OnlineLearner(K), [{}]),
    "ours, Figure 1": (_make_paper, [*_list_widths(sink=1e-2), *_list_widths(sink=1e-5)]),
    "nearest label": (lambda rows, chosen: NearestLabel(), [{}]),
    "all examples, offline": (lambda rows, chosen: OfflineHarmonic(_local(rows, chosen)), LOCAL),
    "all examples so far": (
        lambda rows, chosen: EveryExample(_gaussian(rows, chosen), chosen["sink"]),
        [*_list_widths(sink=1e-2), *_list_widths(sink=1.0)],
    ),
    "k-means, offline": (lambda rows, chosen: KMeansHarmonic(K, _local(rows, chosen)), LOCAL),
    "random sample, offline": (lambda rows, chosen: SampleHarmonic(K, _local(rows, chosen)), LOCAL),
    "Nyström, offline": (
        _make_nystrom,
        [*_list_widths(sink=1e-3), *_list_widths(sink=0.1), {"width": 0.5, "sink": 0.1}],
    ),
    "temporal propagation": (
        lambda rows, chosen: TemporalPropagation(_gaussian(rows, chosen), window=K),
        _list_widths(),
    ),
    "Poisson, quantized": (
        lambda rows, chosen: QuantizedPoisson(K, similarity=_local(rows, chosen)),
        LOCAL,
    ),
    "semi-supervised boosting": (_make_boosting, _list_widths((0.2, 0.3, 0.4, 0.5, 0.7))),
    "online manifold SVM": (
        lambda rows, chosen: ManifoldSVM(_gaussian(rows, chosen)),
        _list_widths((0.03, 0.07, 0.15, 0.3, 0.6)),
    ),
}
MAX_EXAMPLES = {"all examples so far": 600, "online manifold SVM": 3000}  # they are slow
MAX_TUNING_EXAMPLES = {"temporal propagation": 2000}  # slow too, and it uses only its window


def make_learner(method: str, rows: Floats, chosen: Parameters) -> StreamLearner:
    """Return a new learner of a method; of the rows it uses the distances."""
    return METHODS[method][0](rows, chosen)
