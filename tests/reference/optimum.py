"""The k-center optimum of a handful of points, by trying every subset.

Incremental k-centers is called a (1 + eps)-approximation in section 3.2, which no k-center
algorithm is. With growth m, what holds of the doubling algorithm is

    distortion <= R m / (m - 1)  and  R / m <= S,  hence  distortion <= m^2 / (m - 1) * S,

where S is the largest separation of k + 1 points: the last repartition at R / m left more than k
vertices at least R / m apart. By the pigeonhole principle S <= 2 OPT, where OPT may place its
centres anywhere. OPT is at most the optimum over centres chosen among the points, so the
statement with S is the strongest, 2 m^2 / (m - 1) * (discrete optimum) the weakest of the three.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from .vertex import distance


def optimal_k_center(points: Sequence[Sequence[float]], k: int) -> float:
    """Smallest possible largest distance to the nearest of k centres chosen among the points."""
    best = math.inf
    for centres in itertools.combinations(points, min(k, len(points))):
        farthest = max(min(distance(x, c) for c in centres) for x in points)
        best = min(best, farthest)
    return best


def largest_k_plus_1_separation(points: Sequence[Sequence[float]], k: int) -> float:
    """Largest d such that some k + 1 of the points are pairwise at least d apart (0 if too few)."""
    best = 0.0
    for chosen in itertools.combinations(points, k + 1):
        separation = min(distance(a, b) for a, b in itertools.combinations(chosen, 2))
        best = max(best, separation)
    return best
