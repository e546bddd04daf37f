"""What methods have in common that see the whole stream before they answer any of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.baselines.said import Classes, Said
from labelwalk.rows import as_rows


class Offline(ABC):
    """Labelled examples first, then one call of `observe`, which sees all its rows together."""

    online: ClassVar[bool] = False

    def __init__(self) -> None:
        self.classes = Classes()
        self.labelled: Floats = np.empty((0, 0))
        self.codes: Ints = np.empty(0, dtype=np.int64)
        self.rows: Floats | None = None

    @abstractmethod
    def _scores(self, rows: Floats) -> Floats:
        """Return a number for each row and class; there is at least one class."""

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Keep labelled examples."""
        self._check_unanswered()
        rows, _ = as_rows(X, self.labelled.shape[1] or None)
        codes = self.classes.codes(labels, len(rows))
        self.labelled = np.vstack([self.labelled.reshape(-1, rows.shape[1]), rows])
        self.codes = np.concatenate([self.codes, codes])

    def observe(self, X: ArrayLike) -> Said:
        """Answer all rows, each with all others in view; None where no label reaches a row."""
        self._check_unanswered()
        rows, _ = as_rows(X, self.labelled.shape[1] or None)
        scores = self._scores(rows) if len(self.classes) else np.empty((len(rows), 0))
        self.rows = rows
        return self.classes.said(scores)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays held."""
        return sum(held.nbytes for held in vars(self).values() if isinstance(held, np.ndarray))

    def _check_unanswered(self) -> None:
        if self.rows is not None:
            raise ValueError(
                f"this {type(self).__name__} has answered its stream, and sees only one. Give all "
                "labels first and all rows in one call, or make a new one."
            )
