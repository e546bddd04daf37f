"""Those who have a name: how often each was seen, and which views stand for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Ints
from labelwalk.learner import OnlineLearner


@dataclass(frozen=True)
class Person:
    """Somebody with a name.

    Attributes
    ----------
    name : str
    taught : int
        Views that a person named.
    examples : int
        How many times seen, about, those included.
    views : tuple of int
        Ids of examples that are remembered, those that stand for most views first.
    """

    name: str
    taught: int
    examples: int
    views: tuple[int, ...]


def known(learner: OnlineLearner) -> list[Person]:
    """Return everybody who has a name, in the order in which the names came."""
    if not learner.classes:
        return []
    table, newest = learner.vertices, learner.newest
    taught = np.array([label is not None for label in table.label], dtype=bool)
    said = np.where(taught, table.label, learner.predict(table.means).label)
    return [
        _person(str(name), taught[said == name], table.count[said == name], newest[said == name])
        for name in learner.classes
    ]


def _person(name: str, taught: Ints, counts: Ints, newest: Ints) -> Person:
    views = newest[np.argsort(-counts, kind="stable")]
    seen = views[views >= 0].tolist()
    return Person(name, int(taught.sum()), int(counts.sum()), tuple(dict.fromkeys(seen)))
