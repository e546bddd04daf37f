"""What a representation of faces needs from a learner: how near is alike, and how sure is sure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.faces.representations import Representation, name_of
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian

MAJORITY = 0.5  # a name is given where a walk ends there more often than not
TOLERANCE = 0.03  # how far off that may be: 0.7 % of the faces of eight people are so near to half


@dataclass(frozen=True)
class Profile:
    """How vectors of one kind are compared.

    A face is named where a random walk from it ends at that name more often than not, and not in
    the sink.

    Attributes
    ----------
    bandwidth : float
        σ of the Gaussian of two vectors.
    threshold : float
        ε below which vectors are not similar at all.
    sink : float
        γ about which a recogniser looks for its own, where a vertex is similar to others by 1 in
        all.
    weight_cap, label_weight : float
        The most a vertex weighs, and what a label weighs, as multiples of the mean.
    kin : float
        Vectors at least this similar show one person.
    """

    bandwidth: float
    threshold: float
    sink: float
    weight_cap: float
    label_weight: float
    kin: float

    def similarity(self, a: Floats, b: Floats) -> Floats:
        """Return how similar vectors are, from 0 to 1."""
        alike: Floats = np.exp(-((a - b) ** 2).sum(axis=-1) / (2.0 * self.bandwidth**2))
        return alike

    def are_kin(self, a: Floats, b: Floats) -> bool:
        """Return whether two vectors are so similar that they show one person."""
        return bool(self.similarity(a, b) >= self.kin)

    def learner(self, n_centroids: int = 500) -> OnlineLearner:
        """Return a learner for such vectors that has seen nothing."""
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


def profile_of(representation: Representation) -> Profile:
    """Return the profile that a representation has as its attribute `profile`.

    Raises
    ------
    ValueError
        It has none: its distances are not known.

    Examples
    --------
    >>> from labelwalk.faces.pixels import Pixels
    >>> profile_of(Pixels(32)).bandwidth
    0.025
    """
    profile = getattr(representation, "profile", None)
    if not isinstance(profile, Profile):
        raise ValueError(
            f"representation={name_of(representation)} has no profile: it is not known how near "
            "two of its vectors are alike. Make a recogniser with one: "
            "FaceRecognizer(Profile(bandwidth=..., ...))."
        )
    return profile
