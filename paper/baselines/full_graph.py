"""The similarity graph of all examples, a matrix of n² numbers: what quantization avoids."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.spatial.distance import cdist

from labelwalk.arrays import Floats
from labelwalk.parameters import shown
from labelwalk.similarity import COVER_FRACTION, COVER_NEIGHBOUR, Gaussian, SelfTuning

FullSimilarity = Gaussian | SelfTuning
MOST_BYTES = 4 * 2**30
MATRICES = 4  # held at once while such a graph is built and solved
MOST_EXAMPLES = int((MOST_BYTES / (8 * MATRICES)) ** 0.5)


def similarity_matrix(rows: Floats, similarity: FullSimilarity) -> Floats:
    """Return the similarities of all pairs of rows, 0 on the diagonal.

    A bandwidth that is measured is measured on these rows: "scale" by their standard deviations,
    "cover" and the local ones of `SelfTuning` by distances among them. "auto" is its first choice.

    Raises
    ------
    ValueError
        There are more rows than fit into 4 GiB.

    Examples
    --------
    >>> w = similarity_matrix(np.array([[0.0], [1.0], [3.0]]), Gaussian(1.0, threshold=0.2))
    >>> print(w.round(3))
    [[0.    0.607 0.   ]
     [0.607 0.    0.   ]
     [0.    0.    0.   ]]
    """
    check_fits(len(rows))
    own = bandwidths(rows, similarity)
    w = similarities(rows, rows, own, own, similarity.threshold)
    np.fill_diagonal(w, 0.0)
    return w


def check_fits(n: int) -> None:
    """Refuse a graph of all pairs that needs more than 4 GiB."""
    if n > MOST_EXAMPLES:
        raise ValueError(
            f"X has {n} rows; a full graph of more than {MOST_EXAMPLES} does not fit into 4 GiB. "
            f"Give the first {MOST_EXAMPLES}, or use a method that quantizes."
        )


def similarities(
    some: Floats, others: Floats, own: Floats, theirs: Floats, threshold: float
) -> Floats:
    """Return exp(-d² / 2 s_i s_j) for all pairs, and 0 where that is below the threshold."""
    # in two steps, since the product of two small bandwidths may be 0
    with np.errstate(over="ignore"):
        squares = cdist(some, others, "sqeuclidean") / own[:, None] / theirs
    w: Floats = np.exp(-0.5 * squares)
    w[w < threshold] = 0.0
    return w


def gaussian_similarities(
    some: Floats, others: Floats, sigma: float, threshold: float = 0.0
) -> Floats:
    """Return the same with one bandwidth for all."""
    own, theirs = np.full(len(some), sigma), np.full(len(others), sigma)
    return similarities(some, others, own, theirs, threshold)


def as_euclidean(similarity: object) -> FullSimilarity:
    """Return the similarity, or `SelfTuning()` where none is given.

    Raises
    ------
    ValueError
        It is neither `Gaussian` nor `SelfTuning`, or has a distance of its own.

    Examples
    --------
    >>> as_euclidean(None)
    SelfTuning(neighbour=7, width='auto', evenness='auto', threshold=0.0001)
    """
    if similarity is None:
        return SelfTuning()
    if isinstance(similarity, Gaussian | SelfTuning):
        return similarity
    raise ValueError(
        f"similarity={shown(similarity)} is not a Gaussian or SelfTuning. Try SelfTuning()."
    )


def fixed_bandwidth(similarity: FullSimilarity) -> float:
    """Return the bandwidth of a Gaussian; methods that answer row by row need one that stays.

    Raises
    ------
    ValueError
        It is no `Gaussian`, or its bandwidth is no number.
    """
    if isinstance(similarity, Gaussian):
        with suppress(ValueError):
            return float(similarity.bandwidth)  # not of "cover" or "scale"
    raise ValueError(
        f"similarity={shown(similarity)} is not a Gaussian with a number as bandwidth and the "
        "Euclidean distance. Try Gaussian(scale_bandwidth(X))."
    )


def scale_bandwidth(rows: Floats) -> float:
    """Return the paper's bandwidth (section 5.1): σ² = p s², s the mean standard deviation.

    Examples
    --------
    >>> scale_bandwidth(np.array([[0.0, 0.0], [2.0, 4.0]]))
    2.12132034...
    """
    return float(np.sqrt(rows.shape[1]) * rows.std(axis=0).mean()) or 1.0


def bandwidths(rows: Floats, similarity: FullSimilarity) -> Floats:
    """Return the bandwidth of each row."""
    if isinstance(similarity, SelfTuning):
        width, evenness = similarity.pairs[0]
        local = _distance_to(rows, similarity.neighbour)
        own: Floats = width * local ** (1.0 - evenness) * float(np.median(local)) ** evenness
        return own
    if similarity.bandwidth == "scale":
        bandwidth = scale_bandwidth(rows)
    elif similarity.bandwidth == "cover":
        bandwidth = COVER_FRACTION * float(np.median(_distance_to(rows, COVER_NEIGHBOUR)))
    else:
        bandwidth = float(similarity.bandwidth)
    return np.full(len(rows), bandwidth)


def _distance_to(rows: Floats, neighbour: int) -> Floats:
    """Distance of each row to its neighbour-th nearest at a positive distance; 1 without any."""
    apart = cdist(rows, rows)
    apart[apart == 0.0] = np.inf
    nearest = np.sort(np.partition(apart, min(neighbour, len(rows)) - 1, axis=1)[:, :neighbour])
    nearest[np.isinf(nearest)] = 0.0
    furthest: Floats = nearest.max(axis=1, initial=0.0)
    furthest[furthest == 0.0] = 1.0
    return furthest
