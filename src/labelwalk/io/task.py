"""The task of a run over a stream of rows, and its statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from labelwalk.arrays import Bools
from labelwalk.io.examples import Columns, Examples
from labelwalk.io.formats import ReadOptions, find_format
from labelwalk.io.rows import AnswerColumns

PREDICTED_PREFIX = "predicted_"
OnError: TypeAlias = Literal["stop", "skip", "report"]


@dataclass(frozen=True)
class Task:
    """Parameters of a run over a stream.

    Attributes
    ----------
    input, output : str
        Paths, "-", or kafka://host:port/topic. Without an output, nothing is written.
    columns : Columns
    reading : ReadOptions
    to : str, optional
        Format of the output; None: by its name, or that of the input.
    learn : bool
        Whether rows are learned as they pass.
    all_labelled : bool
        Whether a row without a label is an error.
    prefix : str, optional
        Prefix for the added columns. None: no prefix, or `predicted_` if the input has columns of
        these names.
    unlabeled : str
        A value that means "unlabelled", in addition to an empty one.
    on_error : "stop", "skip" or "report"
        A faulty row ends the run; is written to `rejects`; or is also reported at once.
    rejects : str, optional
        A path; None: that of the output, with a suffix.
    example_ids : bool
        Whether to add a column with the number of each example, for `teach_later`.
    taught_by : names
        The features of a learner whose file does not contain them.
    """

    input: str
    output: str | None = None
    columns: Columns = field(default_factory=Columns)
    reading: ReadOptions = field(default_factory=ReadOptions)
    to: str | None = None
    learn: bool = True
    all_labelled: bool = False
    prefix: str | None = None
    unlabeled: str = ""
    on_error: OnError = "stop"
    rejects: str | None = None
    example_ids: bool = False
    taught_by: tuple[str, ...] = ()

    @property
    def reject_path(self) -> str:
        """The path of the reject file."""
        is_file = self.output not in (None, "-") and not str(self.output).startswith("kafka://")
        return self.rejects or f"{self.output if is_file else 'labelwalk'}.rejects.ndjson"

    @property
    def output_format(self) -> str:
        """The format of the output: its own, or for stdout that of the input if possible."""
        if self.to is not None or self.output != "-":
            return find_format(str(self.output), self.to)
        kind = find_format(self.input, self.reading.format)
        return kind if kind in ("csv", "tsv", "arrow", "arrows") else "ndjson"

    def choose_prefix(self, names: Sequence[str]) -> str:
        """Return the prefix of the added columns, given the columns of the input."""
        if self.prefix is not None:
            return self.prefix
        return PREDICTED_PREFIX if any(name in names for name in AnswerColumns._fields) else ""


@dataclass
class RunStats:
    """Statistics of a run.

    Attributes
    ----------
    rows : int
        All rows, including skipped ones.
    taught, answered, outliers, skipped : int
        Rows with a label; rows without one that were named; outliers; faulty rows.
    judged, right : int
        Unlabelled rows with a known truth, and those of them that were named correctly.
    """

    rows: int = 0
    taught: int = 0
    answered: int = 0
    outliers: int = 0
    skipped: int = 0
    judged: int = 0
    right: int = 0

    def count(self, examples: Examples, answers: AnswerColumns, is_taught: Bools) -> None:
        """Count rows; `is_taught` marks those that were learned with a label."""
        self.rows += len(examples.rows)
        self.taught += int(is_taught.sum())
        self.answered += len(answers.label) - answers.label.count(None) - int(is_taught.sum())
        self.outliers += int(answers.outlier.sum())
        if examples.truths:
            rows = zip(examples.truths, answers.label, is_taught, strict=True)
            is_right = [truth == label for truth, label, taught in rows if truth and not taught]
            self.judged += len(is_right)
            self.right += sum(is_right)

    @property
    def unnamed(self) -> int:
        """Number of rows that were read and not labelled."""
        return self.rows - self.taught - self.answered - self.skipped

    @property
    def accuracy(self) -> float | None:
        """Accuracy, with abstentions counted as wrong; None without truth."""
        return self.right / self.judged if self.judged else None


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes
    ----------
    tally : RunStats
    share : float or None
        The share of the input that has been read; None if its length is unknown.
    rate : float or None
        Rows per second after the first batch, which may include compilation; None until then.
    """

    tally: RunStats
    share: float | None
    rate: float | None
