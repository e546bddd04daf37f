"""Rows in batches, as sources yield them: tables of Arrow or objects of JSON, and faulty rows."""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.errors import LabelwalkError
from labelwalk.io import arrow_columns as arrow

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

    def by_name(self, prefix: str) -> dict[str, Any]:
        """Return the columns that exist, with their names."""
        columns = self._asdict().items()
        return {prefix + name: column for name, column in columns if column is not None}


@dataclass(frozen=True)
class TableRows:
    """Rows of an Arrow table, whose columns are passed on unchanged."""

    content: pa.Table
    not_features: Collection[str] = ()  # columns that are features only if the user names them
    has_optional_columns = False

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        return list(self.content.column_names)

    def __len__(self) -> int:
        return int(self.content.num_rows)

    def width(self, name: str) -> int | None:
        """Return the length of the lists of a column; 0: no lists; None: all values missing."""
        return arrow.read_width(self.content[name])

    def numbers(self, name: str, width: int) -> tuple[Floats, arrow.BadValues]:
        """Return a column of that width as a matrix, and the values that are not numbers."""
        return arrow.parse_numbers(self.content[name], width)

    def values(self, name: str) -> list[Any]:
        """Return a column as Python objects."""
        return list(self.content[name].to_pylist())

    def filter(self, keep: Bools) -> "TableRows":
        """Return the rows selected by a mask."""
        return TableRows(self.content.filter(arrow.from_numpy(keep)), self.not_features)

    def text(self, i: int) -> str:
        """Return a row as JSON, for the reject file."""
        return _format_json(self.content.slice(i, 1).to_pylist()[0])

    def to_table(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> pa.Table:
        """Return the table with text features as numbers, and the added columns."""
        table = self.content
        for name, numbers in features.items():
            if pa.types.is_string(table[name].type):
                place = table.column_names.index(name)
                table = table.set_column(place, name, arrow.from_numpy(numbers[:, 0]))
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

    def numbers(self, name: str, width: int) -> tuple[Floats, arrow.BadValues]:
        """Return a column as a matrix, and the values that are not numbers."""
        values = self.values(name)
        return _read_lists(values, width) if width else _read_numbers(values)

    def values(self, name: str) -> list[Any]:
        """Return a column; None where an object lacks it."""
        return [row.get(name) for row in self.objects]

    def filter(self, keep: Bools) -> "JsonRows":
        """Return the rows selected by a mask."""
        texts, objects = compress(self.texts, keep), compress(self.objects, keep)
        return JsonRows(list(texts), list(objects), self.names)

    def text(self, i: int) -> str:
        """Return a row as it was read, for the reject file."""
        return self.texts[i]

    def to_table(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> pa.Table:
        """Return the objects as a table: features as numbers, all else as text."""
        for row in self.objects:
            unknown = sorted(row.keys() - self.names)
            if unknown:
                raise InputError(
                    f"A row has the key {unknown[0]!r}, which the first row does not have, so the "
                    "table has no column for it. Write .ndjson."
                )
        columns: dict[str, Any] = {}
        for name in self.names:
            if name in features:
                matrix = arrow.from_matrix(features[name])
                columns[name] = matrix if self.width(name) else matrix.values
            else:
                texts = [
                    json.dumps(value) if isinstance(value, list | dict) else as_label_text(value)
                    for value in self.values(name)
                ]
                columns[name] = arrow.from_text(texts)
        return append_columns(pa.table(columns), added)

    def to_json_lines(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> list[str]:
        """Return each object unchanged, with the added entries before its closing brace."""
        starts = [json.dumps(name) + ": " for name in added]
        columns = [np.asarray(column, object).tolist() for column in added.values()]
        lines = []
        rows = zip(self.texts, self.objects, zip(*columns, strict=True), strict=True)
        for text, row, values in rows:
            taken = row.keys() & added.keys()
            if taken:
                raise InputError(
                    f"A row already has the key {sorted(taken)[0]!r}. Choose another --prefix for "
                    "the added columns, and give --label-column if the key holds labels."
                )
            entries = ", ".join(s + json.dumps(v) for s, v in zip(starts, values, strict=True))
            open_end = text.rstrip()[:-1].rstrip()
            lines.append(f"{open_end}{', ' if row else ''}{entries}}}")
        return lines


Rows: TypeAlias = TableRows | JsonRows


@dataclass(frozen=True)
class Batch:
    """Some rows of a source."""

    rows: Rows
    # returns the place of a row, such as "line 17", from its number in the batch
    where: Callable[[int], str]
    # returns the position of the source after n rows; for None, after the whole batch, including
    # faulty rows at its end
    after: Callable[[int | None], Position]
    share: float | None = None  # of the source that has been read, if its length is known
    faults: list[RowError] = field(default_factory=list)  # records that could not be read as rows


def as_label_text(value: object) -> str | None:
    """Return a label, id or source of any type as text; None if it is missing.

    3, 3.0 and "3" are equal, so that a label does not depend on the format of the file.

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
        is_array = isinstance(column, np.ndarray)
        array = arrow.from_numpy(column) if is_array else arrow.from_text(column)
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


def _read_numbers(values: list[Any]) -> tuple[Floats, arrow.BadValues]:
    bad: arrow.BadValues = {}
    if not set(map(type, values)) <= NUMBER_TYPES:  # rare, and slower
        faulty = [i for i, value in enumerate(values) if type(value) not in NUMBER_TYPES]
        bad = {i: _describe_bad_value(values[i]) for i in faulty}
        values = [np.nan if i in bad else value for i, value in enumerate(values)]
    numbers = np.array([_to_float(value) for value in values])
    arrow.add_not_finite(bad, numbers, lambda i: str(values[i]))
    return numbers.reshape(-1, 1), bad


def _read_lists(values: list[Any], width: int) -> tuple[Floats, arrow.BadValues]:
    numbers = np.full((len(values), width), np.nan)
    bad: arrow.BadValues = {}
    for i, value in enumerate(values):
        if not isinstance(value, list):
            bad[i] = _describe_bad_value(value)
        elif len(value) != width:
            bad[i] = arrow.BadValue(str(len(value)), arrow.OTHER_WIDTH.format(width=width))
        else:
            row, bad_elements = _read_numbers(value)
            numbers[i] = row[:, 0]
            if bad_elements:
                bad[i] = bad_elements[min(bad_elements)]
    return numbers, bad


def _to_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _describe_bad_value(value: Any) -> arrow.BadValue:
    if value is None or value == "":
        return arrow.BadValue(None, arrow.MISSING)
    text = value if isinstance(value, str) else json.dumps(value)
    return arrow.BadValue(text, arrow.NOT_A_NUMBER)
