"""How far the Laplacian of quantized examples is from that of the examples: Proposition 7.

L^q is the n × n Laplacian of a graph in which each example lies where its representative does. It
has at most k different rows, and is never written out. No vertex has an edge to itself, so the
diagonal of a normalised Laplacian is 1; examples with one representative have edges to each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Ints
from labelwalk.parameters import check_number
from labelwalk.solver.graphs import as_similarity, degrees
from paper.bounds.arguments import LARGEST, as_assignment
from paper.bounds.statement import Bound, Condition


class _Pair(NamedTuple):
    """Similarities and degrees of the examples, and of one copy of each representative."""

    w_o: Floats
    d_o: Floats
    w_q: Floats
    d_q: Floats
    assigned: Ints


def quantization_error(
    similarity: ArrayLike, quantized: ArrayLike, assigned: ArrayLike, *, normalised: bool = True
) -> float:
    """Return ‖L^q − L^o‖_F, the left side of Proposition 7.

    Parameters
    ----------
    similarity : (n, n) array
        Of all pairs of examples; the diagonal is not used.
    quantized : (k, k) array
        Of all pairs of representatives; the diagonal is what two examples with the same
        representative have in common, 1 for a Gaussian.
    assigned : (n,) array of int
        The representative of each example.
    normalised : bool
        Which Laplacian, see `labelwalk.solver.harmonic.laplacian`. The plain one grows with n.

    Examples
    --------
    The third example is taken for the second.

    >>> import numpy as np
    >>> points, centres = np.array([0.0, 1.0, 1.2]), np.array([0.0, 1.0])
    >>> w_o, w_q = (np.exp(-(np.subtract.outer(x, x) ** 2) / 2) for x in (points, centres))
    >>> quantization_error(w_o, w_q, [0, 1, 1])
    0.0847...
    >>> quantization_error(w_o, w_q, [0, 1, 1], normalised=False)
    0.2523...
    """
    return _norm(_taken(similarity, quantized, assigned), normalised)


def gaussian_lipschitz(bandwidth: float) -> float:
    """Return M for exp(−d² / 2σ²): e^(−½) / σ, its steepest slope. A threshold is no part of it.

    Examples
    --------
    >>> gaussian_lipschitz(2.0)
    0.3032653...
    """
    check_number("bandwidth", bandwidth, 1e-100, 1e100, "1.0")
    return math.exp(-0.5) / bandwidth


def proposition_7(
    similarity: ArrayLike,
    quantized: ArrayLike,
    assigned: ArrayLike,
    *,
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

    Parameters
    ----------
    similarity, quantized, assigned, normalised
        As in `quantization_error`.
    distortion : float
        ε, the largest distance of an example to its representative: R m / (m − 1), or measured.
    lipschitz : float
        M, with `|w(x, y) − w(x', y')| ≤ M (‖x − x'‖ + ‖y − y'‖)`; see `gaussian_lipschitz`.

    Returns
    -------
    bound : Bound

    Examples
    --------
    >>> import numpy as np
    >>> points, centres = np.array([0.0, 1.0, 1.2]), np.array([0.0, 1.0])
    >>> w_o, w_q = (np.exp(-(np.subtract.outer(x, x) ** 2) / 2) for x in (points, centres))
    >>> M = gaussian_lipschitz(1.0)
    >>> print(proposition_7(w_o, w_q, [0, 1, 1], distortion=0.2, lipschitz=M))
    Proposition 7: 0.0847 <= 2.49, holds
    """
    _check_slope(distortion, lipschitz)
    pair = _taken(similarity, quantized, assigned)
    left = _norm(pair, normalised)
    n, moved = len(pair.assigned), 2.0 * lipschitz * distortion
    if not normalised:
        right = moved * n * math.sqrt(max(n - 1, 0))
        return Bound("Proposition 7, plain", left, right, rounding=_rounding(pair, normalised))
    share, top = _smallest_share(pair), _largest(pair)
    right = moved / share * (1.0 + top / share) if share > 0.0 else math.inf
    edges = Condition("every example has an edge", share > 0.0)
    return Bound("Proposition 7", left, right, (edges,), rounding=_rounding(pair, True))


