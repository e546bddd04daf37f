"""One process owns a folder: a second is turned away."""

from __future__ import annotations

import fcntl
import os

NAME = "owner"


class OwnedError(Exception):
    """Another process has the folder."""


class Owner:
    """Holds a folder until it is released, or the process ends, however it ends.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     owner = Owner(folder)
    ...     Owner(folder)
    Traceback (most recent call last):
    labelwalk.service.owner.OwnedError: ... is in use by process ...
    """

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, NAME)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise OwnedError(
                f"{folder} is in use by process {process}. Stop that one, or choose another folder."
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have the folder."""
        os.close(self._file)
