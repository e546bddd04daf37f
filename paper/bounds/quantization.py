"""The cover and its Laplacian: section 3.2 and Propositions 6 and 7.

L^q is the n × n Laplacian of a graph in which each example lies where its representative does. No
vertex has an edge to itself, so the diagonal of a normalised Laplacian is 1; examples with one
representative have edges to each other.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from labelwalk.arrays import Floats, Ints
from labelwalk.solver.harmonic import laplacian
from paper.bounds import Bound, Condition

ROUNDING = 1e-14  # of sums of n numbers of order 1, divided by n
DOUBLING = Condition("the cover coarsens by doubling", None)


class Optimum(NamedTuple):
    """Bounds on the smallest distortion of k centres."""

    low: float
    high: float


def find_nearest(examples: ArrayLike, representatives: ArrayLike) -> Ints:
    """Return the index of the nearest representative of each example."""
    return np.asarray(cdist(np.asarray(examples), np.asarray(representatives)).argmin(axis=1))


def distortion(
    examples: Floats, representatives: Floats, assigned: ArrayLike, radius: float, growth: float
) -> Bound:
    """Section 3.2: with doubling, no example is further than R m / (m − 1) from its vertex.

    `left` is the largest distance that was measured; R and m are those of the learner.
    """
    differences = examples - representatives[np.asarray(assigned)]
    left = float(np.sqrt(np.square(differences).sum(axis=1)).max())
    return Bound("distortion", left, radius * growth / (growth - 1.0), (DOUBLING,))


def bracket_optimum(examples: ArrayLike, n_centroids: int) -> Optimum:
    """Return bounds on OPT_k, the smallest distortion of k centres placed anywhere.

    Farthest-first (Gonzalez 1985) takes k + 1 examples, each the furthest from those before. With
    ρ the distance of the last, all of them are at least ρ apart, and two share a centre: OPT ≥ ρ/2.
    The first k of them cover all examples within ρ: OPT ≤ ρ.
    """
    X = np.asarray(examples, dtype=np.float64)
    distances = np.full(len(X), np.inf)
    furthest = 0
    for _ in range(min(n_centroids, len(X))):
        distances = np.minimum(distances, cdist(X[[furthest]], X)[0])
        furthest = int(distances.argmax())
    spread = float(distances[furthest])
    return Optimum(spread / 2.0, spread)


def k_centers_law(largest: float, optimum: float, growth: float) -> Bound:
    """The law of doubling: distortion ≤ 2 m² / (m − 1) · OPT_k.

    Not (1 + ε) · OPT_k, as sections 3.2 and 4.3 have it: below 2 no fast algorithm is known, nor
    will one be unless P = NP. Before the last growth there were more than k vertices R / m apart.
    Two of them share a centre of the optimum, so R ≤ 2 m OPT_k, and R m / (m − 1) is the rest. With
    `bracket_optimum(...).high` the law must hold; if it holds with `.low`, it is proven for OPT_k.
    """
    right = 2.0 * growth**2 / (growth - 1.0) * optimum
    return Bound("k-centers law", largest, right, (DOUBLING,))


def proposition_6(
    largest: float, *, n_centroids: int, dimension: int, side: float, growth: float
) -> Bound:
    """Proposition 6 with its constant, for examples that fill a cube of dimension d.

    k + 1 examples S apart are centres of disjoint balls of radius S / 2 within the cube enlarged by
    S / 2 on all sides: (k + 1) c_d (S/2)^d ≤ (side + S)^d, with c_d the volume of the unit ball. So
    S ≤ side / (((k + 1) c_d)^(1/d) / 2 − 1), which is O(k^(−1/d)), and the distortion is at most
    m² / (m − 1) · S. Printed is an equality of R m / (m − 1) and the distortion; it is a bound.

    Examples
    --------
    >>> print(proposition_6(0.2, n_centroids=100, dimension=2, side=1.0, growth=2.0))
    Proposition 6: 0.2 <= 0.506, holds
    """
    ball = math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)
    n_across = ((n_centroids + 1) * ball) ** (1.0 / dimension) / 2.0
    distance = side * dimension**0.5
    if n_across > 1.0:
        distance = min(distance, side / (n_across - 1.0))
    inside = Condition("examples fill a cube of this dimension and side", None)
    return Bound("Proposition 6", largest, growth**2 / (growth - 1.0) * distance, (inside,))


def quantization_error(
    similarity: ArrayLike, quantized: ArrayLike, assigned: ArrayLike, normalised: bool = True
) -> float:
    """Return ‖L^q − L^o‖_F, the left side of Proposition 7; the plain Laplacian grows with n.

    The matrices are the similarities of all pairs of examples, with a diagonal that is not used,
    and of all pairs of representatives, where the diagonal is that of two examples with the same
    representative, 1 for a Gaussian. Below, the third example is replaced by the second.

    Examples
    --------
    >>> points, centres = np.array([0.0, 1.0, 1.2]), np.array([0.0, 1.0])
    >>> w_o, w_q = (np.exp(-(np.subtract.outer(x, x) ** 2) / 2) for x in (points, centres))
    >>> quantization_error(w_o, w_q, [0, 1, 1])
    0.0847...
    """
    w_o, w_q = _expand(similarity, quantized, assigned)
    return float(np.linalg.norm(_subtract(w_q, w_o, normalised)))


def gaussian_lipschitz(bandwidth: float) -> float:
    """Return M for exp(−d² / 2σ²): e^(−½) / σ, its steepest slope, without a threshold."""
    return math.exp(-0.5) / bandwidth


def proposition_7(
    similarity: ArrayLike,
    quantized: ArrayLike,
    assigned: ArrayLike,
    distortion: float,
    lipschitz: float,
    normalised: bool = True,
) -> Bound:
    """Proposition 7 with its constant.

    Moving both ends of an edge by at most ε changes its weight by at most 2Mε, and a degree by at
    most 2nMε. No degree of either graph is below c_min n, no weight above w_max, so::

        ‖L^q − L^o‖_F ≤ 2Mε / c_min · (1 + w_max / c_min)        (normalised)
        ‖L^q − L^o‖_F ≤ 2Mε n √(n − 1)                           (plain)

    With ε = O(k^(−1/d)) the first is the proposition. The second grows with n: for the plain
    Laplacian the proposition is not "directly applicable".

    ε is the largest distance of an example to its representative, R m / (m − 1) or measured, and M
    satisfies `|w(x, y) − w(x', y')| ≤ M (‖x − x'‖ + ‖y − y'‖)`; see `gaussian_lipschitz`. The other
    parameters are those of `quantization_error`.
    """
    w_o, w_q = _expand(similarity, quantized, assigned)
    left = float(np.linalg.norm(_subtract(w_q, w_o, normalised)))
    n, change = len(w_o), 2.0 * lipschitz * distortion
    c, largest = _measure_graphs(w_o, w_q)
    if not normalised:
        right = change * n * math.sqrt(max(n - 1, 0))
        return Bound("Proposition 7, plain", left, right, rounding=ROUNDING * n**2 * largest)
    right = change / c * (1.0 + largest / c) if c > 0.0 else math.inf
    edges = Condition("every example has an edge", c > 0.0)
    return Bound("Proposition 7", left, right, (edges,), ROUNDING * n)


def proposition_7_as_printed(
    similarity: ArrayLike,
    quantized: ArrayLike,
    assigned: ArrayLike,
    distortion: float,
    lipschitz: float,
) -> Bound:
    """The entries of the normalised Laplacians, with the constants of the printed proof.

    `|L^q_ij − L^o_ij| ≤ 4Mε / (c_min n) + 4M (nMε) / (c_min n)²`, where the second M stands for the
    largest weight: if a weight exceeds 2M it fails. The step `|c^q_ij − c^o_ij| < 2nMε` before it
    fails where degrees differ, but the rest does not need it. `left` is the largest difference of
    two entries. For the parameters see `proposition_7`.
    """
    w_o, w_q = _expand(similarity, quantized, assigned)
    left = float(np.abs(_subtract(w_q, w_o, normalised=True)).max(initial=0.0))
    n, change = len(w_o), 4.0 * lipschitz * distortion
    c, largest = _measure_graphs(w_o, w_q)
    right = change / (c * n) * (1.0 + lipschitz / c) if c > 0.0 else math.inf
    edges = Condition("every example has an edge", c > 0.0)
    steep = Condition("no weight exceeds 2M", largest <= 2.0 * lipschitz)
    return Bound("Proposition 7 as printed", left, right, (edges, steep), ROUNDING * n)


def _expand(
    similarity: ArrayLike, quantized: ArrayLike, assigned: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the similarities of the examples, and those of their representatives."""
    w_o, w_q = np.asarray(similarity, dtype=np.float64), np.asarray(quantized, dtype=np.float64)
    return w_o, w_q[np.ix_(np.asarray(assigned), np.asarray(assigned))]


def _subtract(w_q: Floats, w_o: Floats, normalised: bool) -> Floats:
    return laplacian(w_q, normalised=normalised) - laplacian(w_o, normalised=normalised)


def _measure_graphs(w_o: Floats, w_q: Floats) -> tuple[float, float]:
    """Return c_min, the smallest degree of either graph over n, and the largest weight."""
    degrees = [np.where(np.eye(len(w), dtype=np.bool_), 0.0, w).sum(axis=1) for w in (w_o, w_q)]
    smallest = float(np.min(degrees, initial=math.inf)) / max(len(w_o), 1)
    return smallest, float(max(w_o.max(initial=0.0), w_q.max(initial=0.0)))
