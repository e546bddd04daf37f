"""Rows of an Arrow table."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Bools, Floats
from labelwalk.io.arrow_arrays import from_numpy, from_words
from labelwalk.io.numbers import BadValue, column_numbers, column_width


@dataclass(frozen=True)
class TableRows:
    """Rows of a table, all columns passed on as they are."""

    content: pa.Table
    asides: Collection[str] = ()

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        return list(self.content.column_names)

    loose = False

    def __len__(self) -> int:
        return int(self.content.num_rows)

    def width(self, name: str) -> int | None:
        """Return how many numbers the lists of a column hold; 0: it holds none; None: no value."""
        return column_width(self.content[name])

    def numbers(self, name: str, width: int) -> tuple[Floats, list[BadValue]]:
        """Return a column of that width as a matrix, and what is no number in it."""
        return column_numbers(self.content[name], width)

    def values(self, name: str) -> Sequence[Any]:
        """Return a column as Python's own values."""
        values: list[Any] = self.content[name].to_pylist()
        return values

    def taken(self, keep: Bools) -> TableRows:
        """Return some of the rows."""
        return TableRows(self.content.filter(from_numpy(keep)), self.asides)

    def written(self, i: int) -> str:
        """Return one row as JSON."""
        return _as_json(self.content.slice(i, 1).to_pylist()[0])

    def table(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> pa.Table:
        """Return the table with text features as numbers, and the new columns."""
        whole = self.content
        for name, numbers in features.items():
            if pa.types.is_string(whole[name].type):
                place = whole.column_names.index(name)
                whole = whole.set_column(place, name, from_numpy(numbers[:, 0]))
        return with_columns(whole, added)

    def lines(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> list[str]:
        """Return the rows as JSON."""
        return [_as_json(row) for row in self.table(features, added).to_pylist()]


def _as_json(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, default=str, ensure_ascii=False, allow_nan=False)
    except ValueError:  # JSON has no NaN and no infinity
        return json.dumps(_finite(row), default=str, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def with_columns(table: pa.Table, added: Mapping[str, Any]) -> pa.Table:
    """Return the table with new columns at its end."""
    for name, column in added.items():
        numbers = isinstance(column, np.ndarray)
        array = from_numpy(column) if numbers else from_words(column)
        table = table.append_column(name, array)
    return table
