"""Pictures of faces: the last in memory, and on the disk only where that was asked for."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path

from labelwalk.faces.boxes import Box, crop
from labelwalk.faces.image import Image
from labelwalk.faces.pictures import encoded
from labelwalk.service.cipher import Cipher, Plain, UnlockError

MARGIN = 0.25  # of a face, around what is shown of it
MOST = 1000  # pictures in memory
OPEN, LOCKED = ".jpg", ".locked"  # what files are called


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
        self._cipher = cipher or Plain()
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
            partly = self._folder / f"{example}.part"
            with open(os.open(partly, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(*self._cipher.locked([self._held[example]], _what(example)))
            partly.rename(self._path(example))

    def of(self, example: int) -> bytes | None:
        """Return the picture of an example; None where there is none."""
        if example in self._held:
            return self._held[example]
        if self._folder is None:
            return None
        try:
            return self._cipher.unlocked([self._path(example).read_bytes()], _what(example))[0]
        except (FileNotFoundError, UnlockError):
            return None

    def sweep(self, erased: Collection[int], n_numbered: int) -> None:
        """Destroy all pictures of examples that were erased, or never came; none stay in memory."""
        self._held.clear()
        gone = frozenset(erased)
        for path in self._on_disk():
            number = (
                int(path.stem) if path.suffix == self._suffix and path.stem.isdecimal() else None
            )
            if number is None or number in gone or number >= n_numbered:
                path.unlink()

    def _on_disk(self) -> list[Path]:
        if self._folder is None or not self._folder.is_dir():
            return []
        return list(self._folder.iterdir())

    def _path(self, example: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{example}{self._suffix}"


def _what(example: int) -> bytes:
    """Say what a picture is, so that it can stand for no other."""
    return f"picture of example {example}".encode()


def pictured(image: Image, box: Box) -> bytes:
    """Return what is shown of a face, as a JPEG."""
    return encoded(crop(image, box, MARGIN))
