"""From labelled examples to all of them: the stability β and Proposition 3.

β is how much the squared error at any example may change when one labelled example gives its label
up for another. Labels are ±1 in one column, c_l = 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Bools, Floats
from labelwalk.one_thread import one_blas_thread
from labelwalk.parameters import check_number, check_whole
from labelwalk.solver.graphs import as_mask
from labelwalk.solver.harmonic import laplacian, solve_soft
from paper.bounds.arguments import as_solution, check_constants
from paper.bounds.sizes import largest_value
from paper.bounds.statement import Bound, Condition, on_solutions

MUCH_LESS = 0.1


def printed_beta(n_labelled: int, *, c_u: float, sink: float, largest_eigenvalue: float) -> float:
    """Return the right side of Proposition 3's second line.

    β = 2 [√2 / (γ + 1) + √(2 n_l) (1 − √c_u) / √c_u · (λ_M(L) + γ) / (γ² + 1)].

    Examples
    --------
    >>> printed_beta(8, c_u=0.25, sink=9.0, largest_eigenvalue=2.0)
    1.356013...
    """
    check_constants(c_u, sink, n_labelled)
    check_number("largest_eigenvalue", largest_eigenvalue, 0.0, 1e100, "2 where L is normalised")
    root = math.sqrt(c_u)
    swap = math.sqrt(2.0) / (sink + 1.0)
    spread = (largest_eigenvalue + sink) / (sink**2 + 1.0)
    return 2.0 * (swap + math.sqrt(2.0 * n_labelled) * (1.0 - root) / root * spread)


def proven_beta(n_labelled: int, *, c_u: float, sink: float, normalised: bool = False) -> float:
    """Return a stability that is proven here: β = 2 (1 + B) √2 (1 + (1 − c_u) B) / (γ + c_u).

    With B = `largest_value`. When i gives its label to j, (K + C') (f' − f) is zero but at i and j,
    where it is at most 1 + (1 − c_u) B, and no eigenvalue of K + C' is below γ + c_u. A squared
    error changes by `|f' − f| · |f' + f − 2y|`. For γ of at least √n_l this is O(1 / γ), without
    the √n_l of the printed one.

    Examples
    --------
    >>> proven_beta(8, c_u=0.25, sink=9.0)
    0.361580...
    """
    B = largest_value(n_labelled, c_u=c_u, sink=sink, normalised=normalised)
    return 2.0 * (1.0 + B) * math.sqrt(2.0) * (1.0 + (1.0 - c_u) * B) / (sink + c_u)


def stability_as_printed(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    truth: ArrayLike,
    *,
    c_u: float,
    sink: float,
    normalised: bool = False,
) -> Bound:
    """The worst that one swapped label does, against `printed_beta`. It fails for small γ.

    Parameters
    ----------
    similarity, is_labelled, c_u, sink, normalised
        As in `solve_soft`. A solution is computed for each pair of a labelled and an unlabelled
        example: for small graphs.
    truth : (n, 1) array
        ±1, the label of every example.

    Returns
    -------
    bound : Bound

    Examples
    --------
    Two examples that disagree: whoever is labelled decides for both.

    >>> import numpy as np
    >>> w, labelled, truth = np.array([[0, 1e-6], [1e-6, 0]]), np.array([True, False]), [[1], [-1]]
    >>> print(stability_as_printed(w, labelled, truth, c_u=1e-8, sink=1e-8))
    stability as printed: 3.92 <= 2.89, fails
    >>> print(stability(w, labelled, truth, c_u=0.1, sink=1.0))
    stability: 0.75 <= 5.59, holds
    """
    left, n_labelled = _worst_swap(similarity, is_labelled, truth, c_u, sink, normalised)
    with one_blas_thread():
        L = laplacian(similarity, normalised=normalised)
        largest = float(np.linalg.eigvalsh(L).max(initial=0.0))
    right = printed_beta(n_labelled, c_u=c_u, sink=sink, largest_eigenvalue=max(largest, 0.0))
    return on_solutions("stability as printed", left, right, _much_less(c_u))


def stability(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    truth: ArrayLike,
    *,
    c_u: float,
    sink: float,
    normalised: bool = False,
) -> Bound:
    """The worst that one swapped label does, against `proven_beta`.

    Parameters
    ----------
    similarity, is_labelled, truth, c_u, sink, normalised
        As in `stability_as_printed`.

    Returns
    -------
    bound : Bound
    """
    left, n_labelled = _worst_swap(similarity, is_labelled, truth, c_u, sink, normalised)
    right = proven_beta(n_labelled, c_u=c_u, sink=sink, normalised=normalised)
    return on_solutions("stability", left, right)


def transductive_error(beta: float, n_labelled: int, delta: float) -> float:
    """Return Δ_T = β + √(2 ln(2/δ) / n_l) (n_l β + 4) of Proposition 3.

    It is below 1 only for n_l > 32 ln(2/δ), which is 118 labels at δ = 0.05.

    Examples
    --------
    >>> transductive_error(0.0, 32, delta=0.05)
    1.92064558...
    """
    check_number("beta", beta, 0.0, 1e100, "proven_beta(...)")
    check_whole("n_labelled", n_labelled, "int(is_labelled.sum()), with at least one label")
    check_number("delta", delta, 1e-100, 1.0, "0.05")
    return beta + math.sqrt(2.0 * math.log(2.0 / delta) / n_labelled) * (n_labelled * beta + 4.0)


def proposition_3(
    f: ArrayLike, truth: ArrayLike, is_labelled: ArrayLike, *, beta: float, delta: float
) -> Bound:
    """Proposition 3: the error at all examples is at most that at labelled ones, plus Δ_T.

    Parameters
    ----------
    f : (n, 1) array
        The soft solution.
    truth : (n, 1) array
        ±1, the label of every example.
    is_labelled : (n,) boolean array
        At least one is.
    beta : float
        `printed_beta` or `proven_beta`.
    delta : float
        In a share 1 − δ of all draws of labelled examples, the bound holds.

    Returns
    -------
    bound : Bound

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.solver.harmonic import solve_soft
    >>> labelled, truth = np.arange(6) < 2, np.ones((6, 1))
    >>> f = solve_soft(np.ones((6, 6)), labelled, truth, c_u=0.1, sink=1.0)
    >>> beta = proven_beta(2, c_u=0.1, sink=1.0)
    >>> print(proposition_3(f, truth, labelled, beta=beta, delta=0.05))
    Proposition 3: 0.606 <= 35.3, holds
    """
    values = as_solution("f", f)
    squares = np.square(values - as_solution("truth", truth, like=values)).sum(axis=1)
    mask = as_mask(is_labelled, len(values))
    right = transductive_error(beta, int(mask.sum()), delta) + float(squares[mask].mean())
    drawn = Condition("labelled examples are drawn at random", None)
    return on_solutions("Proposition 3", float(squares.mean()), right, drawn)


def _worst_swap(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    truth: ArrayLike,
    c_u: float,
    sink: float,
    normalised: bool,
) -> tuple[float, int]:
    y = as_solution("truth", truth)
    labelled = as_mask(is_labelled, len(y))
    check_constants(c_u, sink)

    def errors(mask: Bools) -> Floats:
        f = solve_soft(similarity, mask, y, c_u=c_u, sink=sink, normalised=normalised)
        squares: Floats = np.square(f - y).sum(axis=1)
        return squares

    worst, usual = 0.0, errors(labelled)
    for i in np.flatnonzero(labelled):
        for j in np.flatnonzero(~labelled):
            swapped = labelled.copy()
            swapped[[i, j]] = False, True
            worst = max(worst, float(np.abs(errors(swapped) - usual).max()))
    return worst, int(labelled.sum())


def _much_less(c_u: float) -> Condition:
    return Condition("c_u much less than c_l", c_u <= MUCH_LESS)
