"""Profiles: the parameters of a learner for vectors of one representation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian

MAJORITY = 0.5  # of walks that end at a name: more give the name
TOLERANCE = 0.03  # of that share: 0.7 % of the faces of eight people are this close to half


@dataclass(frozen=True)
class Profile:
    """Parameters for vectors of one kind.

    A face gets a name if a random walk from it ends at that name more often than not, and not in
    the sink.
    """

    bandwidth: float  # σ of the Gaussian similarity
    threshold: float  # ε: smaller similarities count as 0
    sink: float  # γ around which a recognizer searches its own, for a vertex of degree 1
    # The largest weight of a vertex, and the weight of a label, as multiples of the mean.
    weight_cap: float
    label_weight: float
    kin: float  # vectors at least this similar show one person

    def similarity(self, a: Floats, b: Floats) -> Floats:
        """Return the similarity of vectors, from 0 to 1."""
        similarity: Floats = np.exp(-((a - b) ** 2).sum(axis=-1) / (2.0 * self.bandwidth**2))
        return similarity

    def are_kin(self, a: Floats, b: Floats) -> bool:
        """Return whether two vectors are similar enough to show one person."""
        return bool(self.similarity(a, b) >= self.kin)

    def learner(self, n_centroids: int = 500) -> OnlineLearner:
        """Return a new learner for such vectors."""
        return OnlineLearner(
            n_centroids,
            similarity=Gaussian(self.bandwidth, threshold=self.threshold),
            sink=self.sink,
            weight_cap=self.weight_cap,
            label_weight=self.label_weight,
            unreached="abstain",
            calibrate=False,
            tolerance=TOLERANCE,
            abstain_below=MAJORITY,
        )


PIXELS = Profile(
    bandwidth=0.025, threshold=5e-9, sink=1e-6, weight_cap=2.0, label_weight=3.0, kin=1e-4
)
VECTORS = Profile(
    bandwidth=0.1, threshold=5e-6, sink=2.35e-4, weight_cap=20.0, label_weight=10.0, kin=3e-3
)
