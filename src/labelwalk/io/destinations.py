"""Where bytes go: a file, a compressed file, standard output."""

from __future__ import annotations

import gzip
from typing import Protocol

import pyarrow as pa

from labelwalk.io.lasting import LastingFile
from labelwalk.io.standard import standard_output


class Destination(Protocol):
    """Something bytes are appended to."""

    def write(self, content: bytes | memoryview) -> None:
        """Append."""

    def flush(self) -> None:
        """Show others what is written so far."""

    def mark(self) -> int:
        """Put everything on the disk, and return how long it is."""

    def close(self) -> None:
        """End it."""


class Compressed:
    """A file of compressed pieces, which every reader takes for one; it can be cut between them."""

    def __init__(self, path: str, size: int | None) -> None:
        self._file = LastingFile(path, size)
        self._gzip = path.endswith(".gz")

    def write(self, content: bytes | memoryview) -> None:
        """Append a piece."""
        if self._gzip:
            piece = gzip.compress(content, compresslevel=6, mtime=0)
        else:
            piece = pa.Codec("zstd").compress(content, asbytes=True)
        self._file.write(piece)

    def flush(self) -> None:
        """Show others what is written so far."""
        self._file.flush()

    def mark(self) -> int:
        """Put everything on the disk, and return how long it is."""
        return self._file.mark()

    def close(self) -> None:
        """End the file, with a piece in it, or else it would not be a compressed one."""
        if self._file.empty:
            self.write(b"")
        self._file.close()


class StandardOutput:
    """A pipe or terminal: what is written is gone."""

    def write(self, content: bytes | memoryview) -> None:
        """Append."""
        standard_output().write(content)

    def flush(self) -> None:
        """Let the reader have it."""
        standard_output().flush()

    def mark(self) -> int:
        """Let the reader have it; there is no way back."""
        self.flush()
        return 0

    def close(self) -> None:
        """Let the reader have it; others may still write."""
        self.flush()


def destination(path: str, size: int | None) -> Destination:
    """Return where bytes for a path go; `size` as in `LastingFile`."""
    if path == "-":
        return StandardOutput()
    if path.endswith((".gz", ".zst")):
        return Compressed(path, size)
    return LastingFile(path, size)
