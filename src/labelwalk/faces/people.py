"""People: those with a name, and strangers, who are groups of similar unnamed vertices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.concurrency import single_blas_thread
from labelwalk.errors import LabelwalkError
from labelwalk.faces.profiles import Profile
from labelwalk.learner import OnlineLearner

UNKNOWN = "unknown"
NUMBERED = re.compile(rf"(?:{UNKNOWN}\s*)?#\s*([0-9]{{1,9}})", re.I)
MIN_STRANGER_EXAMPLES = 5  # smaller groups have no number


class UnknownPersonError(LabelwalkError, LookupError):
    """There is no person of that name or number, or no such picture."""


@dataclass(frozen=True)
class Person:
    """A person with a name."""

    name: str
    taught: int  # number of views that were labelled
    examples: int  # approximate number of views
    views: tuple[int, ...]  # Ids of remembered examples, those that stand for most views first


@dataclass(frozen=True)
class Stranger:
    """A person without a name."""

    number: int  # counts from 1 and stays the same, as in "unknown #1"
    examples: int  # approximate number of views
    newest: int  # Id of the newest remembered example, which can be labelled; -1 if there is none
    views: tuple[int, ...]  # Ids of remembered examples, those that stand for most views first


class Group(NamedTuple):
    """Unnamed vertices of one person, oldest first."""

    means: Floats
    # Id of the first example of each vertex, number of its examples, and id of the newest
    # remembered one or -1.
    founders: Ints
    counts: Ints
    newest: Ints

    def describe(self, number: int) -> Stranger:
        """Return the group under a number."""
        views = self.newest[np.argsort(-self.counts, kind="stable")]
        return Stranger(
            number,
            int(self.counts.sum()),
            int(self.newest.max()),
            tuple(views[views >= 0].tolist()),
        )


class StrangerNumbers:
    """Keeps the numbers of strangers while their vertices are created, merged and removed."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        stored = stored or {"given": 0, "known": []}
        self._last = int(stored["given"])
        self._numbers = {int(founder): int(number) for founder, number in stored["known"]}

    def assign(self, groups: Sequence[Sequence[int]], alive: Iterable[int]) -> list[int]:
        """Return the number of each group of founders: its oldest one, or the next free one.

        Examples
        --------
        >>> numbers = StrangerNumbers()
        >>> numbers.assign([[7, 9], [12]], alive=[7, 9, 12])
        [1, 2]
        >>> numbers.assign([[12, 30], [40]], alive=[9, 12, 30, 40])
        [2, 3]
        >>> numbers.assign([[9]], alive=[9, 12, 30, 40])
        [1]
        """
        founders = set(alive)
        numbers = {founder: n for founder, n in self._numbers.items() if founder in founders}
        assigned: list[int] = []
        for group in groups:
            earlier = {self._numbers[founder] for founder in group if founder in self._numbers}
            earlier -= set(assigned)
            if not earlier:
                self._last += 1
            number = min(earlier, default=self._last)
            assigned.append(number)
            numbers.update(dict.fromkeys(group, number))
        self._numbers = numbers
        return assigned

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as a JSON object."""
        return {"given": self._last, "known": [list(pair) for pair in self._numbers.items()]}

    def are_stored_in(self, stored: Mapping[str, Any] | None) -> bool:
        """Return whether all strangers have their present numbers in the stored ones.

        This holds if there is no new number, and half of the founders of each group are left.
        """
        before = StrangerNumbers(stored)
        if before._last != self._last:
            return False
        total = Counter(before._numbers.values())
        remaining = Counter(n for f, n in before._numbers.items() if self._numbers.get(f) == n)
        return all(0 < total[n] <= 2 * remaining[n] for n in self._numbers.values())


def clean_name(name: str) -> str:
    """Return a name in Unicode normal form, without spaces around it.

    Examples
    --------
    >>> clean_name(" Ada ")
    'Ada'
    >>> clean_name("unknown #3")
    Traceback (most recent call last):
    ValueError: name='unknown #3' is reserved for strangers. Give another name.
    """
    name.encode()  # refuses half of a surrogate pair
    cleaned = normalize("NFC", name.strip())
    if not cleaned or not cleaned.isprintable():
        raise ValueError(f"name={name!r} cannot be displayed. Give another name.")
    if cleaned.lower() == UNKNOWN or parse_unknown(cleaned) is not None:
        raise ValueError(f"name={name!r} is reserved for strangers. Give another name.")
    return cleaned


def format_unknown(number: int | None) -> str:
    """Return the text for a stranger."""
    return UNKNOWN if number is None else f"{UNKNOWN} #{number}"


def parse_unknown(text: str) -> int | None:
    """Return the number in the text for a stranger, with or without "unknown"; else None."""
    match = NUMBERED.fullmatch(text.strip())
    return None if match is None else int(match[1])


def list_people(learner: OnlineLearner) -> list[Person]:
    """Return all people with a name, in the order in which the names were first taught."""
    if not learner.classes:
        return []
    table, newest = learner.vertices, learner.newest
    is_taught = np.array([label is not None for label in table.label], dtype=bool)
    labels = np.where(is_taught, table.label, learner.predict(table.means).label)
    people = []
    for name in learner.classes:
        counts = table.count[labels == name]
        views = newest[labels == name][np.argsort(-counts, kind="stable")]
        unique_views = tuple(dict.fromkeys(views[views >= 0].tolist()))
        n_taught = int(is_taught[labels == name].sum())
        people.append(Person(str(name), n_taught, int(counts.sum()), unique_views))
    return people


def find_strangers(learner: OnlineLearner, profile: Profile) -> list[Group]:
    """Return the groups of kin vertices without a name, oldest first."""
    table, newest = learner.vertices, learner.newest
    is_free = np.array([label is None for label in table.label], dtype=bool)
    if not is_free.any():
        return []
    labels = learner.predict(table.means).label
    nameless = np.flatnonzero(is_free & np.array([label is None for label in labels]))
    if not len(nameless):
        return []
    n, component = connected_components(
        compute_kinship(table.means[nameless], profile), directed=False
    )
    groups = sorted((nameless[component == i] for i in range(n)), key=lambda group: int(group[0]))
    return [
        Group(table.means[group], table.founder[group], table.count[group], newest[group])
        for group in groups
        if table.count[group].sum() >= MIN_STRANGER_EXAMPLES
    ]


def compute_kinship(vectors: Floats, profile: Profile) -> Bools:
    """Return which pairs of vectors show one person."""
    with single_blas_thread():
        products = vectors @ vectors.T
    squares = np.diag(products)
    squared_distances = squares[:, None] + squares - 2.0 * products
    kin: Bools = squared_distances <= -2.0 * profile.bandwidth**2 * np.log(profile.kin)
    return kin
