"""All data sets by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from labelwalk.parameters import check_choice
from paper.datasets import faces, real, synthetic
from paper.datasets.dataset import DataMissingError, Dataset
from paper.datasets.files import data_folder

REAL: dict[str, Callable[[Path | None], Dataset]] = {
    loader.__name__: loader
    for loader in (
        real.optdigits,
        real.letter,
        real.outdoor,
        real.keystroke,
        real.elec2,
        faces.office,
        faces.office_pixels,
        faces.places,
        faces.places_pixels,
    )
}
AT_HAND: dict[str, Callable[[], Dataset]] = {
    maker.__name__: maker
    for maker in (
        real.digits,
        synthetic.moons,
        synthetic.spirals,
        synthetic.swiss_roll,
        synthetic.drifting,
    )
}
NAMES = (*REAL, *AT_HAND)


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Return a data set.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    folder : path, optional
        Where the files are; else LABELWALK_DATA says it. What is not there is fetched from OpenML,
        if that has it.

    Raises
    ------
    DataMissingError
        It is neither there nor to be fetched; the message says where to get it.

    Examples
    --------
    >>> data = load("moons")
    >>> data.X.shape, data.n_classes
    ((2000, 2), 2)
    """
    check_choice("name", name, NAMES)
    return AT_HAND[name]() if name in AT_HAND else REAL[name](data_folder(folder))


def missing(names: tuple[str, ...], folder: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Return which of these cannot be had, and why.

    Examples
    --------
    >>> missing(("moons", "digits"))
    {}
    """
    reasons = {}
    for name in names:
        try:
            load(name, folder)
        except DataMissingError as error:
            reasons[name] = str(error)
    return reasons
