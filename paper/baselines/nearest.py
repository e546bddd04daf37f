"""The label of the nearest labelled example: what is possible without unlabelled examples."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from labelwalk.arrays import Label
from paper.baselines.predictions import Baseline, LabelledBuffer, Predictions


class NearestLabel(Baseline):
    """Answer with the class of the nearest labelled example, the older class in a tie.

    The confidence is d' / (d + d'), with d the distance to that example and d' that to the nearest
    of another class: from 1/2 on the border between the two to 1 on the example itself, or if
    there is one class alone. Without a labelled example within the radius there is no answer.

    Examples
    --------
    >>> method = NearestLabel(radius=5.0)
    >>> method.teach([[0.0], [4.0]], ["low", "high"])
    >>> predictions = method.observe([[1.0], [4.0], [10.0]])
    >>> predictions.label.tolist(), predictions.confidence.tolist()
    (['low', 'high', None], [0.75, 1.0, 0.0])
    """

    def __init__(self, radius: float = math.inf) -> None:
        self.radius = radius
        self.labelled = LabelledBuffer()

    def teach(self, X: ArrayLike, labels: Iterable[Label]) -> None:
        """Store labelled rows."""
        self.labelled.add(X, labels)

    def observe(self, X: ArrayLike) -> Predictions:
        """Answer rows; nothing is learned from them."""
        rows, classes = np.asarray(X, dtype=np.float64), self.labelled.classes
        scores = np.zeros((len(rows), len(classes)))
        if len(classes):
            distances = np.empty(scores.shape)
            for code in range(len(classes)):
                class_rows = self.labelled.rows[self.labelled.codes == code]
                distances[:, code] = cdist(rows, class_rows).min(axis=1)
            index, best = np.arange(len(rows)), distances.argmin(axis=1)
            nearest = distances[index, best]
            distances[index, best] = np.inf
            other = distances.min(axis=1)
            ratio = np.divide(nearest, other, out=np.ones(len(rows)), where=other > 0.0)
            scores[index, best] = np.where(nearest <= self.radius, 1.0 / (1.0 + ratio), 0.0)
        return classes.decide(scores)
