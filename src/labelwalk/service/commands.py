"""What can happen to a learner, as parts that a journal keeps; and what it does to the learner."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Label
from labelwalk.learner import OnlineLearner
from labelwalk.rows import NamedRows, column_names, places
from labelwalk.service.journal import Entry
from labelwalk.service.sealed_parts import SIZE

Rows = NDArray[np.float32] | NDArray[np.float64]
# made once: this is done for every event
ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Observe:
    """Examples without a label; a source each, or none at all."""

    kind: ClassVar[str] = "observe"
    rows: Rows
    sources: tuple[Label, ...] = ()

    def apply(self, learner: OnlineLearner) -> Any:
        """Learn them, and return verdicts."""
        return learner.observe(self.rows, source=list(self.sources) or None)


@dataclass(frozen=True)
class Teach:
    """Examples, each with its label."""

    kind: ClassVar[str] = "teach"
    rows: Rows
    labels: tuple[Label, ...]

    def apply(self, learner: OnlineLearner) -> None:
        """Learn them."""
        learner.teach(self.rows, list(self.labels))


@dataclass(frozen=True)
class TeachLater:
    """The label of an example that was observed before."""

    kind: ClassVar[str] = "teach-later"
    example: int
    label: Label

    def apply(self, learner: OnlineLearner) -> None:
        """Learn it."""
        learner.teach_later(self.example, self.label)


@dataclass(frozen=True)
class Retract:
    """Take back what was taught: an example, or a class."""

    kind: ClassVar[str] = "retract"
    example: int | None = None
    label: Label | None = None

    def apply(self, learner: OnlineLearner) -> None:
        """Unlearn it."""
        learner.retract(self.example, label=self.label)


@dataclass(frozen=True)
class Forget:
    """Strike out a class."""

    kind: ClassVar[str] = "forget"
    label: Label

    def apply(self, learner: OnlineLearner) -> None:
        """Unlearn it."""
        learner.forget(self.label)


@dataclass(frozen=True)
class Adjust:
    """Settings given anew; a prior of shares as pairs, since labels may be integers."""

    kind: ClassVar[str] = "adjust"
    dials: dict[str, Any]

    def apply(self, learner: OnlineLearner) -> None:
        """Go on with them."""
        given = dict(self.dials)
        if isinstance(given.get("prior"), list):
            given["prior"] = dict(given["prior"])
        learner.adjust(**given)


@dataclass(frozen=True)
class Note:
    """What whoever uses a learner wants to find again with it; what is not named stays."""

    kind: ClassVar[str] = "note"
    notes: dict[str, Any]

    def apply(self, learner: OnlineLearner) -> None:
        """Leave the learner as it is: notes are kept beside it."""


Command = Observe | Teach | TeachLater | Retract | Forget | Adjust | Note
SMALL: dict[str, type[TeachLater | Retract | Forget | Adjust | Note]] = {
    one.kind: one for one in (TeachLater, Retract, Forget, Adjust, Note)
}


def encode_command(event: Command) -> list[bytes]:
    """Return an event as parts, one for each example.

    Examples
    --------
    >>> event = Teach(np.array([[1.0, 2.0]]), ("cat",))
    >>> encode_metadata(event, 7)
    '{"d":2,"first":7,"type":"<f8"}'
    >>> decode_command("teach", encode_metadata(event, 7), encode_command(event))
    Teach(rows=array([[1., 2.]]), labels=('cat',))
    """
    if isinstance(event, Observe):
        words: Sequence[Label | None] = event.sources or [None] * len(event.rows)
        return _rows_written(event.rows, words)
    if isinstance(event, Teach):
        return _rows_written(event.rows, event.labels)
    return [_json(vars(event)).encode()]


def encode_metadata(event: Command, first: int) -> str:
    """Return what may be known of an event even when its parts are erased.

    Parameters
    ----------
    event : Command
    first : int
        How many numbers had been given to examples before it.
    """
    if isinstance(event, Observe | Teach):
        kind = event.rows.dtype.newbyteorder("<").str
        known = {"d": event.rows.shape[1], "first": first, "type": kind}
        names = column_names(event.rows)
        return _json(known | {"names": names} if names else known)
    return _json({"first": first})


def decode_command(kind: str, about: str, parts: Sequence[bytes | None]) -> Command | None:
    """Return an event as it was, without what is erased; None where nothing is left."""
    left = [part for part in parts if part is not None]
    if not left:
        return None
    if kind in SMALL:
        return SMALL[kind](**json.loads(left[0]))
    words, rows = _rows_read(json.loads(about), left)
    if kind == Teach.kind:
        return Teach(rows, tuple(words))
    return Observe(rows, tuple(word for word in words if word is not None))


def decode_label(part: bytes) -> Label | None:
    """Return the label, or the source, in the part of an example."""
    said = part[SIZE.size : SIZE.size + SIZE.unpack_from(part)[0]]
    word: Label | None = json.loads(said) if said else None
    return word


def _rows_written(rows: Rows, words: Sequence[Label | None]) -> list[bytes]:
    little = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("<"))
    parts = []
    for word, row in zip(words, little, strict=True):
        said = b"" if word is None else _json(word).encode()
        parts.append(SIZE.pack(len(said)) + said + row.tobytes())
    return parts


def _rows_read(about: dict[str, Any], parts: Sequence[bytes]) -> tuple[list[Any], Rows]:
    words: list[Any] = []
    rows = []
    for part in parts:
        words.append(decode_label(part))
        end = SIZE.size + SIZE.unpack_from(part)[0]
        rows.append(np.frombuffer(part, dtype=about["type"], offset=end))
    stacked = np.stack(rows)
    return words, NamedRows(stacked, tuple(about["names"])) if "names" in about else stacked


def _json(value: Any) -> str:
    return ENCODER.encode(value)


class UnfinishedError(Exception):
    """An unexpected error stopped a request; what it may have left half done is rebuilt."""

    def __init__(self, reason: str = "an unexpected error stopped this request") -> None:
        super().__init__(f"{reason}; the log says more. Try again, with the same Idempotency-Key.")


@dataclass(frozen=True)
class LearnerCommand:
    """Something that is to happen to a learner.

    Attributes
    ----------
    learner : int
    event : Command
    parts : list of bytes
        The event as it will be written.
    key : str
        By which a repetition is known; empty: by none.
    """

    learner: int
    event: Command
    parts: list[bytes]
    key: str

    def in_order(self, names: tuple[str, ...]) -> LearnerCommand:
        """Return the change with the columns in the order of a learner's, where both have names."""
        event: Any = self.event
        given = column_names(getattr(event, "rows", None))
        if not names or given in ((), names):
            return self
        event = replace(event, rows=NamedRows(event.rows[:, places(given, names)], names))
        return replace(self, event=event, parts=encode_command(event))


