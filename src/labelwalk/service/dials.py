"""What a learner would say with other settings: tried on a copy, with the last examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelwalk.arrays import Floats, Label
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.service.commands import Adjust
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.verdicts import Verdicts


def copied(managed: ManagedLearner) -> tuple[bytes, Floats]:
    """Return a learner's file, and the last examples that it observed."""
    return managed.learner.to_bytes(), np.asarray(managed.past.seen().row, dtype=np.float64)


def tried(content: bytes, rows: Floats, event: Adjust) -> dict[str, Any]:
    """Return what a learner says of examples before and after it is adjusted.

    Parameters
    ----------
    content : bytes
        The learner's file.
    rows : array of shape (n, d)
    event : Adjust

    Raises
    ------
    ValueError
        It cannot be adjusted so.

    Examples
    --------
    >>> learner = OnlineLearner(50)
    >>> learner.teach([[0.0], [9.0]], ["low", "high"])
    >>> told = tried(learner.to_bytes(), np.array([[1.0], [4.4]]), Adjust({"abstain_below": 0.9}))
    >>> told["before"]["silent"], told["after"]["silent"], told["changed"], told["of"]
    (0, 1, 1, 2)
    """
    learner = from_bytes(content)
    before, said = _measured(learner, rows)
    event.apply(learner)
    after, now = _measured(learner, rows)
    changed = sum(one != other for one, other in zip(said, now, strict=True))
    return {"before": before, "after": after, "changed": changed, "of": len(rows)}


def dials_of(given: Mapping[str, Any], classes: Sequence[Label]) -> Adjust:
    """Return the event of settings as JSON has them, where names of classes are all strings.

    Raises
    ------
    ValueError
        The prior has two shares for one class.

    Examples
    --------
    >>> dials_of({"prior": {"3": 0.4, "cat": 0.6}}, [3, "cat"]).dials
    {'prior': [[3, 0.4], ['cat', 0.6]]}
    """
    dials = dict(given)
    prior = dials.get("prior")
    if isinstance(prior, Mapping):
        known = {str(label): label for label in classes} | {c: c for c in classes if str(c) == c}
        dials["prior"] = [[known.get(name, name), share] for name, share in prior.items()]
    elif isinstance(prior, list):
        for label, n in Counter(label for label, _ in prior).items():
            if n > 1:
                raise ValueError(f"prior has {n} shares for {label!r}. Give each class one.")
    return Adjust(dials)


def _measured(learner: OnlineLearner, rows: Floats) -> tuple[dict[str, Any], list[Label | None]]:
    labels: list[Label | None] = []
    confidence = 0.0
    if len(rows):
        verdicts: Verdicts = learner.predict(rows)
        labels, confidence = verdicts.label.tolist(), float(verdicts.confidence.mean())
    answered = [str(label) for label in labels if label is not None]
    measured = {
        "answered": len(answered) / max(1, len(labels)),
        "confidence": confidence,
        "labels": dict(Counter(answered)),
        "silent": len(labels) - len(answered),
    }
    return measured | _foretold(learner), labels


def _foretold(learner: OnlineLearner) -> dict[str, float | None]:
    """Return precision and recall on the labels taught, each left out; nothing without any."""
    labels, verdicts = learner.left_out()
    if not len(labels):
        return {}
    answered = np.array([label is not None for label in verdicts.label])
    right = int(np.count_nonzero(verdicts.label == labels))
    precision = right / int(answered.sum()) if answered.any() else None
    return {"precision": precision, "recall": right / len(labels)}
