"""Output files that a resumed run can truncate to a checkpoint: plain, compressed, or stdout."""

import gzip
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO

import pyarrow as pa

from labelwalk.arrays import Floats
from labelwalk.io.rows import RowError, Rows

BUFFER_BYTES = 1 << 20


class TruncatableFile:
    """A file that is truncated to a size and appended to; None for a new file."""

    def __init__(self, path: str, size: int | None) -> None:
        self.path = path
        self._file: BinaryIO = open(path, "wb" if size is None else "r+b")  # noqa: SIM115
        if size is None:
            return
        present = self._file.seek(0, os.SEEK_END)
        if present < size:
            self._file.close()
            raise ValueError(
                f"{path} has {present} bytes, but {size} bytes were written before. Restore it, or "
                "delete the checkpoint to start over."
            )
        self._file.truncate(size)
        self._file.seek(size)

    def write(self, content: bytes | memoryview) -> None:
        """Append bytes."""
        with self._name_path_in_errors():
            self._file.write(content)

    def flush(self) -> None:
        """Make the content visible to other processes."""
        with self._name_path_in_errors():
            self._file.flush()

    def checkpoint(self) -> int:
        """Make the content durable, and return its size."""
        self.flush()
        with self._name_path_in_errors():
            os.fsync(self._file.fileno())
            return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        with self._name_path_in_errors():
            self._file.close()

    @contextmanager
    def _name_path_in_errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(
                error.errno,
                f"{self.path} cannot be written ({error.strerror}). Free space or choose another",
            ) from error


class CompressedFile(TruncatableFile):
    """A file of compressed members, which readers concatenate; it can be truncated between them."""

    def write(self, content: bytes | memoryview) -> None:
        """Append a compressed member."""
        if self.path.endswith(".gz"):
            super().write(gzip.compress(content, compresslevel=6, mtime=0))
        else:
            super().write(pa.Codec("zstd").compress(content, asbytes=True))

    def close(self) -> None:
        """Close the file; an empty one receives an empty member, to be valid gzip or zstd."""
        if self._file.tell() == 0:
            self.write(b"")
        super().close()


class StandardOutput(TruncatableFile):
    """A pipe or terminal: a run that writes to it cannot be resumed."""

    def __init__(self) -> None:
        self.path = "Standard output"
        self._file = open_stdout()

    def checkpoint(self) -> int:
        """Flush, since nothing can be made durable."""
        self.flush()
        return 0

    def close(self) -> None:
        """Flush; the stream stays open."""
        self.flush()


@cache
def open_stdout() -> io.BufferedWriter:
    """Return standard output, always buffered, since an unbuffered one may write partially."""
    if sys.stdout is None:
        raise OSError("Standard output is closed. Give a path with -o.")
    return io.BufferedWriter(io.FileIO(sys.stdout.fileno(), "w", closefd=False), BUFFER_BYTES)


def open_output(path: str, size: int | None) -> TruncatableFile:
    """Open the file of a path, or standard output."""
    if path == "-":
        return StandardOutput()
    return (CompressedFile if path.endswith((".gz", ".zst")) else TruncatableFile)(path, size)


class RowSink:
    """A format in which rows are written with their answers, to a file by default."""

    def __init__(self, path: str, size: int | None) -> None:
        self._file = open_output(path, size)

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Write rows with the added columns; `features` are their numbers."""
        raise NotImplementedError

    def flush(self) -> None:
        """Make the rows visible to other processes."""
        self._file.flush()

    def checkpoint(self) -> int:
        """Make the rows durable, and return the size to resume from."""
        return self._file.checkpoint()

    def finalize(self) -> None:
        """Complete the output. A resumed run may do this again."""
        self._file.flush()

    def cleanup(self) -> None:
        """Remove files that only served to resume."""

    def close(self) -> None:
        """Close files."""
        self._file.close()


class RejectFile:
    """Skipped rows as NDJSON. The file is created for the first row."""

    def __init__(self, path: str, size: int | None = None) -> None:
        self.path = path
        self._file = None if size is None else TruncatableFile(path, size)

    def write(self, fault: RowError) -> None:
        """Append a row and its error."""
        self._file = self._file or TruncatableFile(self.path, None)
        fields = ("where", "column", "value", "problem", "row")
        line = {name: getattr(fault, name) for name in fields}
        self._file.write(json.dumps(line).encode() + b"\n")

    def checkpoint(self) -> int | None:
        """Make the rows durable, and return the size of the file; None if there is none."""
        return None if self._file is None else self._file.checkpoint()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
