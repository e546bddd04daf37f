"""How the sink must grow for the bounds to fall, and how fast they then do: section 4.4."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.parameters import check_number, check_whole


class Schedule(NamedTuple):
    """γ = count^power makes the right side of a statement O(count^rate).

    Examples
    --------
    >>> PROPOSITION_4.sink(10_000)
    10.0
    """

    statement: str
    counts: str
    power: float
    rate: float

    def sink(self, count: int) -> float:
        """Return γ for so many examples or labels."""
        check_whole("count", count, "the number of examples, or of labels for Proposition 3")
        return float(count**self.power)


PROPOSITION_4 = Schedule("Proposition 4", "examples", 1 / 4, -1 / 2)
PROPOSITION_5 = Schedule("Proposition 5", "examples", 1 / 8, -1 / 2)  # ‖L^q − L^o‖_F must stay O(1)


def proposition_3_as_printed(alpha: float) -> Schedule:
    """γ = n_l^(1+α): `printed_beta` is then O(n_l^(−½−α)) and Δ_T is O(n_l^(−min(α, ½))).

    λ_M(L) must stay O(γ), which it does on the normalised Laplacian, where it is at most 2.

    Examples
    --------
    >>> proposition_3_as_printed(0.5)
    Schedule(statement='Proposition 3 as printed', counts='labels', power=1.5, rate=-0.5)
    """
    return _generalising("Proposition 3 as printed", 1.0, alpha)


def proposition_3(alpha: float) -> Schedule:
    """γ = n_l^(½+α) gives the same rates with `proven_beta`, which has no √n_l.

    Examples
    --------
    >>> proposition_3(0.5).power
    1.0
    """
    return _generalising("Proposition 3", 0.5, alpha)


def fitted_exponent(sizes: ArrayLike, errors: ArrayLike) -> float:
    """Return the slope of log error over log size, by least squares.

    Proposition 6 expects −1/d of the distortion over k, Proposition 7 of ‖L^q − L^o‖_F.

    Parameters
    ----------
    sizes, errors : arrays of as many numbers > 0
        At least two different sizes.

    Examples
    --------
    >>> fitted_exponent([10, 100, 1000], [1.0, 0.1, 0.01])
    -1.0
    """
    k, error = np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if k.ndim != 1 or k.shape != error.shape or len(np.unique(k)) < 2:
        raise ValueError(
            f"sizes has shape {k.shape} and errors {error.shape}: pass one error for each size, "
            "and at least two different sizes"
        )
    for name, values in (("sizes", k), ("errors", error)):
        wrong = ~((values > 0.0) & (values < np.inf))
        if wrong.any():
            raise ValueError(
                f"{name} contains {values[wrong][0]}: only finite numbers > 0 have a logarithm; "
                "leave out sizes at which nothing is lost"
            )
    x, y = np.log(k) - np.log(k).mean(), np.log(error)
    return float((x * y).sum() / np.square(x).sum())


def _generalising(statement: str, least: float, alpha: float) -> Schedule:
    check_number("alpha", alpha, 0.0, 10.0, "0.5", above=True)
    return Schedule(statement, "labels", least + alpha, -min(alpha, 0.5))
