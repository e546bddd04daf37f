"""Online manifold regularization of support vector machines (Goldberg, Li and Zhu 2008).

f(x) = Σ_i α_i K(x_i, x) over a buffer of examples. At step t it goes against the gradient of::

    J_t(f) = hinge(y_t f(x_t)) + λ₁/2 ‖f‖² + λ₂ Σ_i w_it (f(x_i) − f(x_t))²,

the first term for labelled examples only and the sum over the buffer, by η_t = η₀ / √t. Here K and
w are the same Gaussian, w cut at its threshold. Of the two ways of the authors to bound memory this
is the buffer, not the random projection tree. Choices of our own: in a full buffer the oldest
unlabelled example makes room, the oldest of all where there is none, and its α is lost; the sum is
not scaled up from the buffer to the whole stream, nor the hinge by how rare labels are; and f is
scaled back to ‖f‖² = 2 / λ₁ before a step where it is larger, which the f of least risk never is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.one_thread import one_blas_thread
from labelwalk.parameters import check_number, check_whole
from labelwalk.rows import as_rows
from labelwalk.similarity import Gaussian
from paper.baselines.full_graph import fixed_bandwidth, gaussian_similarities
from paper.baselines.said import Classes, Said


class ManifoldSVM:
    """Support vector machines, one for each class against the rest, that learn from every example.

    A class knows only labels since the call that taught it first. The answer is the class with the
    largest f, positive or not. It is None before any label, and where the example is similar to
    nothing in the buffer. The confidence is `½ + ½ f / (1 + |f|)`.

    Parameters
    ----------
    similarity : Gaussian
        With a number as bandwidth; it is both K and, cut at its threshold, w.
    buffer : int
        How many examples are kept.
    step : float
        η₀ > 0. No step overshoots where step · (shrink + smooth · buffer) ≤ 2, and few where it
        is somewhat more; f stays bounded in any case.
    shrink : float
        λ₁ > 0.
    smooth : float
        λ₂ ≥ 0.

    Examples
    --------
    >>> method = ManifoldSVM(Gaussian(1.0))
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.6], [4.4], [99.0]]).label
    array(['low', 'high', None], dtype=object)
    """

    online: ClassVar[bool] = True

    def __init__(
        self,
        similarity: Gaussian,
        buffer: int = 200,
        step: float = 1.0,
        shrink: float = 1e-3,
        smooth: float = 1e-2,
    ) -> None:
        self.bandwidth, self.threshold = fixed_bandwidth(similarity), similarity.threshold
        check_whole("buffer", buffer, "200", most=20_000)
        check_number("step", step, 0, 1e10, "1", above=True)
        check_number("shrink", shrink, 1e-10, 1e10, "1e-3")
        check_number("smooth", smooth, 0, 1e10, "0.01, or 0 to learn from labels only")
        self.step, self.shrink, self.smooth = step, shrink, smooth
        self.classes = Classes()
        self.n_seen = self.n_kept = 0
        self.points: Floats = np.empty((buffer, 0))
        self.kernel: Floats = np.zeros((buffer, buffer))
        self.alpha: Floats = np.zeros((buffer, 0))
        self.born: Ints = np.zeros(buffer, dtype=np.int64)
        self.is_labelled: Bools = np.zeros(buffer, dtype=np.bool_)

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Take a step with each labelled example in turn."""
        rows, _ = as_rows(X, self.points.shape[1] or None)
        codes = self.classes.codes(labels, len(rows))
        self._make_room(rows.shape[1])
        with one_blas_thread():
            for x, own in zip(rows, self.classes.one_hot(codes), strict=True):
                self._learn(x, self._kernel(x), 2.0 * own - 1.0)

    def observe(self, X: ArrayLike) -> Said:
        """Answer each row as of its own step, then take a step with it."""
        rows, _ = as_rows(X, self.points.shape[1] or None)
        self._make_room(rows.shape[1])
        scores = np.zeros((len(rows), len(self.classes)))
        with one_blas_thread():
            for t, x in enumerate(rows):
                k = self._kernel(x)
                if k.any():
                    f = k @ self.alpha[: self.n_kept]
                    scores[t] = 0.5 + 0.5 * f / (1.0 + np.abs(f))
                self._learn(x, k, None)
        return self.classes.said(scores)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays held."""
        return sum(held.nbytes for held in vars(self).values() if isinstance(held, np.ndarray))

    def _learn(self, x: Floats, k: Floats, y: Floats | None) -> None:
        self.n_seen += 1
        n, eta = self.n_kept, self.step / np.sqrt(self.n_seen)
        f = self.kernel[:n, :n] @ self.alpha[:n]
        norm = np.sqrt(np.maximum((self.alpha[:n] * f).sum(axis=0), 0.0))
        back = 1.0 / np.maximum(1.0, norm * np.sqrt(self.shrink / 2.0))
        alpha, f = self.alpha[:n] * back, f * back
        f_t = k @ alpha
        w = np.where(k < self.threshold, 0.0, k)[:, None]
        pull = 2.0 * eta * self.smooth * w * (f - f_t)
        self.alpha[:n] = (1.0 - eta * self.shrink) * alpha - pull
        own = pull.sum(axis=0)
        if y is not None:
            own += eta * np.where(y * f_t < 1.0, y, 0.0)
        self._keep(x, k, own, labelled=y is not None)

    def _keep(self, x: Floats, k: Floats, alpha: Floats, *, labelled: bool) -> None:
        place = self._place()
        self.n_kept = max(self.n_kept, place + 1)
        self.points[place], self.alpha[place] = x, alpha
        self.kernel[place, : len(k)] = self.kernel[: len(k), place] = k
        self.kernel[place, place] = 1.0
        self.born[place], self.is_labelled[place] = self.n_seen, labelled

    def _place(self) -> int:
        if self.n_kept < len(self.born):
            return self.n_kept
        unlabelled = np.flatnonzero(~self.is_labelled)
        leaving = unlabelled if len(unlabelled) else np.arange(len(self.born))
        return int(leaving[self.born[leaving].argmin()])

    def _kernel(self, x: Floats) -> Floats:
        kept = self.points[: self.n_kept]
        return gaussian_similarities(x[None], kept, self.bandwidth).reshape(-1)

    def _make_room(self, n_features: int) -> None:
        if self.points.shape[1] == 0:
            self.points = np.zeros((len(self.born), n_features))
        n_new = len(self.classes) - self.alpha.shape[1]
        self.alpha = np.pad(self.alpha, ((0, 0), (0, n_new)))
