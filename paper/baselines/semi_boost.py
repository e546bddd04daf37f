"""Online semi-supervised boosting (Grabner, Leistner and Bischof 2008), as section 5.2 changes it.

Weak learners are neighbourhoods of given candidates, h_i(x) = 1 where w(x_i, x) ≥ ε and else 0, and
the regressor of a class is H(x) = Σ_n α_n h_n(x), with a candidate for each selector n. An example
passes the selectors in order, and has a pseudo-label and an importance for each, which are the sign
and the size of::

    unlabelled:  z = tanh(2 P(x)) − tanh(2 F_{n−1}(x)),    P the prior, made from the labels alone;
    labelled:    z = y exp(−y F_{n−1}(x)),                 y = ±1.

F_{n−1} is H over the first n − 1 selectors as a share of their Σ α, from 0 to 1 as P is.

The importance is added to what each candidate with h_i(x) = 1 has got right (z > 0) or wrong
(z < 0) at this selector. The selector then takes the candidate of the smallest error
e = wrong / (right + wrong) that none before it has taken, the first of equals, and
α = ln((1 − e) / e), or 0 where that is negative: so H is 0 for outliers and never less.

The sources leave some choices open. (1) h_i(x) = 0 is no vote: it adds nothing to H, and is
neither right nor wrong. (2) Right and wrong start at 1, so that e = ½. (3) There is a regressor for
each class, against all others; the answer is the class with the largest H. (4) P has the form of
the weak learners: if the nearest label is within reach, w ≥ ε_p, P is 1 for its class and −1 for
all others, and else P is 0, so that a stranger is never a reason to recognise someone. (A soft P,
the margin of similarities, recognised every stranger among the faces of one man.) (5) A class uses
only examples since the call that taught it first. Only the choice of candidates is random.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.similarity import Gaussian
from paper.baselines.full_graph import compute_similarities
from paper.baselines.predictions import Baseline, LabelledBuffer, Predictions, divide

BATCH_ROWS = 1024  # compared with the candidates at a time


class SemiBoost(Baseline):
    """Boosted neighbourhoods of candidates, with pseudo-labels from a nearest-neighbour prior.

    Parameters
    ----------
    candidates : (m, d) array
        Centres of the weak learners, such as a sample of the stream; they do not change.
    similarity : Gaussian
    epsilon, prior_epsilon : float
        ε and ε_p, up to 1: the similarities at which a neighbourhood and the reach of a label end;
        by default both are ε.
    n_selectors : int
        Weak learners in each regressor; never more than there are candidates.

    Examples
    --------
    >>> method = SemiBoost([[0.5], [4.5]], Gaussian(1.0), epsilon=0.5)
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.6], [2.5], [4.4]]).label
    array(['low', None, 'high'], dtype=object)
    """

    def __init__(
        self,
        candidates: ArrayLike,
        similarity: Gaussian,
        epsilon: float,
        n_selectors: int = 50,
        prior_epsilon: float | None = None,
    ) -> None:
        self.candidates = np.array(candidates, dtype=np.float64)
        self.sigma = float(similarity.bandwidth)
        self.epsilon = epsilon
        self.prior_epsilon = epsilon if prior_epsilon is None else prior_epsilon
        self.labelled = LabelledBuffer()
        n = min(n_selectors, len(self.candidates))
        self.right: Floats = np.empty((n, 0, len(self.candidates)))
        self.wrong: Floats = np.empty((n, 0, len(self.candidates)))
        self.chosen: Ints = np.empty((n, 0), dtype=np.int64)
        self.alpha: Floats = np.empty((n, 0))

    def teach(self, X: ArrayLike, labels: Iterable[Label]) -> None:
        """Make labelled examples part of the prior, and boost with each in turn."""
        rows, n_before = np.asarray(X, dtype=np.float64), len(self.labelled.codes)
        self.labelled.add(rows, labels)
        n_new_classes = len(self.labelled.classes) - self.alpha.shape[1]
        widths = ((0, 0), (0, n_new_classes))
        self.right = np.pad(self.right, (*widths, (0, 0)), constant_values=1.0)
        self.wrong = np.pad(self.wrong, (*widths, (0, 0)), constant_values=1.0)
        self.chosen, self.alpha = np.pad(self.chosen, widths), np.pad(self.alpha, widths)
        targets = 2.0 * self.labelled.one_hot[n_before:] - 1.0
        for h, y in zip(self._vote(rows), targets, strict=True):
            self._boost(h, y, is_labelled=True)

    def observe(self, X: ArrayLike) -> Predictions:
        """Answer each row at its own step, then boost with it."""
        rows, classes = np.asarray(X, dtype=np.float64), self.labelled.classes
        H = np.zeros((len(rows), len(classes)))
        for start in range(0, len(rows) if len(classes) else 0, BATCH_ROWS):
            batch = rows[start : start + BATCH_ROWS]
            votes = zip(self._vote(batch), self._compute_prior(batch), strict=True)
            for t, (h, prior) in enumerate(votes, start):
                H[t] = divide((self.alpha * h[self.chosen]).sum(axis=0), self.alpha.sum(axis=0))
                self._boost(h, np.tanh(2.0 * prior), is_labelled=False)
        return classes.decide(H)

    def _boost(self, h: Floats, target: Floats, *, is_labelled: bool) -> None:
        """Let an example pass the selectors; the target is its y, or tanh(2 P) without a label."""
        if not h.any():  # without a vote nothing changes
            return
        index = np.arange(len(self.labelled.classes))
        H, total = np.zeros(len(index)), np.zeros(len(index))
        free = np.ones(self.right.shape[1:])
        for n in range(len(self.alpha)):
            share = divide(H, total)
            z = target * np.exp(-target * share) if is_labelled else target - np.tanh(2.0 * share)
            self.right[n] += np.maximum(z, 0.0)[:, None] * h
            self.wrong[n] += np.maximum(-z, 0.0)[:, None] * h
            odds = self.right[n] / self.wrong[n] * free  # (1 - e) / e
            best = odds.argmax(axis=1)
            self.chosen[n] = best
            self.alpha[n] = np.log(np.maximum(odds[index, best], 1.0))
            free[index, best] = 0.0
            H += self.alpha[n] * h[best]
            total += self.alpha[n]

    def _vote(self, rows: Floats) -> Floats:
        w = compute_similarities(rows, self.candidates, self.sigma)
        return np.where(w >= self.epsilon, 1.0, 0.0)

    def _compute_prior(self, rows: Floats) -> Floats:
        """1 for the class of the nearest label, -1 for all others; 0 if no label is near."""
        w = compute_similarities(rows, self.labelled.rows, self.sigma)
        nearest = self.labelled.codes[w.argmax(axis=1)]
        is_near = w.max(axis=1) >= self.prior_epsilon
        targets = 2.0 * self.labelled.classes.one_hot(nearest) - 1.0
        votes: Floats = np.where(is_near[:, None], targets, 0.0)
        return votes
