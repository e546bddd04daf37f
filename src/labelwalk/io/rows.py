"""Rows in batches, as sources yield them: tables of Arrow or objects of JSON, and faulty rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.errors import LabelwalkError
from labelwalk.io.arrow_columns import (
    MISSING,
    NOT_A_NUMBER,
    NOT_FINITE,
    OTHER_WIDTH,
    BadValue,
    find_not_finite,
    from_matrix,
    from_numpy,
    from_text,
    parse_numbers,
    read_width,
)

MAX_SHOWN_CHARACTERS = 60
NUMBER_TYPES = {int, float}

Position = dict[str, Any]
"""Position of a source, as a JSON value."""


class InputError(LabelwalkError, ValueError):
    """The input cannot be read: a row with `on_error="stop"`, or a whole file."""


@dataclass(frozen=True, slots=True)
class RowError:
    """A row cannot be learned or answered.

    Attributes
    ----------
    at : int
        Number of rows of its batch that precede it.
    where : str
        Such as "line 17".
    problem : str
        What is wrong, and how to correct it.
    column, value : str or None
        Where the error lies in the row, if it lies in one place.
    row : str
        The whole row, unchanged.
    """

    at: int
    where: str
    problem: str
    column: str | None = None
    value: str | None = None
    row: str = ""

    def __str__(self) -> str:
        if self.column is None:
            return f"{self.where}: {self.problem}"
        if self.value is None:
            return f"{self.where}, column {self.column!r}: {self.problem}"
        return f"{self.where}, column {self.column!r}: {shorten(self.value)!r} {self.problem}"


def shorten(value: str) -> str:
    """Return the beginning of a long value."""
    end = MAX_SHOWN_CHARACTERS - 3
    return value if len(value) <= MAX_SHOWN_CHARACTERS else value[:end] + "..."


class AnswerColumns(NamedTuple):
    """The columns that are added to rows."""

    label: list[str | None]
    confidence: Floats
    outlier: Bools
    example: Ints | None = None

    @classmethod
    def for_no_rows(cls, *, example_ids: bool = False) -> AnswerColumns:
        """Return the columns without any row."""
        example = np.empty(0, dtype=np.int64) if example_ids else None
        return cls([], np.empty(0), np.empty(0, dtype=bool), example)

    def by_name(self, prefix: str) -> dict[str, Any]:
        """Return the columns that exist, with their names."""
        columns = self._asdict().items()
        return {prefix + name: column for name, column in columns if column is not None}


@dataclass(frozen=True)
class TableRows:
    """Rows of an Arrow table, whose columns are passed on unchanged.

    Attributes
    ----------
    content : pyarrow.Table
    not_features : collection of str
        Columns that are features only if the user names them.
    """

    content: pa.Table
    not_features: Collection[str] = ()
    has_optional_columns = False

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        return list(self.content.column_names)

    def __len__(self) -> int:
        return int(self.content.num_rows)

    def width(self, name: str) -> int | None:
        """Return the length of the lists of a column; 0: no lists; None: all values missing."""
        return read_width(self.content[name])

    def numbers(self, name: str, width: int) -> tuple[Floats, list[BadValue]]:
        """Return a column of that width as a matrix, and the values that are not numbers."""
        return parse_numbers(self.content[name], width)

    def values(self, name: str) -> list[Any]:
        """Return a column as Python objects."""
        values: list[Any] = self.content[name].to_pylist()
        return values

    def filter(self, keep: Bools) -> TableRows:
        """Return the rows selected by a mask."""
        return TableRows(self.content.filter(from_numpy(keep)), self.not_features)

    def text(self, i: int) -> str:
        """Return a row as JSON, for the reject file."""
        return _format_json(self.content.slice(i, 1).to_pylist()[0])

    def to_table(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> pa.Table:
        """Return the table with text features as numbers, and the added columns."""
        table = self.content
        for name, numbers in features.items():
            if pa.types.is_string(table[name].type):
                place = table.column_names.index(name)
                table = table.set_column(place, name, from_numpy(numbers[:, 0]))
        return append_columns(table, added)

    def to_json_lines(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> list[str]:
        """Return the rows as JSON."""
        return [_format_json(row) for row in self.to_table(features, added).to_pylist()]


@dataclass(frozen=True)
class JsonRows:
    """JSON objects with their text. The columns are the keys of the first object of the stream."""

    texts: list[str]
    objects: list[dict[str, Any]]
    names: list[str]
    not_features = ()
    has_optional_columns = True

    def __len__(self) -> int:
        return len(self.objects)

    def width(self, name: str) -> int | None:
        """Return the length of the first list of a column; 0: no lists; None: no values."""
        values = [value for value in self.values(name) if value is not None]
        lists = (value for value in values if isinstance(value, list))
        return len(next(lists, ())) if values else None

    def numbers(self, name: str, width: int) -> tuple[Floats, list[BadValue]]:
        """Return a column as a matrix, and the values that are not numbers."""
        values = self.values(name)
        return _read_lists(values, width) if width else _read_numbers(values)

    def values(self, name: str) -> list[Any]:
        """Return a column; None where an object lacks it."""
        return [row.get(name) for row in self.objects]

    def filter(self, keep: Bools) -> JsonRows:
        """Return the rows selected by a mask."""
        texts, objects = compress(self.texts, keep), compress(self.objects, keep)
        return JsonRows(list(texts), list(objects), self.names)

    def text(self, i: int) -> str:
        """Return a row as it was read, for the reject file."""
        return self.texts[i]

    def to_table(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> pa.Table:
        """Return the objects as a table: features as numbers, all else as text.

        Raises
        ------
        InputError
            An object has a key that is not a column.
        """
        names = set(self.names)
        for row in self.objects:
            if not row.keys() <= names:
                key = sorted(row.keys() - names)[0]
                raise InputError(
                    f"A row has the key {key!r}, which the first row does not have, so the table "
                    "has no column for it. Write .ndjson."
                )
        columns: dict[str, Any] = {}
        for name in self.names:
            numbers = features.get(name)
            if numbers is None:
                texts = [
                    json.dumps(value) if isinstance(value, list | dict) else as_label_text(value)
                    for value in self.values(name)
                ]
                columns[name] = from_text(texts)
            elif self.width(name):
                columns[name] = from_matrix(numbers)
            else:
                columns[name] = from_numpy(numbers[:, 0])
        return append_columns(pa.table(columns), added)

    def to_json_lines(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> list[str]:
        """Return each object unchanged, with the added entries before its closing brace."""
        starts = [json.dumps(name) + ": " for name in added]
        columns = [
            column.tolist() if isinstance(column, np.ndarray) else column
            for column in added.values()
        ]
        lines = []
        rows = zip(self.texts, self.objects, zip(*columns, strict=True), strict=True)
        for text, row, values in rows:
            taken = row.keys() & added.keys()
            if taken:
                raise InputError(
                    f"A row already has the key {sorted(taken)[0]!r}. Choose another --prefix for "
                    "the added columns, and --label-column if these are labels."
                )
            entries = ", ".join(s + json.dumps(v) for s, v in zip(starts, values, strict=True))
            open_end = text.rstrip()[:-1].rstrip()
            lines.append(f"{open_end}{', ' if row else ''}{entries}}}")
        return lines


Rows: TypeAlias = TableRows | JsonRows


@dataclass(frozen=True)
class Batch:
    """Some rows of a source.

    Attributes
    ----------
    rows : Rows
    where : function of the number of a row in the batch
        Return its place, such as "line 17".
    after : function of a number of rows, or None
        Return the position of the source after that number of rows; for None, after the whole
        batch, including faulty rows at its end.
    share : float or None
        The share of the source that has been read, if its length is known.
    faults : list of RowError
        Records that could not be read as rows.
    """

    rows: Rows
    where: Callable[[int], str]
    after: Callable[[int | None], Position]
    share: float | None = None
    faults: list[RowError] = field(default_factory=list)


class RowSource(Protocol):
    """A stream of rows."""

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches from a position on; None is the beginning."""


