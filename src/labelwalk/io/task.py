"""What to do with a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from labelwalk.io.batch import Answers
from labelwalk.io.columns import Columns
from labelwalk.io.fault import OnError
from labelwalk.io.formats import Reading, format_of
from labelwalk.learner import OnlineLearner

PREDICTED = "predicted_"
# what may be changed when a run goes on: how faults are met, and whether to wait for more
FREE = ("columns", "reading", "on_error", "follow", "taught_by")


@dataclass(frozen=True)
class Task:
    """What to do with a stream.

    Attributes
    ----------
    input, output : str
        Paths, "-", or kafka://host:port/topic. No output: nothing is written.
    columns : Columns
    reading : Reading
    to : str, optional
        Format of the output; None: by its name, or that of the input.
    learn : bool
        Whether rows are learned as they pass.
    all_labelled : bool
        Whether a row without a label cannot be used.
    prefix : str, optional
        Before the names of the new columns. None: nothing, or `predicted_` where the input has
        columns of the same names.
    unlabeled : str
        What stands for no label in its column, beside nothing.
    on_error : "stop", "skip" or "report"
        What becomes of a row that cannot be understood: it ends the run; it goes to `rejects`; or
        that, and is reported at once.
    rejects : str, optional
        A path; None: that of the output, with an ending.
    example_ids : bool
        Whether to add a column with the number of each example, for `teach_later`.
    taught_by : names
        The features of a learner whose file has no names: they are taken by name, whatever their
        order.
    """

    input: str
    output: str | None = None
    columns: Columns = field(default_factory=Columns)
    reading: Reading = field(default_factory=Reading)
    to: str | None = None
    learn: bool = True
    all_labelled: bool = False
    prefix: str | None = None
    unlabeled: str = ""
    on_error: OnError = "stop"
    rejects: str | None = None
    example_ids: bool = False
    taught_by: tuple[str, ...] = ()

    def for_learner(self, learner: OnlineLearner) -> Task:
        """Return the task with the features that a learner was taught by."""
        own = tuple(dict.fromkeys(learner.feature_names))
        return replace(self, taught_by=own or self.taught_by)

    @property
    def reject_path(self) -> str:
        """Where rows go that cannot be understood."""
        named = self.output not in (None, "-") and not str(self.output).startswith("kafka://")
        return self.rejects or f"{self.output if named else 'labelwalk'}.rejects.ndjson"

    @property
    def output_format(self) -> str:
        """The format of the output: its own, or that of the input if that can be written here."""
        if self.to is not None or self.output != "-":
            return format_of(str(self.output), self.to)
        kind = format_of(self.input, self.reading.format)
        return kind if kind in ("csv", "tsv", "arrow", "arrows") else "ndjson"

    def prefix_among(self, names: Sequence[str]) -> str:
        """Return what stands before the names of the new columns, given those of the input."""
        if self.prefix is not None:
            return self.prefix
        return PREDICTED if any(name in names for name in Answers._fields) else ""

    def described(self) -> dict[str, Any]:
        """Return what tells this task from others, as JSON can hold it."""
        told: dict[str, Any] = {}
        for part in (asdict(self), asdict(self.reading), asdict(self.columns)):
            for name, value in part.items():
                told[name] = list(value) if isinstance(value, tuple) else value
        return {name: value for name, value in told.items() if name not in FREE}
