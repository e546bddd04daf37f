"""The harmonic solution on the graph of all examples: what a stream would be told at its end."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.parameters import check_number
from labelwalk.rows import LARGEST
from paper.baselines.class_mass import Prior, balanced, check_prior
from paper.baselines.full_graph import (
    FullSimilarity,
    as_euclidean,
    check_fits,
)
from paper.baselines.representatives import harmonic_values
from paper.baselines.whole_stream import Offline


class OfflineHarmonic(Offline):
    """Solve eq. (3) of the paper once, on all taught and all observed examples (Zhu et al. 2003).

    Parameters
    ----------
    similarity : Gaussian or SelfTuning, optional
        How alike two examples are, in the Euclidean distance; `SelfTuning()` if not given.
    sink : float
        γ > 0.
    prior : None or "uniform"
        With "uniform", each class is divided by its mass on all rows (`class_mass.balanced`).

    Examples
    --------
    >>> method = OfflineHarmonic()
    >>> method.teach([[0.0], [9.0]], ["low", "high"])
    >>> method.observe([[4.0], [1.0], [2.0], [3.0], [8.0]]).label.tolist()
    ['low', 'low', 'low', 'low', 'high']
    """

    def __init__(
        self,
        similarity: FullSimilarity | None = None,
        sink: float = 1e-4,
        prior: Prior = None,
    ) -> None:
        super().__init__()
        self.similarity = as_euclidean(similarity)
        check_number("sink", sink, 1e-300, LARGEST, "a small one such as 1e-4")
        check_prior(prior)
        self.sink, self.prior = sink, prior

    def _scores(self, rows: Floats) -> Floats:
        check_fits(len(self.taught) + len(rows))
        once = np.ones(len(rows))
        known = (self.taught.rows, self.taught.one_hot)
        f = harmonic_values(*known, rows, once, self.similarity, self.sink)
        return balanced(f, once) if self.prior else f
