"""Atomic file writes: after a crash a file has either its old or its new content."""

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

AnyPath = str | os.PathLike[str]


def write_atomic(path: AnyPath, chunks: Iterable[memoryview]) -> None:
    """Write chunks to a file, which keeps its old content until all of the new one is on disk."""
    with open_atomic(path) as file:
        for chunk in chunks:
            file.write(chunk)


@contextmanager
def open_atomic(path: AnyPath, temporary: AnyPath | None = None) -> Iterator[BinaryIO]:
    """Yield an open file that replaces `path` at the end of the block.

    An error in the block leaves `path` as it was. A symbolic link is followed, and the permissions
    of an existing file are kept.

    Parameters
    ----------
    path : path
    temporary : path, optional
        Where to write before the replacement, on the same disk. By default a new file
        `.labelwalk-*.tmp` in the same folder, which remains if the process is killed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.txt"
    ...     with open_atomic(path) as file:
    ...         _ = file.write(b"new")
    ...         assert not path.exists()
    ...     path.read_text()
    'new'
    """
    target = Path(os.path.realpath(path))
    part = Path(temporary or target.parent / f".labelwalk-{secrets.token_hex(8)}.tmp")
    mode = _mode_to_keep(target)
    exclusive = os.O_EXCL if temporary is None else os.O_TRUNC
    flags = os.O_WRONLY | os.O_CREAT | exclusive | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
            if mode is not None:
                part.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _mode_to_keep(target: Path) -> int | None:
    """Return the permissions of the file to be replaced; None if there is no such file."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "the path is a folder or a device, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the existing file is read-only")
    return stat.S_IMODE(mode)


def sync_folder(folder: AnyPath) -> None:
    """Make new file names in a folder durable, on systems that can sync a folder."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
