r"""Text split into whole records with their byte offsets and lines: files, gzip, zstd, stdin.

A record of delimited text ends at a line break (\n, \r\n or \r) outside quotes; a quote opens only
at the beginning of a field. Arrow's CSV reader has the same rules.
"""

import gzip
import io
import os
import re
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import pyarrow as pa

from labelwalk.io.rows import InputError

BLOCK_BYTES = 1 << 20
MAX_RECORD_BYTES = 1 << 26  # a longer record is a quote that was never closed
POLL_INTERVAL_S = 0.2  # between looks at a file that may grow
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class Record(NamedTuple):
    """A record that is not empty, without its line break."""

    text: bytes
    line: int  # the number of lines before it
    end: int  # the number of bytes up to its end, including its line break
    lines_end: int  # the number of lines up to its end


@dataclass(frozen=True)
class Block:
    """Whole records, and the bytes (after decompression) and lines before them."""

    content: bytes
    offset: int
    line: int

    @property
    def end(self) -> int:
        """The number of bytes up to its end."""
        return self.offset + len(self.content)

    def skip(self, n_bytes: int, n_lines: int) -> "Block":
        """Return the rest after the first records."""
        return Block(self.content[n_bytes:], self.offset + n_bytes, self.line + n_lines)


def read_blocks(
    path: str,
    delimiter: bytes | None = None,
    offset: int = 0,
    line: int = 0,
    *,
    follow: bool = False,
) -> Iterator[Block]:
    """Yield a text file, or "-" for standard input, from the beginning of a record on.

    Fields between delimiters may be quoted and contain line breaks; without a delimiter, every line
    is a record. `offset` and `line` are the bytes and lines before the first record to read.
    `follow` waits for more at the end.
    """
    with _open(path) as file, name_path_in_errors(path):
        _skip_bytes(file, offset, path)
        pending, min_size = b"", 0
        while True:
            end = find_records_end(pending, delimiter) if len(pending) >= min_size else 0
            if end:
                content, pending = pending[:end], pending[end:]
                yield _make_block(path, content, offset, line)
                line += content.count(b"\n") if delimiter is None else count_lines(content)
                offset += end
            # the end of a long record is searched again when twice as much has been read
            min_size = 2 * len(pending) if len(pending) > BLOCK_BYTES else 0
            if len(pending) > MAX_RECORD_BYTES:
                raise InputError(
                    f"{path}, line {line + 1}: no record ends within {MAX_RECORD_BYTES >> 20} MiB. "
                    "Close the open quote, or check that the file is text with lines."
                )
            more = file.read1(BLOCK_BYTES)
            if more:
                pending += more
            elif follow:
                time.sleep(POLL_INTERVAL_S)
            else:
                break
        if pending:
            yield _make_block(path, pending, offset, line)


def find_share(path: str, end: int) -> float | None:
    """Return the share of a file before an offset; None if its size is unknown."""
    is_plain = path != "-" and not path.endswith((".gz", ".zst"))
    return end / max(os.stat(path).st_size, 1) if is_plain and os.path.isfile(path) else None


def find_records_end(text: bytes, delimiter: bytes | None, *, is_end: bool = False) -> int:
    r"""Return the number of bytes that are whole records; without a delimiter, whole lines.

    Unless the text is complete, a final \r may be half of a line break.

    Examples
    --------
    >>> find_records_end(b'a,"b\nc"\nd,"e\n', b",")
    8
    """
    if delimiter is None or (b'"' not in text and b"\r" not in text):
        return text.rfind(b"\n") + 1
    end = 0
    for token in _token_pattern(delimiter).finditer(text):
        if _is_line_break(token):
            end = token.end()
    if text.endswith(b"\r") and end == len(text) and not is_end:
        return find_records_end(text[:-1], delimiter, is_end=True)
    return end


