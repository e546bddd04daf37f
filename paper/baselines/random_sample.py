"""A random sample in place of k-centers, offline: the plainest way to quantize."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from labelwalk.arrays import Floats, Ints
from paper.baselines.representatives import Representatives

AT_ONCE = 1024  # rows compared at a time, so that memory does not grow with the stream


class SampleHarmonic(Representatives):
    """The harmonic solution on a random sample of the unlabelled rows.

    Rows are drawn without replacement; every row joins the nearest drawn one, the first of equals,
    and gets its answer. Labelled examples are vertices of their own. Parameters are those of
    `Representatives`.

    Examples
    --------
    >>> from labelwalk.similarity import Gaussian
    >>> method = SampleHarmonic(n_centroids=2, similarity=Gaussian(1.0))
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.2], [0.8], [4.4]]).label
    array(['low', 'low', 'high'], dtype=object)
    >>> method.points[:, 0]
    array([0.8, 4.4])
    """

    def _chosen(self, rows: Floats, k: int) -> tuple[Floats, Ints]:
        drawn = np.random.default_rng(self.seed).choice(len(rows), k, replace=False)
        sample = rows[np.sort(drawn)]
        blocks = range(0, len(rows), AT_ONCE)
        nearest = [cdist(rows[i : i + AT_ONCE], sample).argmin(axis=1) for i in blocks]
        return sample, np.concatenate(nearest)
