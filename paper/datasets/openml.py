"""Data sets that OpenML publishes, fetched by scikit-learn, which also keeps them."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any
from urllib.error import URLError

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats
from paper.datasets.dataset import DataMissingError


def fetch(
    name: str, data_id: int, sha256: str, *, ordered: bool = False
) -> tuple[Floats, NDArray[Any]]:
    """Return rows and labels of a data set of OpenML.

    Parameters
    ----------
    name : str
        For messages.
    data_id : int
        Its number there.
    sha256 : str
        What `fingerprint` must give.
    ordered : bool
        Whether the order of the rows means something.

    Raises
    ------
    DataMissingError
        It could not be fetched, or is not the data that results were measured on.
    """
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the error says it all
            data = fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
        X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    except (URLError, OSError, ValueError) as error:
        raise DataMissingError(
            f"{name} is not in a data folder and could not be fetched from OpenML (number "
            f"{data_id}): {error}. Name the folder by --data or LABELWALK_DATA, or go online."
        ) from error
    if fingerprint(X, y, ordered=ordered) != sha256:
        raise DataMissingError(
            f"{name}, as OpenML has it (number {data_id}), holds other rows than those our results "
            "were measured on. Name a folder that has it by --data or LABELWALK_DATA."
        )
    return X, y


def fingerprint(X: Floats, y: NDArray[Any], *, ordered: bool = False) -> str:
    """Return a SHA-256 of labelled rows, which depends on their order if that is asked for.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0]]), np.array(["a", "b"])
    >>> fingerprint(X, y) == fingerprint(X[::-1], y[::-1])
    True
    """
    lines = [
        ",".join([*(f"{value:.9g}" for value in row), str(label)])
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    if not ordered:
        lines.sort()
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
