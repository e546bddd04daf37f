"""Text in blocks of whole records, as fast as it comes: files, compressed files, pipes."""

from __future__ import annotations

import gzip
import io
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

import pyarrow as pa

from labelwalk.io.fault import InputError
from labelwalk.io.records import line_breaks, whole
from labelwalk.io.standard import standard_input

BLOCK = 1 << 20
LONGEST = 1 << 26  # bytes of a record: longer, and a quote was never closed
PAUSE = 0.2  # seconds between looks at a file that may grow
BOM = b"\xef\xbb\xbf"
OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")


class ByteStream(Protocol):
    """What is asked of a file that is read."""

    def read1(self, size: int = ..., /) -> bytes:
        """Return what there is by now, at least one byte unless it is the end."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: Any) -> Any: ...


@dataclass(frozen=True)
class Block:
    """Whole records, and where they begin: bytes and lines before them, after decompression."""

    content: bytes
    offset: int
    line: int

    def without(self, n_bytes: int, n_lines: int) -> Block:
        """Return what comes after the first records."""
        return Block(self.content[n_bytes:], self.offset + n_bytes, self.line + n_lines)


class TextFile:
    """A text file, or standard input, in blocks of whole records.

    Parameters
    ----------
    path : str
        "-" is standard input; names ending in .gz or .zst are decompressed.
    delimiter : bytes, optional
        Of fields, which may be quoted, and then hold line breaks. None: every line is a record.
    follow : bool
        Whether to wait at the end for more.
    """

    def __init__(self, path: str, delimiter: bytes | None = None, *, follow: bool = False) -> None:
        self.path = path
        self._delimiter = delimiter
        self._follow = follow

    def blocks(self, offset: int = 0, line: int = 0) -> Iterator[Block]:
        """Yield the file from a place where a record begins, up to the last one, ended or not."""
        with _opened(self.path) as file, _blaming(self.path):
            _skip(file, offset, self.path)
            pending, look_at = b"", 0
            while True:
                end = self._whole(pending) if len(pending) >= look_at else 0
                if end:
                    yield self._block(pending[:end], offset, line)
                    line += self._lines(pending[:end])
                    offset, pending = offset + end, pending[end:]
                # a long record is looked at again when there is twice as much of it
                look_at = 2 * len(pending) if len(pending) > BLOCK else 0
                if len(pending) > LONGEST:
                    raise InputError(
                        f"{self.path}, line {line + 1}: no record ends within {LONGEST >> 20} MiB. "
                        "Close the quote that is open, or check that this is text with lines."
                    )
                more = file.read1(BLOCK)
                if more:
                    pending += more
                elif self._follow:
                    time.sleep(PAUSE)
                else:
                    break
            if pending:
                yield self._block(pending, offset, line)

    @property
    def size(self) -> int | None:
        """How many bytes there are in all; None where nobody knows."""
        plain = self.path != "-" and not self.path.endswith((".gz", ".zst")) and not self._follow
        return os.stat(self.path).st_size if plain and os.path.isfile(self.path) else None

    def _whole(self, text: bytes) -> int:
        """Return how many bytes of the text are whole records."""
        if self._delimiter is None:
            return text.rfind(b"\n") + 1
        return whole(text, self._delimiter)

    def _lines(self, text: bytes) -> int:
        return text.count(b"\n") if self._delimiter is None else line_breaks(text)

    def _block(self, content: bytes, offset: int, line: int) -> Block:
        if offset > 0:
            return Block(content, offset, line)
        if content.startswith(OTHER_BOMS):
            raise InputError(f"{self.path} is UTF-16. Save it as UTF-8.")
        text = content.removeprefix(BOM)
        return Block(text, len(content) - len(text), line)


def _opened(path: str) -> ByteStream:
    if path == "-":
        return standard_input()
    try:
        if path.endswith(".gz"):
            return gzip.open(path, "rb")
        if path.endswith(".zst"):
            stream: ByteStream = pa.CompressedInputStream(pa.OSFile(path), "zstd")
            return stream
        return open(path, "rb")
    except OSError as error:
        raise cannot_read(path, error) from error


def cannot_read(path: str, error: OSError) -> OSError:
    """Return the same error with a sentence that says what to do."""
    reason = error.strerror or error
    return type(error)(f"{path} cannot be read ({reason}). Check the path.")


@contextmanager
def _blaming(path: str) -> Iterator[None]:
    """Name the file where it turns out to be damaged."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is damaged or cut short ({error}). Bring it again.") from error
    except OSError as error:
        if path.endswith(".zst"):
            raise InputError(f"{path} is damaged or cut short ({error}). Bring it again.") from None
        raise cannot_read(path, error) from error


def _skip(file: ByteStream, offset: int, path: str) -> None:
    """Go to a place in the file; where that cannot be done at once, read up to it."""
    if isinstance(file, io.BufferedReader) and file.seekable() and path != "-":
        there = file.seek(0, os.SEEK_END)
        file.seek(min(offset, there))
    else:
        there = 0
        while there < offset:
            some = file.read1(min(BLOCK, offset - there))
            if not some:
                break
            there += len(some)
    if there < offset:
        raise InputError(
            f"{path} has {there} bytes, but {offset} were read before. Bring the whole file back, "
            "or begin anew by deleting the checkpoint."
        )
