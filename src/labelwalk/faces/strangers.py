"""Those who have no name: unnamed vertices that hang together, each group under a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from labelwalk.arrays import Floats, Ints
from labelwalk.faces.cliff import similarities
from labelwalk.faces.profiles import Profile
from labelwalk.learner import OnlineLearner

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
    """

    number: int
    examples: int
    newest: int


class Numbers:
    """Keeps the numbers of strangers while their vertices come, merge and go."""

    def __init__(self) -> None:
        self._known, self._given = dict[int, int](), 0

    def of(self, groups: list[list[int]], alive: Iterable[int]) -> list[int]:
        """Return the number of each group of founders: its oldest, or the next that is free.

        Parameters
        ----------
        groups : list of lists of founders
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


def strangers(learner: OnlineLearner, profile: Profile, numbers: Numbers) -> list[Stranger]:
    """Return all groups of vertices that have no name, those seen most often first."""
    table = learner.vertices
    free = np.array([label is None for label in table.label], dtype=bool)
    if not free.any():
        return []
    said = learner.predict(table.means).label
    unnamed = np.flatnonzero(free & np.array([name is None for name in said]))
    groups = [unnamed[group] for group in _hang_together(table.means[unnamed], profile)]
    groups = [group for group in groups if table.count[group].sum() >= LEAST]
    groups.sort(key=lambda group: int(group[0]))  # vertices are in the order of their age
    founders = [table.founder[group].tolist() for group in groups]
    given = numbers.of(founders, table.founder.tolist())
    newest = learner.newest
    found = [
        Stranger(number, int(table.count[group].sum()), int(newest[group].max()))
        for number, group in zip(given, groups, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.examples, one.number))


def _hang_together(means: Floats, profile: Profile) -> list[Ints]:
    if not len(means):
        return []
    w = similarities(means, profile.bandwidth, profile.kin)
    n, group = connected_components(w, directed=False)
    return [np.flatnonzero(group == one) for one in range(n)]
