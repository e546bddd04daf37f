"""From labelled examples to all of them: the stability β, Proposition 3, and section 4.4.

β is how much the squared error at any example may change when one labelled example gives its label
to another.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paper.bounds import Bound, Condition, Constants, as_solution, bound_solutions
from paper.bounds.solutions import largest_value


def printed_beta(n_labelled: int, constants: Constants, largest_eigenvalue: float) -> float:
    """Return the right side of Proposition 3's second line, which fails for small γ.

    β = 2 [√2 / (γ + 1) + √(2 n_l) (1 − √c_u) / √c_u · (λ_M(L) + γ) / (γ² + 1)], with λ_M = 2 for a
    normalised Laplacian.
    """
    constants.check(n_labelled)
    root, sink = math.sqrt(constants.c_u), constants.sink
    swap = math.sqrt(2.0) / (sink + 1.0)
    spread = (largest_eigenvalue + sink) / (sink**2 + 1.0)
    return 2.0 * (swap + math.sqrt(2.0 * n_labelled) * (1.0 - root) / root * spread)


def proven_beta(n_labelled: int, constants: Constants) -> float:
    """Return a stability that is proven here: β = 2 (1 + B) √2 (1 + (1 − c_u) B) / (γ + c_u).

    With B = `largest_value`. When i gives its label to j, (K + C') (f' − f) is zero but at i and j,
    where it is at most 1 + (1 − c_u) B, and no eigenvalue of K + C' is below γ + c_u. A squared
    error changes by `|f' − f| · |f' + f − 2y|`. For γ of at least √n_l this is O(1 / γ), without
    the √n_l of the printed one.
    """
    B, c_u = largest_value(n_labelled, constants), constants.c_u
    return 2.0 * (1.0 + B) * math.sqrt(2.0) * (1.0 + (1.0 - c_u) * B) / (constants.sink + c_u)


def transductive_error(beta: float, n_labelled: int, delta: float) -> float:
    """Return Δ_T = β + √(2 ln(2/δ) / n_l) (n_l β + 4) of Proposition 3.

    It is below 1 only for n_l > 32 ln(2/δ), which is 118 labels at δ = 0.05.
    """
    if n_labelled < 1:
        raise ValueError(f"n_labelled={n_labelled} is less than 1. Label an example.")
    return beta + math.sqrt(2.0 * math.log(2.0 / delta) / n_labelled) * (n_labelled * beta + 4.0)


def proposition_3(
    f: ArrayLike, truth: ArrayLike, is_labelled: ArrayLike, beta: float, delta: float
) -> Bound:
    """Proposition 3: the error at all examples is at most that at labelled ones, plus Δ_T.

    It holds in a share 1 − δ of all draws of labelled examples. `truth` is the label ±1 of every
    example, β is `printed_beta` or `proven_beta`.
    """
    values, mask = as_solution("f", f), np.asarray(is_labelled)
    squares = np.square(values - as_solution("truth", truth, like=values)).sum(axis=1)
    right = transductive_error(beta, int(mask.sum()), delta) + float(squares[mask].mean())
    drawn = Condition("labelled examples are drawn at random", None)
    return bound_solutions("Proposition 3", float(squares.mean()), right, drawn)


class Schedule(NamedTuple):
    """γ = count^power makes the right side of a statement O(count^rate)."""

    power: float
    rate: float

    def sink(self, count: int) -> float:
        """Return γ for a number of examples or labels."""
        return float(count**self.power)


PROPOSITION_4 = Schedule(1 / 4, -1 / 2)  # of examples
PROPOSITION_5 = Schedule(1 / 8, -1 / 2)  # of examples; ‖L^q − L^o‖_F must stay O(1)


def schedule_printed_proposition_3(alpha: float) -> Schedule:
    """γ = n_l^(1+α): `printed_beta` is then O(n_l^(−½−α)) and Δ_T is O(n_l^(−min(α, ½))).

    λ_M(L) must stay O(γ), which it does on the normalised Laplacian, where it is at most 2.
    """
    return Schedule(1.0 + alpha, -min(alpha, 0.5))


def schedule_proposition_3(alpha: float) -> Schedule:
    """γ = n_l^(½+α) gives the same rates with `proven_beta`, which has no √n_l."""
    return Schedule(0.5 + alpha, -min(alpha, 0.5))


def fit_exponent(sizes: ArrayLike, errors: ArrayLike) -> float:
    """Return the slope of log error over log size, by least squares.

    Proposition 6 expects −1/d of the distortion over k, Proposition 7 of ‖L^q − L^o‖_F.

    Examples
    --------
    >>> round(fit_exponent([10, 100, 1000], [1.0, 0.1, 0.01]), 9)
    -1.0
    """
    x, y = np.log(sizes), np.log(errors)
    x = x - x.mean()
    return float((x * y).sum() / np.square(x).sum())
