"""Where a run stands, in one file with its learner: both are from the same moment."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Any

from labelwalk.io.batch import Position
from labelwalk.learner import OnlineLearner, load
from labelwalk.storage.model_file import read


class CheckpointError(ValueError):
    """A checkpoint of another run."""


@dataclass
class Standing:
    """How far a run has come.

    Attributes
    ----------
    task : dict
        What the run is to do, to tell it from others.
    began : str
        Digest of the learner that the run began with.
    position : dict or None
        Of the source.
    output, rejects : int or None
        Of the sink and of the reject file.
    widths, recent : lists
        Of the `Reader`; pairs, since a model file sorts the keys of objects.
    tally : dict
        What was counted.
    finished : bool
        Whether there is nothing left to do.
    """

    task: dict[str, Any]
    began: str
    position: Position | None = None
    output: int | None = None
    rejects: int | None = None
    widths: list[list[Any]] = field(default_factory=list)
    recent: list[str] = field(default_factory=list)
    tally: dict[str, int] = field(default_factory=dict)
    finished: bool = False

    def save(self, path: str, learner: OnlineLearner) -> None:
        """Put both on the disk, at once or not at all."""
        learner.save(path, note=asdict(self))


def resumed(
    path: str | None, task: dict[str, Any], given: OnlineLearner
) -> tuple[Standing, OnlineLearner | None]:
    """Return how far a run has come, and its learner; None where it has not begun.

    Parameters
    ----------
    path : str or None
    task : dict
        What is to be done.
    given : OnlineLearner
        The learner to begin with; the one that the run began with, or left, where it goes on.

    Raises
    ------
    CheckpointError
        The file belongs to another run.
    """
    if path is None or not os.path.exists(path):
        return Standing(task, given.digest()), None
    learner, note = load(path), read(path)[0].get("note")
    if not isinstance(note, dict) or "task" not in note:
        raise CheckpointError(
            f"{path} is a learner, but no checkpoint. Give it by --model, and another path here."
        )
    for name, value in task.items():
        before = note["task"].get(name)
        if before != value:
            raise CheckpointError(
                f"{path} belongs to another run: there {name} is {before!r}, here {value!r}. "
                "Repeat that command, or choose another checkpoint."
            )
    if learner.settings != given.settings:
        raise CheckpointError(
            f"{path} belongs to another run: its learner was made with other settings. Repeat that "
            "command, or choose another checkpoint."
        )
    standing = Standing(**note)
    if given.digest() not in (standing.began, learner.digest()):
        raise CheckpointError(
            f"the learner was changed since the run of {path} began or paused. Bring the old one "
            "back, or delete the checkpoint and begin anew."
        )
    return standing, learner