def as_label_text(value: object) -> str | None:
    """Return a label, id or source of any type as text; None if it is missing.

    3, 3.0 and "3" are equal, so that a label does not depend on the format of the file.

    Raises
    ------
    ValueError
        It is a list, an object or raw bytes.

    Examples
    --------
    >>> [as_label_text(value) for value in (3.0, "cat", True, "", None)]
    ['3', 'cat', 'true', None, None]
    """
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    raise ValueError("is neither text nor a number")


def to_class_names(texts: Iterable[str], classes: Sequence[Label]) -> list[Label]:
    """Return labels as whole numbers if a learner has such classes, else as text.

    Examples
    --------
    >>> to_class_names(["3", "new"], [3, 4]), to_class_names(["3"], ["3", "4"])
    ([3, 'new'], ['3'])
    """
    numbers = {str(name): name for name in classes if isinstance(name, int)}
    return [numbers.get(text, _parse_integer(text) if numbers else text) for text in texts]


def _parse_integer(text: str) -> Label:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and str(int(text)) == text else text


def append_columns(table: pa.Table, added: Mapping[str, Any]) -> pa.Table:
    """Return the table with more columns at its end."""
    for name, column in added.items():
        array = from_numpy(column) if isinstance(column, np.ndarray) else from_text(column)
        table = table.append_column(name, array)
    return table


def _format_json(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, default=str, ensure_ascii=False, allow_nan=False)
    except ValueError:  # JSON has no NaN and no infinity
        return json.dumps(_replace_not_finite(row), default=str, ensure_ascii=False)


def _replace_not_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _replace_not_finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace_not_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read_numbers(values: list[Any]) -> tuple[Floats, list[BadValue]]:
    numbers = np.full((len(values), 1), np.nan)
    bad: list[BadValue] = []
    if set(map(type, values)) <= NUMBER_TYPES:
        numbers[:, 0] = [_to_float(value) for value in values]
    else:
        for i, value in enumerate(values):
            if type(value) in NUMBER_TYPES:
                numbers[i, 0] = _to_float(value)
            else:
                bad.append(_describe_bad_value(i, value))
    bad_rows = {value.row for value in bad}
    bad += [
        BadValue(i, str(values[i]), NOT_FINITE)
        for i, _ in find_not_finite(numbers)
        if i not in bad_rows
    ]
    return numbers, sorted(bad, key=lambda value: value.row)


def _read_lists(values: list[Any], width: int) -> tuple[Floats, list[BadValue]]:
    numbers = np.full((len(values), width), np.nan)
    bad = []
    for i, value in enumerate(values):
        if not isinstance(value, list):
            bad.append(_describe_bad_value(i, value))
        elif len(value) != width:
            bad.append(BadValue(i, str(len(value)), OTHER_WIDTH.format(width=width)))
        else:
            row, bad_elements = _read_numbers(value)
            numbers[i] = row[:, 0]
            bad += [bad_elements[0]._replace(row=i)] if bad_elements else []
    return numbers, bad


def _to_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _describe_bad_value(row: int, value: Any) -> BadValue:
    if value is None or value == "":
        return BadValue(row, None, MISSING)
    return BadValue(row, value if isinstance(value, str) else json.dumps(value), NOT_A_NUMBER)
