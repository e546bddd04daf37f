"""Which similarities the baselines can compute: those of the Euclidean distance."""

from __future__ import annotations

from labelwalk.baselines.full_graph import FullSimilarity
from labelwalk.parameters import shown
from labelwalk.similarity import Gaussian, SelfTuning


def as_euclidean(similarity: object) -> FullSimilarity:
    """Return the similarity, or `SelfTuning()` where none is given.

    Raises
    ------
    ValueError
        It is neither `Gaussian` nor `SelfTuning`, or has a distance of its own.

    Examples
    --------
    >>> as_euclidean(None)
    SelfTuning(neighbour=7, width='auto', evenness='auto', threshold=0.0001, distance=None)
    """
    if similarity is None:
        return SelfTuning()
    if isinstance(similarity, Gaussian | SelfTuning) and similarity.distance is None:
        return similarity
    raise ValueError(
        f"similarity={shown(similarity)} is not a Gaussian or SelfTuning of the Euclidean "
        "distance. Try SelfTuning()."
    )
