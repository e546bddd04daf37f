"""The harmonic solution on the graph of all examples: what a stream would be told at its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from labelwalk import harmonic
from labelwalk.arrays import Floats, Label
from labelwalk.baselines.euclidean import as_euclidean
from labelwalk.baselines.full_graph import FullSimilarity, check_fits, similarity_matrix
from labelwalk.baselines.said import Said
from labelwalk.baselines.taught import Taught
from labelwalk.parameters import check_number, shown
from labelwalk.rows import LARGEST, as_rows


class OfflineHarmonic:
    """Solve eq. (3) of the paper once, on all taught and all observed examples (Zhu et al. 2003).

    Parameters
    ----------
    similarity : Gaussian or SelfTuning, optional
        How alike two examples are, in the Euclidean distance; `SelfTuning()` if not given.
    sink : float
        γ > 0.
    prior : None or "uniform"
        "uniform" is class mass normalisation: what each class takes of the unlabelled examples is
        divided by what it takes of all of them, and the sum over classes is kept.

    Examples
    --------
    >>> method = OfflineHarmonic()
    >>> method.teach([[0.0], [9.0]], ["low", "high"])
    >>> method.observe([[4.0], [1.0], [2.0], [3.0], [8.0]]).label.tolist()
    ['low', 'low', 'low', 'low', 'high']
    """

    online: ClassVar[bool] = False

    def __init__(
        self,
        similarity: FullSimilarity | None = None,
        sink: float = 1e-4,
        prior: Literal["uniform"] | None = None,
    ) -> None:
        self.similarity = as_euclidean(similarity)
        check_number("sink", sink, 1e-300, LARGEST, "a small one such as 1e-4")
        if prior not in (None, "uniform"):
            raise ValueError(f"prior={shown(prior)} is unknown. Choose None or 'uniform'.")
        self.sink, self.prior = sink, prior
        self._taught = Taught()
        self._observed = False

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Keep labelled examples until the stream comes."""
        self._check_not_over()
        self._taught.add(X, labels)

    def observe(self, X: ArrayLike) -> Said:
        """Answer the whole stream, given at once.

        Raises
        ------
        ValueError
            There was a stream before, or this one is too long.
        """
        self._check_not_over()
        taught = self._taught
        rows, _ = as_rows(X, taught.n_features)
        check_fits(len(taught) + len(rows))
        everything = np.vstack([taught.rows.reshape(-1, rows.shape[1]), rows])
        y = np.zeros((len(everything), len(taught.classes)))
        y[: len(taught)] = taught.one_hot
        is_labelled = np.arange(len(everything)) < len(taught)
        w = similarity_matrix(everything, self.similarity)
        f = harmonic.solve(w, is_labelled, y, sink=self.sink)[len(taught) :]
        self._observed = True
        return taught.classes.said(_mass_normalised(f) if self.prior else f)

    def _check_not_over(self) -> None:
        if self._observed:
            raise ValueError(
                "OfflineHarmonic has answered its stream, which it takes as a whole. Make a new "
                "one, teach it, and give it all rows in one call of observe."
            )

    @property
    def nbytes(self) -> int:
        """Memory taken by the taught examples; the graph is not kept."""
        return self._taught.nbytes


def _mass_normalised(f: Floats) -> Floats:
    mass = f.sum(axis=0)
    fair = f / np.where(mass > 0.0, mass, 1.0)
    total = fair.sum(axis=1, keepdims=True)
    kept: Floats = fair / np.where(total > 0.0, total, 1.0) * f.sum(axis=1, keepdims=True)
    return kept
