"""Those who have no name: unnamed vertices that hang together, each group under a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.faces.profiles import Profile
from labelwalk.learner import OnlineLearner
from labelwalk.one_thread import one_blas_thread

LEAST = 5  # examples, before somebody is thought to be there


@dataclass(frozen=True)
class Stranger:
    """Somebody without a name.

    Attributes
    ----------
    number : int
        Counts from 1 and stays the same, as in "unknown #1".
    examples : int
        How many times seen, about.
    newest : int
        The id of an example that can be taught a name, the newest; -1 where none is remembered.
    views : tuple of int
        Ids of examples that are remembered, those that stand for most views first.
    """

    number: int
    examples: int
    newest: int
    views: tuple[int, ...]


class Group(NamedTuple):
    """Unnamed vertices that hang together, oldest first.

    Attributes
    ----------
    means : array (n, d)
    founders, counts, newest : arrays of n integers
        The first example of each vertex, how many it stands for, and the newest remembered or -1.
    """

    means: Floats
    founders: Ints
    counts: Ints
    newest: Ints


class Unnamed(NamedTuple):
    """All groups, oldest first, and the founders of all vertices there are."""

    groups: list[Group]
    alive: Ints


class Numbers:
    """Keeps the numbers of strangers while their vertices come, merge and go.

    Parameters
    ----------
    said : mapping, optional
        What `described` told.
    """

    def __init__(self, said: Mapping[str, Any] | None = None) -> None:
        said = said or {"given": 0, "known": []}
        self._given = int(said["given"])
        self._known = {int(founder): int(number) for founder, number in said["known"]}

    def of(self, groups: Sequence[Sequence[int]], alive: Iterable[int]) -> list[int]:
        """Return the number of each group of founders: its oldest, or the next that is free.

        Parameters
        ----------
        groups : sequence of sequences of founders
        alive : iterable of founders
            Of all vertices; the numbers of others are forgotten.

        Examples
        --------
        >>> numbers = Numbers()
        >>> numbers.of([[7, 9], [12]], alive=[7, 9, 12])
        [1, 2]
        >>> numbers.of([[12, 30], [40]], alive=[9, 12, 30, 40])
        [2, 3]
        >>> numbers.of([[9]], alive=[9, 12, 30, 40])
        [1]
        """
        there = set(alive)
        known = {one: number for one, number in self._known.items() if one in there}
        found, taken = [], set[int]()
        for group in groups:
            before = {self._known[one] for one in group if one in self._known} - taken
            if before:
                number = min(before)
            else:
                self._given += 1
                number = self._given
            taken.add(number)
            found.append(number)
            known.update(dict.fromkeys(group, number))
        self._known = known
        return found

    def described(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        return {"given": self._given, "known": [list(pair) for pair in self._known.items()]}

    def are_described(self, said: Mapping[str, Any] | None) -> bool:
        """Return whether everybody would be known again by what was described earlier.

        So it is where no number came since, and half of the founders of each are still there.

        Examples
        --------
        >>> numbers = Numbers()
        >>> _ = numbers.of([[7, 9, 11]], alive=[7, 9, 11])
        >>> said = numbers.described()
        >>> _ = numbers.of([[9, 11, 12]], alive=[9, 11, 12])
        >>> numbers.are_described(said)
        True
        >>> _ = numbers.of([[11, 12]], alive=[11, 12])
        >>> numbers.are_described(said)
        False
        """
        before = Numbers(said)
        if before._given != self._given:
            return False
        there = Counter(before._known.values())
        left = Counter(n for one, n in before._known.items() if self._known.get(one) == n)
        return all(0 < there[n] <= 2 * left[n] for n in self._known.values())


def unnamed(learner: OnlineLearner, profile: Profile) -> Unnamed:
    """Return all groups of vertices that have no name, and stand for enough examples."""
    table = learner.vertices
    free = np.array([label is None for label in table.label], dtype=bool)
    if not free.any():
        return Unnamed([], table.founder)
    said = learner.predict(table.means).label
    nameless = np.flatnonzero(free & np.array([name is None for name in said]))
    newest = learner.newest
    groups = [
        Group(table.means[group], table.founder[group], table.count[group], newest[group])
        for group in (nameless[one] for one in _hang_together(table.means[nameless], profile))
        if table.count[group].sum() >= LEAST
    ]
    return Unnamed(groups, table.founder)


def stranger_of(number: int, group: Group) -> Stranger:
    """Return a group under its number."""
    views = group.newest[np.argsort(-group.counts, kind="stable")]
    return Stranger(
        number,
        int(group.counts.sum()),
        int(group.newest.max()),
        tuple(views[views >= 0].tolist()),
    )


def _hang_together(means: Floats, profile: Profile) -> list[Ints]:
    """Return the places of vectors that are kin, or kin of kin; each group by its oldest."""
    if not len(means):
        return []
    n, group = connected_components(_kinship(means, profile), directed=False)
    groups = [np.flatnonzero(group == one) for one in range(n)]
    return sorted(groups, key=lambda places: int(places[0]))


def _kinship(vectors: Floats, profile: Profile) -> Bools:
    """Return which two of some vectors are kin."""
    with one_blas_thread():
        products = vectors @ vectors.T
    squares = np.diag(products)
    away = squares[:, None] + squares - 2.0 * products
    kin: Bools = away <= -2.0 * profile.bandwidth**2 * np.log(profile.kin)
    return kin
