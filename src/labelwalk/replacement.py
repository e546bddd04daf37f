"""A file replaced all at once: after any accident it is the old one or the new one."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path


def replace(path: str | os.PathLike[str], chunks: Iterable[memoryview]) -> None:
    """Write chunks to `path`, which holds the old file until all of the new one is on the disk.

    The bytes go to a temporary file in the same folder, which then takes the place of `path`. A
    process killed in the middle leaves the old file as it was, and perhaps a temporary file
    `.labelwalk-*.tmp` beside it. A symbolic link is followed; permissions stay.
    """
    target = Path(os.path.realpath(path))
    temporary = target.parent / f".labelwalk-{secrets.token_hex(8)}.tmp"
    try:
        _write_through(temporary, chunks, _mode_to_keep(target))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _mode_to_keep(target: Path) -> int | None:
    """Permissions of the file to be replaced, if there is one and it may be replaced."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a folder or a device, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file there is read-only")
    return stat.S_IMODE(mode)


def _write_through(path: Path, chunks: Iterable[memoryview], mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        if mode is not None:
            path.chmod(mode)
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make new names in a folder last; some systems cannot, and keep names safe by themselves."""
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
