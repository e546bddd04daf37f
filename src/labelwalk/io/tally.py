"""What was counted on the way, for whoever watches."""

from __future__ import annotations

from dataclasses import dataclass

from labelwalk.arrays import Bools
from labelwalk.io.batch import Answers
from labelwalk.io.examples import Examples


@dataclass
class Tally:
    """What was counted so far.

    Attributes
    ----------
    rows : int
        Read, skipped ones included.
    taught, answered, outliers, skipped : int
        Rows with a label; without one, and named; like nothing known; not understood.
    judged, right : int
        Unlabelled rows whose truth is known, and those of them named rightly.
    """

    rows: int = 0
    taught: int = 0
    answered: int = 0
    outliers: int = 0
    skipped: int = 0
    judged: int = 0
    right: int = 0

    def count(self, examples: Examples, answers: Answers, given: Bools) -> None:
        """Take in rows; `given` says which came with a label to be learned."""
        self.rows += len(examples.rows)
        self.taught += int(given.sum())
        self.answered += len(answers.label) - answers.label.count(None) - int(given.sum())
        self.outliers += int(answers.outlier.sum())
        if examples.truths:
            told = zip(examples.truths, answers.label, given, strict=True)
            judged = [truth == said for truth, said, taught in told if truth and not taught]
            self.judged += len(judged)
            self.right += sum(judged)

    @property
    def unnamed(self) -> int:
        """Rows that were understood and got no name."""
        return self.rows - self.taught - self.answered - self.skipped

    @property
    def accuracy(self) -> float | None:
        """The share that was named rightly, abstaining counted as wrong; None without truth."""
        return self.right / self.judged if self.judged else None


@dataclass(frozen=True)
class SoFar:
    """How far a run has come, for whoever watches.

    Attributes
    ----------
    tally : Tally
    share : float or None
        Of the input that is read; None where its length is not known.
    rate : float or None
        Rows a second, after the first batch, which may have to wait for the compiler; None until
        then.
    """

    tally: Tally
    share: float | None
    rate: float | None
