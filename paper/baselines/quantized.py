"""Other ways to make the offline solution small: k-means, a random sample, Nyström."""

from abc import abstractmethod
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from labelwalk.arrays import Floats, Ints
from labelwalk.similarity import SelfTuning
from paper.baselines.full_graph import FullSimilarity, compute_similarities, solve_representatives
from paper.baselines.predictions import OfflineBaseline

NEGLIGIBLE = 1e-12  # smaller shares are rounding


class RepresentativeHarmonic(OfflineBaseline):
    """The harmonic solution on a few weighted points, each the representative of many rows.

    Labelled examples are vertices of weight 1, a representative weighs as much as the rows that
    are assigned to it, and each row gets the answer of its representative. There are never more
    representatives than rows.
    """

    def __init__(
        self,
        n_centroids: int = 200,
        similarity: FullSimilarity | None = None,
        sink: float = 1e-4,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.n_centroids, self.sink, self.seed = n_centroids, sink, seed
        self.similarity = similarity or SelfTuning()

    @abstractmethod
    def _choose(self, rows: Floats, k: int) -> tuple[Floats, Ints]:
        """Return up to k representatives, and the one of each row."""

    def _compute_scores(self, rows: Floats) -> Floats:
        points, assigned = self._choose(rows, min(self.n_centroids, len(rows)))
        used, self.assigned = np.unique(assigned, return_inverse=True)
        self.points = points[used]
        self.counts = np.bincount(self.assigned).astype(np.float64)
        self.values = solve_representatives(
            self.labelled, self.points, self.counts, self.similarity, self.sink
        )
        return self.values[self.assigned]


class KMeansHarmonic(RepresentativeHarmonic):
    """The harmonic solution on the means of k-means (Yan, Huang and Jordan 2009).

    Examples
    --------
    >>> from labelwalk import Gaussian
    >>> method = KMeansHarmonic(n_centroids=2, similarity=Gaussian(1.0))
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.2], [0.8], [4.4]]).label
    array(['low', 'low', 'high'], dtype=object)
    >>> method.points[:, 0]
    array([0.5, 4.4])
    """

    def _choose(self, rows: Floats, k: int) -> tuple[Floats, Ints]:
        means = KMeans(k, n_init=1, random_state=self.seed)
        with catch_warnings():
            simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than means
            assigned = means.fit_predict(rows).astype(np.int64)
        return means.cluster_centers_, assigned


class SampleHarmonic(RepresentativeHarmonic):
    """The harmonic solution on a random sample of the rows, drawn without replacement."""

    def _choose(self, rows: Floats, k: int) -> tuple[Floats, Ints]:
        drawn = np.random.default_rng(self.seed).choice(len(rows), k, replace=False)
        sample = rows[np.sort(drawn)]
        return sample, np.asarray(cdist(rows, sample).argmin(axis=1))


class NystromHarmonic(OfflineBaseline):
    """The harmonic solution on a low-rank approximation of the full graph.

    W ≈ G Gᵀ (`approximate_graph`). Degrees are the row sums of G Gᵀ, self loops included: they are
    on both sides of D − W and cancel. An approximated similarity may be negative, which no random
    walk allows. So an example whose approximated degree is not positive is disconnected and gets no
    answer; the system is kept as definite as it would be for a graph without negative similarities;
    and solutions within rounding of 0 are no answers. Landmarks are drawn from all examples,
    labelled ones too, without replacement.

    Examples
    --------
    >>> method = NystromHarmonic(n_landmarks=3, sigma=1.0)
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.2], [0.8], [4.4]]).label
    array(['low', 'low', 'high'], dtype=object)
    """

    def __init__(
        self, n_landmarks: int = 200, sigma: float = 1.0, sink: float = 0.1, seed: int = 0
    ) -> None:
        super().__init__()
        self.n_landmarks, self.sigma, self.sink, self.seed = n_landmarks, sigma, sink, seed

    def _compute_scores(self, rows: Floats) -> Floats:
        examples = np.vstack([self.labelled.rows, rows])
        m = min(self.n_landmarks, len(examples))
        drawn = np.random.default_rng(self.seed).choice(len(examples), m, replace=False)
        self.factor = approximate_graph(examples, examples[drawn], self.sigma)
        f = solve_low_rank(self.factor, self.labelled.one_hot, self.sink)
        return np.where(f > NEGLIGIBLE, f, 0.0)


def approximate_graph(examples: Floats, landmarks: Floats, sigma: float) -> Floats:
    """Return G with G Gᵀ ≈ the Gaussian similarities of all examples.

    G = C U Λ^-½, with the similarities C to the landmarks and U Λ Uᵀ of the landmarks. Unlike in
    scikit-learn's `Nystroem`, eigenvalues within rounding of 0 are left out.
    """
    size, U = eigh(compute_similarities(landmarks, landmarks, sigma))
    valid = size > NEGLIGIBLE * size.max()
    C = compute_similarities(examples, landmarks, sigma)
    return np.asarray(C @ (U[:, valid] / np.sqrt(size[valid])))


def solve_low_rank(G: Floats, y: Floats, sink: float) -> Floats:
    """Return the harmonic solution on W = G Gᵀ after the first rows, which have the labels y.

    The n × n system D + γ I − G Gᵀ is solved by Woodbury's identity in O(n m²).
    """
    d = G @ G.sum(axis=0)
    length = np.sqrt((G * G).sum(axis=1))
    G = np.where((d > NEGLIGIBLE * length * length.sum())[:, None], G, 0.0)
    labelled, free = G[: len(y)], G[len(y) :]
    total = np.maximum(d[len(y) :], 0.0) + sink
    votes = free @ (labelled.T @ y) / total[:, None]
    eigenvalues, Q = eigh(free.T @ (free / total[:, None]))
    # 1 - eigenvalues are those of I - A^-½ W A^-½, A = D + γ I: never less in a proper graph
    gaps = np.maximum(1.0 - eigenvalues, max(sink / total.max(), np.finfo(np.float64).eps))
    returns = Q @ ((Q.T @ (free.T @ votes)) / gaps[:, None])
    f: Floats = votes + free @ returns / total[:, None]
    return f