@dataclass(frozen=True)
class QueuedCall:
    """Something to be done in its turn, and where the answer goes.

    Attributes
    ----------
    do : function of a learner, or of all
        Returns an answer, and what is to be written before it is given, if anything.
    answer : Future
    change : LearnerCommand or None
        What `do` does, where it changes a learner.
    alone : bool
        Whether nothing may be on its way to the disk meanwhile.
    at_once : bool
        Whether the answer need not wait until what came before is on the disk.
    learner : int or None
        Whom alone `do` is given; all learners where there is none.
    """

    do: Callable[[Any], tuple[Any, Entry | None]]
    answer: Future[Any]
    change: LearnerCommand | None = None
    alone: bool = False
    at_once: bool = False
    learner: int | None = None


def runs(asked: Iterable[QueuedCall]) -> Iterator[list[QueuedCall]]:
    """Yield what is asked, in order, and together what can be observed as one block."""
    run: list[QueuedCall] = []
    for one in asked:
        if run and not _go_together(run, one):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _go_together(run: list[QueuedCall], one: QueuedCall) -> bool:
    first, next_ = run[0].change, one.change
    if first is None or next_ is None or first.learner != next_.learner:
        return False
    blocks = [first.event, next_.event]
    if not all(isinstance(x, Observe) and not (x.sources or column_names(x.rows)) for x in blocks):
        return False
    widths = {block.rows.shape[1] for block in blocks if isinstance(block, Observe)}
    keys = {other.change.key for other in run if other.change is not None}
    return len(widths) == 1 and (not next_.key or next_.key not in keys)
