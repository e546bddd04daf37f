"""The learner of a file, or a new one."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from rich.console import Console

from labelwalk.cli.files import say
from labelwalk.configuration import Configuration

if TYPE_CHECKING:
    from labelwalk.arrays import Label
    from labelwalk.learner import OnlineLearner

SHOWN = 10


def started(configuration: Configuration, model: str | None, console: Console) -> OnlineLearner:
    """Return the learner of a file that is there, and say so, or else a new one."""
    if model is None or not os.path.exists(model):
        return configuration.learner()
    from labelwalk.learner import load

    learner = load(model)
    configuration.check_fits(learner, model)
    say(console, f"Going on with {model}, which has seen {learner.n_seen:,} examples.")
    return learner


def say_new_classes(console: Console, before: Collection[Label], learner: OnlineLearner) -> None:
    """Name the classes that came with a run: a slip of the pen is seen by it."""
    new = [str(name) for name in learner.classes if name not in before]
    if new:
        shown = ", ".join(new[:SHOWN]) + (
            f" and {len(new) - SHOWN} more" if len(new) > SHOWN else ""
        )
        say(console, f"New classes: {shown}.")
