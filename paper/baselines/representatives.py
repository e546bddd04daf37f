"""The harmonic solution on a few weighted representatives of all rows, chosen in any way."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.parameters import check_number, check_whole
from labelwalk.solver.harmonic import solve
from paper.baselines.class_mass import Prior, balanced, check_prior
from paper.baselines.full_graph import FullSimilarity, as_euclidean, similarity_matrix
from paper.baselines.whole_stream import Offline


class Representatives(Offline):
    """Every row joins a representative and gets its answer; how to choose them is left open.

    The labelled examples are vertices of weight 1, a representative is one whose weight is the
    number of rows that joined it, and the harmonic solution is that of Proposition 1.

    Parameters
    ----------
    n_centroids : int
        Number of representatives, at most; there are never more than rows.
    similarity : Gaussian or SelfTuning
        Of the vertices; bandwidths that are measured are measured on them. `SelfTuning()` if not
        given.
    sink : float
        γ > 0.
    prior : None or "uniform"
        With "uniform", each class is divided by its mass on all rows (`balanced`).
    seed : int
        Of what is random about the choice.
    """

    def __init__(
        self,
        n_centroids: int = 200,
        similarity: FullSimilarity | None = None,
        sink: float = 1e-4,
        prior: Prior = None,
        seed: int = 0,
    ) -> None:
        check_whole("n_centroids", n_centroids, "200")
        check_number("sink", sink, 1e-300, 1e100, "1e-4")
        check_prior(prior)
        check_whole("seed", seed, "0", least=0)
        super().__init__()
        self.n_centroids = n_centroids
        self.similarity = as_euclidean(similarity)
        self.sink = sink
        self.prior = prior
        self.seed = seed

    @abstractmethod
    def _chosen(self, rows: Floats, k: int) -> tuple[Floats, Ints]:
        """Return up to k points that stand for the rows, and which one each row joins."""

    def _scores(self, rows: Floats) -> Floats:
        chosen, joined = self._chosen(rows, min(self.n_centroids, len(rows)))
        used, self.joined = np.unique(joined, return_inverse=True)
        self.points = chosen[used]
        self.counts = np.bincount(self.joined).astype(np.float64)
        known = (self.taught.rows, self.taught.one_hot)
        f = harmonic_values(*known, self.points, self.counts, self.similarity, self.sink)
        self.values = balanced(f, self.counts) if self.prior else f
        return self.values[self.joined]


def harmonic_values(
    labelled: Floats,
    y: Floats,
    points: Floats,
    counts: Floats,
    similarity: FullSimilarity,
    sink: float,
) -> Floats:
    """Return the harmonic solution at the points, each of which counts for several examples.

    Examples
    --------
    >>> from labelwalk.similarity import Gaussian
    >>> ends, y = np.array([[0.0], [2.0]]), np.eye(2)
    >>> middle = np.array([[1.0]])
    >>> harmonic_values(ends, y, middle, np.array([9.0]), Gaussian(1.0), 1e-9).round(3)
    array([[0.5, 0.5]])
    """
    w = similarity_matrix(np.vstack([labelled, points]), similarity)
    is_labelled = np.arange(len(w)) < len(labelled)
    targets = np.vstack([y, np.zeros((len(points), y.shape[1]))])
    weights = np.concatenate([np.ones(len(labelled)), counts])
    return solve(w, is_labelled, targets, weights=weights, sink=sink)[len(labelled) :]
