"""The laws a similarity or a distance of your own must keep, to be tried on rows of yours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelwalk.arrays import Bools, Floats
from labelwalk.rows import as_rows

# What rounding may do to a number, and what cancellation may leave of the largest one.
RELATIVE, CANCELLED = 1e-9, 1e-12


class LawBroken(ValueError):  # noqa: N818 - it says what happened
    """A function breaks a law.

    Attributes
    ----------
    law : str
        Which one: "shape", "finite", "not negative", "inputs unchanged", "repeatable",
        "row by row", "symmetric", "most similar to itself", "zero to itself" or
        "triangle inequality".
    rows : tuple of int
        The rows of X it was seen on.
    details : str
        What was seen, and what to do about it.
    """

    def __init__(self, law: str, rows: tuple[int, ...], details: str) -> None:
        super().__init__(law, rows, details)
        self.law = law
        self.rows = rows
        self.details = details

    def __str__(self) -> str:
        return f"Law broken: {self.law}. {self.details}"


def check_similarity(function: Callable[[Floats, Floats], ArrayLike], X: ArrayLike) -> None:
    """Try the laws of a similarity on all pairs of some rows.

    From one row (d,) to many rows (n, d) it returns n finite numbers >= 0, the same ones each
    time and whichever rows are asked about together, and leaves its arguments alone. It is
    symmetric, and no row is less similar to itself than to another.

    Parameters
    ----------
    function : callable
        As in `Pairwise(similarity=function)`.
    X : array of shape (n, d)
        A few dozen rows such as the function will meet, at least two; it is called about n²
        times.

    Raises
    ------
    LawBroken
        The law, the rows and the repair are in the message.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.checks import check_similarity
    >>> X = [[1.0, 0.0], [1.0, 1.0], [0.0, 3.0]]
    >>> def overlap(x, rows):
    ...     return np.minimum(x, rows).sum(axis=1)
    >>> check_similarity(overlap, X)
    >>> def product(x, rows):
    ...     return rows @ x
    >>> check_similarity(product, X)
    Traceback (most recent call last):
    ...
    labelwalk.checks.LawBroken: Law broken: most similar to itself. product(X[1], X[1]) = 2.0 is
    less than product(X[1], X[2]) = 3.0. ...
    """
    trial = _Trial(function, X, at_least=2)
    values = trial.table()
    trial.symmetric(values)
    trial.most_similar_to_itself(values)


def check_distance(function: Callable[[Floats, Floats], ArrayLike], X: ArrayLike) -> None:
    """Try the laws of a distance on all triples of some rows.

    From one row (d,) to many rows (n, d) it returns n finite numbers >= 0, the same ones each
    time and whichever rows are asked about together, and leaves its arguments alone. It is
    exactly zero from a row to itself, symmetric, and no detour is shorter than the direct way.

    Parameters
    ----------
    function : callable
        As in `Gaussian(distance=function)` and `Pairwise(similarity, distance=function)`.
    X : array of shape (n, d)
        A few dozen rows such as the function will meet, at least three; it is called about n²
        times.

    Raises
    ------
    LawBroken
        The law, the rows and the repair are in the message.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.checks import check_distance
    >>> X = [[0.0], [1.0], [2.0]]
    >>> def manhattan(x, rows):
    ...     return np.abs(rows - x).sum(axis=1)
    >>> check_distance(manhattan, X)
    >>> def squared(x, rows):
    ...     return ((rows - x) ** 2).sum(axis=1)
    >>> check_distance(squared, X)
    Traceback (most recent call last):
    ...
    labelwalk.checks.LawBroken: Law broken: triangle inequality. squared(X[0], X[2]) = 4.0 is more
    than the detour squared(X[0], X[1]) + squared(X[1], X[2]) = 1.0 + 1.0. ...
    """
    trial = _Trial(function, X, at_least=3)
    values = trial.table()
    trial.symmetric(values)
    trial.zero_to_itself(values, slack=CANCELLED * _largest(values))
    trial.triangle(values)
    trial.zero_to_itself(values, slack=0.0)  # mere rounding is the lesser fault: last


class _Trial:
    """One function on some rows."""

    def __init__(
        self, function: Callable[[Floats, Floats], ArrayLike], X: ArrayLike, at_least: int
    ) -> None:
        self.function = function
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self.rows, _ = as_rows(X, None)
        if len(self.rows) < at_least:
            raise ValueError(
                f"X has {len(self.rows)} rows, and these laws compare {at_least}. Give a few "
                "dozen rows such as the function will meet."
            )

    def table(self) -> Floats:
        """Return all values, once it is known that they are values and depend on pairs alone."""
        n = len(self.rows)
        every = np.arange(n)
        values = np.array([self.answer(i, every) for i in range(n)])
        for i in range(n):
            self.repeatable(i, values[i], self.answer(i, every))
        for i in range(n):
            alone = np.array([self.answer(i, every[j : j + 1])[0] for j in range(n)])
            self.row_by_row(i, values, alone)
        return values

    def answer(self, i: int, asked: NDArray[np.int64]) -> Floats:
        """Ask about row i and some others."""
        x, rows = self.rows[i].copy(), self.rows[asked]
        returned = self.function(x, rows)
        values = self.one_number_each(i, asked, returned)
        if not np.array_equal(x, self.rows[i]) or not np.array_equal(rows, self.rows[asked]):
            self.broken(
                "inputs unchanged",
                (i,),
                f"{self.name}(X[{i}], ...) wrote into its arguments. Work on a copy, as in "
                "rows = rows.copy(), and avoid -=, *= and out= on them.",
            )
        self.finite_and_not_negative(i, asked, values)
        return values

    def one_number_each(self, i: int, asked: NDArray[np.int64], returned: ArrayLike) -> Floats:
        try:
            values = np.array(returned, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.zeros(())
        if values.shape != (len(asked),):
            found = np.shape(returned) if isinstance(returned, np.ndarray) else repr(returned)
            self.broken(
                "shape",
                (i,),
                f"{self.name}(X[{i}], rows) must return {len(asked)} numbers for {len(asked)} "
                f"rows, and returned {found}. Return an array of shape (n,), as "
                "np.abs(rows - x).sum(axis=1) does.",
            )
        return values

    def finite_and_not_negative(self, i: int, asked: NDArray[np.int64], values: Floats) -> None:
        for law, wrong, repair in (
            ("finite", ~np.isfinite(values), "Look for a division by zero or an overflow"),
            ("not negative", values < 0, "Take np.maximum(values, 0) if it is rounding"),
        ):
            if wrong.any():
                position = int(np.argmax(wrong))
                j = int(asked[position])
                seen = f"{self.call(i, j)} = {values[position]}"
                self.broken(law, (i, j), f"{seen} is not a finite number >= 0. {repair}.")

    def repeatable(self, i: int, values: Floats, again: Floats) -> None:
        if not np.array_equal(values, again):
            j = int(np.argmax(values != again))
            self.broken(
                "repeatable",
                (i, j),
                f"{self.call(i, j)} = {values[j]} at first and {again[j]} later. It must depend "
                "on its arguments alone: remove randomness, counters and running statistics.",
            )

    def row_by_row(self, i: int, values: Floats, alone: Floats) -> None:
        wrong = _differ(values[i], alone, _largest(values))
        if wrong.any():
            j = int(np.argmax(wrong))
            self.broken(
                "row by row",
                (i, j),
                f"{self.call(i, j)} = {values[i, j]} among {len(values)} rows and {alone[j]} on "
                "its own. Do not scale or rank by the rows that are asked about together, and "
                "compute from the differences rows - x: products of matrices round at will.",
            )

    def symmetric(self, values: Floats) -> None:
        wrong = _differ(values, values.T, _largest(values))
        if wrong.any():
            i, j = _first(wrong)
            self.broken(
                "symmetric",
                (i, j),
                f"{self.call(i, j)} = {values[i, j]} but {self.call(j, i)} = {values[j, i]}. Use "
                "the mean of both directions.",
            )

    def most_similar_to_itself(self, values: Floats) -> None:
        own = np.diagonal(values)[:, None]
        wrong = _exceeds(values, own, _largest(values))
        if wrong.any():
            i, j = _first(wrong)
            self.broken(
                "most similar to itself",
                (i, j),
                f"{self.call(i, i)} = {own[i, 0]} is less than {self.call(i, j)} = "
                f"{values[i, j]}. Divide by the square root of both self-similarities, as the "
                "cosine does with a product.",
            )

    def zero_to_itself(self, values: Floats, slack: float) -> None:
        own = np.diagonal(values)
        if np.any(own > slack):
            i = int(np.argmax(own > slack))
            self.broken(
                "zero to itself",
                (i,),
                f"{self.call(i, i)} = {own[i]}. Equal rows must be at distance 0 exactly: compute "
                "from the differences rows - x, not from products, which leave rounding.",
            )

    def triangle(self, values: Floats) -> None:
        for k in range(len(values)):
            with np.errstate(over="ignore"):
                detour = values[:, k, None] + values[None, k]
            wrong = _exceeds(values, detour, _largest(values))
            if wrong.any():
                i, j = _first(wrong)
                self.broken(
                    "triangle inequality",
                    (i, k, j),
                    f"{self.call(i, j)} = {values[i, j]} is more than the detour "
                    f"{self.call(i, k)} + {self.call(k, j)} = {values[i, k]} + {values[k, j]}. "
                    "Use a metric: the square root of a squared distance, or the angle in place "
                    "of the cosine distance.",
                )

    def call(self, i: int, j: int) -> str:
        return f"{self.name}(X[{i}], X[{j}])"

    def broken(self, law: str, rows: tuple[int, ...], details: str) -> NoReturn:
        shown = ", ".join(f"X[{i}] = {_short(self.rows[i])}" for i in dict.fromkeys(rows))
        raise LawBroken(law, rows, f"{details} Here {shown}.")


def _largest(values: Floats) -> float:
    return float(values.max())


def _exceeds(values: Floats, limit: Floats, largest: float) -> Bools:
    """Return where values are above a limit by more than rounding explains."""
    above: Bools = values * (1 - RELATIVE) - CANCELLED * largest > limit
    return above


def _differ(values: Floats, others: Floats, largest: float) -> Bools:
    return _exceeds(values, others, largest) | _exceeds(others, values, largest)


def _first(wrong: Bools) -> tuple[int, int]:
    i, j = np.argwhere(wrong)[0].tolist()
    return i, j


def _short(row: NDArray[Any]) -> str:
    return np.array2string(row, threshold=8, separator=", ")
