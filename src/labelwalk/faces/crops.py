"""Pictures of faces: the last in memory, and on the disk only where that was asked for."""

from __future__ import annotations

import logging
import os
import re
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path

from labelwalk.faces.boxes import Box, crop
from labelwalk.faces.image import Image
from labelwalk.faces.pictures import encoded
from labelwalk.service.database import sync_folder
from labelwalk.service.encryption import Cipher, DecryptionError, NoEncryption
from labelwalk.service.erasure import CleanupError

MARGIN = 0.25  # of a face, around what is shown of it
MOST = 1000  # pictures in memory
OPEN, LOCKED, PARTLY = ".jpg", ".locked", ".part"  # what files are called
OURS = re.compile(r"([0-9]+)(\.jpg|\.locked|\.part)")
LOGGER = logging.getLogger(__name__)


class Crops:
    """The pictures of examples, by their numbers.

    Parameters
    ----------
    folder : str, optional
        Where they are kept; they are forgotten with the process where none is given.
    cipher : Cipher, optional
        What they are locked by, one by one.
    are_kept : bool
        Whether more are written there. Those that are there are destroyed with their examples in
        any case.
    """

    def __init__(
        self, folder: str | None = None, cipher: Cipher | None = None, *, are_kept: bool = True
    ) -> None:
        self._cipher = cipher or NoEncryption()
        self._suffix = LOCKED if self._cipher.name else OPEN
        self._folder = None if folder is None else Path(folder)
        self._held: OrderedDict[int, bytes] = OrderedDict()
        self.are_kept = are_kept and self._folder is not None
        if self._folder is not None and self.are_kept:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def hold(self, example: int, picture: bytes) -> None:
        """Hold a picture in memory, and let go of the oldest where there are too many."""
        self._held[example] = picture
        if len(self._held) > MOST:
            self._held.popitem(last=False)

    def keep(self, example: int) -> None:
        """Write a picture that is held to the disk, if that was asked for."""
        if self.are_kept and self._folder is not None and example in self._held:
            content = self._cipher.encrypt([self._held[example]], _what(example))[0]
            try:
                _write(content, self._folder / f"{example}{PARTLY}", self._path(example))
            except OSError as error:  # what was seen and named counts all the same
                LOGGER.warning("a picture cannot be kept (%s)", error.strerror)

    def of(self, example: int) -> bytes | None:
        """Return the picture of an example; None where there is none."""
        if example in self._held:
            return self._held[example]
        if self._folder is None:
            return None
        try:
            return self._cipher.decrypt([self._path(example).read_bytes()], _what(example))[0]
        except (OSError, DecryptionError):
            return None

    def sweep(self, erased: Collection[int], next_example_id: int) -> None:
        """Destroy all pictures of examples that were erased, or never came; none stay in memory.

        Raises
        ------
        CleanupError
            Some cannot be destroyed; all others are.
        """
        self._held.clear()
        if self._folder is None or not self._folder.is_dir():
            return
        gone, left = frozenset(erased), list[str]()
        for path in self._folder.iterdir():
            ours = OURS.fullmatch(path.name)
            if ours and (
                ours[2] == PARTLY or int(ours[1]) in gone or int(ours[1]) >= next_example_id
            ):
                try:
                    path.unlink(missing_ok=True)  # another sweep may be under way
                except OSError:
                    left.append(str(path))
        sync_folder(str(self._folder))
        if left:
            raise CleanupError(f"{', '.join(left)} cannot be destroyed. Take them out of there.")

    def _path(self, example: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{example}{self._suffix}"


def _write(content: bytes, partly: Path, path: Path) -> None:
    """Write a file that is there whole, or not at all."""
    with open(os.open(partly, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partly.rename(path)


def _what(example: int) -> bytes:
    """Say what a picture is, so that it can stand for no other."""
    return f"picture of example {example}".encode()


def pictured(image: Image, box: Box) -> bytes:
    """Return what is shown of a face, as a JPEG."""
    return encoded(crop(image, box, MARGIN))
