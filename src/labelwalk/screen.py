"""Points as single precision screens them, and the exact nearest among those that pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labelwalk.arrays import Floats, Ints, Singles
from labelwalk.kernels.screened import Sight, confirm_nearest
from labelwalk.one_thread import one_blas_thread

ROUNDOFF, FINE_ROUNDOFF = 2.0**-24, 2.0**-53
FAR = 2.0**40  # units, squared: a row so far away is measured against all points
UNDERFLOW = 2.0**-120  # of a product of features less far than that, in single precision
MOST_PRODUCTS = 2**22  # of rows and points at once: 16 MiB
MOST_ROWS = 1024  # at a time: an interrupt waits for them


class Screen:
    """The nearest of many points to any row, exactly.

    Parameters
    ----------
    capacity, n_features : int
        The most points, and what they are made of.

    Examples
    --------
    >>> screen = Screen(capacity=3, n_features=2)
    >>> points = np.array([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]])
    >>> screen.put(0, points)
    >>> nearest, distances = screen.nearest(np.array([[3.0, 3.0], [8.0, 8.0]]), points, few=2)
    >>> nearest.tolist(), distances.round(2).tolist()
    ([[1, 0], [2, 1]], [[1.0, 4.24], [1.41, 6.4]])
    """

    def __init__(self, capacity: int, n_features: int) -> None:
        self._singles: Singles = np.zeros((capacity, n_features), dtype=np.float32)
        self._low, self._high = np.full((2, capacity), np.inf)
        self._origin, self._unit = np.zeros(n_features), 1.0

    def put(self, first: int, points: Floats) -> None:
        """Let points be screened, under their numbers from `first` on."""
        if first == 0:
            self._look_from(points)
        place = slice(first, first + len(points))
        singles, squares, slack = self._seen(points)
        self._singles[place] = singles
        self._low[place], self._high[place] = squares - slack, squares + slack

    def leave(self, gone: Ints) -> None:
        """Let points be nobody's nearest; the others keep their numbers."""
        self._low[gone] = self._high[gone] = np.inf

    def nearest(
        self, rows: Floats, points: Floats, few: int, below: Ints | None = None
    ) -> tuple[Ints, Floats]:
        """Return the nearest points of each row, older ones first in a tie, and their distances.

        Parameters
        ----------
        rows : array of shape (n, features)
        points : array of shape (m, features)
            Those that were put.
        few : int
            How many to return.
        below : array of n integers, optional
            How many of the points count for each row; all, where it is not given.

        Returns
        -------
        nearest : array of integers, of shape (n, few)
            -1 where there are fewer.
        distances : array of the same shape
            Infinite there.
        """
        n, m = len(rows), len(points)
        below = np.full(n, m, dtype=np.int64) if below is None else below
        nearest, distances = np.empty((n, few), dtype=np.int64), np.empty((n, few))
        for some, sight in self.sights(rows, m):
            found, apart = nearest[some], distances[some]
            confirm_nearest(sight, rows[some], points, below[some], found, apart)
        return nearest, distances

    def sights(self, rows: Floats, m: int) -> Iterator[tuple[slice, Sight]]:
        """Yield what rows look like beside the first m points, some rows at a time."""
        step = max(1, min(MOST_ROWS, MOST_PRODUCTS // max(1, m)))
        for at in range(0, len(rows), step):
            some = slice(at, min(at + step, len(rows)))
            singles, squares, slack = self._seen(rows[some])
            with one_blas_thread():
                products = singles @ self._singles[:m].T
            yield some, Sight(products, self._low, self._high, squares, slack, self._unit)

    def _look_from(self, points: Floats) -> None:
        """Choose where to look from: the nearer to all points, the fewer are confirmed in vain."""
        self._origin = points.mean(axis=0)
        spread = float(np.abs(points - self._origin).max())
        self._unit = 2.0 ** np.ceil(np.log2(spread)) if spread > 0.0 else 1.0

    def _seen(self, rows: Floats) -> tuple[Singles, Floats, Floats]:
        """Return rows in single precision, their squares, and what these are off by at most.

        A product of d terms is off by d roundings of |x||c|; what comes of rounding the features
        and of moving the origin is bounded along with it. 2|x||c| <= |x|² + |c|² parts the bound.
        """
        d = rows.shape[1]
        with np.errstate(over="ignore"):
            moved = (rows - self._origin) / self._unit
            squares = (moved * moved).sum(axis=1)
            raw = ((rows / self._unit) ** 2).sum(axis=1) + ((self._origin / self._unit) ** 2).sum()
            slack = 4.0 * (d + 8) * ROUNDOFF * squares + 64.0 * FINE_ROUNDOFF * (raw + squares)
            slack += d * UNDERFLOW
        far = ~(squares < FAR)
        moved[far], squares[far], slack[far] = 0.0, 0.0, np.inf
        return moved.astype(np.float32), squares, slack
