"""Keys by which a repetition is known: the same answer again, and nothing happens twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labelwalk.service.journal import Entry, Journal
from labelwalk.service.pupil import Told, told_from_json
from labelwalk.service.replay import answer_of, parts_of

MOST = 100_000  # events in which a key is looked for


class KeyReusedError(ValueError):
    """A key that stands for something else already."""


@dataclass(frozen=True)
class _Underway:
    kind: str
    parts: Sequence[bytes]
    told: Told


class Keys:
    """The keys of the last events, and those that are not written yet.

    Parameters
    ----------
    journal : Journal
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[tuple[int, str], int | _Underway] = dict(journal.keys(MOST))

    def answer(self, learner: int, key: str, kind: str, parts: Sequence[bytes]) -> Told | None:
        """Return what was answered under a key; None where it is new.

        Raises
        ------
        KeyReusedError
            It stands for something else.
        """
        found = self._known.get((learner, key))
        if found is None:
            return None
        if isinstance(found, int) and found <= self._journal.anchor().sequence:
            return None
        if isinstance(found, _Underway):
            same, told = (found.kind, found.parts) == (kind, parts), found.told
        else:
            stored = self._journal.event(found)
            content = answer_of(stored)
            if content is None:
                raise KeyReusedError(f"what was sent under key {key!r} has been erased.")
            same, told = (stored.kind, parts_of(stored)) == (kind, parts), told_from_json(content)
        if not same:
            raise KeyReusedError(f"key {key!r} was used for something else. Take another one.")
        return told

    def keep(self, learner: int, key: str, kind: str, parts: Sequence[bytes], told: Told) -> None:
        """Remember an answer that is on its way to the disk."""
        self._known[learner, key] = _Underway(kind, parts, told)

    def written(self, entries: Sequence[Entry], first: int) -> None:
        """Take note that entries are on the disk, numbered from `first` on."""
        for sequence, entry in enumerate(entries, first):
            if entry.key:
                self._known[entry.learner, entry.key] = sequence
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]
