"""Files of a data folder, checked before they are believed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.datasets.dataset import DataMissingError

VARIABLE = "LABELWALK_DATA"


def data_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder that was named, by the argument or by LABELWALK_DATA; None without any.

    Raises
    ------
    DataMissingError
        There is no such folder.
    """
    named = os.environ.get(VARIABLE) if folder is None else folder
    if not named:
        return None
    path = Path(named)
    if not path.is_dir():
        raise DataMissingError(
            f"{path} is not a folder. Give --data, or set {VARIABLE}, to the folder of the data."
        )
    return path


def arrays(folder: Path, file: str, md5: str) -> dict[str, NDArray[Any]] | None:
    """Read an NPZ file of the folder; None if it is not there.

    Raises
    ------
    ValueError
        The file is not the one that results were measured on.
    """
    path = folder / file
    if not path.is_file():
        return None
    check_content(path, md5)
    with np.load(path) as data:
        return dict(data)


def needed(folder: Path | None, file: str, md5: str, whence: str) -> dict[str, NDArray[Any]]:
    """Read an NPZ file that can be had from a folder alone.

    Raises
    ------
    DataMissingError
        It is not there; `whence` says where such data come from.
    """
    data = arrays(folder, file, md5) if folder else None
    if data is None:
        raise DataMissingError(
            f"{file} is needed in a data folder, named by --data or {VARIABLE}. {whence}"
        )
    return data


def check_content(path: Path, md5: str) -> None:
    """Refuse a file whose bytes are not those that results were measured on."""
    content = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    if content != md5:
        raise ValueError(
            f"{path} has the checksum {content}, not {md5}: it is damaged or another version. "
            "Fetch it again."
        )