def proposition_7_as_printed(
    similarity: ArrayLike,
    quantized: ArrayLike,
    assigned: ArrayLike,
    *,
    distortion: float,
    lipschitz: float,
) -> Bound:
    """The entries of the normalised Laplacians, with the constants of the printed proof.

    `|L^q_ij − L^o_ij| ≤ 4Mε / (c_min n) + 4M (nMε) / (c_min n)²`, where the second M stands for the
    largest weight: where weights exceed 2M it fails. The step `|c^q_ij − c^o_ij| < 2nMε` before it
    fails where degrees differ, but what follows does not need it.

    Parameters
    ----------
    similarity, quantized, assigned, distortion, lipschitz
        As in `proposition_7`.

    Returns
    -------
    bound : Bound
        `left` is the largest difference of two entries.
    """
    _check_slope(distortion, lipschitz)
    pair = _taken(similarity, quantized, assigned)
    left = max((float(np.abs(block).max()) for block in _blocks(pair, True)), default=0.0)
    share, moved = _smallest_share(pair), 4.0 * lipschitz * distortion
    n = max(len(pair.assigned), 1)
    right = moved / (share * n) * (1.0 + lipschitz / share) if share > 0.0 else math.inf
    edges = Condition("every example has an edge", share > 0.0)
    steep = Condition("no weight exceeds 2M", _largest(pair) <= 2.0 * lipschitz)
    return Bound(
        "Proposition 7 as printed", left, right, (edges, steep), rounding=_rounding(pair, True)
    )


def _taken(similarity: ArrayLike, quantized: ArrayLike, assigned: ArrayLike) -> _Pair:
    w_o, w_q = as_similarity(similarity), as_similarity(quantized)
    own = as_assignment(assigned, len(w_o), len(w_q))
    d_o, _ = degrees(w_o, np.ones(len(w_o)))
    _, d_q = degrees(w_q, np.bincount(own, minlength=len(w_q)).astype(np.float64))
    return _Pair(w_o, d_o, w_q, d_q, own)


def _blocks(pair: _Pair, normalised: bool) -> Iterator[Floats]:
    """Rows of L^o − L^q, those of one representative at a time: their rows of L^q are the same."""
    w_o, d_o, w_q, d_q, own = pair
    by_centre = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[by_centre], np.arange(len(w_q) + 1))
    scale_o, scale_q = (_scale(d) if normalised else np.ones(len(d)) for d in (d_o, d_q))
    diagonal = np.zeros(len(own)) if normalised else d_o - d_q[own]
    for c in np.unique(own):
        members = by_centre[ends[c] : ends[c + 1]]
        row = (scale_q[c] * w_q[c] * scale_q)[own]
        block = row - scale_o[members, None] * w_o[members] * scale_o
        block[np.arange(len(members)), members] = diagonal[members]
        yield block


def _norm(pair: _Pair, normalised: bool) -> float:
    return math.sqrt(sum(float(np.square(block).sum()) for block in _blocks(pair, normalised)))


def _scale(degree: Floats) -> Floats:
    return 1.0 / np.sqrt(np.where(degree > 0.0, degree, 1.0))


def _smallest_share(pair: _Pair) -> float:
    """c_min: the smallest degree of either graph, over n."""
    both = np.concatenate([pair.d_o, pair.d_q[pair.assigned]])
    return float(both.min(initial=math.inf)) / max(len(pair.assigned), 1) if len(both) else 0.0


def _largest(pair: _Pair) -> float:
    return max(float(pair.w_o.max(initial=0.0)), float(pair.w_q.max(initial=0.0)))


def _rounding(pair: _Pair, normalised: bool) -> float:
    """What sums of n terms may lose: entries of a normalised Laplacian are of order 1."""
    n = len(pair.assigned)
    return 1e-14 * n * (1.0 if normalised else n * _largest(pair))


def _check_slope(distortion: float, lipschitz: float) -> None:
    check_number("distortion", distortion, 0.0, LARGEST, "learner.distortion")
    check_number("lipschitz", lipschitz, 0.0, LARGEST, "gaussian_lipschitz(bandwidth)")
