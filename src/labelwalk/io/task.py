"""The task of a run over a stream of rows, its statistics, and its checkpoint."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from labelwalk.arrays import Bools
from labelwalk.errors import LabelwalkError
from labelwalk.io.examples import Columns, Examples
from labelwalk.io.formats import ReadOptions, find_format
from labelwalk.io.rows import AnswerColumns, Position
from labelwalk.learner import OnlineLearner, load
from labelwalk.storage.model_file import read

PREDICTED_PREFIX = "predicted_"
OnError: TypeAlias = Literal["stop", "skip", "report"]

# Stored names of checkpoints are those of version 0.4. A resumed run may differ in all other
# fields of its task: the treatment of faulty rows, and whether to wait for more at the end.
STORED_TASK = {  # attribute of `Task` -> stored name
    **{name: name for name in ("input", "output", "to", "learn", "all_labelled", "prefix")},
    **{name: name for name in ("unlabeled", "rejects", "example_ids")},
    **{f"reading.{name}": name for name in ("format", "delimiter", "header", "embed")},
    **{f"columns.{name}": name for name in ("features", "label", "id", "truth", "source")},
    **{f"columns.{name}": name for name in ("drop", "label_optional")},
}
STORED_FIELDS = {  # attribute of `RunCheckpoint` -> stored name
    "task": "task",
    "initial_digest": "began",
    "position": "position",
    "output_size": "output",
    "rejects_size": "rejects",
    "widths": "widths",
    "recent_ids": "recent",
    "stats": "tally",
    "is_finished": "finished",
}
STORED_STATS = {  # attribute of `RunStats` -> stored name
    name: name for name in ("rows", "taught", "answered", "outliers", "skipped", "judged", "right")
}


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
            return find_format(str(self.output), self.to, is_output=True)
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


class CheckpointError(LabelwalkError, ValueError):
    """The checkpoint belongs to another run."""


@dataclass
class RunCheckpoint:
    """The progress of a run, stored with its learner in one file that is replaced atomically."""

    task: dict[str, Any]  # the stored fields of the task, which identify the run
    initial_digest: str = ""  # of the learner at the beginning of the run
    position: Position | None = None  # of the source
    output_size: int | None = None  # to resume the sink from, as the next one for the reject file
    rejects_size: int | None = None
    # state of the `ExampleReader`; pairs, since a model file sorts the keys of objects
    widths: list[list[Any]] = field(default_factory=list)
    recent_ids: list[str] = field(default_factory=list)
    stats: RunStats = field(default_factory=RunStats)
    is_finished: bool = False

    def save(self, path: str, learner: OnlineLearner) -> None:
        """Write the progress and the learner atomically."""
        note = {stored: getattr(self, name) for name, stored in STORED_FIELDS.items()}
        note["tally"] = {stored: getattr(self.stats, n) for n, stored in STORED_STATS.items()}
        learner.save(path, note=note)


def describe_task(task: Task) -> dict[str, Any]:
    """Return the stored fields of a task as JSON values."""
    fields = {stored: attrgetter(path)(task) for path, stored in STORED_TASK.items()}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}


def load_checkpoint(
    path: str | None, task: Task, learner: OnlineLearner
) -> tuple[RunCheckpoint, OnlineLearner | None]:
    """Return the progress of a run, and its learner; None if the run has not begun.

    `learner` is the one to begin with. To resume a run, it must be the one that the run began with,
    or the one that it left.
    """
    fields = describe_task(task)
    if path is None:
        return RunCheckpoint(fields), None
    if not os.path.exists(path):
        return RunCheckpoint(fields, learner.digest()), None
    stored_learner, note = load(path), read(path)[0].get("note")
    if not isinstance(note, dict) or "task" not in note:
        raise CheckpointError(
            f"{path} is a model file without a checkpoint. Pass it with --model, and use another "
            "path for the checkpoint."
        )
    other_run = f"{path} belongs to another run"
    advice = "Repeat the command of that run, or choose another checkpoint."
    for name, value in fields.items():
        before = note["task"].get(name)
        if before != value:
            raise CheckpointError(f"{other_run}, with {name}={before!r}, not {value!r}. {advice}")
    if stored_learner.settings != learner.settings:
        raise CheckpointError(f"{other_run}, whose learner has different settings. {advice}")
    progress = {name: note[stored] for name, stored in STORED_FIELDS.items()}
    stats = RunStats(**{name: note["tally"][stored] for name, stored in STORED_STATS.items()})
    checkpoint = RunCheckpoint(**progress | {"task": fields, "stats": stats})
    if learner.digest() not in (checkpoint.initial_digest, stored_learner.digest()):
        raise CheckpointError(
            f"The learner has changed since the run saved in {path} began or stopped. Restore "
            "the earlier learner, or delete the checkpoint to start over."
        )
    return checkpoint, stored_learner
