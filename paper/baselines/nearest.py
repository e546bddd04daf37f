"""The label of the nearest taught example: what can be said without any unlabelled ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from labelwalk.arrays import Floats, Label
from labelwalk.parameters import check_number
from labelwalk.rows import LARGEST, as_rows
from paper.baselines.said import Said
from paper.baselines.taught import Taught


class NearestLabel:
    """Name the class of the nearest taught example; of two as near, the class taught first.

    The confidence is d' / (d + d'), with d the distance to that example and d' that to the nearest
    of another class: from 1/2 on the border between the two to 1 on the example itself, or where
    there is one class alone.

    Parameters
    ----------
    radius : float
        Abstain where no taught example is within this distance.

    Examples
    --------
    >>> method = NearestLabel(radius=5.0)
    >>> method.teach([[0.0], [4.0]], ["low", "high"])
    >>> said = method.observe([[1.0], [4.0], [10.0]])
    >>> said.label.tolist(), said.confidence.tolist()
    (['low', 'high', None], [0.75, 1.0, 0.0])
    """

    online: ClassVar[bool] = True

    def __init__(self, radius: float = math.inf) -> None:
        if radius != math.inf:
            check_number("radius", radius, 0, LARGEST, "math.inf never to abstain")
        self.radius = radius
        self._taught = Taught()

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Keep labelled examples."""
        self._taught.add(X, labels)

    def observe(self, X: ArrayLike) -> Said:
        """Answer rows; nothing is learned of them."""
        rows, _ = as_rows(X, self._taught.n_features)
        apart = self._distances(rows)
        scores = np.zeros(apart.shape)
        if len(self._taught):
            every, best = np.arange(len(rows)), apart.argmin(axis=1)
            nearest = apart[every, best]
            apart[every, best] = np.inf
            other = apart.min(axis=1)
            ratio = np.divide(nearest, other, out=np.ones(len(rows)), where=other > 0.0)
            scores[every, best] = np.where(nearest <= self.radius, 1.0 / (1.0 + ratio), 0.0)
        return self._taught.classes.said(scores)

    def _distances(self, rows: Floats) -> Floats:
        """Return the distance of each row to the nearest example of each class."""
        taught = self._taught
        apart = np.empty((len(rows), len(taught.classes)))
        for code in range(len(taught.classes)):
            apart[:, code] = cdist(rows, taught.rows[taught.codes == code]).min(axis=1)
        return apart

    @property
    def nbytes(self) -> int:
        """Memory taken by the taught examples."""
        return self._taught.nbytes
