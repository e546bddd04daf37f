"""Rows that are objects of JSON, passed on letter by letter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Bools, Floats
from labelwalk.io.arrow_arrays import from_matrix, from_numpy, from_words
from labelwalk.io.fault import InputError
from labelwalk.io.numbers import MISSING, NO_NUMBER, NOT_FINITE, OTHER_WIDTH, BadValue, beyond
from labelwalk.io.tables import with_columns
from labelwalk.io.words import as_word

NUMBERS = {int, float}


@dataclass(frozen=True)
class ObjectRows:
    """Objects, the text of each, and the names that are columns: those in the first of all."""

    texts: list[str]
    objects: list[dict[str, Any]]
    names: list[str]
    asides = ()
    loose = True

    def __len__(self) -> int:
        return len(self.objects)

    def width(self, name: str) -> int | None:
        """Return how many numbers the first list under a name holds; 0: no list; None: no value."""
        values = [value for value in self.values(name) if value is not None]
        lists = (value for value in values if isinstance(value, list))
        return len(next(lists, ())) if values else None

    def numbers(self, name: str, width: int) -> tuple[Floats, list[BadValue]]:
        """Return what stands under a name as a matrix, and what is no number."""
        values = self.values(name)
        return _from_lists(values, width) if width else _from_values(values)

    def values(self, name: str) -> list[Any]:
        """Return what stands under a name; None where there is nothing."""
        return [row.get(name) for row in self.objects]

    def taken(self, keep: Bools) -> ObjectRows:
        """Return some of the rows."""
        texts, objects = compress(self.texts, keep), compress(self.objects, keep)
        return ObjectRows(list(texts), list(objects), self.names)

    def written(self, i: int) -> str:
        """Return one row as it came."""
        return self.texts[i]

    def table(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> pa.Table:
        """Return the objects as a table: features as numbers, all else as text.

        Raises
        ------
        InputError
            An object has more than the columns.
        """
        columns_known = set(self.names)
        for row in self.objects:
            if not row.keys() <= columns_known:
                more = sorted(row.keys() - columns_known)[0]
                raise InputError(
                    f"a row has {more!r}, which the first one has not, and a table has no place "
                    "for it. Write .ndjson."
                )
        columns: dict[str, Any] = {}
        for name in self.names:
            numbers = features.get(name)
            if numbers is None:
                columns[name] = from_words([_as_text(v) for v in self.values(name)])
            elif self.width(name):
                columns[name] = from_matrix(numbers)
            else:
                columns[name] = from_numpy(numbers[:, 0])
        return with_columns(pa.table(columns), added)

    def lines(self, features: Mapping[str, Floats], added: Mapping[str, Any]) -> list[str]:
        """Return each object with the new entries before its closing brace."""
        starts = [json.dumps(name) + ": " for name in added]
        columns = [_plain(column) for column in added.values()]
        lines = []
        for text, row, values in zip(
            self.texts, self.objects, zip(*columns, strict=True), strict=True
        ):
            taken = row.keys() & added.keys()
            if taken:
                raise InputError(
                    f"a row has {sorted(taken)[0]!r} of its own. Give another --prefix for what is "
                    "added, and --label-column if these are labels."
                )
            entries = ", ".join(s + json.dumps(v) for s, v in zip(starts, values, strict=True))
            open_end = text.rstrip()[:-1].rstrip()
            lines.append(f"{open_end}{', ' if row else ''}{entries}}}")
        return lines


def _as_text(value: Any) -> str | None:
    return json.dumps(value) if isinstance(value, list | dict) else as_word(value)


def _plain(column: Any) -> list[Any]:
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def _from_values(values: list[Any]) -> tuple[Floats, list[BadValue]]:
    numbers = np.full((len(values), 1), np.nan)
    bad: list[BadValue] = []
    if set(map(type, values)) <= NUMBERS:
        numbers[:, 0] = [_as_float(value) for value in values]
    else:
        for i, value in enumerate(values):
            if type(value) in NUMBERS:
                numbers[i, 0] = _as_float(value)
            else:
                bad.append(_no_number(i, value))
    known = {one.row for one in bad}
    bad += [BadValue(i, str(values[i]), NOT_FINITE) for i, _ in beyond(numbers) if i not in known]
    return numbers, sorted(bad, key=lambda one: one.row)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _no_number(row: int, value: Any) -> BadValue:
    if value is None or value == "":
        return BadValue(row, None, MISSING)
    return BadValue(row, value if isinstance(value, str) else json.dumps(value), NO_NUMBER)


def _from_lists(values: list[Any], width: int) -> tuple[Floats, list[BadValue]]:
    numbers = np.full((len(values), width), np.nan)
    bad = []
    for i, value in enumerate(values):
        if not isinstance(value, list):
            bad.append(_no_number(i, value))
        elif len(value) != width:
            bad.append(BadValue(i, str(len(value)), OTHER_WIDTH.format(width=width)))
        else:
            row, worse = _from_values(value)
            numbers[i] = row[:, 0]
            bad += [worse[0]._replace(row=i)] if worse else []
    return numbers, bad
