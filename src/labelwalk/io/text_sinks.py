"""Rows with their answers, written down as text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.csv

from labelwalk.arrays import Floats
from labelwalk.io.arrow_arrays import from_words
from labelwalk.io.batch import Rows
from labelwalk.io.delimited import UNNAMED
from labelwalk.io.fault import InputError
from labelwalk.io.sinks import BytesSink


class DelimitedSink(BytesSink):
    """CSV or TSV."""

    def __init__(
        self, path: str, mark: int | None, delimiter: str = ",", *, header: bool = True
    ) -> None:
        super().__init__(path, mark)
        self._needs_header = header and not mark
        self._options = pa.csv.WriteOptions(
            include_header=False, delimiter=delimiter, quoting_style="none"
        )

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Write rows; what came as text goes as the same text."""
        table = rows.table({}, added)
        text = io.BytesIO()
        if self._needs_header:
            text.write(_header(table.column_names, self._options.delimiter))
            self._needs_header = False
        start = text.tell()
        words = _as_text(table)
        try:
            pa.csv.write_csv(words, text, self._options)
        except pa.ArrowInvalid:  # a field needs quotes
            text.truncate(start)
            text.seek(start)
            text.write(_quoted(words, self._options.delimiter))
        self._out.write(text.getvalue())


class NDJSONSink(BytesSink):
    """One JSON object a line."""

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Write rows; objects go letter by letter as they came, with more at their end."""
        lines = rows.lines(features, added)
        self._out.write("".join(line + "\n" for line in lines).encode())


def _as_text(table: pa.Table) -> pa.Table:
    """Return all columns as text, as Arrow writes numbers, and lists as JSON."""
    for i, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            words = [
                None if v is None else json.dumps(v, default=str) for v in table[i].to_pylist()
            ]
            table = table.set_column(i, field.name, from_words(words))
    try:
        return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"a column cannot be written as CSV ({error}). Write .ndjson or .parquet."
        ) from error


def _quoted(table: pa.Table, delimiter: str) -> bytes:
    """Return the lines of a table of text, quotes where they are needed."""
    lines = _Lines()
    columns = [column.to_pylist() for column in table.columns]
    # a line break of two characters, so that either of them is quoted in a field
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows(zip(*columns, strict=True))
    return "".join(lines).encode()


class _Lines(list[str]):
    """Takes the lines of a writer, each with a plain line break."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n") + "\n")


def _header(names: list[str], delimiter: str) -> bytes:
    line = io.StringIO(newline="")
    shown = ["" if UNNAMED.fullmatch(name) else name for name in names]
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(shown)
    return line.getvalue().encode()
