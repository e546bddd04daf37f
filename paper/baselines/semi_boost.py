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

What the sources leave open is done so. (1) h_i(x) = 0 is no vote: it adds nothing to H, and is
neither right nor wrong. (2) Right and wrong start at 1, so that e = ½. (3) There is a regressor for
each class, against all others; the answer is the class with the largest H. (4) P has the form of
the weak learners: where the nearest label is within reach, w ≥ ε_p, P is 1 for its class and −1 for
all others, and where none is, P is 0, so that a stranger is never a reason to recognise anybody. (A
soft P, the margin of similarities, recognised every stranger among the faces of one man.) (5) A
class knows only examples since the call that taught it first; what comes before any label is not
learned. Nothing is random here but the choice of candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.parameters import check_number, check_whole
from labelwalk.rows import as_rows
from labelwalk.similarity import Gaussian
from paper.baselines.full_graph import fixed_bandwidth, gaussian_similarities
from paper.baselines.said import Classes, Said

AT_ONCE = 1024  # rows compared with the candidates at a time


class SemiBoost:
    """Boosted neighbourhoods of candidates, with pseudo-labels from a nearest-neighbour prior.

    Parameters
    ----------
    candidates : (m, d) array
        Centres of the weak learners, such as a sample of the stream; they do not change.
    similarity : Gaussian
        With a number as bandwidth.
    epsilon : float
        ε, above 0 and up to 1: the similarity at which a neighbourhood ends.
    n_selectors : int
        Weak learners in each regressor; never more than there are candidates.
    prior_epsilon : float, optional
        ε_p: the similarity at which the reach of a label ends; ε if not given.

    Examples
    --------
    >>> method = SemiBoost([[0.5], [4.5]], Gaussian(1.0), epsilon=0.5)
    >>> method.teach([[0.0], [5.0]], ["low", "high"])
    >>> method.observe([[0.6], [2.5], [4.4]]).label
    array(['low', None, 'high'], dtype=object)
    """

    online: ClassVar[bool] = True

    def __init__(
        self,
        candidates: ArrayLike,
        similarity: Gaussian,
        epsilon: float,
        n_selectors: int = 50,
        prior_epsilon: float | None = None,
    ) -> None:
        self.candidates = as_rows(candidates, None)[0].copy()
        self.bandwidth = fixed_bandwidth(similarity)
        check_number("epsilon", epsilon, 0, 1, "0.1", above=True)
        check_whole("n_selectors", n_selectors, "50")
        if prior_epsilon is not None:
            check_number("prior_epsilon", prior_epsilon, 0, 1, "0.1, or None", above=True)
        self.epsilon = epsilon
        self.prior_epsilon = epsilon if prior_epsilon is None else prior_epsilon
        self.classes = Classes()
        self.labelled: Floats = np.empty((0, self.candidates.shape[1]))
        self.codes: Ints = np.empty(0, dtype=np.int64)
        n = min(n_selectors, len(self.candidates))
        self.right: Floats = np.empty((n, 0, len(self.candidates)))
        self.wrong: Floats = np.empty((n, 0, len(self.candidates)))
        self.chosen: Ints = np.empty((n, 0), dtype=np.int64)
        self.alpha: Floats = np.empty((n, 0))

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Make labelled examples part of the prior, and boost with each in turn."""
        rows, _ = as_rows(X, self.candidates.shape[1])
        codes = self.classes.codes(labels, len(rows))
        self.labelled = np.vstack([self.labelled, rows])
        self.codes = np.concatenate([self.codes, codes])
        self._make_room(len(self.classes) - self.alpha.shape[1])
        for h, own in zip(self._votes(rows), self.classes.one_hot(codes), strict=True):
            self._boost(h, _supervised(2.0 * own - 1.0))

    def observe(self, X: ArrayLike) -> Said:
        """Answer each row as of its own step, then boost with it."""
        rows, _ = as_rows(X, self.candidates.shape[1])
        H = np.zeros((len(rows), len(self.classes)))
        if not len(self.classes):
            return self.classes.said(H)
        for start in range(0, len(rows), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            passing = zip(self._votes(rows[some]), self._prior(rows[some]), strict=True)
            for t, (h, prior) in enumerate(passing, start):
                H[t] = _share((self.alpha * h[self.chosen]).sum(axis=0), self.alpha.sum(axis=0))
                self._boost(h, _unsupervised(prior))
        return self.classes.said(H)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays held."""
        return sum(held.nbytes for held in vars(self).values() if isinstance(held, np.ndarray))

    def _boost(self, h: Floats, importance: Callable[[Floats], Floats]) -> None:
        """Let an example pass the selectors; `importance` of H so far carries the sign of z."""
        if not h.any():  # nobody votes, nothing changes
            return
        every = np.arange(len(self.classes))
        H, total = np.zeros(len(every)), np.zeros(len(every))
        free = np.ones(self.right.shape[1:])
        for n in range(len(self.alpha)):
            z = importance(_share(H, total))[:, None]
            self.right[n] += np.maximum(z, 0.0) * h
            self.wrong[n] += np.maximum(-z, 0.0) * h
            odds = self.right[n] / self.wrong[n] * free  # (1 - e) / e
            best = odds.argmax(axis=1)
            self.chosen[n] = best
            self.alpha[n] = np.log(np.maximum(odds[every, best], 1.0))
            free[every, best] = 0.0
            H += self.alpha[n] * h[best]
            total += self.alpha[n]

    def _votes(self, rows: Floats) -> Floats:
        return np.where(self._similarities(rows, self.candidates) >= self.epsilon, 1.0, 0.0)

    def _prior(self, rows: Floats) -> Floats:
        """1 for the class of the nearest label, -1 for all others; 0 where no label is near."""
        w = self._similarities(rows, self.labelled)
        nearest, near = self.codes[w.argmax(axis=1)], w.max(axis=1) >= self.prior_epsilon
        votes: Floats = np.where(near[:, None], 2.0 * self.classes.one_hot(nearest) - 1.0, 0.0)
        return votes

    def _similarities(self, rows: Floats, others: Floats) -> Floats:
        return gaussian_similarities(rows, others, self.bandwidth)

    def _make_room(self, n_new: int) -> None:
        more = ((0, 0), (0, n_new))
        self.right = np.pad(self.right, (*more, (0, 0)), constant_values=1.0)
        self.wrong = np.pad(self.wrong, (*more, (0, 0)), constant_values=1.0)
        self.chosen, self.alpha = np.pad(self.chosen, more), np.pad(self.alpha, more)


def _share(part: Floats, total: Floats) -> Floats:
    share: Floats = part / np.where(total > 0.0, total, 1.0)
    return share


def _supervised(y: Floats) -> Callable[[Floats], Floats]:
    return lambda share: y * np.exp(-y * share)


def _unsupervised(prior: Floats) -> Callable[[Floats], Floats]:
    wanted = np.tanh(2.0 * prior)
    return lambda share: wanted - np.tanh(2.0 * share)
