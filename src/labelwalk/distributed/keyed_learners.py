"""One learner for each key (a camera, a user), with its position in the stream of the key.

The caller states where in the stream of a key each block begins. Rows that were learned before are
not learned again and a gap is an error, so after a failure every stream continues at the position
of the last file of its learner, and each row counts once. A `ReplayFeeder` counts positions and
sends blocks again after a failure.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from labelwalk._validation import as_labels, as_rows, check_whole, column_names
from labelwalk.arrays import Floats, Label
from labelwalk.concurrency import synchronized
from labelwalk.distributed.filesystem import VersionedFiles
from labelwalk.errors import LabelwalkError
from labelwalk.learner import OnlineLearner, load
from labelwalk.settings import Settings
from labelwalk.verdicts import Verdicts

LEARNER_SUFFIX = ".lw"

BlockAnswer_co = TypeVar("BlockAnswer_co", covariant=True)
BlockAnswer = TypeVar("BlockAnswer")


class GapError(LabelwalkError, ValueError):
    """A block does not continue the rows that were learned.

    The `position` is that of the learner: send its rows from there on.
    """

    def __init__(self, key: str, position: int, requested: int) -> None:
        super().__init__(
            f"position={requested} of {key!r}, but its learner is at position {position}. Send the "
            "rows from that position again."
        )
        self.position = position
        self._arguments = key, position, requested

    def __reduce__(self) -> tuple[type[GapError], tuple[str, int, int]]:
        return type(self), self._arguments


def count_learned(key: str, n: int, position: int, current: int) -> int:
    """Return how many of n rows from a position on a learner at `current` has learned."""
    check_whole("position", position, "0", least=0)
    if position > current:
        raise GapError(key, current, position)
    return min(n, current - position)


@dataclass
class KeyedLearner:
    """A learner, the number of rows of its key it has learned, and how many of them are saved."""

    learner: OnlineLearner
    position: int
    saved: int


class KeyedLearners:
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
        self._files, self._settings = VersionedFiles(folder, LEARNER_SUFFIX), settings
        self.every, self._max_loaded = every, at_hand
        self._loaded: OrderedDict[str, KeyedLearner] = OrderedDict()
        self._lock = threading.RLock()

    @synchronized
    def position(self, key: str) -> int:
        """Return the number of learned rows of a key: where its stream continues."""
        return self._load(key).position

    @synchronized
    def durable_position(self, key: str) -> int:
        """Return the number of learned rows of a key that are in its file."""
        return self._load(key).saved

    @synchronized
    def save_key(self, key: str) -> int:
        """Write the file of a learner if it has learned since, and return its position."""
        keyed = self._load(key)
        self._save(key, keyed)
        return keyed.saved

    @synchronized
    def save(self) -> None:
        """Write the files of all learners that have learned since."""
        for key, keyed in self._loaded.items():
            self._save(key, keyed)

    @synchronized
    def observe(self, key: str, rows: Any, position: int) -> Verdicts:
        """Learn rows without labels, and answer each.

        There are `position` rows of this key before these. Rows that were learned before are
        answered by the present learner; a gap raises `GapError`.
        """
        keyed = self._load(key)
        checked, _ = as_rows(rows, keyed.learner.n_features, keyed.learner.feature_names)
        n_learned = count_learned(key, len(checked), position, keyed.position)
        with self._advance(key, keyed, rows):
            calls = (
                (keyed.learner.predict, checked[:n_learned]),
                (keyed.learner.observe, checked[n_learned:]),
            )
            parts = [method(block) for method, block in calls if len(block)]
        return _concatenate(parts)

    @synchronized
    def teach(self, key: str, rows: Any, labels: Sequence[Label], position: int) -> None:
        """Learn rows with labels; those that were learned before are skipped."""
        keyed = self._load(key)
        checked, _ = as_rows(rows, keyed.learner.n_features, keyed.learner.feature_names)
        names = as_labels(labels, len(checked))
        n_learned = count_learned(key, len(checked), position, keyed.position)
        if n_learned < len(checked):
            with self._advance(key, keyed, rows):
                keyed.learner.teach(checked[n_learned:], names[n_learned:])

    def _load(self, key: str) -> KeyedLearner:
        """Return the learner of a key, from its file or new; the oldest one may leave memory."""
        if key in self._loaded:
            self._loaded.move_to_end(key)
            return self._loaded[key]
        saved = self._files.load(key, load)
        position, learner = saved or (0, OnlineLearner(**self._settings.parameters()))
        keyed = self._loaded[key] = KeyedLearner(learner, position, position)
        while len(self._loaded) > self._max_loaded:
            oldest, other = next(iter(self._loaded.items()))
            self._save(oldest, other)
            del self._loaded[oldest]
        return keyed

    @contextmanager
    def _advance(self, key: str, keyed: KeyedLearner, rows: Any) -> Iterator[None]:
        """Advance by the rows that are learned: not all of them if learning is interrupted."""
        before = keyed.learner.n_seen
        try:
            yield
        finally:
            keyed.position += keyed.learner.n_seen - before
            if keyed.learner.n_seen > before and not keyed.learner.feature_names:
                keyed.learner.feature_names = column_names(rows)
        if keyed.position - keyed.saved >= self.every:
            self._save(key, keyed)

    def _save(self, key: str, keyed: KeyedLearner) -> None:
        if keyed.position > keyed.saved:
            note = {"key": key, "position": keyed.position}
            self._files.save(key, keyed.position, lambda path: keyed.learner.save(path, note=note))
            keyed.saved = keyed.position


def _concatenate(parts: Sequence[Verdicts]) -> Verdicts:
    if len(parts) == 1:
        return parts[0]
    names = [column.name for column in fields(Verdicts)]
    return Verdicts(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class PositionedLearners(Protocol[BlockAnswer_co]):
    """Learners by key with positions: `KeyedLearners`, `Partitions`, or actors of Ray."""

    @property
    def every(self) -> int:
        """Rows after which they save what they have learned."""

    def observe(self, key: str, rows: Any, position: int) -> BlockAnswer_co:
        """Learn rows that were not learned before, and answer all."""

    def teach(self, key: str, rows: Any, labels: Any, position: int) -> None:
        """Learn rows with labels that were not learned before."""

    def position(self, key: str) -> int:
        """Return the number of learned rows."""

    def durable_position(self, key: str) -> int:
        """Return the number of learned rows that survive a failure."""

    def save_key(self, key: str) -> int:
        """Save all learned rows, and return their number."""


class LostError(LabelwalkError, RuntimeError):
    """A learner does not have rows that it reported as saved."""


@dataclass(frozen=True)
class RowBlock:
    """Rows, and the position in the stream of their key where they begin."""

    position: int
    rows: Floats
    labels: list[Label] | None

    @property
    def end(self) -> int:
        """The position where the next block begins."""
        return self.position + len(self.rows)

    def skip_to(self, position: int) -> RowBlock:
        """Return the rows of the block that are not before a position."""
        n = max(0, position - self.position)
        labels = None if self.labels is None else self.labels[n:]
        return RowBlock(self.position + n, self.rows[n:], labels)

    def equals(self, other: RowBlock) -> bool:
        """Return whether it has the same rows with the same labels."""
        return np.array_equal(self.rows, other.rows) and self.labels == other.labels


@dataclass
class KeyStream:
    """The stream of one key: the blocks that are not saved, and its position."""

    position: int = -1  # unknown until the learner is asked
    saved: int = -1
    blocks: deque[RowBlock] = field(default_factory=deque)
    unanswered: RowBlock | None = None  # unknown whether it was learned
    lock: threading.Lock = field(default_factory=threading.Lock)


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
        self._learners, self._max_rows = learners, most
        self._streams: dict[str, KeyStream] = {}
        self._lock = threading.Lock()
        self._n_rows = 0

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
        return {key: self._save_key(key) for key in keys}

    def _feed(self, key: str, rows: Any, labels: Any) -> Any:
        copied = as_rows(np.array(rows), None)[0]
        names = None if labels is None else as_labels(labels, len(copied))
        if self._n_rows > self._max_rows:
            self.save()
        with self._lock_stream(key) as stream:
            if stream.position - stream.saved >= 2 * self._learners.every:
                self._drop_saved(key, stream, self._learners.durable_position(key))
            block = RowBlock(stream.position, copied, names)
            self._check_repeated(key, stream, block)
            stream.unanswered = block
            answer = self._catch_up(key, stream, stream.position, block)
            stream.unanswered = None
            stream.blocks.append(block)
            stream.position = block.end
            self._add_rows(len(copied))
        return answer

    def _save_key(self, key: str) -> int:
        with self._lock_stream(key) as stream:
            while stream.saved < stream.position:  # otherwise its file need not be loaded
                self._drop_saved(key, stream, self._learners.save_key(key))
                self._catch_up(key, stream, stream.saved)
            return stream.saved

    @contextmanager
    def _lock_stream(self, key: str) -> Iterator[KeyStream]:
        """Lock the stream of a key; it begins at the saved position of its learner."""
        with self._lock:
            stream = self._streams.setdefault(key, KeyStream())
        with stream.lock:
            if stream.position < 0:
                stream.position = stream.saved = self._learners.save_key(key)
            yield stream

    def _catch_up(
        self, key: str, stream: KeyStream, position: int, last: RowBlock | None = None
    ) -> Any:
        """Send a learner at a position the blocks that follow, and the last one."""
        while True:
            try:
                for block in stream.blocks:
                    if block.end > position:
                        self._send(key, block.skip_to(position))
                return None if last is None else self._send(key, last)
            except GapError as gap:
                _check_position(key, stream, gap.position)
                position = gap.position

    def _send(self, key: str, block: RowBlock) -> Any:
        if block.labels is None:
            return self._learners.observe(key, block.rows, block.position)
        self._learners.teach(key, block.rows, block.labels, block.position)
        return None

    def _check_repeated(self, key: str, stream: KeyStream, block: RowBlock) -> None:
        """Raise an error for a new block if the block before was learned but not answered."""
        before = stream.unanswered
        if before is None or before.equals(block):
            return
        if self._learners.position(key) > stream.position:
            raise ValueError(
                f"The block of {key!r} at position {stream.position} was learned, but its answer "
                "was lost by an error. Send that block again before this one."
            )

    def _drop_saved(self, key: str, stream: KeyStream, saved: int) -> None:
        """Remove rows from memory that the learner has saved."""
        _check_position(key, stream, saved)
        saved = min(saved, stream.position)
        while stream.blocks and stream.blocks[0].end <= saved:
            stream.blocks.popleft()
        self._add_rows(stream.saved - saved)
        stream.saved = saved

    def _add_rows(self, n: int) -> None:
        with self._lock:
            self._n_rows += n


def _check_position(key: str, stream: KeyStream, position: int) -> None:
    """Raise an error for a learner at an impossible position."""
    if position < stream.saved:
        raise LostError(
            f"The learner of {key!r} is at position {position}, but was saved at {stream.saved}. "
            "Use a folder that all machines share, and keep its files."
        )
    last = stream.unanswered.end if stream.unanswered else stream.position
    if position > last:
        raise LostError(
            f"The learner of {key!r} is at position {position}, but received {last} rows. Use only "
            "one feeder for a key."
        )


Feeder = ReplayFeeder  # its name up to version 0.7
