"""Rows for learners that may be lost: what is not kept yet is given again by itself.

Whoever has rows gives each block once. Blocks stay here until the learner of their key says that it
is kept past them, and where it was lost it is given what it lacks, from where it stands.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from labelwalk.arrays import Floats, Label
from labelwalk.distributed.keyed import GapError
from labelwalk.parameters import check_whole
from labelwalk.rows import as_labels, as_rows

Answer_co = TypeVar("Answer_co", covariant=True)
Answer = TypeVar("Answer")


class Learners(Protocol[Answer_co]):
    """Learners by key that know where they stand: `KeyedLearners`, partitions, or actors of Ray."""

    @property
    def every(self) -> int:
        """Rows after which they keep what they have learned."""

    def observe(self, key: str, rows: Any, position: int) -> Answer_co:
        """Learn rows that were not learned before, and answer all."""

    def teach(self, key: str, rows: Any, labels: Any, position: int) -> None:
        """Learn rows with labels that were not learned before."""

    def position(self, key: str) -> int:
        """Return how many rows are learned."""

    def kept(self, key: str) -> int:
        """Return how many of them no accident can take away."""

    def keep(self, key: str) -> int:
        """Keep all that are learned, and return how many."""


class LostError(RuntimeError):
    """A learner lacks rows that it had said were kept."""


@dataclass(frozen=True)
class Block:
    """Rows, and where in the stream of their key they begin."""

    position: int
    rows: Floats
    labels: list[Label] | None

    @property
    def end(self) -> int:
        """Where the next block begins."""
        return self.position + len(self.rows)

    def since(self, position: int) -> Block:
        """Return what of it is not before a position."""
        done = max(0, position - self.position)
        labels = None if self.labels is None else self.labels[done:]
        return Block(self.position + done, self.rows[done:], labels)

    def is_like(self, other: Block) -> bool:
        """Say whether it is the same rows with the same labels."""
        return np.array_equal(self.rows, other.rows) and self.labels == other.labels


@dataclass
class Line:
    """The stream of one key: what is not kept, and where it goes on."""

    position: int = -1  # nobody has asked yet
    kept: int = -1
    blocks: deque[Block] = field(default_factory=deque)
    unanswered: Block | None = None  # nobody knows whether it was learned
    turn: threading.Lock = field(default_factory=threading.Lock)


class Feeder(Generic[Answer]):
    """Gives rows to learners, and again where these were lost: each row counts once.

    Several threads may use it; the blocks of one key are given by one of them, in order. Nobody
    else gives rows to the same keys meanwhile.

    Parameters
    ----------
    learners : KeyedLearners, or what else keeps learners by key
    most : int
        Rows that wait here in all. Where there are more, all learners are kept first. Of one key
        there are never more than twice its learner's `every`, and one block.

    Examples
    --------
    >>> import tempfile
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.distributed.keyed import KeyedLearners
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     feeder = Feeder(KeyedLearners(folder, OnlineLearner(50).settings))
    ...     feeder.teach("door", [[0.0], [9.0]], ["low", "high"])
    ...     said = feeder.observe("door", [[1.0], [8.0]])
    ...     feeder.save()
    ...     said.label.tolist(), feeder.position("door")
    {'door': 4}
    (['low', 'high'], 4)
    """

    def __init__(self, learners: Learners[Answer], most: int = 1_000_000) -> None:
        check_whole("most", most, "1_000_000")
        self._learners, self._most = learners, most
        self._lines: dict[str, Line] = {}
        self._lock = threading.Lock()
        self._waiting = 0

    def position(self, key: str) -> int:
        """Return where the stream of a key goes on: how many rows its learner has had."""
        with self._turn(key) as line:
            return line.position

    def observe(self, key: str, rows: Any) -> Answer:
        """Have rows without labels learned, and return what the learner says of them.

        Where an error comes out, give the same block again: nobody knows whether it was learned,
        and it does not count twice.

        Parameters
        ----------
        key : str
        rows : array of shape (n, features)
        """
        answer: Answer = self._feed(key, rows, None)
        return answer

    def teach(self, key: str, rows: Any, labels: Label | Iterable[Label]) -> None:
        """Have rows with labels learned; errors as in `observe`."""
        self._feed(key, rows, labels)

    def save(self) -> dict[str, int]:
        """Have all learners kept, and return up to where each is."""
        with self._lock:  # a key that was refused has no position
            keys = [key for key, line in self._lines.items() if line.position >= 0]
        return {key: self._kept_whole(key) for key in keys}

    def _feed(self, key: str, rows: Any, labels: Any) -> Any:
        copied = as_rows(np.array(rows), None)[0]
        names = None if labels is None else as_labels(labels, len(copied))
        if self._waiting > self._most:
            self.save()
        with self._turn(key) as line:
            if line.position - line.kept >= 2 * self._learners.every:
                self._let_go(key, line, self._learners.kept(key))
            block = Block(line.position, copied, names)
            self._check_follows(key, line, block)
            line.unanswered = block
            answer = self._brought_up(key, line, line.position, block)
            line.unanswered = None
            line.blocks.append(block)
            line.position = block.end
            self._count(len(copied))
        return answer

    def _kept_whole(self, key: str) -> int:
        with self._turn(key) as line:
            while line.kept < line.position:  # else nobody need fetch the learner from its file
                self._let_go(key, line, self._learners.keep(key))
                self._brought_up(key, line, line.kept)
            return line.kept

    @contextmanager
    def _turn(self, key: str) -> Iterator[Line]:
        """Have the stream of a key to oneself; it begins where its learner is kept."""
        with self._lock:
            line = self._lines.setdefault(key, Line())
        with line.turn:
            if line.position < 0:
                line.position = line.kept = self._learners.keep(key)
            yield line

    def _brought_up(self, key: str, line: Line, at: int, last: Block | None = None) -> Any:
        """Give a learner that stands at a position what follows, and the last block."""
        while True:
            try:
                for block in line.blocks:
                    if block.end > at:
                        self._send(key, block.since(at))
                return None if last is None else self._send(key, last)
            except GapError as gap:
                _check_kept(key, line, gap.position)
                at = gap.position

    def _send(self, key: str, block: Block) -> Any:
        if block.labels is None:
            return self._learners.observe(key, block.rows, block.position)
        self._learners.teach(key, block.rows, block.labels, block.position)
        return None

    def _check_follows(self, key: str, line: Line, block: Block) -> None:
        """Refuse another block where the one before may have been learned."""
        before = line.unanswered
        if before is None or before.is_like(block):
            return
        if self._learners.position(key) > line.position:
            raise ValueError(
                f"the block of {key!r} at position {line.position} was learned, though an error "
                "came in place of its answer. Give that block again, and then this one."
            )

    def _let_go(self, key: str, line: Line, kept: int) -> None:
        """Forget rows that are kept elsewhere."""
        _check_kept(key, line, kept)
        kept = min(kept, line.position)
        while line.blocks and line.blocks[0].end <= kept:
            line.blocks.popleft()
        self._count(line.kept - kept)
        line.kept = kept

    def _count(self, n: int) -> None:
        with self._lock:
            self._waiting += n


def _check_kept(key: str, line: Line, at: int) -> None:
    """Refuse a learner that stands where it cannot."""
    if at < line.kept:
        raise LostError(
            f"the learner of {key!r} stands at {at}, but was kept up to {line.kept}. See that its "
            "folder is one that all machines share, and that nobody empties it."
        )
    last = line.unanswered.end if line.unanswered else line.position
    if at > last:
        raise LostError(
            f"the learner of {key!r} stands at {at}, but was given {last} rows. See that nobody "
            "else feeds it."
        )
