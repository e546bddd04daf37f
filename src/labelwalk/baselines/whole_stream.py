"""What methods have in common that see the whole stream before they answer any of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Label
from labelwalk.baselines.said import Said
from labelwalk.baselines.taught import Taught
from labelwalk.parameters import shown
from labelwalk.rows import as_rows

Prior = Literal["uniform"] | None


class Offline(ABC):
    """Labelled examples first, then one call of `observe`, which sees all its rows together."""

    online: ClassVar[bool] = False

    def __init__(self) -> None:
        self.taught = Taught()
        self.answered = False

    @abstractmethod
    def _scores(self, rows: Floats) -> Floats:
        """Return a number for each row and class; there is at least one class."""

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Keep labelled examples until the stream comes."""
        self._check_unanswered()
        self.taught.add(X, labels)

    def observe(self, X: ArrayLike) -> Said:
        """Answer all rows, each with all others in view; None where no label reaches a row.

        Raises
        ------
        ValueError
            There was a stream before, or this one is too long.
        """
        self._check_unanswered()
        rows, _ = as_rows(X, self.taught.n_features)
        classes = self.taught.classes
        scores = self._scores(rows) if len(classes) else np.empty((len(rows), 0))
        self.answered = True
        return classes.said(scores)

    @property
    def nbytes(self) -> int:
        """Memory taken by the labelled examples, and by what else is kept."""
        kept = (held.nbytes for held in vars(self).values() if isinstance(held, np.ndarray))
        return self.taught.nbytes + sum(kept)

    def _check_unanswered(self) -> None:
        if self.answered:
            raise ValueError(
                f"this {type(self).__name__} has answered its stream, and sees only one. Give all "
                "labels first and all rows in one call, or make a new one."
            )


def check_prior(prior: object) -> None:
    """Refuse what is neither None nor "uniform"."""
    if prior not in (None, "uniform"):
        raise ValueError(f"prior={shown(prior)} is unknown. Choose None or 'uniform'.")


def balanced(f: Floats, counts: Floats) -> Floats:
    """Class mass normalisation: divide each class by its mass; each row keeps its own sum.

    Examples
    --------
    >>> balanced(np.array([[0.6, 0.2], [0.5, 0.1]]), np.ones(2)).round(3)
    array([[0.36 , 0.44 ],
           [0.346, 0.254]])
    """
    mass = counts @ f
    even = f / np.where(mass > 0.0, mass, 1.0)
    total = even.sum(axis=1, keepdims=True)
    shares = even / np.where(total > 0.0, total, 1.0)
    scores: Floats = shares * f.sum(axis=1, keepdims=True)
    return scores
