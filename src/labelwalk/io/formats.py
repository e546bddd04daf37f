"""Formats: detected by name, validated, and opened as a source or a sink."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from labelwalk.errors import LabelwalkError
from labelwalk.io.output import RowSink
from labelwalk.io.rows import Batch, InputError, Position
from labelwalk.io.text_records import open_stdin

TEXT_FORMATS = ("csv", "tsv", "ndjson")
TABLE_FORMATS = ("parquet", "arrow", "arrows", "npz", "npy")
FORMAT_OF_SUFFIX = {f".{name}": name for name in TEXT_FORMATS + TABLE_FORMATS}
FORMAT_OF_SUFFIX |= {".tab": "tsv", ".jsonl": "ndjson", ".feather": "arrow"}
FORMATS = (*TEXT_FORMATS, *TABLE_FORMATS, "images", "kafka")
COMPRESSED_SUFFIXES = (".gz", ".zst")
WRITTEN_FORMATS = (*TEXT_FORMATS, "parquet", "arrows", "kafka")
REMOVED_OUTPUTS = {"arrow": "an Arrow file", "npz": "NPZ"}


class FormatError(LabelwalkError, ValueError):
    """The format of a path is unknown, or does not support the operation."""


class PathError(LabelwalkError, ValueError):
    """A path cannot be used for its purpose."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a source.

    Attributes
    ----------
    format : str, optional
        One of `FORMATS`; None: by the name.
    delimiter : str, optional
        The delimiter of CSV; None: a comma, or a tab for TSV.
    header : bool
        Whether a CSV begins with the names of its columns.
    follow : bool
        Whether to wait for more at the end of a text file or topic.
    embed : str, optional
        The function that embeds images as vectors, as package.module:function.
    """

    format: str | None = None
    delimiter: str | None = None
    header: bool = True
    follow: bool = False
    embed: str | None = None


def find_format(path: str, name: str | None = None, *, is_output: bool = False) -> str:
    """Return the format of a path: the one of that name, or by the suffix, or by the first bytes.

    Examples
    --------
    >>> find_format("stream.csv.gz"), find_format("kafka://localhost:9092/rows")
    ('csv', 'kafka')
    """
    choices = ", ".join(WRITTEN_FORMATS if is_output else FORMATS)
    if name is not None:
        if name not in FORMATS:
            raise FormatError(f"Format {name!r} is unknown. Choose one of {choices}.")
        return name
    if path == "-":
        return _guess_stdin_format()
    if path.startswith("kafka://"):
        return "kafka"
    if os.path.isdir(path):
        return "images"
    file = Path(path)
    is_compressed = file.suffix in COMPRESSED_SUFFIXES
    suffix = Path(file.stem).suffix if is_compressed else file.suffix
    kind = FORMAT_OF_SUFFIX.get(suffix.lower())
    if kind in TEXT_FORMATS or (kind is not None and not is_compressed):
        return str(kind)
    raise FormatError(
        f"The name of {path!r} does not determine its format. Give "
        f"{'--to' if is_output else '--format'}, one of {choices}."
    )


@cache  # the first bytes are gone once they have been read
def _guess_stdin_format() -> str:
    start = open_stdin().peek(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"\xff\xff\xff\xff", b"ARROW1")):
        return "arrow"
    if start.startswith(b"PAR1"):
        return "parquet"
    return "ndjson" if start.startswith(b"{") else "csv"


def open_source(
    path: str, options: ReadOptions, also: Sequence[str] = (), position: Position | None = None
) -> Iterator[Batch]:
    """Return the rows of a path or address, in batches from a position on.

    The columns of JSON objects are the keys of the first one, and `also`.
    """
    kind = find_format(path, options.format)
    if options.follow and kind not in (*TEXT_FORMATS, "kafka"):
        raise FormatError(
            f"--follow: files of format {kind} cannot be followed. Use CSV, TSV or NDJSON."
        )
    if kind in TEXT_FORMATS:
        from labelwalk.io.text_formats import read_csv, read_ndjson

        if kind == "ndjson":
            return read_ndjson(path, also, position, follow=options.follow)
        delimiter = _find_delimiter(kind, options)
        return read_csv(path, delimiter, position, header=options.header, follow=options.follow)
    if kind == "kafka":
        from labelwalk.io.kafka import read_topic

        return read_topic(*parse_address(path), also, position, follow=options.follow)
    if kind == "images":
        from labelwalk.io.images import import_embedding, read_images

        embed = import_embedding(options.embed) if options.embed else None
        return read_images(path, embed, position)
    if path == "-" and kind not in ("arrow", "arrows"):
        raise FormatError(f"{kind} cannot be read from standard input. Give a path.")
    from labelwalk.io.table_formats import read_arrays, read_arrow, read_parquet

    n_read = 0 if position is None else int(position["rows"])
    if kind == "parquet":
        return read_parquet(path, n_read)
    return read_arrow(path, n_read) if "arrow" in kind else read_arrays(path, n_read, kind == "npy")


def read_batches(path: str, options: ReadOptions) -> Iterator[Batch]:
    """Yield the rows of a path or address; a record that is not a row is an error."""
    for batch in open_source(path, options):
        if batch.faults:
            raise InputError(f"{path}, {batch.faults[0]}.")
        yield batch


def open_sink(path: str, kind: str, size: int | None, options: ReadOptions) -> RowSink:
    """Return the sink of a path or address, in a format, to resume from a size or None.

    CSV is written with the delimiter and header of a CSV input.
    """
    if kind in TEXT_FORMATS:
        from labelwalk.io.text_formats import CsvSink, NdjsonSink

        if kind == "ndjson":
            return NdjsonSink(path, size)
        delimiter = "\t" if kind == "tsv" else _find_delimiter(kind, options)
        return CsvSink(path, size, delimiter, header=options.header)
    if kind == "kafka":
        from labelwalk.io.kafka import TopicSink

        return TopicSink(*parse_address(path))
    from labelwalk.io.table_formats import ArrowSink, ParquetSink

    return ParquetSink(path, size) if kind == "parquet" else ArrowSink(path, size)


def check_output(path: str, kind: str, *, is_resumable: bool) -> None:
    """Reject an output whose format cannot be written, or that cannot be resumed if it must be."""
    is_special = path == "-" or (os.path.exists(path) and not os.path.isfile(path))
    if is_resumable and is_special:
        raise PathError("--checkpoint requires an output that can be truncated. Give -o FILE.")
    if kind in (*TEXT_FORMATS, "kafka"):
        return
    if path.endswith(COMPRESSED_SUFFIXES):
        raise FormatError(f"{path}: {kind} cannot be written compressed. Remove the suffix.")
    if kind in REMOVED_OUTPUTS and path != "-":
        raise FormatError(
            f"{path}: {REMOVED_OUTPUTS[kind]} is no longer written. Write .parquet, or .arrows for "
            "an Arrow stream."
        )
    unsuitable = ("kafka", "parquet") if path == "-" else ("kafka",)
    if kind not in (*WRITTEN_FORMATS, "arrow") or kind in unsuitable:
        where = " to standard output" if path == "-" else ""
        choices = ", ".join(name for name in WRITTEN_FORMATS if name not in unsuitable)
        raise FormatError(f"{kind} cannot be written{where}. Choose {choices} with --to.")
    if kind == "parquet" and is_special:
        raise PathError(f"{path} is not a regular file and would be replaced. Choose another path.")


def check_distinct(**paths: str | None) -> None:
    """Reject a file with two roles, since writing one would destroy the other.

    Examples
    --------
    >>> check_distinct(input="a.csv", output="./a.csv")
    Traceback (most recent call last):
    labelwalk.io.formats.PathError: input and output are the same, ./a.csv. Choose another path.
    """
    roles: dict[object, str] = {}
    for role, path in paths.items():
        if path is None or path == "-" or path.startswith("/dev/"):
            continue
        identity = path if path.startswith("kafka://") else _identify_file(path)
        if identity in roles:
            raise PathError(
                f"{roles[identity]} and {role} are the same, {path}. Choose another path."
            )
        roles[identity] = role


def _identify_file(path: str) -> object:
    """Return an object that is equal for two paths of one file, including hard links."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def parse_address(url: str) -> tuple[str, str]:
    """Return the servers and the topic of kafka://host:port/topic."""
    parts = urlsplit(url)
    topic = parts.path.strip("/")
    if parts.scheme != "kafka" or not parts.netloc or not topic or "/" in topic:
        raise FormatError(
            f"{url!r} is not the address of a topic. Use the form kafka://host:port/topic."
        )
    return parts.netloc, topic


def _find_delimiter(kind: str, options: ReadOptions) -> str:
    delimiter = options.delimiter or ("\t" if kind == "tsv" else ",")
    delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise FormatError(f"--delimiter {delimiter!r} is not a single character. Try ';' or tab.")
    return delimiter