def split_records(text: bytes, delimiter: bytes) -> Iterator[Record]:
    r"""Yield the records of a text that are not empty.

    Examples
    --------
    >>> [(record.text, record.line) for record in split_records(b'a,"b\nc"\n\nd,5" pipe\n', b",")]
    [(b'a,"b\nc"', 0), (b'd,5" pipe', 3)]
    """
    start = line = first_line = 0
    for token in _token_pattern(delimiter).finditer(text):
        line += count_lines(token.group())
        if _is_line_break(token):
            record = text[start : token.start()]
            if record:
                yield Record(record, first_line, token.end(), line)
            start, first_line = token.end(), line
    if text[start:]:
        yield Record(text[start:], first_line, len(text), line)


def count_lines(text: bytes) -> int:
    r"""Return the number of line breaks in a text; \r\n is one."""
    if b"\r" not in text:
        return text.count(b"\n")
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


@cache
def _token_pattern(delimiter: bytes) -> re.Pattern[bytes]:
    """Return a pattern of line breaks and of whole quoted fields, which may contain line breaks.

    An open quote takes all that follows.
    """
    before = b"[" + re.escape(delimiter) + rb"\r\n]"
    quoted = rb'"(?:[^"]|"")*+(?:"|\Z)'
    return re.compile(rb"(?:\A|(?<=" + before + rb"))" + quoted + rb"|\r\n|\n|\r", re.DOTALL)


def _is_line_break(token: re.Match[bytes]) -> bool:
    text = token.group()
    return text[-1:] in b"\r\n" and not text.startswith(b'"')


def _make_block(path: str, content: bytes, offset: int, line: int) -> Block:
    if offset > 0:
        return Block(content, offset, line)
    if content.startswith(UTF16_BOMS):
        raise InputError(f"{path} is encoded as UTF-16. Save it as UTF-8.")
    text = content.removeprefix(UTF8_BOM)
    return Block(text, len(content) - len(text), line)


@cache
def open_stdin() -> io.BufferedReader:
    """Return standard input, with one buffer, so that its first bytes can be inspected."""
    if sys.stdin is None:
        raise OSError("Standard input is closed. Give a path.")
    return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), BLOCK_BYTES)


def _open(path: str) -> io.BufferedIOBase:
    if path == "-":
        return open_stdin()
    try:
        if path.endswith(".gz"):
            return gzip.open(path, "rb")
        if path.endswith(".zst"):
            stream: io.BufferedIOBase = pa.CompressedInputStream(pa.OSFile(path), "zstd")
            return stream
        return open(path, "rb")
    except OSError as error:
        raise describe_read_error(path, error) from error


def describe_read_error(path: str, error: OSError) -> OSError:
    """Return an error of the same type whose message names the path."""
    reason = error.strerror or error
    return type(error)(f"{path} cannot be read ({reason}). Check the path.")


@contextmanager
def name_path_in_errors(path: str) -> Iterator[None]:
    """Name the path of a file that is read in the block, if it is damaged or cannot be read."""
    damaged = "{} is damaged or truncated ({}). Download the file again."
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(damaged.format(path, error)) from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{path} is damaged, or does not match its file extension ({error}). Download it "
            "again, or give its format with --format."
        ) from error
    except OSError as error:
        if path.endswith(".zst") and error.errno is None:  # of the decoder, not the file system
            raise InputError(damaged.format(path, error)) from None
        raise describe_read_error(path, error) from error


def _skip_bytes(file: io.BufferedIOBase, offset: int, path: str) -> None:
    """Seek to an offset; where that is impossible, read up to it."""
    if isinstance(file, io.BufferedReader) and file.seekable() and path != "-":
        size = file.seek(0, os.SEEK_END)
        file.seek(min(offset, size))
    else:
        size = 0
        while size < offset:
            chunk = file.read1(min(BLOCK_BYTES, offset - size))
            if not chunk:
                break
            size += len(chunk)
    if size < offset:
        raise InputError(
            f"{path} has {size} bytes, but {offset} bytes were read before. Restore the whole "
            "file, or delete the checkpoint to start over."
        )
