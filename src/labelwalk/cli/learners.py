"""The learner of a file, or a new one."""

from __future__ import annotations

import json
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


def read_feature_names(model: str) -> tuple[str, ...]:
    """Return the features in the file beside a model, which labelwalk 0.4 to 0.7 wrote."""
    path = model + ".columns.json"
    if not os.path.exists(path):
        return ()
    with open(path, "rb") as file:
        content = file.read()
    try:
        names = json.loads(content)["features"]
        if not all(isinstance(name, str) for name in names):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged. Delete it, and name the features with --features."
        ) from error
    return tuple(names)


def load_with_feature_names(model: str) -> OnlineLearner:
    """Load a learner, with the features of the file beside it if it has no names itself."""
    from labelwalk.learner import load

    learner, names = load(model), read_feature_names(model)
    if names and not learner.feature_names:
        learner.feature_names = names * (learner.n_features or 0 if len(names) == 1 else 1)
    return learner
