"""From a path or an address to a source or a sink."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from labelwalk.io.batch import Source
from labelwalk.io.sinks import Sink
from labelwalk.io.standard import guessed_format

FORMATS = ("csv", "tsv", "ndjson", "parquet", "arrow", "arrows", "npz", "npy", "images", "kafka")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".arrows": "arrows",
    ".npz": "npz",
    ".npy": "npy",
}
TEXT = ("csv", "tsv", "ndjson")
COMPRESSED = (".gz", ".zst")
REMOVED_OUTPUTS = {"arrow": "an Arrow file", "npz": "NPZ"}


class FormatError(ValueError):
    """A path whose format is unknown, or cannot do what is asked of it."""


@dataclass(frozen=True)
class Reading:
    """How to read a source.

    Attributes
    ----------
    format : str, optional
        One of `FORMATS`; None: by the name.
    delimiter : str, optional
        Of CSV; None: a comma, or a tab where the format is TSV.
    header : bool
        Whether a CSV begins with the names of its columns.
    follow : bool
        Whether to wait for more at the end of a text file or topic.
    embed : str, optional
        The function that makes vectors of images, as package.module:function.
    """

    format: str | None = None
    delimiter: str | None = None
    header: bool = True
    follow: bool = False
    embed: str | None = None


def format_of(path: str, given: str | None = None) -> str:
    """Return the format of a path; that of standard input by a look at it.

    Raises
    ------
    FormatError
        Its name does not tell.

    Examples
    --------
    >>> format_of("stream.csv.gz"), format_of("kafka://localhost:9092/rows"), format_of("-", "csv")
    ('csv', 'kafka', 'csv')
    """
    if given is not None:
        if given not in FORMATS:
            raise FormatError(f"format {given!r} is unknown. Choose one of {', '.join(FORMATS)}.")
        return given
    if path == "-":
        return guessed_format()
    if path.startswith("kafka://"):
        return "kafka"
    if os.path.isdir(path):
        return "images"
    name = Path(path)
    suffix = Path(name.stem).suffix if name.suffix in COMPRESSED else name.suffix
    kind = SUFFIXES.get(suffix.lower())
    if kind in TEXT or (kind is not None and name.suffix not in COMPRESSED):
        return str(kind)
    raise FormatError(
        f"the name of {path!r} does not tell its format. Give --format (--to for the output), one "
        f"of {', '.join(FORMATS)}."
    )


def open_source(path: str, reading: Reading, also: Sequence[str] = ()) -> Source:
    """Return the source that a path or address names.

    Parameters
    ----------
    path : str
        A file, a folder of images, "-", or kafka://host:port/topic.
    reading : Reading
    also : names
        Columns that rows of JSON have, even where the first of them has not.
    """
    kind = format_of(path, reading.format)
    if reading.follow and kind not in (*TEXT, "kafka"):
        raise FormatError(f"--follow: a {kind} file does not grow. Follow CSV, TSV or NDJSON.")
    if kind in ("csv", "tsv"):
        from labelwalk.io.delimited import Delimited

        return Delimited(path, _delimiter(kind, reading), reading.header, reading.follow)
    if kind == "ndjson":
        from labelwalk.io.ndjson import NDJSON

        return NDJSON(path, reading.follow, also)
    if kind == "kafka":
        from labelwalk.io.kafka import Topic

        return Topic(*address(path), until_end=not reading.follow, also=also)
    if kind == "images":
        from labelwalk.io.images import ImageFolder, embedding

        return ImageFolder(path, embedding(reading.embed) if reading.embed else None)
    if path == "-" and kind not in ("arrow", "arrows"):
        raise FormatError(f"{kind} cannot be read from standard input. Give its path.")
    return _table_source(kind, path)


def open_sink(path: str, kind: str, mark: int | None, reading: Reading) -> Sink:
    """Return the sink that a path or address names.

    Parameters
    ----------
    path : str
        A file, "-", or kafka://host:port/topic.
    kind : str
        Its format.
    mark : int or None
        Where to go on; None begins anew.
    reading : Reading
        Delimiter and header are those of the input, where that is CSV too.
    """
    if kind in TEXT:
        from labelwalk.io.text_sinks import DelimitedSink, NDJSONSink

        if kind == "ndjson":
            return NDJSONSink(path, mark)
        delimiter = "\t" if kind == "tsv" else _delimiter(kind, reading)
        return DelimitedSink(path, mark, delimiter, header=reading.header)
    if kind == "kafka":
        from labelwalk.io.kafka import TopicSink

        return TopicSink(*address(path))
    from labelwalk.io import spooled

    check_output(path, kind)
    return spooled.ParquetSink(path, mark) if kind == "parquet" else spooled.ArrowSink(path, mark)


def check_output(path: str, kind: str) -> None:
    """Refuse an output whose format cannot be written.

    Raises
    ------
    FormatError
    """
    if kind in (*TEXT, "kafka"):
        return
    if path.endswith(COMPRESSED):
        raise FormatError(f"{path}: {kind} is not compressed as a whole. Leave the ending out.")
    if kind in REMOVED_OUTPUTS and path != "-":
        raise FormatError(
            f"{path}: {REMOVED_OUTPUTS[kind]} is no longer written. Write .parquet, or .arrows for "
            "an Arrow stream."
        )
    if kind not in ("parquet", "arrow", "arrows") or (kind == "parquet" and path == "-"):
        where = " to standard output" if path == "-" else ""
        raise FormatError(
            f"{kind} cannot be written{where}. Choose csv, tsv, ndjson, arrows"
            f"{'' if path == '-' else ', parquet'} by --to."
        )


def address(url: str) -> tuple[str, str]:
    """Return servers and topic of kafka://host:port/topic."""
    parts = urlsplit(url)
    topic = parts.path.strip("/")
    if parts.scheme != "kafka" or not parts.netloc or not topic or "/" in topic:
        raise FormatError(f"{url!r} is no address of a topic. Write kafka://host:port/topic.")
    return parts.netloc, topic


def _delimiter(kind: str, reading: Reading) -> str:
    delimiter = reading.delimiter or ("\t" if kind == "tsv" else ",")
    delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise FormatError(f"--delimiter {delimiter!r} is not a single character. Try ';' or tab.")
    return delimiter


def _table_source(kind: str, path: str) -> Source:
    from labelwalk.io.arrays import Arrays
    from labelwalk.io.tabular import ArrowFile, Parquet

    if kind == "parquet":
        return Parquet(path)
    return ArrowFile(path) if kind in ("arrow", "arrows") else Arrays(path, kind == "npy")
