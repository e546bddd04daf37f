"""An inequality with numbers in it: both sides, whether it holds, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

RELATIVE_ROUNDING = 1e-9
SOLUTION_ROUNDING = 1e-12  # of solutions, whose values are of order 1


class Condition(NamedTuple):
    """What a statement asks for; `met` is None where these numbers cannot tell."""

    text: str
    met: bool | None


@dataclass(frozen=True)
class Bound:
    """A statement of the form left ≤ right.

    Attributes
    ----------
    name : str
    left, right : float
        The right side is infinite where a condition fails that it divides by.
    conditions : tuple of Condition
        Where one is not met, the inequality may hold all the same.
    rounding : float
        By how much the left side may be wrong.

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
        """Whether no condition is known to fail, so that the statement speaks of this case."""
        return all(condition.met is not False for condition in self.conditions)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "fails"
        unmet = "".join(f"; not met: {c.text}" for c in self.conditions if c.met is False)
        return f"{self.name}: {self.left:.3g} <= {self.right:.3g}, {verdict}{unmet}"


def on_solutions(name: str, left: float, right: float, *conditions: Condition) -> Bound:
    """Return a bound whose left side was computed from solutions."""
    return Bound(name, left, right, conditions, SOLUTION_ROUNDING)


def table(bounds: Iterable[Bound]) -> str:
    """Return a line for each bound under a head, in columns.

    Examples
    --------
    >>> print(table([Bound("a law", 1.0, 2.0), Bound("a rumour", 3.0, 2.0)]))
    statement  left  right  holds  not met
    a law      1     2      yes
    a rumour   3     2      no
    """
    lines = [("statement", "left", "right", "holds", "not met")]
    for bound in bounds:
        unmet = "; ".join(c.text for c in bound.conditions if c.met is False)
        holds = "yes" if bound.holds else "no"
        lines.append((bound.name, f"{bound.left:.3g}", f"{bound.right:.3g}", holds, unmet))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = (zip(line, widths, strict=True) for line in lines)
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in row).rstrip() for row in rows)
