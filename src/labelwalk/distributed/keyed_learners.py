"""One learner for each key (a camera, a user), with its position in the stream of the key.

The caller states where in the stream of a key each block begins. Rows that were learned before are
not learned again and a gap is an error, so after a failure every stream continues at the position
of the last file of its learner, and each row counts once. A `ReplayFeeder` counts positions and
sends blocks again after a failure.
"""

import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from labelwalk._validation import as_labels, as_rows, check_whole, column_names
from labelwalk.arrays import Floats, Label
from labelwalk.concurrency import synchronized
from labelwalk.distributed.filesystem import VersionedFiles
from labelwalk.errors import LabelwalkError
from labelwalk.learner import OnlineLearner, load
from labelwalk.settings import Settings
from labelwalk.verdicts import Verdicts

BlockAnswer = TypeVar("BlockAnswer")


class GapError(LabelwalkError, ValueError):
    """A block does not continue the rows that were learned.

    The `position` is that of the learner: send its rows from there on.
    """

    def __init__(self, key: str, position: int, requested: int) -> None:
        super().__init__(key, position, requested)  # with which it can be pickled
        self.position = position

    def __str__(self) -> str:
        key, position, requested = self.args
        return (
            f"position={requested} of {key!r}, but its learner is at position {position}. Send the "
            "rows from that position again."
        )


def count_learned(key: str, n: int, position: int, current: int) -> int:
    """Return how many of n rows from a position on a learner at `current` has learned."""
    check_whole("position", position, "0", least=0)
    if position > current:
        raise GapError(key, current, position)
    return min(n, current - position)


class PositionedLearners(ABC, Generic[BlockAnswer]):
    """Learners by key, each with a position: the number of rows of its key it has learned."""

    every: int  # rows after which a learner saves what it has learned

    @abstractmethod
    def _call(self, method: str, key: str, *arguments: Any) -> Any:
        """Call a method of the learner of a key, wherever that is."""

    def observe(self, key: str, rows: Any, position: int) -> BlockAnswer:
        """Learn rows without labels, and answer each.

        There are `position` rows of this key before these. Rows that were learned before are
        answered by the present learner; a gap raises `GapError`.
        """
        answer: BlockAnswer = self._call("observe", key, rows, position)
        return answer

    def teach(self, key: str, rows: Any, labels: Label | Iterable[Label], position: int) -> None:
        """Learn rows with labels; those that were learned before are skipped."""
        self._call("teach", key, rows, labels, position)

    def position(self, key: str) -> int:
        """Return the number of learned rows of a key: where its stream continues."""
        return int(self._call("position", key))

    def durable_position(self, key: str) -> int:
        """Return the number of learned rows of a key that survive a failure."""
        return int(self._call("durable_position", key))

    def save_key(self, key: str) -> int:
        """Save all learned rows of a key, and return their number."""
        return int(self._call("save_key", key))


