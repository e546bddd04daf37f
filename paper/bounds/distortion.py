"""How far examples are from the vertices that stand for them: section 3.2 and Proposition 6."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from labelwalk.arrays import Floats, Ints
from labelwalk.parameters import check_number, check_whole
from labelwalk.rows import LARGEST, as_rows
from paper.bounds.arguments import as_assignment
from paper.bounds.statement import Bound, Condition


class Optimum(NamedTuple):
    """What lies between: the smallest distortion that k centres can have."""

    low: float
    high: float


def nearest(examples: ArrayLike, representatives: ArrayLike) -> Ints:
    """Return which representative is nearest to each example, the first of several.

    Examples
    --------
    >>> print(nearest([[0.0], [1.0], [5.0]], [[1.0], [4.0]]))
    [0 0 1]
    """
    X, centres = _points(examples, representatives)
    return np.asarray(cdist(X, centres).argmin(axis=1), dtype=np.int64)


def distortion(
    examples: ArrayLike,
    representatives: ArrayLike,
    assigned: ArrayLike,
    *,
    radius: float,
    growth: float,
) -> Bound:
    """Section 3.2: with doubling, no example is further than R m / (m − 1) from its vertex.

    Parameters
    ----------
    examples : (n, d) array
    representatives : (k, d) array
    assigned : (n,) array of int
        The representative of each example, as `nearest` returns it.
    radius, growth : float
        R and m of the learner.

    Returns
    -------
    bound : Bound
        `left` is the largest distance that was measured.

    Examples
    --------
    >>> print(distortion([[0.0], [1.0]], [[0.0]], [0, 0], radius=0.5, growth=1.5))
    distortion: 1 <= 1.5, holds
    """
    check_number("radius", radius, 0.0, LARGEST, "learner.radius")
    _check_growth(growth)
    X, centres = _points(examples, representatives)
    own = centres[as_assignment(assigned, len(X), len(centres))]
    left = float(np.sqrt(np.square(X - own).sum(axis=1)).max())
    doubling = Condition("the cover coarsens by doubling", None)
    return Bound("distortion", left, radius * growth / (growth - 1.0), (doubling,))


def optimum_between(examples: ArrayLike, n_centroids: int) -> Optimum:
    """Return bounds on OPT_k, the smallest distortion of k centres placed anywhere.

    Farthest-first (Gonzalez 1985) takes k + 1 examples, each the furthest from those before. With
    ρ the distance of the last, all of them are at least ρ apart, and two share a centre: OPT ≥ ρ/2.
    The first k of them cover all examples within ρ: OPT ≤ ρ.

    Examples
    --------
    >>> optimum_between([[0.0], [1.0], [5.0], [6.0]], n_centroids=2)
    Optimum(low=0.5, high=1.0)
    """
    X, _ = as_rows(examples, None)
    check_whole("n_centroids", n_centroids, "10")
    rest = np.full(len(X), np.inf)
    furthest = 0
    for _ in range(min(n_centroids, len(X))):
        rest = np.minimum(rest, cdist(X[[furthest]], X)[0])
        furthest = int(rest.argmax())
    spread = float(rest[furthest])
    return Optimum(spread / 2.0, spread)


def k_centers_law(largest: float, optimum: float, *, growth: float) -> Bound:
    """The law of doubling: distortion ≤ 2 m² / (m − 1) · OPT_k.

    Not (1 + ε) · OPT_k, as sections 3.2 and 4.3 have it: below 2 no fast algorithm is known, nor
    will one be unless P = NP. Before the last growth there were more than k vertices R / m apart.
    Two of them share a centre of the optimum, so R ≤ 2 m OPT_k, and R m / (m − 1) is the rest.

    Parameters
    ----------
    largest : float
        The distortion, measured or `learner.distortion`.
    optimum : float
        OPT_k. With `optimum_between(...).high` in its place the law must hold; where it holds with
        `.low`, that proves it.
    growth : float
        m.

    Returns
    -------
    bound : Bound

    Examples
    --------
    >>> print(k_centers_law(1.0, 0.5, growth=1.5))
    k-centers law: 1 <= 4.5, holds
    """
    check_number("largest", largest, 0.0, LARGEST, "learner.distortion")
    check_number("optimum", optimum, 0.0, LARGEST, "optimum_between(examples, k).high")
    _check_growth(growth)
    doubling = Condition("the cover coarsens by doubling", None)
    right = 2.0 * growth**2 / (growth - 1.0) * optimum
    return Bound("k-centers law", largest, right, (doubling,))


def proposition_6(
    largest: float, *, n_centroids: int, dimension: int, side: float, growth: float
) -> Bound:
    """Proposition 6 with its constant, for examples that fill a cube of dimension d.

    k + 1 examples S apart are centres of disjoint balls of radius S / 2 within the cube enlarged by
    S / 2 on all sides: (k + 1) c_d (S/2)^d ≤ (side + S)^d, with c_d the volume of the unit ball. So
    S ≤ side / (((k + 1) c_d)^(1/d) / 2 − 1), which is O(k^(−1/d)), and the distortion is at most
    m² / (m − 1) · S. Printed is an equality of R m / (m − 1) and the distortion; it is a bound.

    Parameters
    ----------
    largest : float
        The distortion, measured or `learner.distortion`.
    n_centroids, growth
        k and m of the learner.
    dimension : int
        d.
    side : float
        Of a cube that contains all examples.

    Returns
    -------
    bound : Bound

    Examples
    --------
    >>> print(proposition_6(0.2, n_centroids=100, dimension=2, side=1.0, growth=2.0))
    Proposition 6: 0.2 <= 0.506, holds
    """
    check_number("largest", largest, 0.0, LARGEST, "learner.distortion")
    check_number("side", side, 0.0, LARGEST, "np.ptp(X, axis=0).max()")
    check_whole("n_centroids", n_centroids, "10")
    check_whole("dimension", dimension, "2", most=100)
    _check_growth(growth)
    ball = math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)
    across = ((n_centroids + 1) * ball) ** (1.0 / dimension) / 2.0
    apart = side * dimension**0.5
    if across > 1.0:
        apart = min(apart, side / (across - 1.0))
    inside = Condition("examples fill a cube of this dimension and side", None)
    return Bound("Proposition 6", largest, growth**2 / (growth - 1.0) * apart, (inside,))


def _points(examples: ArrayLike, representatives: ArrayLike) -> tuple[Floats, Floats]:
    X, _ = as_rows(examples, None)
    centres, _ = as_rows(representatives, X.shape[1])
    return X, centres


def _check_growth(growth: float) -> None:
    check_number("growth", growth, 1.0 + 1e-6, 1e6, "1.5, the paper's")
