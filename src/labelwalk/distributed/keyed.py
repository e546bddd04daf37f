"""One learner for each key (a camera, a user, a sensor), kept in a folder with where it stands.

Whoever feeds it says where in the stream of its key a block begins. What was learned before is not
learned again, and a gap is told, so that after an accident every stream goes on from the last file
of its learner: each row counts once.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from labelwalk.arrays import Label
from labelwalk.distributed.shelf import Shelf
from labelwalk.learner import OnlineLearner, load
from labelwalk.parameters import check_whole
from labelwalk.rows import as_labels, as_rows, column_names
from labelwalk.settings import Settings
from labelwalk.turns import in_turn
from labelwalk.verdicts import Verdicts

ENDING = ".lw"


class GapError(ValueError):
    """A block that does not follow on what was learned.

    Attributes
    ----------
    position : int
        Where the learner stands: give its rows from there on.
    """

    def __init__(self, key: str, position: int, given: int) -> None:
        super().__init__(
            f"position={given} of {key!r}, but its learner stands at {position}. Give the rows "
            "from there on again."
        )
        self.position = position
        self._told = key, position, given

    def __reduce__(self) -> tuple[type[GapError], tuple[str, int, int]]:
        return type(self), self._told


@dataclass
class Kept:
    """A learner, and the rows of its key that it has had."""

    learner: OnlineLearner
    position: int
    saved: int


class KeyedLearners:
    """Learners by their keys; those that were used last are at hand, the others in files.

    Several threads may use them, in turn: whoever needs one may have to put another away.

    Parameters
    ----------
    folder : path
    settings : Settings
        Of every new learner.
    every : int
        Rows after which a learner's file is written. After an accident fewer than so many of each
        key have to be given again, and the block that was on its way.
    at_hand : int
        Learners that are held in memory.

    Examples
    --------
    >>> import tempfile
    >>> from labelwalk import OnlineLearner
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learners = KeyedLearners(folder, OnlineLearner(50).settings)
    ...     learners.teach("door", [[0.0], [9.0]], ["low", "high"], position=0)
    ...     said = learners.observe("door", [[1.0], [8.0]], position=2)
    ...     said.label.tolist(), learners.position("door"), learners.position("gate")
    (['low', 'high'], 4, 0)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: Settings,
        every: int = 1000,
        at_hand: int = 100,
    ) -> None:
        check_whole("every", every, "1000")
        check_whole("at_hand", at_hand, "100")
        self._shelf, self._settings = Shelf(folder, ENDING), settings
        self.every, self._most = every, at_hand
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._turn = threading.RLock()

    @in_turn
    def position(self, key: str) -> int:
        """Return how many rows of a key are learned: where its stream is to go on."""
        return self._of(key).position

    @in_turn
    def kept(self, key: str) -> int:
        """Return up to where the learner of a key is in its file, safe from accidents."""
        return self._of(key).saved

    @in_turn
    def keep(self, key: str) -> int:
        """Write the file of a learner that has learned since, and return up to where it is kept."""
        kept = self._of(key)
        self._save(key, kept)
        return kept.saved

    @in_turn
    def observe(self, key: str, rows: Any, position: int) -> Verdicts:
        """Learn rows without labels, and answer each.

        Rows that were learned before are answered as the learner is now.

        Parameters
        ----------
        key : str
        rows : array of shape (n, features)
        position : int
            How many rows of this key came before.

        Raises
        ------
        GapError
            Some in between are missing.
        """
        kept = self._of(key)
        checked, _ = as_rows(rows, kept.learner.n_features, kept.learner.feature_names)
        done = self._done(key, kept, len(checked), position)
        with self._counted(key, kept, rows):
            parts = [
                ask(some)
                for ask, some in (
                    (kept.learner.predict, checked[:done]),
                    (kept.learner.observe, checked[done:]),
                )
                if len(some)
            ]
        return _joined(parts)

    @in_turn
    def teach(self, key: str, rows: Any, labels: Sequence[Label], position: int) -> None:
        """Learn rows with labels; those that were learned before are left out."""
        kept = self._of(key)
        checked, _ = as_rows(rows, kept.learner.n_features, kept.learner.feature_names)
        names = as_labels(labels, len(checked))
        done = self._done(key, kept, len(checked), position)
        if done < len(checked):
            with self._counted(key, kept, rows):
                kept.learner.teach(checked[done:], names[done:])

    @in_turn
    def save(self) -> None:
        """Write the files of all learners that have learned since."""
        for key, kept in self._kept.items():
            self._save(key, kept)

    def _of(self, key: str) -> Kept:
        """Return the learner of a key, from its file or new; another may leave for it."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        found = self._shelf.newest(key, self._loaded)
        if found is None:
            kept = Kept(OnlineLearner(**self._settings.parameters()), 0, 0)
        else:
            position, learner = found
            kept = Kept(learner, position, position)
        self._kept[key] = kept
        while len(self._kept) > self._most:
            oldest, left = next(iter(self._kept.items()))
            self._save(oldest, left)
            del self._kept[oldest]
        return kept

    def _done(self, key: str, kept: Kept, n: int, position: int) -> int:
        """Return how many of n rows from a position on are learned already."""
        check_whole("position", position, "0", least=0)
        if position > kept.position:
            raise GapError(key, kept.position, position)
        return min(n, kept.position - position)

    @contextmanager
    def _counted(self, key: str, kept: Kept, rows: Any) -> Iterator[None]:
        """Go on by the rows that are learned, which are not all where learning is broken off."""
        before = kept.learner.n_seen
        try:
            yield
        finally:
            kept.position += kept.learner.n_seen - before
            if kept.learner.n_seen > before and not kept.learner.feature_names:
                kept.learner.feature_names = column_names(rows)
        if kept.position - kept.saved >= self.every:
            self._save(key, kept)

    def _save(self, key: str, kept: Kept) -> None:
        if kept.position > kept.saved:
            note = {"key": key, "position": kept.position}
            self._shelf.put(key, kept.position, lambda path: kept.learner.save(path, note=note))
            kept.saved = kept.position

    def _loaded(self, path: Path) -> OnlineLearner:
        own = self._settings.similarity if self._settings.own_distances else None
        return load(path, similarity=own)


def _joined(parts: Sequence[Verdicts]) -> Verdicts:
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(Verdicts)]
    return Verdicts(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))
