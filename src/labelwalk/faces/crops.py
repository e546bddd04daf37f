"""Pictures of faces: the newest in memory, and on disk only if the user asked for that."""

from __future__ import annotations

import logging
import os
import re
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path

from labelwalk.faces.frames import Box, Image, crop_box
from labelwalk.faces.pictures import encode_jpeg
from labelwalk.service.encryption import Cipher, DecryptionError, NoEncryption
from labelwalk.service.erasure import CleanupError
from labelwalk.storage.atomic_write import sync_folder

CROP_MARGIN = 0.25  # of a face, on each side
MAX_CACHED_CROPS = 1000
PLAIN_SUFFIX, ENCRYPTED_SUFFIX, PART_SUFFIX = ".jpg", ".locked", ".part"
CROP_FILE = re.compile(r"([0-9]+)(\.jpg|\.locked|\.part)")
LOGGER = logging.getLogger(__name__)


class CropStore:
    """Pictures of examples by their ids."""

    def __init__(
        self, folder: str | None = None, cipher: Cipher | None = None, *, are_kept: bool = True
    ) -> None:
        self._cipher = cipher or NoEncryption()
        self._suffix = ENCRYPTED_SUFFIX if self._cipher.key_name else PLAIN_SUFFIX
        self._folder = None if folder is None else Path(folder)
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self.are_kept = are_kept and self._folder is not None
        if self._folder is not None and self.are_kept:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def cache(self, example: int, image: Image, box: Box) -> None:
        """Hold the picture of a face in memory, instead of the oldest one if there are too many."""
        self._cache[example] = encode_jpeg(crop_box(image, box, CROP_MARGIN))
        if len(self._cache) > MAX_CACHED_CROPS:
            self._cache.popitem(last=False)

    def persist(self, example: int) -> None:
        """Write a cached picture to disk, if the user asked for that."""
        if not self.are_kept or self._folder is None or example not in self._cache:
            return
        context = _make_context(example)
        content = self._cipher.encrypt([self._cache[example]], context)[0]
        part = self._folder / f"{example}{PART_SUFFIX}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with open(os.open(part, flags, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.rename(self._folder / f"{example}{self._suffix}")
        except OSError as error:  # the example counts without a picture
            LOGGER.warning("a picture cannot be kept (%s)", error.strerror)

    def get(self, example: int) -> bytes | None:
        """Return the picture of an example as a JPEG; None if there is none."""
        if example in self._cache or self._folder is None:
            return self._cache.get(example)
        try:
            content = (self._folder / f"{example}{self._suffix}").read_bytes()
            return self._cipher.decrypt([content], _make_context(example))[0]
        except (OSError, DecryptionError):
            return None

    def purge(self, erased: Collection[int], n_examples: int) -> None:
        """Delete the pictures of erased examples and of ids never given out; clear the cache."""
        self._cache.clear()
        if self._folder is None or not self._folder.is_dir():
            return
        erased_ids, failed = frozenset(erased), list[str]()
        for path in self._folder.iterdir():
            if not (match := CROP_FILE.fullmatch(path.name)):
                continue
            example = int(match[1])
            if match[2] == PART_SUFFIX or example in erased_ids or example >= n_examples:
                try:
                    path.unlink(missing_ok=True)  # another thread may delete it too
                except OSError:
                    failed.append(str(path))
        sync_folder(str(self._folder))
        if failed:
            raise CleanupError(f"{', '.join(failed)} cannot be deleted. Remove them yourself.")


def _make_context(example: int) -> bytes:
    """Return what binds an encrypted picture to its example."""
    return f"picture of example {example}".encode()
