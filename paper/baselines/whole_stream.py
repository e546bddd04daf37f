"""What methods have in common that see the whole stream before they answer any of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Label
from labelwalk.rows import as_rows
from paper.baselines.said import Said
from paper.baselines.taught import Taught


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
