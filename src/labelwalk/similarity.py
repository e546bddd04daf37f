"""Similarity of examples: a Gaussian with one bandwidth, or with a bandwidth for each vertex."""

from dataclasses import InitVar, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from labelwalk._validation import check_number, check_whole, is_number, plain_numbers, shown
from labelwalk.arrays import Floats

REMOVED_FUNCTIONS = (
    "Distance and similarity functions were removed: pass embeddings whose Euclidean distance is "
    "meaningful, or solve a weighted graph of your own with labelwalk.solver.harmonic.solve."
)
COVER_FRACTION, COVER_NEIGHBOUR = 0.26, 5
AUTO = ((0.28, 0.25), (0.34, 0.0), (0.28, 1.0))  # width and evenness: the usual, local, even
MOST_NEIGHBOURS = 64
LARGEST_THRESHOLD = 1 - 1e-9  # at 1 nothing would be similar to anything


@dataclass(frozen=True)
class Gaussian:
    """Similarity exp(-d(x, y)² / 2σ²) of two examples at distance d (section 5 of the paper).

    Parameters
    ----------
    bandwidth : float, "cover" or "scale"
        σ. A number, as in section 5.2 of the paper. "scale", as in section 5.1: σ² = p·s², with p
        features and s the mean of their standard deviations over the examples so far, measured
        again whenever their number has doubled. "cover" is 0.26 times the median distance from a
        vertex to its fifth nearest, and follows the cover as it grows and coarsens.
    threshold : float
        ε: similarities below it are zero. An example with no similarity above it to any vertex is
        an outlier. Zero keeps all similarities and has no outliers.

    Examples
    --------
    >>> Gaussian(bandwidth=0.5)
    Gaussian(bandwidth=0.5, threshold=1e-06)
    """

    bandwidth: float | Literal["cover", "scale"] = "cover"
    threshold: float = 1e-6
    distance: InitVar[Any] = None

    def __post_init__(self, distance: Any) -> None:
        _check_removed(distance)
        plain_numbers(self)
        named = isinstance(self.bandwidth, str) and self.bandwidth in ("cover", "scale")
        if not named and not (is_number(self.bandwidth) and float(self.bandwidth) > 0):
            raise ValueError(
                f"bandwidth={shown(self.bandwidth)} is not a positive number, 'cover' or 'scale'. "
                "Try bandwidth='cover', which measures the bandwidth."
            )
        check_number("threshold", self.threshold, 0, LARGEST_THRESHOLD, "0 to keep everything")

    @property
    def cut(self) -> float:
        """The number of bandwidths beyond which the similarity is below ε and counts as zero."""
        return bandwidths_to(self.threshold)


@dataclass(frozen=True)
class SelfTuning:
    """A Gaussian with a bandwidth for each vertex, larger where vertices are sparse.

    Two vertices at distance d have the similarity exp(-d² / 2 s_i s_j). The bandwidth s_i of a
    vertex is `width` times a local distance, which is the distance ℓ_i to its `neighbour`-th
    nearest vertex, shrunk towards the median ℓ of all vertices: ℓ_i to the power 1 - `evenness`,
    times ℓ to the power `evenness`. All are measured again as the cover grows and coarsens.

    Values of "auto" start as the first pair of `AUTO`, and are chosen again after 64 examples,
    after four times as many, and so on: another pair is chosen if it predicts left-out labels
    better, by more than two percent and more than the standard error.

    Parameters
    ----------
    neighbour : int
        Rank of the nearest vertex whose distance is the local distance.
    width : float or "auto"
        Bandwidth divided by local distance. "auto" is 0.28 or 0.34, see above.
    evenness : float or "auto"
        From 0, a separate bandwidth for every vertex (Zelnik-Manor and Perona 2004), to 1, one
        bandwidth for all, which follows the cover. "auto" is 0.25, 0 or 1, see above.
    threshold : float
        ε: similarities below it are zero.

    Examples
    --------
    >>> SelfTuning()
    SelfTuning(neighbour=7, width='auto', evenness='auto', threshold=0.0001)
    """

    neighbour: int = 7
    width: float | Literal["auto"] = "auto"
    evenness: float | Literal["auto"] = "auto"
    threshold: float = 1e-4
    distance: InitVar[Any] = None

    def __post_init__(self, distance: Any) -> None:
        _check_removed(distance)
        plain_numbers(self)
        check_whole("neighbour", self.neighbour, "7", most=MOST_NEIGHBOURS)
        if self.width != "auto":
            check_number("width", self.width, 1e-3, 1e3, "0.28, or 'auto'")
        if self.evenness != "auto":
            check_number("evenness", self.evenness, 0, 1, "0.25, or 'auto'")
        check_number("threshold", self.threshold, 0, LARGEST_THRESHOLD, "0 to keep everything")

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The pairs of width and evenness to choose from; the first is the initial one."""
        pairs = [
            (
                width if self.width == "auto" else float(self.width),
                evenness if self.evenness == "auto" else float(self.evenness),
            )
            for width, evenness in AUTO
        ]
        return list(dict.fromkeys(pairs))

    @property
    def cut(self) -> float:
        """The number of bandwidths beyond which the similarity is below ε and counts as zero."""
        return bandwidths_to(self.threshold)


def bandwidths_to(threshold: float) -> float:
    """Return the number of bandwidths at which a Gaussian equals a threshold."""
    return float(np.sqrt(-2.0 * np.log(threshold))) if threshold else np.inf


Similarity: TypeAlias = Gaussian | SelfTuning


def _check_removed(distance: Any) -> None:
    if distance is not None:
        raise ValueError(f"distance={shown(distance)} is not supported. {REMOVED_FUNCTIONS}")


def euclidean(x: Floats, rows: Floats) -> Floats:
    """Return the Euclidean distance of a row to each of several rows, features added in order."""
    total = np.zeros(len(rows))
    for p in range(rows.shape[1]):
        gap = rows[:, p] - x[p]
        total += gap * gap
    return np.sqrt(total)
