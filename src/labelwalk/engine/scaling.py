"""Robust scaling of features: measured on the first examples, then fixed.

A feature is centred by its median. Its spread is the standard deviation of its values without
extreme ones, which are farther from the median than 20 typical deviations; the typical deviation is
the median of those that are not zero. So a few values, however large, do not determine the scale,
and the rare values of a nearly constant feature do not become huge.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats, Ints

WARM_UP = 128  # examples, a power of two, after which the scale is frozen
WILD = 20.0  # typical deviations from the median past which a value is left out
FARTHEST = 1e100  # spreads from the centre: further is as far, and squares stay finite


def measured(rows: Floats) -> tuple[Floats, Floats]:
    """Return the median and the spread of each column of finite numbers.

    The spread is 1 where at most one value differs from the median.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.engine.scaling import measured
    >>> column = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [1e9]])
    >>> centre, spread = measured(column)
    >>> print(centre, spread.round(3))
    [3.5] [1.414]
    """
    centre = np.median(rows, axis=0)
    gaps = rows - centre
    typical = typical_deviation(np.abs(gaps))
    tame = np.abs(gaps) <= WILD * typical
    n_tame = tame.sum(axis=0)
    # in units of the typical deviation no square overflows, and none vanishes
    units = np.where(tame, gaps, 0.0) / np.where(typical > 0.0, typical, 1.0)
    around_mean = np.where(tame, units - units.sum(axis=0) / n_tame, 0.0)
    spread = typical * np.sqrt((around_mean**2).sum(axis=0) / n_tame)
    return centre, np.where(spread > 0.0, spread, 1.0)


def typical_deviation(deviations: Floats) -> Floats:
    """Return the lower median of each column's positive numbers; 0 if there is at most one."""
    ascending = np.sort(deviations, axis=0)
    n_zero = (ascending == 0.0).sum(axis=0)
    n_positive = len(ascending) - n_zero
    middle = np.minimum(n_zero + (n_positive - 1) // 2, len(ascending) - 1)
    median: Floats = np.take_along_axis(ascending, middle[None], axis=0)[0]
    return np.where(n_positive > 1, median, 0.0)


@dataclass
class Scale:
    """Centre and spread of each feature, and the first examples while these are measured.

    Without a centre rows are not scaled. Arrays are never modified.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.engine.scaling import Scale
    >>> scale = Scale()
    >>> for x in ([0.0, 0.0], [2.0, 4000.0]):
    ...     scale = scale.with_example(np.array([x]), np.array([-1]))
    >>> print(scale.scaled(np.array([[2.0, 0.0]])))
    [[ 1. -1.]]
    """

    centre: Floats = field(default_factory=lambda: np.zeros(0))
    spread: Floats = field(default_factory=lambda: np.zeros(0))
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    labels: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    frozen: bool = False

    def scaled(self, rows: Floats) -> Floats:
        """Return rows in units of the spread, around the centre."""
        if not len(self.centre):
            return rows
        furthest = FARTHEST * self.spread
        return np.clip(rows - self.centre, -furthest, furthest) / self.spread

    def original(self, points: Floats) -> Floats:
        """Return scaled rows in original units, up to rounding."""
        return points * self.spread + self.centre if len(self.centre) else points

    def with_example(self, row: Floats, label: Ints) -> Self:
        """Return the scale after one more example; it changes at every power of two."""
        rows = np.concatenate([self.rows, row]) if len(self.rows) else row.copy()
        labels = np.concatenate([self.labels, label])
        grown = type(self)(self.centre, self.spread, rows, labels)
        if grown.just_measured:
            grown.centre, grown.spread = measured(rows)
        return grown

    @property
    def just_measured(self) -> bool:
        """Whether the last example has changed the scale."""
        n = len(self.rows)
        return n > 0 and n & (n - 1) == 0

    @property
    def complete(self) -> bool:
        """Whether there are enough examples."""
        return len(self.rows) >= WARM_UP

    def freeze(self) -> None:
        """Fix the present scale, and drop the first examples."""
        self.frozen = True
        self.rows, self.labels = self.rows[:0].copy(), self.labels[:0].copy()

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays under their names in a model file."""
        return {f"scale.{name}": np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the scale from its arrays.

        Raises
        ------
        ValueError
            An array is missing, or has another type or number of dimensions.
        """
        scale = cls()
        for name, expected in scale.to_arrays().items():
            stored = arrays.get(name)
            if stored is None or (stored.dtype, stored.ndim) != (expected.dtype, expected.ndim):
                raise ValueError(f"its array {name!r} is missing or has the wrong type or shape")
            setattr(scale, name.removeprefix("scale."), stored.copy())
        scale.frozen = bool(scale.frozen)
        return scale


def check_same_scale(ours: Scale, theirs: Scale, order: list[int]) -> None:
    """Raise a ValueError if two scales differ; the features of the other are in another order."""
    order = order[: len(theirs.centre)]  # there may be none
    centre, spread = theirs.centre[order], theirs.spread[order]
    if not (np.array_equal(ours.centre, centre) and np.array_equal(ours.spread, spread)):
        raise ValueError(
            "other has a different scale than this learner, so distances cannot be compared. Save "
            f"one learner after {WARM_UP} examples and start the others from that file, or scale "
            "the features yourself and use scale='none'."
        )
