"""Commands to learners and their stored form in the journal, and requests to the worker."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from labelwalk._validation import NamedRows, column_names, places
from labelwalk.arrays import Bools, Label
from labelwalk.errors import LabelwalkError
from labelwalk.learner import OnlineLearner
from labelwalk.service.sealed_parts import UINT32
from labelwalk.verdicts import Verdicts

Rows = NDArray[np.float32] | NDArray[np.float64]
# Encoders are created once, because every event needs one.
COMPACT_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
ANSWER_JSON = json.JSONEncoder(ensure_ascii=False)


@dataclass(frozen=True)
class Observe:
    """Learn examples without a label; with a source each, or without sources."""

    kind: ClassVar[str] = "observe"
    rows: Rows
    sources: tuple[Label, ...] = ()


@dataclass(frozen=True)
class Teach:
    """Learn examples with a label each."""

    kind: ClassVar[str] = "teach"
    rows: Rows
    labels: tuple[Label, ...]


@dataclass(frozen=True)
class TeachLater:
    """Learn the label of an example that was observed before."""

    kind: ClassVar[str] = "teach-later"
    example: int
    label: Label


@dataclass(frozen=True)
class Retract:
    """Take back the label of an example, or all labels of a class."""

    kind: ClassVar[str] = "retract"
    example: int | None = None
    label: Label | None = None


@dataclass(frozen=True)
class Forget:
    """Remove a class."""

    kind: ClassVar[str] = "forget"
    label: Label


@dataclass(frozen=True)
class Adjust:
    """Change settings; a prior is given as pairs, since labels may be integers."""

    kind: ClassVar[str] = "adjust"
    settings: dict[str, Any]


@dataclass(frozen=True)
class Note:
    """Update the notes kept with a learner; other notes stay."""

    kind: ClassVar[str] = "note"
    notes: dict[str, Any]


Command = Observe | Teach | TeachLater | Retract | Forget | Adjust | Note


def apply_command(command: Command, learner: OnlineLearner) -> Verdicts | None:
    """Apply a command to a learner; return the verdicts if it observes examples."""
    match command:
        case Observe(rows, sources):
            return learner.observe(rows, source=list(sources) or None)
        case Teach(rows, labels):
            learner.teach(rows, list(labels))
        case TeachLater(example, label):
            learner.teach_later(example, label)
        case Retract(example, label):
            learner.retract(example, label=label)
        case Forget(label):
            learner.forget(label)
        case Adjust(settings):
            prior = settings.get("prior")
            changes = settings | ({"prior": dict(prior)} if isinstance(prior, list) else {})
            learner.adjust(**changes)
    return None


# The stored name of each field, by kind of command. Stored names never change. A new field needs a
# new format of the folder: unknown names are ignored.
STORED_NAMES: dict[type[TeachLater | Retract | Forget | Adjust | Note], dict[str, str]] = {
    TeachLater: {"example": "example", "label": "label"},
    Retract: {"example": "example", "label": "label"},
    Forget: {"label": "label"},
    Adjust: {"settings": "dials"},
    Note: {"notes": "notes"},
}
TYPES_BY_KIND = {command_type.kind: command_type for command_type in STORED_NAMES}


class CommandResult(NamedTuple):
    """The answer to a command: the id of its first example, and the answers in columns."""

    first: int
    columns: dict[str, list[Any]]

    def to_json(self) -> bytes:
        """Return the answer as it is stored and sent."""
        return ANSWER_JSON.encode({"first": self.first, **self.columns}).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Return a stored answer."""
        columns = json.loads(content)
        return cls(columns.pop("first"), columns)


def count_rows(command: Command) -> int:
    """Return how many examples a command brings."""
    return len(command.rows) if isinstance(command, Observe | Teach) else 0


def encode_command(command: Command) -> list[bytes]:
    """Return the parts of the stored form: one for each example, or a single one."""
    if not isinstance(command, Observe | Teach):
        names = STORED_NAMES[type(command)]
        values = {stored: getattr(command, name) for name, stored in names.items()}
        return [COMPACT_JSON.encode(values).encode()]
    labels: Sequence[Label | None] = [None] * len(command.rows)
    labels = command.labels if isinstance(command, Teach) else command.sources or labels
    rows = np.ascontiguousarray(command.rows, dtype=command.rows.dtype.newbyteorder("<"))
    parts = []
    for label, row in zip(labels, rows, strict=True):
        text = b"" if label is None else COMPACT_JSON.encode(label).encode()
        parts.append(UINT32.pack(len(text)) + text + row.tobytes())
    return parts


