"""Videos of real people, where there is a data folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import datasets


def real(name: str) -> Path:
    """Return a file of the data folder; skip the test where it is not there."""
    folder = datasets.find_folder()
    if folder is None or not (folder / name).is_file():
        pytest.skip(f"{name} is needed in a folder named by {datasets.DATA_VARIABLE}")
    return folder / name
