"""Real data sets: from a data folder, else from OpenML where it has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Floats, Ints
from paper.datasets import files, openml
from paper.datasets.dataset import Dataset

SCALED_ON = 200  # first rows, where features come in different units
DRIFT_DATA = "Its rows come from https://github.com/vlosing/driftDatasets: arrays X and y."

# fingerprints of the rows, as `openml.fingerprint` gives them
OPTDIGITS = "4ac4d33a01af06f9e06c115f75be350249b23616b6e1212c83d0ba0b425db7f8"
LETTER = "81bb70144aa4327b17ba875d02a4c9d5c2396692f4553a25bdcb6f4e3018dab3"
ELEC2 = "c9f050f93c60c2eea5bca48cb00158e801db807720d693354d3642c6ad0141c6"


def digits() -> Dataset:
    """Handwritten digits that come with scikit-learn: the smaller part of optdigits."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    note = "handwritten digits of scikit-learn, 8 x 8 pixels; a part of optdigits"
    return Dataset("digits", X.astype(np.float64), y.astype(np.int64), False, note)


def optdigits(folder: Path | None) -> Dataset:
    """UCI optical recognition of handwritten digits, both parts."""
    md5 = "c21833c3bf06e0056e209a33d7083a6d"
    data = folder and files.arrays(folder, "optdigits/optdigits.npz", md5)
    if data:
        X = np.concatenate([data["X_tra"], data["X_tes"]])
        y = np.concatenate([data["y_tra"], data["y_tes"]])
    else:
        X, y = openml.fetch("optdigits", 28, OPTDIGITS)
    note = "UCI handwritten digits, 8 x 8 pixels from 0 to 16"
    return Dataset("optdigits", X.astype(np.float64), coded(y), False, note)


def letter(folder: Path | None) -> Dataset:
    """UCI letter recognition."""
    md5 = "76c1ebc73b9dbbe776f11ec45b675cc9"
    data = folder and files.arrays(folder, "letter/letter.npz", md5)
    X, y = (data["X"], data["y"]) if data else openml.fetch("letter", 6, LETTER)
    note = "UCI letters A to Z, 16 shape features from 0 to 15"
    return Dataset("letter", X.astype(np.float64), coded(y), False, note)


def elec2(folder: Path | None) -> Dataset:
    """Prices of electricity that rise or fall, every half-hour, without the date."""
    md5 = "e71ebf232cb68ab4b3b696dc36bf8fcd"
    data = folder and files.arrays(folder, "elec2/elec2.npz", md5)
    if data:
        X, y = data["X"], data["y"]
    else:
        X, words = openml.fetch("elec2", 151, ELEC2, ordered=True)
        y = (words == "DOWN").astype(np.int64)
    note = "electricity market of New South Wales, half-hourly, without the date"
    return Dataset("elec2", np.ascontiguousarray(X[:, 1:]), coded(y), True, note)


def outdoor(folder: Path | None) -> Dataset:
    """Forty objects, approached ten times each under changing daylight."""
    md5 = "188da0994b72cb6e16c3a53bebfb0169"
    data = files.needed(folder, "outdoor_objects/outdoor.npz", md5, DRIFT_DATA)
    note = f"outdoor objects, colour histograms, scaled on the first {SCALED_ON} rows"
    return Dataset("outdoor", scaled(data["X"]), coded(data["y"]), True, note)


def keystroke(folder: Path | None) -> Dataset:
    """Four people type one word in many sessions."""
    md5 = "e82fefe0dfbcc6f01adac3048a9ab528"
    data = files.needed(folder, "keystroke/keystroke.npz", md5, DRIFT_DATA)
    note = f"rhythm of four people's typing, scaled on the first {SCALED_ON} rows"
    return Dataset("keystroke", scaled(data["X"]), coded(data["y"]), True, note)


def scaled(X: Floats) -> Floats:
    """Centre and scale each feature by the first rows.

    Examples
    --------
    >>> print(scaled(np.array([[1.0, 5.0], [3.0, 5.0]])))
    [[-1.  0.]
     [ 1.  0.]]
    """
    first = X[:SCALED_ON]
    spread = first.std(axis=0)
    return np.asarray((X - first.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def coded(y: NDArray[Any]) -> Ints:
    """Return classes as numbers from 0, in the order of their names."""
    return np.unique(y, return_inverse=True)[1].astype(np.int64)