def encode_metadata(command: Command, first: int) -> str:
    """Return the unencrypted fields, which survive erasure; `first` is the next example id."""
    metadata: dict[str, Any] = {"first": first}
    if isinstance(command, Observe | Teach):
        number_type = command.rows.dtype.newbyteorder("<").str
        metadata |= {"d": command.rows.shape[1], "type": number_type}
        if names := column_names(command.rows):
            metadata["names"] = names
    return COMPACT_JSON.encode(metadata)


def decode_command(kind: str, about: str, parts: Sequence[bytes | None]) -> Command | None:
    """Return a stored command without its erased examples; None if nothing is left."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if command_type := TYPES_BY_KIND.get(kind):
        values, names = json.loads(present[0]), STORED_NAMES[command_type]
        arguments = {name: values[stored] for name, stored in names.items() if stored in values}
        return command_type(**arguments)
    metadata, labels = json.loads(about), [decode_label(part) for part in present]
    number_type = metadata["type"]
    rows: Rows = np.stack(
        [np.frombuffer(part, number_type, -1, _find_row(part)) for part in present]
    )
    if "names" in metadata:
        rows = NamedRows(rows, tuple(metadata["names"]))
    if kind == Teach.kind:
        return Teach(rows, tuple(labels))  # type: ignore[arg-type]
    return Observe(rows, tuple(label for label in labels if label is not None))


def decode_label(part: bytes) -> Label | None:
    """Return the label, or the source, in the part of an example."""
    text = part[UINT32.size : _find_row(part)]
    label: Label | None = json.loads(text) if text else None
    return label


def _find_row(part: bytes) -> int:
    """Return the byte at which the numbers of an example begin."""
    return UINT32.size + int(UINT32.unpack_from(part)[0])


class UnfinishedError(LabelwalkError):
    """An unexpected error stopped a request; a half-done change is undone by a rebuild."""

    def __init__(self, reason: str = "an unexpected error stopped this request") -> None:
        super().__init__(
            f"{reason}. See the log for details. Try again with the same Idempotency-Key."
        )


@dataclass(frozen=True)
class CreateLearner:
    """Request to add a learner under a name."""

    name: str
    learner: OnlineLearner
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DeleteLearner:
    """Request to remove a learner."""

    learner_id: int


@dataclass(frozen=True)
class LearnerCommand:
    """Request to apply a command to a learner, with its stored form and idempotency key, or ""."""

    learner_id: int
    command: Command
    parts: list[bytes]
    key: str

    def reorder_columns(self, names: tuple[str, ...]) -> Self:
        """Return the request with the columns in the order of a learner's feature names."""
        if not isinstance(self.command, Observe | Teach):
            return self
        columns, rows = column_names(self.command.rows), self.command.rows
        if not names or columns in ((), names):
            return self
        command = replace(self.command, rows=NamedRows(rows[:, places(columns, names)], names))
        return replace(self, command=command, parts=encode_command(command))


@dataclass(frozen=True)
class ErasureRequest:
    """Request to erase a class with all examples taught as it, or examples by their ids.

    The function `belongs` is given the learner as it was before and rows, and returns which rows
    are erased too, out of those that were observed and not taught as another class since.
    """

    learner_id: int
    label: Label | None = None
    examples: frozenset[int] = frozenset()
    belongs: Callable[..., Bools] | None = None


@dataclass(frozen=True)
class Query:
    """Request to call a function that changes nothing, of one learner or of all learners by id.

    It counts for `n_rows` examples in the queue. With `skip_durability` it is answered first, and
    by all changes, on disk or not.
    """

    function: Callable[[Any], Any]
    learner_id: int | None = None
    n_rows: int = 1
    skip_durability: bool = False


Request = CreateLearner | DeleteLearner | LearnerCommand | ErasureRequest | Query
