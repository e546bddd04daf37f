"""The learner of a file, or a new one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from labelwalk.configuration import Configuration

if TYPE_CHECKING:
    from labelwalk.learner import OnlineLearner


def started(configuration: Configuration, model: str | None) -> OnlineLearner:
    """Return the learner of a file that is there, or else a new one."""
    if model is None or not os.path.exists(model):
        return configuration.learner()
    from labelwalk.learner import load

    learner = load(model)
    configuration.check_fits(learner, model)
    return learner
