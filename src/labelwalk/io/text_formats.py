"""CSV, TSV and NDJSON sources and sinks; the location of every record is known."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.csv

from labelwalk.arrays import Floats
from labelwalk.io.arrow_columns import from_text
from labelwalk.io.output import RowSink
from labelwalk.io.rows import (
    Batch,
    InputError,
    JsonRows,
    Position,
    RowError,
    Rows,
    TableRows,
    shorten,
)
from labelwalk.io.text_records import (
    Block,
    Record,
    count_lines,
    find_share,
    read_blocks,
    split_records,
)

UNNAMED_COLUMN = re.compile(r"unnamed \d+")  # the name of a column without one
OTHER_DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
# A line break of two characters, so that the csv module quotes fields with either of them.
LINE_BREAK = "\r\n"


def read_csv(
    path: str,
    delimiter: str = ",",
    position: Position | None = None,
    *,
    header: bool = True,
    follow: bool = False,
) -> Iterator[Batch]:
    """Yield the rows of a file of delimited fields; the position counts bytes and lines.

    Without a header, the columns are named "1", "2" and so on.
    """
    start = position or {"bytes": 0, "lines": 0, "names": None}
    names, first_place = start["names"], (start["bytes"], start["lines"])
    for block in read_blocks(path, delimiter.encode(), *first_place, follow=follow):
        if names is None:
            first = next(split_records(block.content, delimiter.encode()), None)
            if first is None:
                continue
            fields = _split_header(first.text, delimiter)
            names = [str(i + 1) for i in range(len(fields))]
            if header:
                names = _name_columns(path, fields, delimiter)
                block = block.skip(first.end, first.lines_end)
        share = None if follow else find_share(path, block.end)
        yield _read_csv_block(block, names, delimiter, share)
    if names is None:
        raise InputError(f"{path} is empty. Give a file with a header and rows.")


def _name_columns(path: str, fields: list[str], delimiter: str) -> list[str]:
    """Return the names in the header of a file."""
    for other, shown in OTHER_DELIMITERS.items():
        if len(fields) == 1 and other != delimiter and other in fields[0]:
            raise InputError(
                f"{path} has a single column, {shorten(fields[0])!r}. If its delimiter is {shown}, "
                f"give --delimiter {shown}."
            )
    if all(map(_is_number, fields)):
        raise InputError(
            f"{path} begins with numbers, {shorten(', '.join(fields))!r}, instead of column names. "
            "Give --no-header to name the columns 1, 2 and so on."
        )
    names = [name or f"unnamed {i + 1}" for i, name in enumerate(fields)]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise InputError(f"{path} has two columns named {duplicates[0]!r}. Rename one.")
    return names


def _read_csv_block(block: Block, names: list[str], delimiter: str, share: float | None) -> Batch:
    @cache
    def split() -> list[Record]:
        """Return the records. They are split only if their locations are needed."""
        return list(split_records(block.content, delimiter.encode()))

    table, problems = _parse_block(block, split, names, delimiter)

    @cache
    def select_rows() -> list[Record]:
        return [record for i, record in enumerate(split()) if i not in problems]

    def where(record: Record) -> str:
        return f"line {block.line + record.line + 1}"

    def after(n: int | None) -> Position:
        if n is None:
            end, lines = len(block.content), count_lines(block.content)
        elif n == 0:
            end, lines = 0, 0
        else:
            _, _, end, lines = select_rows()[n - 1]
        return {"bytes": block.offset + end, "lines": block.line + lines, "names": names}

    faults = []
    for number, i in enumerate(sorted(problems)):
        record = split()[i]
        text = record.text.decode("utf-8", "backslashreplace")
        faults.append(RowError(i - number, where(record), problems[i], row=text))
    return Batch(TableRows(table), lambda i: where(select_rows()[i]), after, share, faults)


def _parse_block(
    block: Block, split: Callable[[], list[Record]], names: list[str], delimiter: str
) -> tuple[pa.Table, dict[int, str]]:
    """Return the rows as a table of text, and the problems of the records that are not rows."""
    ragged: list[pa.csv.InvalidRow] = []
    undecoded: set[int] = set()
    try:
        table = _parse_csv(block.content, names, delimiter, ragged)
    except pa.ArrowInvalid as error:
        texts = [record.text for record in split()]
        is_utf8 = [text.decode(errors="ignore").encode() == text for text in texts]
        undecoded = {i for i, valid in enumerate(is_utf8) if not valid}
        if not undecoded:
            raise InputError(f"from line {block.line + 1} on: {error}") from error
        ragged.clear()
        decoded = [text for i, text in enumerate(texts) if i not in undecoded]
        table = _parse_csv(b"\n".join(decoded), names, delimiter, ragged)
    if not ragged and not undecoded:
        return table, {}
    places = [i for i in range(len(split())) if i not in undecoded]
    problems = dict.fromkeys(undecoded, "is not UTF-8 text: save the file as UTF-8")
    for row in ragged:
        problems[places[row.number - 1]] = (
            f"{row.actual_columns} fields where {len(names)} are expected"
        )
    return table, problems


def _parse_csv(
    content: bytes, names: list[str], delimiter: str, ragged: list[pa.csv.InvalidRow]
) -> pa.Table:
    if not content.strip(b"\r\n"):
        return pa.table({name: from_text([]) for name in names})

    def collect(row: pa.csv.InvalidRow) -> str:
        ragged.append(row)
        return "skip"

    return pa.csv.read_csv(
        io.BytesIO(content),
        read_options=pa.csv.ReadOptions(
            use_threads=False, column_names=names, block_size=len(content) + 1
        ),
        parse_options=pa.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=collect
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def _split_header(text: bytes, delimiter: str) -> list[str]:
    try:
        decoded = text.decode("utf-8")
        return next(csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter), [""])
    except UnicodeDecodeError as error:
        raise InputError(
            f"line 1: the header is not UTF-8 text ({error}). Save the file as UTF-8."
        ) from None
    except csv.Error as error:
        raise InputError(
            f"line 1: the header cannot be read ({error}). Close the open quote, or check that "
            "the file is CSV."
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_ndjson(
    path: str, also: Sequence[str] = (), position: Position | None = None, *, follow: bool = False
) -> Iterator[Batch]:
    """Yield JSON objects, one per line; the position counts bytes and lines.

    The columns are the keys of the first object, and `also`.
    """
    start = position or {"bytes": 0, "lines": 0, "names": []}
    names, first_place = start["names"], (start["bytes"], start["lines"])
    for block in read_blocks(path, None, *first_place, follow=follow):
        share = None if follow else find_share(path, block.end)
        batch = _read_ndjson_block(block, names, also, share)
        names = batch.rows.names
        yield batch


def _read_ndjson_block(
    block: Block, names: list[str], also: Sequence[str], share: float | None
) -> Batch:
    lines = block.content.split(b"\n")
    places = [i for i, line in enumerate(lines) if line.strip()]

    def locate(n: int) -> Position:
        n_lines, end = block.content.count(b"\n"), len(block.content)
        if n < len(places):
            n_lines = places[n - 1] + 1 if n else 0
            end = sum(map(len, lines[:n_lines])) + n_lines
        return {"bytes": block.offset + end, "lines": block.line + n_lines}

    wheres = [f"line {block.line + i + 1}" for i in places]
    return parse_objects([lines[i] for i in places], wheres, locate, names, also, share)


def parse_objects(
    texts: Sequence[bytes],
    wheres: Sequence[str],
    locate: Callable[[int], Position],
    names: list[str],
    also: Sequence[str],
    share: float | None = None,
) -> Batch:
    """Return JSON objects as a batch.

    `locate` returns the position after n texts, to which the columns are added. These are `names`,
    or if these are empty, the keys of the first object, and `also`.
    """
    decoded: list[str] = []
    objects: list[dict[str, Any]] = []
    faults: list[RowError] = []
    numbers: list[int] = []
    for i, (raw, where) in enumerate(zip(texts, wheres, strict=True)):
        try:
            text = raw.decode("utf-8")
            value = json.loads(text)
            problem = None if isinstance(value, dict) else "is not a JSON object"
        except (ValueError, RecursionError) as error:
            text = raw.decode("utf-8", "backslashreplace")
            problem = f"is not valid JSON ({error})"
        if problem is None:
            decoded.append(text)
            objects.append(value)
            numbers.append(i)
        else:
            faults.append(RowError(len(decoded), where, problem, row=text))
    if not names and objects:
        names = list(dict.fromkeys([*objects[0], *also]))

    def after(n: int | None) -> Position:
        n_texts = len(texts) if n is None else (numbers[n - 1] + 1 if n else 0)
        return locate(n_texts) | {"names": names}

    rows = JsonRows(decoded, objects, names)
    return Batch(rows, lambda i: wheres[numbers[i]], after, share, faults)


class CsvSink(RowSink):
    """CSV or TSV. Values are written unchanged, with quotes only where they are needed."""

    def __init__(
        self, path: str, size: int | None, delimiter: str = ",", *, header: bool = True
    ) -> None:
        super().__init__(path, size)
        self._needs_header = header and not size
        self._delimiter = delimiter

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Write rows with the added columns."""
        table = rows.to_table({}, added)
        content = b""
        if self._needs_header:
            names = ["" if UNNAMED_COLUMN.fullmatch(name) else name for name in table.column_names]
            content = _format_quoted([names], self._delimiter)
            self._needs_header = False
        texts = _to_text_table(table)
        options = pa.csv.WriteOptions(
            include_header=False, delimiter=self._delimiter, quoting_style="none"
        )
        out = io.BytesIO()
        try:
            pa.csv.write_csv(texts, out, options)
            content += out.getvalue()
        except pa.ArrowInvalid:  # a field needs quotes
            columns = [column.to_pylist() for column in texts.columns]
            content += _format_quoted(zip(*columns, strict=True), self._delimiter)
        self._file.write(content)


def _to_text_table(table: pa.Table) -> pa.Table:
    """Return all columns as text: numbers as Arrow formats them, lists as JSON."""
    for i, column in enumerate(table.schema):
        if pa.types.is_nested(column.type):
            texts = [
                None if value is None else json.dumps(value, default=str)
                for value in table[i].to_pylist()
            ]
            table = table.set_column(i, column.name, from_text(texts))
    try:
        return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"A column cannot be written as CSV ({error}). Write .ndjson or .parquet."
        ) from error


def _format_quoted(rows: Any, delimiter: str) -> bytes:
    """Return rows of text as lines, with quotes where they are needed."""
    lines = _Lines()
    csv.writer(lines, delimiter=delimiter, lineterminator=LINE_BREAK).writerows(rows)
    return "".join(lines).encode()


class _Lines(list[str]):
    """Collects the lines of a CSV writer, each with a plain line break."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix(LINE_BREAK) + "\n")


class NdjsonSink(RowSink):
    """One JSON object per line. Objects are written unchanged, with the answers at their end."""

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Write rows with the added columns."""
        lines = rows.to_json_lines(features, added)
        self._file.write("".join(line + "\n" for line in lines).encode())
