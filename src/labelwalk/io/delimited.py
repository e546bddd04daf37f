"""CSV and TSV: fields as they are written, features as numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.csv

from labelwalk.io.arrow_arrays import from_words
from labelwalk.io.batch import Batch, Position
from labelwalk.io.blocks import Block, TextFile
from labelwalk.io.fault import Fault, InputError, shortened
from labelwalk.io.records import Record, line_breaks, records
from labelwalk.io.tables import TableRows

UNNAMED = re.compile(r"unnamed \d+")  # what a column is called that has no name
OTHERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}


@dataclass(frozen=True)
class Delimited:
    """A file of fields between delimiters, quoted where needed.

    Parameters
    ----------
    path : str
        "-" is standard input.
    delimiter : str
        One character.
    header : bool
        Whether the first record names the columns; else they are "1", "2" and so on.
    follow : bool
        Whether to wait at the end for more.
    """

    path: str
    delimiter: str = ","
    header: bool = True
    follow: bool = False

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches of rows; the position counts bytes and lines."""
        file = TextFile(self.path, self.delimiter.encode(), follow=self.follow)
        names = None if position is None else position["names"]
        start = (0, 0) if position is None else (position["bytes"], position["lines"])
        for block in file.blocks(*start):
            if names is None:
                first = next(records(block.content, self.delimiter.encode()), None)
                if first is None:
                    continue
                names = self._names(first.text)
                if self.header:
                    block = block.without(first.end, first.lines_end)
            yield self._batch(block, names, file.size)
        if names is None:
            raise InputError(f"{self.path} is empty. Give a file with a header and rows.")

    def _names(self, text: bytes) -> list[str]:
        fields = _fields(text, self.delimiter)
        if not self.header:
            return [str(i + 1) for i in range(len(fields))]
        for other, said in OTHERS.items():
            if len(fields) == 1 and other != self.delimiter and other in fields[0]:
                raise InputError(
                    f"{self.path} has a single column, {shortened(fields[0])!r}. Is it delimited "
                    f"by {said}? Then give --delimiter {said}."
                )
        if all(map(_is_number, fields)):
            raise InputError(
                f"{self.path} begins with numbers, {shortened(', '.join(fields))!r}, not with the "
                "names of columns. Give --no-header, and call the columns 1, 2 and so on."
            )
        names = [name or f"unnamed {i + 1}" for i, name in enumerate(fields)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"{self.path} has two columns named {twice[0]!r}. Rename one.")
        return names

    def _batch(self, block: Block, names: list[str], size: int | None) -> Batch:
        known = Known(block, self.delimiter.encode())
        table, faults = _parsed(known, names, self.delimiter)
        known.bad = [fault.at + number for number, fault in enumerate(faults)]
        read = block.offset + len(block.content)

        def after(n: int | None) -> Position:
            if n is None:
                end, lines = len(block.content), line_breaks(block.content)
            elif n == 0:
                end, lines = 0, 0
            else:
                _, _, end, lines = known.good[n - 1]
            return {"bytes": block.offset + end, "lines": block.line + lines, "names": names}

        return Batch(
            TableRows(table),
            where=lambda i: known.where(known.good[i]),
            after=after,
            share=None if size is None else read / max(size, 1),
            faults=faults,
        )


class Known:
    """The records of a block one by one, for the rare cases where that matters."""

    def __init__(self, block: Block, delimiter: bytes) -> None:
        self.block = block
        self.bad: list[int] = []
        self._delimiter = delimiter

    @cached_property
    def records(self) -> list[Record]:
        """All records that are not empty."""
        return list(records(self.block.content, self._delimiter))

    @cached_property
    def good(self) -> list[Record]:
        """Those that became rows."""
        bad = set(self.bad)
        return [record for i, record in enumerate(self.records) if i not in bad]

    def where(self, record: Record) -> str:
        """Return where a record begins."""
        return f"line {self.block.line + record.line + 1}"


def _parsed(known: Known, names: list[str], delimiter: str) -> tuple[pa.Table, list[Fault]]:
    """Return the rows as a table of text, and the records that are no rows."""
    ragged: list[pa.csv.InvalidRow] = []
    undecoded: set[int] = set()
    try:
        table = _table(known.block.content, names, delimiter, ragged)
    except pa.ArrowInvalid as error:
        undecoded = {i for i, one in enumerate(known.records) if not _decodes(one.text)}
        if not undecoded:
            raise InputError(f"line {known.block.line + 1} and on: {error}") from error
        ragged.clear()
        good = [one.text for i, one in enumerate(known.records) if i not in undecoded]
        table = _table(b"\n".join(good), names, delimiter, ragged)
    if not ragged and not undecoded:
        return table, []
    return table, _faults(known, names, ragged, undecoded)


def _faults(
    known: Known, names: list[str], ragged: list[pa.csv.InvalidRow], undecoded: set[int]
) -> list[Fault]:
    decoded = [i for i in range(len(known.records)) if i not in undecoded]
    problems = dict.fromkeys(undecoded, "is not UTF-8 text: save the file as UTF-8")
    for row in ragged:
        problems[decoded[row.number - 1]] = (
            f"{row.actual_columns} fields where {len(names)} are expected"
        )
    faults = []
    for number, i in enumerate(sorted(problems)):
        record = known.records[i]
        text = record.text.decode("utf-8", "backslashreplace")
        faults.append(Fault(i - number, known.where(record), problems[i], row=text))
    return faults


def _table(
    content: bytes, names: list[str], delimiter: str, ragged: list[pa.csv.InvalidRow]
) -> pa.Table:
    if not content.strip(b"\r\n"):
        return pa.table({name: from_words([]) for name in names})

    def set_aside(row: pa.csv.InvalidRow) -> str:
        ragged.append(row)
        return "skip"

    return pa.csv.read_csv(
        io.BytesIO(content),
        read_options=pa.csv.ReadOptions(
            use_threads=False, column_names=names, block_size=len(content) + 1
        ),
        parse_options=pa.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=set_aside
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def _fields(text: bytes, delimiter: str) -> list[str]:
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"line 1: the header is not UTF-8 text ({error}). Save it as UTF-8."
        ) from None
    try:
        return next(csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter), [""])
    except csv.Error as error:
        raise InputError(
            f"line 1: the header cannot be read ({error}). Is a quote open, or is it no CSV?"
        ) from None


def _decodes(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
