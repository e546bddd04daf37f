"""Labels that contradict each other are kept, and reported."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.engine.state import State
from labelwalk.kernels.cover import UNKNOWN, UNLABELLED


class LabelConflictWarning(UserWarning):
    """The same example was taught with two labels."""


def conflicts(now: State) -> list[tuple[int, int]]:
    """Return the pairs of labelled vertices of two classes at one place, older first."""
    n, label = now.n, now.vertices.label[: now.n]
    told = label != UNLABELLED
    counters = (now.vertices.distance[:n, :n] == 0.0) & told & told[:, None]
    pairs = np.argwhere(np.triu(counters & (label != label[:, None]), 1))
    return [(int(i), int(j)) for i, j in pairs]


def warn_of(now: State, classes: Sequence[Label], rows: Floats, codes: Ints) -> None:
    """Warn of every conflict that rows just taught have part in, and say how to end it."""
    label, founder = now.vertices.label, now.vertices.founder
    for older, younger in conflicts(now):
        if not any(_is_among(now, i, rows, codes) for i in (older, younger)):
            continue
        numbers = [int(founder[i]) for i in (younger, older) if founder[i] != UNKNOWN]
        calls = " or ".join(f"retract(example_id={number})" for number in numbers)
        warnings.warn(
            f"label {classes[label[younger]]!r} was taught to an example that had been taught "
            f"{classes[label[older]]!r}. Both count. Take the wrong one back, as in "
            f"{calls or 'retract(label=...)'}.",
            LabelConflictWarning,
            stacklevel=4,
        )


def _is_among(now: State, i: int, rows: Floats, codes: Ints) -> bool:
    """Say whether a row of this place and class is among those."""
    same = (rows == now.vertices.points[:, i]).all(axis=1)
    return bool(np.any(same & (codes == now.vertices.label[i])))
