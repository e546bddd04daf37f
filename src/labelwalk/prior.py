"""What share of the stream each class is believed to have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelwalk.arrays import Floats, Label
from labelwalk.parameters import is_number, shown

REPAIR = 'Try prior="uniform", or a share above 0 for every class, such as {"cat": 0.7, "dog": 0.3}'


def check_prior(prior: object) -> None:
    """Refuse what is not None, "uniform", or positive shares of classes."""
    if prior is None or (isinstance(prior, str) and prior == "uniform"):
        return
    shares = prior if isinstance(prior, dict) else {}
    for label, share in shares.items():
        if not isinstance(label, str | int) or isinstance(label, bool):
            raise ValueError(
                f"prior has a share for {shown(label)}, which is neither a string nor an integer. "
                f"{REPAIR}."
            )
        if not is_number(share) or not 0 < share <= 1e100:
            raise ValueError(f"prior gives {shown(label)} the share {shown(share)}. {REPAIR}.")
    if not shares:
        raise ValueError(f"prior={shown(prior)} is not None, 'uniform' or a dictionary. {REPAIR}.")


def check_covers(prior: object, labels: Sequence[Label]) -> None:
    """Refuse labels that a prior has no share for."""
    if isinstance(prior, dict):
        for label in labels:
            if label not in prior:
                raise ValueError(
                    f"label {shown(label)} has no share in prior={shown(prior)}. Make the learner "
                    "with a share for every class that may be taught."
                )


def shares(prior: object, classes: Sequence[Label]) -> Floats:
    """Return the share of each class, summing to 1."""
    if isinstance(prior, dict):
        given = np.array([float(prior[label]) for label in classes])
        total: float = given.sum()
        return given / total
    uniform = np.empty(len(classes))
    uniform.fill(1.0 / max(1, len(classes)))  # np.full takes half a microsecond more
    return uniform
