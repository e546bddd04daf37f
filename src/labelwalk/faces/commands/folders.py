"""The folder in which people are kept, opened in this one place."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labelwalk.cli.passphrase import passphrase_from
from labelwalk.faces.commands.options import Kind

if TYPE_CHECKING:
    from labelwalk.faces.people_store import Gallery


def is_kept(folder: str) -> bool:
    """Return whether learners are kept in a folder, of faces or not."""
    from labelwalk.service.journal import FILE

    return os.path.exists(os.path.join(folder, FILE))


@contextmanager
def kept_in(
    folder: str,
    kind: Kind | None,
    passphrase_file: str | None,
    *,
    new: bool = False,
    keep_crops: bool = False,
) -> Iterator[Gallery]:
    """Open the people of a folder; nobody else has it meanwhile.

    Parameters
    ----------
    folder : str
    kind : Kind or None
        How faces are compared; as the folder has them, or by pixels, where none is given.
    passphrase_file : str or None
        Of an encrypted folder; the environment may have its passphrase too.
    new : bool
        Whether to make what is not there.
    keep_crops : bool
        Whether pictures of faces are written there too.
    """
    from labelwalk.faces.absent import NobodyError
    from labelwalk.faces.people_store import Gallery, called, crops_in, representation_in
    from labelwalk.service.database import DamagedError, DiskError, FolderInUseError
    from labelwalk.service.encryption import PassphraseError
    from labelwalk.service.learner_store import LearnerStore

    nobody = f"{folder}: no people are kept there. `labelwalk faces enroll` makes such a folder."
    if not is_kept(folder):
        if not new:
            raise ValueError(nobody)
        _check_empty(folder)
        called(kind or "pixels")  # where that cannot be, no folder is made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of learners name labels
        try:
            store = LearnerStore(folder, passphrase=passphrase_from(passphrase_file))
            try:
                there = representation_in(store)
                if there is None and not new:
                    raise ValueError(nobody)
                crops = crops_in(folder, store.cipher, are_kept=keep_crops)
                yield Gallery(store, called(kind or there or "pixels"), crops=crops)
            finally:
                store.close()
        except (DamagedError, DiskError, FolderInUseError, PassphraseError) as error:
            raise OSError(str(error)) from error
        except NobodyError as error:
            raise ValueError(str(error)) from error


def _check_empty(folder: str) -> None:
    """See that a new folder is none in which something else lies."""
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise ValueError(f"{folder} is no folder of people. Choose a new one, or an empty one.")
