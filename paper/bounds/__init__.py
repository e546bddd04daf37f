"""Section 4 of the paper in numbers: both sides of each bound, and its conditions.

A function named like a statement computes what is proven here; where the printed statement differs,
`..._as_printed` computes that one. `docs/results/bounds.md` compares them. Labels are ±1 in one
column, or one-hot rows; c_l = 1.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats

RELATIVE_ROUNDING = 1e-9
SOLUTION_ROUNDING = 1e-12  # solutions have values of order 1


class Condition(NamedTuple):
    """A condition of a statement; `met` is None if the numbers do not tell."""

    text: str
    met: bool | None


@dataclass(frozen=True)
class Bound:
    """A statement of the form left ≤ right, up to the rounding of the left side.

    The right side is infinite if a condition fails that it divides by. The inequality may hold
    although a condition is not met.

    Examples
    --------
    >>> bound = Bound("a law", 1.0, 2.0, (Condition("the sun shines", True),))
    >>> bound.holds, bound.covered
    (True, True)
    >>> print(bound)
    a law: 1 <= 2, holds
    """

    name: str
    left: float
    right: float
    conditions: tuple[Condition, ...] = ()
    rounding: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether left ≤ right, up to rounding."""
        return self.left <= self.right * (1.0 + RELATIVE_ROUNDING) + self.rounding

    @property
    def covered(self) -> bool:
        """Whether no condition is known to fail, so that the statement applies."""
        return all(condition.met is not False for condition in self.conditions)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "fails"
        unmet = "".join(f"; not met: {c.text}" for c in self.conditions if c.met is False)
        return f"{self.name}: {self.left:.3g} <= {self.right:.3g}, {verdict}{unmet}"


class Constants(NamedTuple):
    """c_u, γ, and whether the Laplacian is normalised: the arguments of `solve_soft`."""

    c_u: float
    sink: float
    normalised: bool = False

    def check(self, n_labelled: int = 0) -> None:
        """Raise ValueError outside the theory: 0 < c_u ≤ c_l = 1, γ > 0, n_l ≥ 0."""
        if not (0.0 < self.c_u <= 1.0 and 0.0 < self.sink < np.inf and n_labelled >= 0):
            raise ValueError(
                f"c_u={self.c_u}, sink={self.sink}, n_labelled={n_labelled} are outside the "
                "theory. Section 4 has 0 < c_u <= 1, sink > 0 and n_labelled >= 0."
            )


def bound_solutions(name: str, left: float, right: float, *conditions: Condition) -> Bound:
    """Return a bound whose left side was computed from solutions."""
    return Bound(name, left, right, conditions, SOLUTION_ROUNDING)


def as_solution(name: str, values: ArrayLike, like: Floats | None = None) -> Floats:
    """Return a matrix of finite numbers with a row for each example."""
    columns = np.asarray(values, dtype=np.float64)
    if columns.ndim != 2 or (like is not None and columns.shape != like.shape):
        shape = "two dimensions" if like is None else f"the shape {like.shape}"
        raise ValueError(f"{name} has shape {columns.shape}. Pass an array with {shape}.")
    if not np.isfinite(columns).all():
        raise ValueError(f"{name} contains {columns[~np.isfinite(columns)][0]}. Pass a solution.")
    return columns
