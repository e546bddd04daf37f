"""How alike two examples are: a Gaussian of one width or many, or any function of two rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.parameters import (
    LARGEST,
    check_function,
    check_number,
    check_whole,
    is_number,
    plain_numbers,
    shown,
)

OneToMany: TypeAlias = Callable[[Floats, Floats], Floats]
"""A function of one row (d,) and many rows (n, d) that returns n numbers."""

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
        σ. A number is the paper's section 5.2. "scale" is its section 5.1: σ² = p·s², with p
        features and s the mean of their standard deviations over the examples so far, measured
        again whenever their number has doubled. "cover" is 0.26 times the median distance from a
        vertex to its fifth nearest, and follows the cover as it grows and coarsens.
    threshold : float
        ε: similarities below it are zero. An example with no similarity above it to any vertex is
        an outlier. Zero keeps all similarities and has no outliers.
    distance : callable, optional
        Your own distance from one row (d,) to many rows (n, d), in place of the Euclidean one. It
        should be a metric: see `labelwalk.checks.check_distance`.

    Examples
    --------
    >>> Gaussian(bandwidth=0.5)
    Gaussian(bandwidth=0.5, threshold=1e-06, distance=None)
    """

    bandwidth: float | Literal["cover", "scale"] = "cover"
    threshold: float = 1e-6
    distance: OneToMany | None = None

    def __post_init__(self) -> None:
        plain_numbers(self)
        named = isinstance(self.bandwidth, str) and self.bandwidth in ("cover", "scale")
        if not named and not (is_number(self.bandwidth) and float(self.bandwidth) > 0):
            raise ValueError(
                f"bandwidth={shown(self.bandwidth)} is not a positive number, 'cover' or 'scale'. "
                "Try bandwidth='cover', which measures itself."
            )
        check_number("threshold", self.threshold, 0, LARGEST_THRESHOLD, "0 to keep everything")
        if self.distance is None:
            return
        check_function("distance", self.distance, "Try none at all: then it is Euclidean.")
        if self.bandwidth == "scale":
            raise ValueError(
                "bandwidth='scale' measures Euclidean features and does not fit a distance of "
                "your own. Use bandwidth='cover' or a number in units of that distance."
            )

    @property
    def cut(self) -> float:
        """Turn ε into the number of bandwidths past which nothing is similar."""
        return bandwidths_to(self.threshold)


@dataclass(frozen=True)
class SelfTuning:
    """A Gaussian whose bandwidth is another at every vertex: wide where vertices are sparse.

    Two vertices at distance d are similar by exp(-d² / 2 s_i s_j). The bandwidth s_i of a vertex is
    `width` times a local distance: the distance ℓ_i to its `neighbour`-th nearest vertex, drawn
    towards the median ℓ of all vertices: ℓ_i to the power 1 - `evenness`, times ℓ to the power
    `evenness`. All are measured again as the cover grows and coarsens.

    What is "auto" starts as the first pair of `AUTO` and is chosen again when 64 examples have been
    seen, and four times as many, and so on: another pair is taken where it foretells the labels
    taught, each left out in turn, better by two percent and the standard error of that.

    Parameters
    ----------
    neighbour : int
        Which nearest vertex sets the local distance.
    width : float or "auto"
        Bandwidth over local distance. "auto" is 0.28 or 0.34, see below.
    evenness : float or "auto"
        From 0, every vertex its own bandwidth (Zelnik-Manor and Perona 2004), to 1, the same for
        all: a Gaussian whose bandwidth follows the cover. "auto" is 0.25, 0 or 1, see below.
    threshold : float
        ε: similarities below it are zero.
    distance : callable, optional
        As in `Gaussian`.

    Examples
    --------
    >>> SelfTuning()
    SelfTuning(neighbour=7, width='auto', evenness='auto', threshold=0.0001, distance=None)
    """

    neighbour: int = 7
    width: float | Literal["auto"] = "auto"
    evenness: float | Literal["auto"] = "auto"
    threshold: float = 1e-4
    distance: OneToMany | None = None

    def __post_init__(self) -> None:
        plain_numbers(self)
        check_whole("neighbour", self.neighbour, "7", most=MOST_NEIGHBOURS)
        if self.width != "auto":
            check_number("width", self.width, 1e-3, 1e3, "0.28, or 'auto'")
        if self.evenness != "auto":
            check_number("evenness", self.evenness, 0, 1, "0.25, or 'auto'")
        check_number("threshold", self.threshold, 0, LARGEST_THRESHOLD, "0 to keep everything")
        if self.distance is not None:
            check_function("distance", self.distance, "Try none at all: then it is Euclidean.")

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The pairs of width and evenness to choose from, the first one to begin with."""
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
        """Turn ε into the number of bandwidths past which nothing is similar."""
        return bandwidths_to(self.threshold)


def bandwidths_to(threshold: float) -> float:
    """Return at how many bandwidths a Gaussian has fallen to a threshold."""
    return float(np.sqrt(-2.0 * np.log(threshold))) if threshold else np.inf


@dataclass(frozen=True)
class Pairwise:
    """A similarity of your own, and the distance that goes with it.

    Parameters
    ----------
    similarity : callable
        From one row (d,) to many rows (n, d), n numbers from 0 to 1e100; 0 means "no edge".
    distance : callable, optional
        Likewise; decides which vertex stands for an example. Euclidean if not given.

    Examples
    --------
    >>> def overlap(x, rows):
    ...     return np.minimum(x, rows).sum(axis=1)
    >>> Pairwise(similarity=overlap).distance is None
    True
    """

    similarity: OneToMany
    distance: OneToMany | None = None

    def __post_init__(self) -> None:
        repair = "Give one, as in Pairwise(similarity=lambda x, rows: ...)."
        check_function("similarity", self.similarity, repair)
        if self.distance is not None:
            check_function("distance", self.distance, "Try none at all: then it is Euclidean.")


Similarity: TypeAlias = Gaussian | SelfTuning | Pairwise


def euclidean(x: Floats, rows: Floats) -> Floats:
    """Return the Euclidean distance of one row to many, features added in order."""
    total = np.zeros(len(rows))
    for p in range(rows.shape[1]):
        gap = rows[:, p] - x[p]
        total += gap * gap
    return np.sqrt(total)


def compare(similarity: Similarity, x: Floats, rows: Floats) -> tuple[Floats, Floats | None]:
    """Return distances of one row to many, and similarities where those are the user's own.

    Raises
    ------
    ValueError
        A function of the user's returned something other than one number >= 0 for each row.
    """
    distances = _asked("distance", similarity.distance or euclidean, x, rows)
    if isinstance(similarity, Pairwise):
        return distances, _asked("similarity", similarity.similarity, x, rows)
    return distances, None


def _asked(role: str, function: OneToMany, x: Floats, rows: Floats) -> Floats:
    x, rows = x.view(), rows.view()
    x.flags.writeable = rows.flags.writeable = False
    returned = function(x, rows)
    try:
        values = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    graded = role == "similarity"
    most = LARGEST if graded else np.finfo(np.float64).max
    if values.shape != (len(rows),) or not np.all((values >= 0) & (values <= most)):
        wanted = f"numbers from 0 to {LARGEST:g}" if graded else "finite numbers >= 0"
        raise ValueError(
            f"{role}={function!r} must return {len(rows)} {wanted} for that many "
            f"rows, got {shown(returned)}. Try labelwalk.checks.check_{role} on a few rows."
        )
    return values
