"""Quantization by k-means in place of k-centers, offline (Yan, Huang and Jordan 2009)."""

from __future__ import annotations

from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from labelwalk.arrays import Floats, Ints
from labelwalk.one_thread import one_blas_thread
from paper.baselines.representatives import Representatives


class KMeansHarmonic(Representatives):
    """The harmonic solution on the means that k-means finds in the unlabelled rows.

    A mean weighs as much as the rows nearest to it, and each of these gets its answer. Labelled
    examples are vertices of their own. Parameters are those of `Representatives`; the seed is that
    of the one start of k-means.

    Examples
    --------
    >>> from labelwalk.similarity import Gaussian
    >>> method = KMeansHarmonic(n_centroids=2, similarity=Gaussian(1.0))
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.2], [0.8], [4.4]]).label
    array(['low', 'low', 'high'], dtype=object)
    >>> method.points[:, 0]
    array([0.5, 4.4])
    """

    def _chosen(self, rows: Floats, k: int) -> tuple[Floats, Ints]:
        means = KMeans(k, n_init=1, random_state=self.seed % 2**32)
        with catch_warnings(), one_blas_thread(), threadpool_limits(1, "openmp"):
            simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than means
            joined = means.fit_predict(rows).astype(np.int64)
        return means.cluster_centers_, joined
