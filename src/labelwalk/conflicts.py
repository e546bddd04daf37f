"""Labels that contradict each other are kept, and reported."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from labelwalk.arrays import Label
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.state import State


class LabelConflictWarning(UserWarning):
    """The same example was taught with two labels."""


def conflicts(now: State) -> list[tuple[int, int]]:
    """Return the pairs of labelled vertices of two classes at one place, older first."""
    n, label = now.n, now.vertices.label[: now.n]
    told = label != UNLABELLED
    here = (now.vertices.distance[:n, :n] == 0.0) & told & told[:, None]
    pairs = np.argwhere(np.triu(here & (label != label[:, None]), 1))
    return [(int(i), int(j)) for i, j in pairs]


def warn_of(now: State, classes: Sequence[Label]) -> None:
    """Warn of the youngest conflict, and say how to end it."""
    pairs = conflicts(now)
    if not pairs:  # it merged with others of its class
        return
    older, younger = max(pairs, key=lambda pair: pair[1])
    label, founder = now.vertices.label, now.vertices.founder
    warnings.warn(
        f"label {classes[label[younger]]!r} was taught to an example that had been taught "
        f"{classes[label[older]]!r}. Both count. Take the wrong one back, as in "
        f"retract(example_id={founder[younger]}) or retract(example_id={founder[older]}).",
        LabelConflictWarning,
        stacklevel=5,
    )
