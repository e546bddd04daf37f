"""The columns a learner was taught by, beside its file: where labelwalk 0.4 to 0.7 wrote them."""

from __future__ import annotations

import json
import os

from labelwalk.learner import OnlineLearner, load

ENDING = ".columns.json"


def remembered(model: str) -> tuple[str, ...]:
    """Return the columns that stand beside a learner, in order; none where there is no file."""
    path = model + ENDING
    if not os.path.exists(path):
        return ()
    with open(path, "rb") as file:
        content = file.read()
    try:
        found = json.loads(content)["features"]
        if not all(isinstance(name, str) for name in found):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged. Delete it, and name columns by --features."
        ) from error
    return tuple(found)


def loaded(model: str) -> OnlineLearner:
    """Return the learner of a file, with the names beside it where it has none itself."""
    learner, beside = load(model), remembered(model)
    if beside and not learner.feature_names:
        learner.feature_names = beside * (learner.n_features or 0 if len(beside) == 1 else 1)
    return learner
