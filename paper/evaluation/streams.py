"""Protocols: in which order examples come, and when a label of theirs is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.parameters import check_number, check_whole, shown
from labelwalk.rows import as_rows
from paper.datasets.dataset import OUTSIDER

NEVER = -1


@dataclass(frozen=True)
class Stream:
    """Examples in order, with what the evaluator alone knows.

    Attributes
    ----------
    rows : (n, d) array
    truth : (n,) array of int
        Class of each example, or `OUTSIDER`.
    told_at : (n,) array of int
        The step at which the label of an example is given: its own, and it is taught instead of
        being answered; a later one, and it is answered first and taught then; or `NEVER`.
    """

    rows: Floats
    truth: Ints
    told_at: Ints

    def __post_init__(self) -> None:
        late = self.told_at[self.told_at != NEVER] - np.flatnonzero(self.told_at != NEVER)
        if late.min(initial=0) < 0 or self.told_at.max(initial=0) >= len(self):
            raise ValueError(
                f"told_at={shown(self.told_at)} gives a label before its example, or after the "
                f"last one. Use the example's own step, a later one, or {NEVER}."
            )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def answered(self) -> Bools:
        """Which examples are answered: those not taught at their own step."""
        return np.asarray(self.told_at != np.arange(len(self)))


def labels_first(
    X: ArrayLike, y: ArrayLike, *, per_class: int = 4, seed: int | None = None
) -> Stream:
    """Teach the first few examples of each class, then let all others pass.

    Parameters
    ----------
    X, y : rows, and their classes as integers; `OUTSIDER` where there is none
    per_class : int
        How many of each class are taught.
    seed : int, optional
        Shuffle first; without one, rows stay in their order.

    Examples
    --------
    >>> stream = labels_first([[0.0], [1.0], [2.0], [3.0]], [7, 7, 8, 7], per_class=1)
    >>> stream.rows[:, 0], stream.answered
    (array([0., 2., 1., 3.]), array([False, False,  True,  True]))
    """
    rows, truth = _checked(X, y)
    order = np.arange(len(rows)) if seed is None else _permutation(len(rows), seed)
    first = _first_of_each(truth[order], per_class)
    order = np.concatenate([order[first], order[~first]])
    told_at = np.where(np.arange(len(rows)) < first.sum(), np.arange(len(rows)), NEVER)
    return Stream(rows[order], truth[order], told_at)


def labels_at_first_appearance(X: ArrayLike, y: ArrayLike, *, per_class: int = 4) -> Stream:
    """Keep the order; when a class first appears, its first few examples are taught.

    Examples
    --------
    >>> stream = labels_at_first_appearance([[0.0], [1.0], [2.0]], [7, 7, 8], per_class=1)
    >>> stream.answered
    array([False,  True, False])
    """
    rows, truth = _checked(X, y)
    first = _first_of_each(truth, per_class)
    return Stream(rows, truth, np.where(first, np.arange(len(rows)), NEVER))


def labels_at_random(
    X: ArrayLike, y: ArrayLike, *, share: float, delay: int = 0, per_class: int = 1, seed: int = 0
) -> Stream:
    """Keep the order; a share of the labels is given, each some steps after its example.

    The first few of each class are taught at their own step, so that there is something to start
    from. With a delay of 0 the others are too, and are not answered; with a longer one they are
    answered first and told later, as far as the stream goes on that long.

    Parameters
    ----------
    X, y : rows, and their classes as integers
    share : float
        The chance of each label to be given, from 0 to 1.
    delay : int
        How many steps later.
    per_class : int
        How many of each class are taught at first.
    seed : int
        Which labels are given.

    Examples
    --------
    >>> stream = labels_at_random([[0.0], [1.0], [2.0]], [7, 7, 7], share=1.0, delay=1)
    >>> stream.told_at
    array([ 0,  2, -1])
    """
    rows, truth = _checked(X, y)
    check_number("share", share, 0, 1, "0.01")
    check_whole("delay", delay, "100", least=0)
    n = len(rows)
    step = np.arange(n)
    given = (np.random.default_rng(seed).random(n) < share) & (truth != OUTSIDER)
    told_at = np.where(given & (step + delay < n), step + delay, NEVER)
    return Stream(rows, truth, np.where(_first_of_each(truth, per_class), step, told_at))


def _checked(X: ArrayLike, y: ArrayLike) -> tuple[Floats, Ints]:
    rows, _ = as_rows(X, None)
    truth = np.asarray(y)
    if truth.shape != (len(rows),):
        raise ValueError(
            f"y has shape {truth.shape} for {len(rows)} rows of X. Give one class a row."
        )
    if truth.dtype.kind not in "iu" or truth.min() < OUTSIDER:
        raise ValueError(
            f"y={shown(y)} is not one integer >= 0 a row, or {OUTSIDER} for no class. "
            "Try np.unique(y, return_inverse=True)[1]."
        )
    return rows, truth.astype(np.int64)


def _permutation(n: int, seed: int) -> Ints:
    return np.random.default_rng(seed).permutation(n)


def _first_of_each(truth: Ints, per_class: int) -> Bools:
    check_whole("per_class", per_class, "4")
    first = np.zeros(len(truth), dtype=bool)
    for c in np.unique(truth[truth != OUTSIDER]):
        first[np.flatnonzero(truth == c)[:per_class]] = True
    return first
