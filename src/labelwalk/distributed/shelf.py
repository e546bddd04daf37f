"""The newest state of each key, in files that are called by where it stands in its stream.

A state is what the rows of its key up to its position make of it, whoever learned them. So two who
hold the same key for a while, as where a machine is cut off and another takes over, write the same
files or one is behind the other; and what is behind never takes the place of what is ahead.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from labelwalk.parameters import shown
from labelwalk.storage.atomic_write import sync_folder

State = TypeVar("State")
DIGITS = 20  # of a position, so that names are in order


class Shelf:
    """Files by key and position; of each key the newest is there, and perhaps one before.

    Parameters
    ----------
    folder : path
        Where others may take over, one that all machines share.
    ending : str
        Of the names of files.
    """

    def __init__(self, folder: str | os.PathLike[str], ending: str) -> None:
        self._folder, self._ending = Path(folder), ending
        _make_lasting(self._folder)

    def put(self, key: str, position: int, write: Callable[[Path], None]) -> None:
        """Let a function write a file, all at once and to last, and remove those before it."""
        folder = self._folder / number_of(key)
        if not self._files(folder):  # then its own name may not be on the disk
            folder.mkdir(exist_ok=True)
            sync_folder(self._folder)
        path = folder / f"{position:0{DIGITS}}{self._ending}"
        write(path)
        for other in self._files(folder):
            if other.name < path.name:
                other.unlink(missing_ok=True)

    def newest(self, key: str, read: Callable[[Path], State]) -> tuple[int, State] | None:
        """Return the newest position of a key and what a function reads from its file, if any."""
        folder = self._folder / number_of(key)
        for left in folder.glob(".labelwalk-*.tmp"):  # by one who was killed while writing
            left.unlink(missing_ok=True)
        while files := self._files(folder):
            newest = max(files)
            try:
                return int(newest.name.removesuffix(self._ending)), read(newest)
            except (OSError, ValueError):
                if newest.exists():
                    raise  # else a newer one has just taken its place
        return None

    def _files(self, folder: Path) -> list[Path]:
        return list(folder.glob(f"{'[0-9]' * DIGITS}{self._ending}"))


def _make_lasting(folder: Path) -> None:
    """Make a folder, and those it is in, that are there after a power cut too."""
    if not folder.is_dir():
        _make_lasting(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def number_of(key: str) -> str:
    """Return what stands for a key, the same in every process.

    Examples
    --------
    >>> number_of("door")
    '2534e2de1dec24fedab4c00266b55ba9'
    """
    if not isinstance(key, str):
        raise ValueError(f"key={shown(key)} is no string. Convert it, as in str(key).")
    return hashlib.sha256(key.encode()).hexdigest()[:32]
