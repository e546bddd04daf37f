"""What can happen to a learner, as parts that a journal keeps; and what it does to the learner."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Label
from labelwalk.learner import OnlineLearner
from labelwalk.rows import NamedRows, column_names
from labelwalk.service.sealed import SIZE

Rows = NDArray[np.float32] | NDArray[np.float64]
# made once: this is done for every event
ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Observe:
    """Examples without a label; a source each, or none at all."""

    kind: ClassVar[str] = "observe"
    rows: Rows
    sources: tuple[Label, ...] = ()

    def happen(self, learner: OnlineLearner) -> Any:
        """Learn them, and return verdicts."""
        return learner.observe(self.rows, source=list(self.sources) or None)


@dataclass(frozen=True)
class Teach:
    """Examples, each with its label."""

    kind: ClassVar[str] = "teach"
    rows: Rows
    labels: tuple[Label, ...]

    def happen(self, learner: OnlineLearner) -> None:
        """Learn them."""
        learner.teach(self.rows, list(self.labels))


@dataclass(frozen=True)
class TeachLater:
    """The label of an example that was observed before."""

    kind: ClassVar[str] = "teach-later"
    example: int
    label: Label

    def happen(self, learner: OnlineLearner) -> None:
        """Learn it."""
        learner.teach_later(self.example, self.label)


@dataclass(frozen=True)
class Retract:
    """Take back what was taught: an example, or a class."""

    kind: ClassVar[str] = "retract"
    example: int | None = None
    label: Label | None = None

    def happen(self, learner: OnlineLearner) -> None:
        """Unlearn it."""
        learner.retract(self.example, label=self.label)


@dataclass(frozen=True)
class Forget:
    """Strike out a class."""

    kind: ClassVar[str] = "forget"
    label: Label

    def happen(self, learner: OnlineLearner) -> None:
        """Unlearn it."""
        learner.forget(self.label)


@dataclass(frozen=True)
class Adjust:
    """Settings given anew; a prior of shares as pairs, since labels may be integers."""

    kind: ClassVar[str] = "adjust"
    dials: dict[str, Any]

    def happen(self, learner: OnlineLearner) -> None:
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

    def happen(self, learner: OnlineLearner) -> None:
        """Leave the learner as it is: notes are kept beside it."""


Happening = Observe | Teach | TeachLater | Retract | Forget | Adjust | Note
SMALL: dict[str, type[TeachLater | Retract | Forget | Adjust | Note]] = {
    one.kind: one for one in (TeachLater, Retract, Forget, Adjust, Note)
}


def written(event: Happening) -> list[bytes]:
    """Return an event as parts, one for each example.

    Examples
    --------
    >>> event = Teach(np.array([[1.0, 2.0]]), ("cat",))
    >>> about_it(event, 7)
    '{"d":2,"first":7,"type":"<f8"}'
    >>> read_back("teach", about_it(event, 7), written(event))
    Teach(rows=array([[1., 2.]]), labels=('cat',))
    """
    if isinstance(event, Observe):
        words: Sequence[Label | None] = event.sources or [None] * len(event.rows)
        return _rows_written(event.rows, words)
    if isinstance(event, Teach):
        return _rows_written(event.rows, event.labels)
    return [_json(vars(event)).encode()]


def about_it(event: Happening, first: int) -> str:
    """Return what may be known of an event even when its parts are erased.

    Parameters
    ----------
    event : Happening
    first : int
        How many numbers had been given to examples before it.
    """
    if isinstance(event, Observe | Teach):
        kind = event.rows.dtype.newbyteorder("<").str
        known = {"d": event.rows.shape[1], "first": first, "type": kind}
        names = column_names(event.rows)
        return _json(known | {"names": names} if names else known)
    return _json({"first": first})


def read_back(kind: str, about: str, parts: Sequence[bytes | None]) -> Happening | None:
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


def word_of(part: bytes) -> Label | None:
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
        words.append(word_of(part))
        end = SIZE.size + SIZE.unpack_from(part)[0]
        rows.append(np.frombuffer(part, dtype=about["type"], offset=end))
    stacked = np.stack(rows)
    return words, NamedRows(stacked, tuple(about["names"])) if "names" in about else stacked


def _json(value: Any) -> str:
    return ENCODER.encode(value)
