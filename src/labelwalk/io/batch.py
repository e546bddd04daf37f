"""Rows as they come from a source: what the learner needs of them, and what is passed on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from labelwalk.arrays import Bools, Floats, Ints
from labelwalk.io.fault import Fault
from labelwalk.io.numbers import BadValue

Position = dict[str, Any]
"""Where a source stands, as JSON can hold it."""


class Answers(NamedTuple):
    """What is added to rows, one entry each."""

    label: list[str | None]
    confidence: Floats
    outlier: Bools
    example: Ints | None = None

    def named(self, prefix: str) -> dict[str, Any]:
        """Return the new columns by name."""
        columns = {
            "label": self.label,
            "confidence": self.confidence,
            "outlier": self.outlier,
            "example": self.example,
        }
        return {prefix + name: column for name, column in columns.items() if column is not None}


class Rows(Protocol):
    """Rows of one kind: a table of Arrow, or objects of JSON."""

    @property
    def names(self) -> list[str]:
        """The columns, in order."""

    @property
    def asides(self) -> Collection[str]:
        """Columns that come with the format, and are features only where they are named."""

    @property
    def loose(self) -> bool:
        """Whether a row may lack a column, or have others."""

    def __len__(self) -> int: ...

    def width(self, name: str) -> int | None:
        """Return how many numbers the lists of a column hold; 0: it holds none; None: no value."""

    def numbers(self, name: str, width: int) -> tuple[Floats, list[BadValue]]:
        """Return a column of that width as a matrix, and what is no number in it."""

    def values(self, name: str) -> Sequence[Any]:
        """Return a column as Python's own values."""

    def taken(self, keep: Bools) -> Rows:
        """Return some of the rows."""

    def written(self, i: int) -> str:
        """Return one row as text, for the reject file."""

    def table(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> pa.Table:
        """Return the rows as a table with its features as numbers, and the new columns."""

    def lines(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> list[str]:
        """Return the rows as JSON, each with the new columns."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a source.

    Attributes
    ----------
    rows : Rows
    where : function of a row's number in the batch
        Return where it is, such as "line 17".
    after : function of a number of rows, or None
        Return the position of the source right after so many of them; for None, after all of the
        batch, faults at its end included.
    share : float or None
        How much of the source is read by now, where its length is known.
    faults : list of Fault
        What could not even be read as a row.
    """

    rows: Rows
    where: Callable[[int], str]
    after: Callable[[int | None], Position]
    share: float | None = None
    faults: list[Fault] = field(default_factory=list)


class Source(Protocol):
    """Where rows come from."""

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches from a position on; None is the beginning."""
