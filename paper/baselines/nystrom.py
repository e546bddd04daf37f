"""The Nyström approximation of the offline harmonic solution: low rank in place of quantization.

With the similarities C of all n examples to m landmarks and B of the landmarks to each other::

    W ≈ C B⁺ Cᵀ = G Gᵀ,        G = C U Λ^-½,        B = U Λ Uᵀ,

where eigenvalues that are negative or within rounding of 0 are left out. Degrees are the row sums
of G Gᵀ, self loops included: they are on both sides of D − W and cancel. The n × n system
D + γ I − G Gᵀ of the unlabelled examples is solved by Woodbury's identity in O(n m²).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from labelwalk.arrays import Floats
from labelwalk.one_thread import one_blas_thread
from labelwalk.parameters import check_number, check_whole
from labelwalk.similarity import Gaussian
from paper.baselines.full_graph import (
    MOST_BYTES,
    fixed_bandwidth,
    gaussian_similarities,
    scale_bandwidth,
)
from paper.baselines.whole_stream import Offline

CUT_OFF = 1e-12  # of the largest: what is smaller is rounding


class NystromHarmonic(Offline):
    """The harmonic solution on a low-rank approximation of the full graph.

    An approximated similarity may be negative, which no random walk understands. What is done:
    an example whose approximated degree is not positive is cut off and gets no answer; the
    system is held as definite as it would be for a graph without negative similarities; and
    solutions within rounding of 0 are no answers. A confidence that leaves [0, 1] is clipped.

    Parameters
    ----------
    n_landmarks : int
        m: examples drawn from all, labelled ones too, without replacement.
    similarity : Gaussian
        Its bandwidth is a number, or "scale", measured on all examples; this is the default. A
        threshold above 0 makes the approximation worse: a Gaussian that is cut is no kernel.
    sink : float
        γ > 0.
    seed : int
        Of the landmarks.

    Examples
    --------
    >>> method = NystromHarmonic(n_landmarks=3, similarity=Gaussian(1.0, threshold=0.0))
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.2], [0.8], [4.4]]).label
    array(['low', 'low', 'high'], dtype=object)
    """

    def __init__(
        self,
        n_landmarks: int = 200,
        similarity: Gaussian | None = None,
        sink: float = 0.1,
        seed: int = 0,
    ) -> None:
        check_whole("n_landmarks", n_landmarks, "200")
        check_number("sink", sink, 1e-300, 1e100, "0.1")
        check_whole("seed", seed, "0", least=0)
        similarity = Gaussian("scale", threshold=0.0) if similarity is None else similarity
        if getattr(similarity, "bandwidth", None) != "scale":
            fixed_bandwidth(similarity)
        super().__init__()
        self.n_landmarks = n_landmarks
        self.similarity = similarity
        self.sink = sink
        self.seed = seed

    def _scores(self, rows: Floats) -> Floats:
        everyone = np.vstack([self.taught.rows, rows])
        with one_blas_thread():
            self.factor = self._factor(everyone)
            f = harmonic_values(self.factor, self.taught.one_hot, self.sink)
        return np.where(f > CUT_OFF, f, 0.0)

    def _factor(self, points: Floats) -> Floats:
        m = min(self.n_landmarks, len(points))
        if 8 * 2 * m * len(points) > MOST_BYTES:
            raise ValueError(
                f"n_landmarks={m} for {len(points)} examples needs more than 4 GiB. Try fewer."
            )
        scale = self.similarity.bandwidth == "scale"
        sigma = scale_bandwidth(points) if scale else fixed_bandwidth(self.similarity)
        drawn = np.random.default_rng(self.seed).choice(len(points), m, replace=False)
        C = gaussian_similarities(points, points[drawn], sigma, self.similarity.threshold)
        return low_rank_factor(C, C[drawn])


def low_rank_factor(C: Floats, B: Floats) -> Floats:
    """Return G with G Gᵀ = C B⁺ Cᵀ, up to the eigenvalues of B that are left out.

    Examples
    --------
    >>> W = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> G = low_rank_factor(W, W)
    >>> (G @ G.T).round(12)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    size, U = eigh(B)
    kept = size > CUT_OFF * size.max()
    G: Floats = C @ (U[:, kept] / np.sqrt(size[kept]))
    return G


def harmonic_values(G: Floats, y: Floats, sink: float) -> Floats:
    """Return the harmonic solution on W = G Gᵀ after the first rows, which have the labels y.

    Examples
    --------
    An unlabelled vertex, of equal similarity 1 to two labelled ones, and a sink of 1.

    >>> G = np.array([[1.0], [1.0], [1.0]])
    >>> harmonic_values(G, np.eye(2), 1.0)
    array([[0.333, 0.333]])
    """
    d = G @ G.sum(axis=0)
    length = np.sqrt((G * G).sum(axis=1))
    G = np.where((d > CUT_OFF * length * length.sum())[:, None], G, 0.0)
    labelled, free = G[: len(y)], G[len(y) :]
    total = np.maximum(d[len(y) :], 0.0) + sink
    votes = free @ (labelled.T @ y) / total[:, None]
    around, Q = eigh(free.T @ (free / total[:, None]))
    # 1 - around are eigenvalues of I - A^-½ W A^-½, A = D + γ I: never less in a proper graph
    left = np.maximum(1.0 - around, max(sink / total.max(), np.finfo(np.float64).eps))
    returns = Q @ ((Q.T @ (free.T @ votes)) / left[:, None])
    f: Floats = votes + free @ returns / total[:, None]
    return f
