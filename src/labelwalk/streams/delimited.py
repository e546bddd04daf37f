"""CSV and TSV: fields as they are written, features as numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from labelwalk.streams.arrow_arrays import from_words
from labelwalk.streams.batch import Batch, Position
from labelwalk.streams.blocks import Block, TextFile
from labelwalk.streams.fault import Fault, InputError
from labelwalk.streams.tables import TableRows

OTHERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}


class Record(NamedTuple):
    """A record as it is written, and where it ends: bytes and lines of its block."""

    text: bytes
    line: int
    end: int
    lines_end: int


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
        file = TextFile(self.path, quoted=True, follow=self.follow)
        if position is not None:
            names = position["names"]
            blocks = file.blocks(position["bytes"], position["lines"])
        else:
            names, blocks = None, file.blocks()
        for block in blocks:
            if names is None:
                if not block.content.strip():
                    continue
                first = Splitter(block).first
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
                    f"{self.path} has a single column, {fields[0]!r:.60}. Is it delimited by "
                    f"{said}? Then give --delimiter {said}."
                )
        if all(map(_is_number, fields)):
            raise InputError(
                f"{self.path} begins with numbers, {', '.join(fields)!r:.60}, not with the names "
                "of columns. Give --no-header, and call the columns 1, 2 and so on."
            )
        names = [name or f"unnamed {i + 1}" for i, name in enumerate(fields)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"{self.path} has two columns named {twice[0]!r}. Rename one.")
        return names

    def _batch(self, block: Block, names: list[str], size: int | None) -> Batch:
        splitter = Splitter(block)
        table, faults = _parsed(splitter, names, self.delimiter)
        read = block.offset + len(block.content)
        bad = [fault.at + number for number, fault in enumerate(faults)]

        def record(i: int) -> Record:
            """Return the i-th record that became a row."""
            good = np.setdiff1d(np.arange(len(splitter.records)), bad)
            return splitter.records[int(good[i])]

        def after(n: int) -> Position:
            if n == len(table):
                end, lines = len(block.content), block.content.count(b"\n")
            elif n == 0:
                end, lines = 0, 0
            else:
                _, _, end, lines = record(n - 1)
            return {"bytes": block.offset + end, "lines": block.line + lines, "names": names}

        return Batch(
            TableRows(table),
            where=lambda i: f"line {record(i).line}",
            after=after,
            share=None if size is None else read / max(size, 1),
            faults=faults,
        )


class Splitter:
    """The records of a block one by one, for the rare cases where that matters."""

    def __init__(self, block: Block) -> None:
        self.block = block

    @property
    def first(self) -> Record:
        """The first record that is not blank."""
        return next(self._split(), Record(b"", self.block.line + 1, 0, 0))

    @cached_property
    def records(self) -> list[Record]:
        """All records that are not blank."""
        return list(self._split())

    def _split(self) -> Iterator[Record]:
        text, start, lines = self.block.content, 0, 0
        end, begun = 0, 0
        while end < len(text):
            newline = text.find(b"\n", end)
            end = len(text) if newline < 0 else newline + 1
            lines += newline >= 0
            if text.count(b'"', start, end) % 2 and end < len(text):
                continue
            record = text[start:end].rstrip(b"\r\n")
            if record:
                yield Record(record, self.block.line + begun + 1, end, lines)
            start, begun = end, lines


def _parsed(splitter: Splitter, names: list[str], delimiter: str) -> tuple[pa.Table, list[Fault]]:
    """Return the rows as a table of text, and the records that are no rows."""
    ragged: list[pa.csv.InvalidRow] = []
    content = splitter.block.content
    try:
        table = _table(content, names, delimiter, ragged)
        undecoded: list[int] = []
    except pa.ArrowInvalid as error:
        undecoded = [i for i, one in enumerate(splitter.records) if not _decodes(one.text)]
        if not undecoded:
            raise InputError(f"line {splitter.block.line + 1} and on: {error}") from error
        ragged.clear()
        good = [one.text for i, one in enumerate(splitter.records) if i not in set(undecoded)]
        table = _table(b"\n".join(good), names, delimiter, ragged)
    if not ragged and not undecoded:
        return table, []
    return table, _faults(splitter.records, names, ragged, undecoded)


def _faults(
    records: list[Record], names: list[str], ragged: list[pa.csv.InvalidRow], undecoded: list[int]
) -> list[Fault]:
    decoded = [i for i in range(len(records)) if i not in set(undecoded)]
    problems = dict.fromkeys(undecoded, "is not UTF-8 text: save the file as UTF-8")
    for row in ragged:
        problems[decoded[row.number - 1]] = (
            f"{row.actual_columns} fields where {len(names)} are expected"
        )
    faults = []
    for number, i in enumerate(sorted(problems)):
        record = records[i]
        text = record.text.decode("utf-8", "backslashreplace")
        faults.append(Fault(i - number, f"line {record.line}", problems[i], row=text))
    return faults


def _table(
    content: bytes, names: list[str], delimiter: str, ragged: list[pa.csv.InvalidRow]
) -> pa.Table:
    if not content.strip():
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
    return next(csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter), [""])


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
