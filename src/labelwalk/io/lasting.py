"""A file that is written to its end, and can be cut back to where it once was safe on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO


class LastingFile:
    """Bytes that are appended; `mark` makes them last.

    Parameters
    ----------
    path : str
    size : int or None
        Where to go on: what lies beyond is cut off. None begins anew.

    Raises
    ------
    ValueError
        The file is shorter than it was.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.txt"
    ...     file = LastingFile(str(path), None)
    ...     file.write(b"kept, ")
    ...     size = file.mark()
    ...     file.write(b"lost")
    ...     file.close()
    ...     again = LastingFile(str(path), size)
    ...     again.write(b"and more")
    ...     again.close()
    ...     path.read_text()
    'kept, and more'
    """

    def __init__(self, path: str, size: int | None) -> None:
        self.path = path
        self._file: BinaryIO = open(path, "wb" if size is None else "r+b")  # noqa: SIM115
        if size is None:
            return
        there = self._file.seek(0, os.SEEK_END)
        if there < size:
            self._file.close()
            raise ValueError(
                f"{path} has {there} bytes, but {size} were written before. Bring it back, or "
                "begin anew by deleting the checkpoint."
            )
        self._file.truncate(size)
        self._file.seek(size)

    def write(self, content: bytes | memoryview) -> None:
        """Append."""
        with self._blaming():
            self._file.write(content)

    def flush(self) -> None:
        """Show others what is written so far."""
        with self._blaming():
            self._file.flush()

    def mark(self) -> int:
        """Put everything on the disk, and return how long the file is."""
        with self._blaming():
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()

    @property
    def empty(self) -> bool:
        """Whether nothing is in it."""
        return self._file.tell() == 0

    def close(self) -> None:
        """End the file."""
        with self._blaming():
            self._file.close()

    @contextmanager
    def _blaming(self) -> Iterator[None]:
        """Name the file where it cannot be written; a pipe without a reader stays what it is."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(
                error.errno,
                f"{self.path} cannot be written ({error.strerror}). Make room or choose another",
            ) from error
