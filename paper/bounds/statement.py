"""An inequality with numbers: both sides, whether it holds, and its conditions."""

from __future__ import annotations

from collections.abc import Iterable
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
    """A statement of the form left ≤ right.

    Attributes
    ----------
    name : str
    left, right : float
        The right side is infinite if a condition fails that it divides by.
    conditions : tuple of Condition
        The inequality may hold although a condition is not met.
    rounding : float
        Possible error of the left side.

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

    @property
    def unmet(self) -> str:
        """The conditions that are known to fail."""
        return "; ".join(c.text for c in self.conditions if c.met is False)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "fails"
        unmet = f"; not met: {self.unmet}" if self.unmet else ""
        return f"{self.name}: {self.left:.3g} <= {self.right:.3g}, {verdict}{unmet}"


def bound_solutions(name: str, left: float, right: float, *conditions: Condition) -> Bound:
    """Return a bound whose left side was computed from solutions."""
    return Bound(name, left, right, conditions, SOLUTION_ROUNDING)


def format_table(bounds: Iterable[Bound]) -> str:
    """Return a line for each bound below a header, in columns.

    Examples
    --------
    >>> print(format_table([Bound("a law", 1.0, 2.0), Bound("a rumour", 3.0, 2.0)]))
    statement  left  right  holds  not met
    a law      1     2      yes
    a rumour   3     2      no
    """
    lines = [("statement", "left", "right", "holds", "not met")]
    for bound in bounds:
        sides = (f"{bound.left:.3g}", f"{bound.right:.3g}")
        lines.append((bound.name, *sides, "yes" if bound.holds else "no", bound.unmet))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = (zip(line, widths, strict=True) for line in lines)
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in row).rstrip() for row in rows)


def as_solution(name: str, values: ArrayLike, like: Floats | None = None) -> Floats:
    """Return a matrix of finite numbers with a row for each example."""
    columns = np.asarray(values, dtype=np.float64)
    if columns.ndim != 2 or (like is not None and columns.shape != like.shape):
        shape = "two dimensions" if like is None else f"the shape {like.shape}"
        raise ValueError(f"{name} has shape {columns.shape}. Pass an array with {shape}.")
    if not np.isfinite(columns).all():
        raise ValueError(f"{name} contains {columns[~np.isfinite(columns)][0]}. Pass a solution.")
    return columns


def check_constants(c_u: float, sink: float, n_labelled: int = 0) -> None:
    """Raise ValueError for constants outside the theory: 0 < c_u ≤ c_l = 1, γ > 0, n_l ≥ 0."""
    if not (0.0 < c_u <= 1.0 and 0.0 < sink < np.inf and n_labelled >= 0):
        raise ValueError(
            f"c_u={c_u}, sink={sink}, n_labelled={n_labelled} are outside the theory. Section 4 "
            "has 0 < c_u <= 1, sink > 0 and n_labelled >= 0."
        )
