"""Detection of contradictory labels."""

import warnings
from collections.abc import Sequence

import numpy as np

from labelwalk.arrays import Floats, Ints, Label
from labelwalk.engine.state import State
from labelwalk.kernels.counters import NO_ROW
from labelwalk.kernels.cover import UNLABELLED


class LabelConflictWarning(UserWarning):
    """The same example was taught with two labels."""


def find_conflicts(state: State) -> list[tuple[int, int]]:
    """Return the pairs of labelled vertices of different classes at one point, older first."""
    n, label = state.n, state.vertices.label[: state.n]
    is_labelled = label != UNLABELLED
    is_same_place = (state.vertices.distance[:n, :n] == 0.0) & is_labelled & is_labelled[:, None]
    pairs = np.argwhere(np.triu(is_same_place & (label != label[:, None]), 1))
    return [(int(i), int(j)) for i, j in pairs]


def warn_of_conflicts(state: State, classes: Sequence[Label], rows: Floats, codes: Ints) -> None:
    """Warn of every conflict that involves rows just taught, and of how to resolve it."""
    label, founder = state.vertices.label, state.vertices.founder
    for older, younger in find_conflicts(state):
        if not any(_is_among(state, i, rows, codes) for i in (older, younger)):
            continue
        numbers = [int(founder[i]) for i in (younger, older) if founder[i] != NO_ROW]
        calls = " or ".join(f"retract(example_id={number})" for number in numbers)
        warnings.warn(
            f"label {classes[label[younger]]!r} was taught to an example that already has label "
            f"{classes[label[older]]!r}. Both count. Retract the wrong one with "
            f"{calls or 'retract(label=...)'}.",
            LabelConflictWarning,
            stacklevel=4,
        )


def _is_among(state: State, i: int, rows: Floats, codes: Ints) -> bool:
    """Return whether a row of this class at this point is among those."""
    same = (rows == state.vertices.points[:, i]).all(axis=1)
    return bool(np.any(same & (codes == state.vertices.label[i])))