class KeyedLearners(PositionedLearners[Verdicts]):
    """Learners by key; the most recently used are in memory, all others in files.

    Several threads may use it; they take turns, because loading one learner may save another.

    Parameters
    ----------
    folder : path
    settings : Settings
        Of every new learner.
    every : int
        Rows after which the file of a learner is written. After a failure fewer than this many rows
        of each key have to be sent again, and the block in progress.
    at_hand : int
        Number of learners in memory.

    Examples
    --------
    >>> import tempfile
    >>> from labelwalk import OnlineLearner
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learners = KeyedLearners(folder, OnlineLearner(50).settings)
    ...     learners.teach("door", [[0.0], [9.0]], ["low", "high"], position=0)
    ...     verdicts = learners.observe("door", [[1.0], [8.0]], position=2)
    ...     verdicts.label.tolist(), learners.position("door"), learners.position("gate")
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
        self._files, self._settings = VersionedFiles(folder, ".lw"), settings
        self.every, self._max_loaded = every, at_hand
        self._loaded: OrderedDict[str, _KeyedLearner] = OrderedDict()
        self._lock = threading.RLock()

    @synchronized
    def save(self) -> None:
        """Write the files of all learners that have learned since."""
        for learner in self._loaded.values():
            learner.save_key()

    @synchronized
    def _call(self, method: str, key: str, *arguments: Any) -> Any:
        return getattr(self._load(key), method)(*arguments)

    def _load(self, key: str) -> "_KeyedLearner":
        """Return the learner of a key, from its file or new; the oldest one may leave memory."""
        if key not in self._loaded:
            self._loaded[key] = _KeyedLearner(key, self._files, self._settings, self.every)
        self._loaded.move_to_end(key)
        while len(self._loaded) > self._max_loaded:
            oldest = next(iter(self._loaded))
            self._loaded[oldest].save_key()
            del self._loaded[oldest]
        return self._loaded[key]


class _KeyedLearner:
    """The learner of one key, and how many rows it has learned and saved."""

    def __init__(self, key: str, files: VersionedFiles, settings: Settings, every: int) -> None:
        saved = files.load(key, load)
        self._position, self._learner = saved or (0, OnlineLearner(**settings.parameters()))
        self._saved, self._key, self._files, self._every = self._position, key, files, every

    def position(self) -> int:
        return self._position

    def durable_position(self) -> int:
        return self._saved

    def save_key(self) -> int:
        if self._position > self._saved:
            note = {"key": self._key, "position": self._position}
            self._files.save(
                self._key, self._position, lambda path: self._learner.save(path, note=note)
            )
            self._saved = self._position
        return self._saved

    def observe(self, rows: Any, position: int) -> Verdicts:
        checked, n_learned = self._check(rows, position)
        with self._advance(rows):
            parts = [self._learner.predict(checked[:n_learned])] if n_learned else []
            if n_learned < len(checked):
                parts.append(self._learner.observe(checked[n_learned:]))
        names = [column.name for column in fields(Verdicts)]
        return Verdicts(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )

    def teach(self, rows: Any, labels: Label | Iterable[Label], position: int) -> None:
        checked, n_learned = self._check(rows, position)
        names = as_labels(labels, len(checked))
        if n_learned < len(checked):
            with self._advance(rows):
                self._learner.teach(checked[n_learned:], names[n_learned:])

    def _check(self, rows: Any, position: int) -> tuple[Floats, int]:
        """Return rows of numbers, and how many of them were learned before."""
        checked, _ = as_rows(rows, self._learner.n_features, self._learner.feature_names)
        return checked, count_learned(self._key, len(checked), position, self._position)

    @contextmanager
    def _advance(self, rows: Any) -> Iterator[None]:
        """Advance by the rows that are learned: not all of them if learning is interrupted."""
        before = self._learner.n_seen
        try:
            yield
        finally:
            self._position += self._learner.n_seen - before
            if self._learner.n_seen > before and not self._learner.feature_names:
                self._learner.feature_names = column_names(rows)
        if self._position - self._saved >= self._every:
            self.save_key()


class LostError(LabelwalkError, RuntimeError):
    """A learner does not have rows that it reported as saved."""


class RowBlock(NamedTuple):
    """Rows, and the position in the stream of their key where they begin."""

    position: int
    rows: Floats
    labels: list[Label] | None

    @property
    def end(self) -> int:
        """The position where the next block begins."""
        return self.position + len(self.rows)


class KeyStream(Generic[BlockAnswer]):
    """The stream of one key: its position, and the blocks that its learner has not saved."""

    def __init__(self, key: str, learners: PositionedLearners[BlockAnswer]) -> None:
        self._key, self._learners, self.lock = key, learners, threading.Lock()
        self.position = self.saved = -1  # unknown until the learner is asked
        self._blocks: deque[RowBlock] = deque()
        self._unanswered: RowBlock | None = None  # unknown whether it was learned

    def feed(self, rows: Floats, labels: list[Label] | None) -> BlockAnswer | None:
        """Send a block, and before it those that the learner lacks; return its answer."""
        if self.position - self.saved >= 2 * self._learners.every:
            self._drop_saved(self._learners.durable_position(self._key))
        block = RowBlock(self.position, rows, labels)
        self._check_repeated(block)
        self._unanswered = block
        answer = self._catch_up(self.position, block)
        self._unanswered = None
        self._blocks.append(block)
        self.position = block.end
        return answer

    def save(self) -> int:
        """Save all rows, and return the position."""
        while self.saved < self.position:  # otherwise its file need not be loaded
            self._drop_saved(self._learners.save_key(self._key))
            self._catch_up(self.saved)
        return self.saved

    def _catch_up(self, position: int, last: RowBlock | None = None) -> BlockAnswer | None:
        """Send a learner at a position the blocks that follow, and the last one."""
        while True:
            try:
                for block in self._blocks:
                    if block.end > position:
                        self._send(block)  # what it has learned already does not count again
                return None if last is None else self._send(last)
            except GapError as gap:
                self._check_position(gap.position)
                position = gap.position

    def _send(self, block: RowBlock) -> BlockAnswer | None:
        if block.labels is None:
            return self._learners.observe(self._key, block.rows, block.position)
        self._learners.teach(self._key, block.rows, block.labels, block.position)
        return None

    def _drop_saved(self, saved: int) -> None:
        """Remove rows from memory that the learner has saved."""
        self._check_position(saved)
        self.saved = min(saved, self.position)
        while self._blocks and self._blocks[0].end <= self.saved:
            self._blocks.popleft()

    def _check_repeated(self, block: RowBlock) -> None:
        """Raise an error for a new block if the block before was learned but not answered."""
        before = self._unanswered
        is_other = before is not None and not (
            np.array_equal(before.rows, block.rows) and before.labels == block.labels
        )
        if is_other and self._learners.position(self._key) > self.position:
            raise ValueError(
                f"The block of {self._key!r} at position {self.position} was learned, but its "
                "answer was lost because of an error. Send that block again before this one."
            )

    def _check_position(self, position: int) -> None:
        """Raise an error for a learner at an impossible position."""
        learner = f"The learner of {self._key!r} is at position {position}"
        if position < self.saved:
            raise LostError(
                f"{learner}, but was saved at {self.saved}. Use a folder that all machines share, "
                "and keep its files."
            )
        last = self._unanswered.end if self._unanswered else self.position
        if position > last:
            raise LostError(f"{learner}, but received {last} rows. Use only one feeder per key.")


class ReplayFeeder(Generic[BlockAnswer]):
    """Sends rows to learners, and sends them again after a failure: each row counts once.

    Each block is given once. It stays in memory until the learner of its key reports it as saved;
    a learner that was lost receives what it lacks. Several threads may use a feeder; each key is
    used by one thread at a time, and no other process may send rows to the same keys.

    Parameters
    ----------
    learners : KeyedLearners, or other learners by key with positions
    most : int
        Rows in memory. Above it, all learners are saved first. For each key there are never more
        than twice the `every` of its learner, and one block.

    Examples
    --------
    >>> import tempfile
    >>> from labelwalk import OnlineLearner
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     feeder = ReplayFeeder(KeyedLearners(folder, OnlineLearner(50).settings))
    ...     feeder.teach("door", [[0.0], [9.0]], ["low", "high"])
    ...     verdicts = feeder.observe("door", [[1.0], [8.0]])
    ...     feeder.save()
    ...     verdicts.label.tolist(), feeder.position("door")
    {'door': 4}
    (['low', 'high'], 4)
    """

    def __init__(self, learners: PositionedLearners[BlockAnswer], most: int = 1_000_000) -> None:
        check_whole("most", most, "1_000_000")
        self._learners, self._max_rows, self._n_rows = learners, most, 0
        self._streams: dict[str, KeyStream[BlockAnswer]] = {}
        self._lock = threading.Lock()

    def position(self, key: str) -> int:
        """Return the number of rows that the learner of a key has had."""
        with self._lock_stream(key) as stream:
            return stream.position

    def observe(self, key: str, rows: Any) -> BlockAnswer:
        """Send rows without labels, and return the answer of the learner.

        After an error, send the same block again: it may have been learned, and does not count
        twice.
        """
        answer: BlockAnswer = self._feed(key, rows, None)
        return answer

    def teach(self, key: str, rows: Any, labels: Label | Iterable[Label]) -> None:
        """Send rows with labels; errors as in `observe`."""
        self._feed(key, rows, labels)

    def save(self) -> dict[str, int]:
        """Save all learners, and return the position of each."""
        with self._lock:  # a key that was rejected has no position
            keys = [key for key, stream in self._streams.items() if stream.position >= 0]
        positions = {}
        for key in keys:
            with self._lock_stream(key) as stream:
                positions[key] = stream.save()
        return positions

    def _feed(self, key: str, rows: Any, labels: Any) -> Any:
        copied = as_rows(np.array(rows), None)[0]
        names = None if labels is None else as_labels(labels, len(copied))
        if self._n_rows > self._max_rows:
            self.save()
        with self._lock_stream(key) as stream:
            return stream.feed(copied, names)

    @contextmanager
    def _lock_stream(self, key: str) -> Iterator[KeyStream[BlockAnswer]]:
        """Lock the stream of a key, and count its rows in memory afterwards."""
        with self._lock:
            stream = self._streams.setdefault(key, KeyStream(key, self._learners))
        with stream.lock:
            if stream.position < 0:  # it begins at the saved position of the learner
                stream.position = stream.saved = self._learners.save_key(key)
            before = stream.position - stream.saved
            try:
                yield stream
            finally:
                with self._lock:
                    self._n_rows += stream.position - stream.saved - before


Feeder = ReplayFeeder  # its name up to version 0.7
