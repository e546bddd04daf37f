"""What y may hold, for scikit-learn: labels of one kind, and a mark where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import assert_all_finite, column_or_1d

from labelwalk.arrays import Bools, Label

Labels: TypeAlias = NDArray[Any]
Targets: TypeAlias = ArrayLike | Sequence[object]

ALL_OR_NONE = (
    "Give all classes in the first call of partial_fit, or none at all: then they may grow."
)


def labels_of(y: Targets, unlabeled: object) -> tuple[Bools, Labels]:
    """Return which entries of y are labels, and those labels."""
    given = column_or_1d(_boxed(y), warn=True)
    known = ~_marked(given, unlabeled)
    labels = _unboxed(given[known], unlabeled)
    # check_classification_targets would warn of many classes on few rows: here that is normal
    kind = type_of_target(labels) if len(labels) else "binary"
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: y is {kind}. Labels are strings or whole numbers: bin a "
            "continuous target first, as in np.digitize(y, edges)."
        )
    return known, labels


def _boxed(y: Targets) -> Targets:
    """Keep NumPy from turning the -1 in ["a", -1] into a string."""
    if isinstance(y, list | tuple) and {isinstance(label, str) for label in y} == {True, False}:
        return np.array(y, dtype=object)
    return y


def _marked(given: Labels, unlabeled: object) -> Bools:
    if unlabeled is None:
        return np.array([label is None or label != label for label in given], dtype=np.bool_)
    if given.dtype.kind == "U" and not isinstance(unlabeled, str) and str(unlabeled) in given:
        raise ValueError(
            f"y holds the string {str(unlabeled)!r} where unlabeled={unlabeled!r}: NumPy turns "
            "numbers among strings into strings. Make y an array of dtype=object, or say "
            f"unlabeled={str(unlabeled)!r}, or unlabeled=None if it is a class."
        )
    return np.asarray(given == unlabeled, dtype=np.bool_)


def _unboxed(labels: Labels, unlabeled: object) -> Labels:
    """Return labels of one kind, none of them missing, and numbers as such."""
    if labels.dtype.kind in "fO" and _marked(labels, None).any():
        raise ValueError(
            f"y holds missing values, but unlabeled={unlabeled!r} is what marks a row without a "
            "label. Say unlabeled=None if missing means unlabelled."
        )
    if labels.dtype != object:
        assert_all_finite(labels, input_name="y")
        return labels
    kinds = {isinstance(label, str) for label in labels}
    if kinds == {True, False}:
        raise ValueError(
            f"y mixes strings and numbers: {few(labels)}. Use one kind of label, as in "
            "[str(label) for label in y], and say with unlabeled=... what marks a row without one."
        )
    return labels if True in kinds else np.array(labels.tolist())


def names_of(labels: Labels) -> list[Label]:
    """Return labels as the learner takes them: plain strings and integers."""
    return [label if isinstance(label, str) else int(label) for label in labels.tolist()]


def refuse_strangers(labels: Labels, classes: Labels) -> None:
    """Refuse labels that are not among the classes."""
    if not len(labels):
        return
    refuse_another_kind(labels, classes)
    strangers = np.unique(labels[~np.isin(labels, classes)])
    if len(strangers):
        raise ValueError(
            f"y holds {few(strangers)}, which is not in classes={few(classes)}. {ALL_OR_NONE}"
        )


def refuse_another_kind(labels: Labels, classes: Labels) -> None:
    """Refuse strings where the classes are numbers, and the other way round."""
    kinds = [{isinstance(name, str) for name in names_of(array)} for array in (labels, classes)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"y holds {few(np.unique(labels))}, but the classes are {few(classes)}: strings and "
            "numbers do not mix. Use one kind of label."
        )


def few(labels: Labels) -> str:
    """Return the first few labels, for a message."""
    shown = ", ".join(repr(label) for label in labels[:5].tolist())
    return f"[{shown}]" if len(labels) <= 5 else f"[{shown}, ...]"
