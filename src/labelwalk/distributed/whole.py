"""Files that are there as a whole or not at all, wherever they are."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable
from typing import Any

from labelwalk.distributed.places import Place
from labelwalk.storage.atomic_write import sync_folder

STORES = {"s3", "gcs", "abfs"}  # where nothing is there before it is closed


def write_whole(place: Place, write: Callable[[Any], None], aside: Place | None = None) -> None:
    """Let a function write a file that is there as a whole or not at all.

    Where two write the same, the last of them stays.

    Parameters
    ----------
    place : Place
    write : function of an open file
    aside : Place, optional
        A folder of the same disk, where whoever is killed while writing leaves what there was; that
        of the file itself where it is not given.

    Raises
    ------
    OSError
        There is no room, or no right to write there.
    """
    folder, name = os.path.split(place.path)
    part = (aside or Place(place.system, folder)) / f".{name}.{uuid.uuid4().hex}"
    try:
        place.system.create_dir(folder, recursive=True)
        (_write_here if place.is_local else _write_away)(place, write, part)
    except OSError as error:
        why = error.strerror or str(error)
        raise OSError(
            f"{place.path} cannot be written ({why}). Mend that and begin again: what is done is "
            "not done again."
        ) from error


def _write_here(place: Place, write: Callable[[Any], None], part: Place) -> None:
    """Write a file under another name, and give it its own when all of it is on the disk."""
    try:
        with open(part.path, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part.path, place.path)
    except BaseException:
        if os.path.exists(part.path):
            os.remove(part.path)
        raise
    sync_folder(os.path.dirname(place.path))


def _write_away(place: Place, write: Callable[[Any], None], part: Place) -> None:
    """Write a file here first: a stream that breaks off is closed, and there, all the same."""
    with tempfile.TemporaryFile() as file:
        write(file)
        file.seek(0)
        if place.system.type_name in STORES:
            _send(file, place)
            return
        _send(file, part)
    try:
        place.system.move(part.path, place.path)
    except OSError:
        place.system.delete_file(part.path)
        if not place.is_there():  # else somebody else has written the same
            raise


def _send(file: Any, place: Place) -> None:
    with place.system.open_output_stream(place.path) as out:
        shutil.copyfileobj(file, out, 1 << 20)
