"""Online manifold regularization of support vector machines (Goldberg, Li and Zhu 2008).

f(x) = Σ_i α_i K(x_i, x) over a buffer of examples. At step t it goes against the gradient of::

    J_t(f) = hinge(y_t f(x_t)) + λ₁/2 ‖f‖² + λ₂ Σ_i w_it (f(x_i) − f(x_t))²,

the first term for labelled examples only and the sum over the buffer, by η_t = η₀ / √t. Here K and
w are the same Gaussian, w cut at its threshold. Of the two ways of the authors to bound memory this
is the buffer, not the random projection tree. Our own choices: in a full buffer the oldest
unlabelled example makes room, the oldest of all where there is none, and its α is lost; the sum is
not scaled up from the buffer to the whole stream, nor the hinge by how rare labels are; and f is
scaled back to ‖f‖² = 2 / λ₁ before a step where it is larger, which the f of least risk never is.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.similarity import Gaussian
from paper.baselines.full_graph import compute_similarities
from paper.baselines.predictions import Baseline, ClassNames, Predictions


class ManifoldSVM(Baseline):
    """Support vector machines, one for each class against the rest, that learn from every example.

    A class uses only labels since the call that taught it first. The answer is the class with the
    largest f, positive or not. It is None before any label, and for an example that is similar to
    nothing in the buffer. The confidence is `½ + ½ f / (1 + |f|)`.

    Parameters
    ----------
    similarity : Gaussian
        It is both K and, cut at its threshold, w.
    buffer : int
        Number of examples in the buffer.
    step, shrink, smooth : float
        η₀ > 0, λ₁ > 0 and λ₂ ≥ 0. No step overshoots if step · (shrink + smooth · buffer) ≤ 2, and
        few if it is somewhat more; f stays bounded in any case.

    Examples
    --------
    >>> method = ManifoldSVM(Gaussian(1.0))
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.6], [4.4], [99.0]]).label
    array(['low', 'high', None], dtype=object)
    """

    def __init__(
        self,
        similarity: Gaussian,
        buffer: int = 200,
        step: float = 1.0,
        shrink: float = 1e-3,
        smooth: float = 1e-2,
    ) -> None:
        self.sigma, self.threshold = float(similarity.bandwidth), similarity.threshold
        self.step, self.shrink, self.smooth = step, shrink, smooth
        self.classes = ClassNames()
        self.n_seen = self.n_stored = 0
        self.points: Floats = np.empty((buffer, 0))
        self.kernel: Floats = np.zeros((buffer, buffer))
        self.alpha: Floats = np.zeros((buffer, 0))
        self.step_added: Ints = np.zeros(buffer, dtype=np.int64)
        self.is_labelled: Bools = np.zeros(buffer, dtype=np.bool_)

    def teach(self, X: ArrayLike, labels: Iterable[Label]) -> None:
        """Take a step with each labelled example in turn."""
        rows, codes = np.asarray(X, dtype=np.float64), self.classes.encode(labels)
        self._reserve(rows.shape[1])
        for x, target in zip(rows, self.classes.one_hot(codes), strict=True):
            self._learn(x, self._compare(x), 2.0 * target - 1.0)

    def observe(self, X: ArrayLike) -> Predictions:
        """Answer each row at its own step, then take a step with it."""
        rows = np.asarray(X, dtype=np.float64)
        self._reserve(rows.shape[1])
        scores = np.zeros((len(rows), len(self.classes)))
        for t, x in enumerate(rows):
            k = self._compare(x)
            if k.any():
                f = k @ self.alpha[: self.n_stored]
                scores[t] = 0.5 + 0.5 * f / (1.0 + np.abs(f))
            self._learn(x, k, None)
        return self.classes.decide(scores)

    def _learn(self, x: Floats, k: Floats, y: Floats | None) -> None:
        """Take a step with an example; y is ±1 for each class, None without a label."""
        self.n_seen += 1
        n, eta = self.n_stored, self.step / np.sqrt(self.n_seen)
        f = self.kernel[:n, :n] @ self.alpha[:n]
        norm = np.sqrt(np.maximum((self.alpha[:n] * f).sum(axis=0), 0.0))
        scale = 1.0 / np.maximum(1.0, norm * np.sqrt(self.shrink / 2.0))
        alpha, f = self.alpha[:n] * scale, f * scale
        f_t = k @ alpha
        w = np.where(k < self.threshold, 0.0, k)[:, None]
        pull = 2.0 * eta * self.smooth * w * (f - f_t)
        self.alpha[:n] = (1.0 - eta * self.shrink) * alpha - pull
        new_alpha = pull.sum(axis=0)
        if y is not None:
            new_alpha += eta * np.where(y * f_t < 1.0, y, 0.0)
        i = self._choose_slot()
        self.n_stored = max(self.n_stored, i + 1)
        self.points[i], self.alpha[i] = x, new_alpha
        self.kernel[i, : len(k)] = self.kernel[: len(k), i] = k
        self.kernel[i, i] = 1.0
        self.step_added[i], self.is_labelled[i] = self.n_seen, y is not None

    def _choose_slot(self) -> int:
        if self.n_stored < len(self.points):
            return self.n_stored
        unlabelled = np.flatnonzero(~self.is_labelled)
        leaving = unlabelled if len(unlabelled) else np.arange(len(self.points))
        return int(leaving[self.step_added[leaving].argmin()])

    def _compare(self, x: Floats) -> Floats:
        return compute_similarities(x[None], self.points[: self.n_stored], self.sigma).reshape(-1)

    def _reserve(self, n_features: int) -> None:
        if self.points.shape[1] == 0:
            self.points = np.zeros((len(self.points), n_features))
        n_new_classes = len(self.classes) - self.alpha.shape[1]
        self.alpha = np.pad(self.alpha, ((0, 0), (0, n_new_classes)))
