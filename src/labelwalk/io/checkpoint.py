"""Checkpoints of runs: progress and learner in one file, which is replaced atomically.

Stored names are those of version 0.4; `STORED_FIELDS` maps attributes to them.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import Any

from labelwalk.errors import LabelwalkError
from labelwalk.io.rows import Position
from labelwalk.io.task import RunStats, Task
from labelwalk.learner import OnlineLearner, load
from labelwalk.storage.model_file import read

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
    "rows": "rows",
    "taught": "taught",
    "answered": "answered",
    "outliers": "outliers",
    "skipped": "skipped",
    "judged": "judged",
    "right": "right",
}
# Attribute of `Task` -> stored name. A resumed run may differ in all others: the treatment of
# faulty rows, and whether to wait for more at the end.
STORED_TASK = {
    "input": "input",
    "output": "output",
    "to": "to",
    "learn": "learn",
    "all_labelled": "all_labelled",
    "prefix": "prefix",
    "unlabeled": "unlabeled",
    "rejects": "rejects",
    "example_ids": "example_ids",
    "reading.format": "format",
    "reading.delimiter": "delimiter",
    "reading.header": "header",
    "reading.embed": "embed",
    "columns.features": "features",
    "columns.label": "label",
    "columns.id": "id",
    "columns.truth": "truth",
    "columns.source": "source",
    "columns.drop": "drop",
    "columns.label_optional": "label_optional",
}


class CheckpointError(LabelwalkError, ValueError):
    """The checkpoint belongs to another run."""


@dataclass
class RunCheckpoint:
    """The progress of a run.

    Attributes
    ----------
    task : dict
        The stored fields of the task, which identify the run.
    initial_digest : str
        Digest of the learner at the beginning of the run.
    position : dict or None
        Position of the source.
    output_size, rejects_size : int or None
        Sizes to resume the sink and the reject file from.
    widths, recent_ids : lists
        State of the `ExampleReader`; pairs, since a model file sorts the keys of objects.
    stats : RunStats
    is_finished : bool
    """

    task: dict[str, Any]
    initial_digest: str = ""
    position: Position | None = None
    output_size: int | None = None
    rejects_size: int | None = None
    widths: list[list[Any]] = field(default_factory=list)
    recent_ids: list[str] = field(default_factory=list)
    stats: RunStats = field(default_factory=RunStats)
    is_finished: bool = False

    def save(self, path: str, learner: OnlineLearner) -> None:
        """Write the progress and the learner atomically."""
        note = {stored: getattr(self, name) for name, stored in STORED_FIELDS.items()}
        stats = asdict(self.stats)
        note["tally"] = {stored: stats[name] for name, stored in STORED_STATS.items()}
        learner.save(path, note=note)


def describe_task(task: Task) -> dict[str, Any]:
    """Return the stored fields of a task as JSON values."""
    fields = {stored: attrgetter(name)(task) for name, stored in STORED_TASK.items()}
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
        raise CheckpointError(f"{other_run}, whose learner has other settings. {advice}")
    progress = {name: note[stored] for name, stored in STORED_FIELDS.items()}
    stats = RunStats(**{name: note["tally"][stored] for name, stored in STORED_STATS.items()})
    checkpoint = RunCheckpoint(**progress | {"task": fields, "stats": stats})
    if learner.digest() not in (checkpoint.initial_digest, stored_learner.digest()):
        raise CheckpointError(
            f"The learner has changed since the run of {path} began or was interrupted. Restore "
            "the earlier learner, or delete the checkpoint to start over."
        )
    return checkpoint, stored_learner
