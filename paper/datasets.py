"""Data sets by name: from a data folder, from OpenML or scikit-learn, or made from a seed."""

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from labelwalk.arrays import Floats, Ints

DATA_VARIABLE = "LABELWALK_DATA"  # environment variable that names the data folder
UNKNOWN_CLASS = -1  # class of an example that should not be named
N_SCALING_ROWS = 200  # where features have different units
FILES = {  # of the data folder, and their MD5
    # UCI handwritten digits, 8 x 8 pixels from 0 to 16
    "optdigits": ("optdigits/optdigits.npz", "c21833c3bf06e0056e209a33d7083a6d"),
    # UCI letters A to Z, 16 shape features from 0 to 15
    "letter": ("letter/letter.npz", "76c1ebc73b9dbbe776f11ec45b675cc9"),
    # colour histograms of forty objects, each approached ten times under changing daylight
    "outdoor": ("outdoor_objects/outdoor.npz", "188da0994b72cb6e16c3a53bebfb0169"),
    # the rhythm in which four people type one word in many sessions
    "keystroke": ("keystroke/keystroke.npz", "e82fefe0dfbcc6f01adac3048a9ab528"),
    # electricity prices in New South Wales that rise or fall, half-hourly, with the date
    "elec2": ("elec2/elec2.npz", "e71ebf232cb68ab4b3b696dc36bf8fcd"),
}
OPENML = {  # number, and the `fingerprint` of the rows that results were measured on
    "optdigits": (28, "4ac4d33a01af06f9e06c115f75be350249b23616b6e1212c83d0ba0b425db7f8"),
    "letter": (6, "81bb70144aa4327b17ba875d02a4c9d5c2396692f4553a25bdcb6f4e3018dab3"),
    "elec2": (151, "c9f050f93c60c2eea5bca48cb00158e801db807720d693354d3642c6ad0141c6"),
}
IN_TIME = ("outdoor", "keystroke", "elec2")
DRIFT_DATA = "Its rows come from https://github.com/vlosing/driftDatasets: arrays X and y."

# Faces from twelve videos stand in for the recordings of section 5.2, which were not published. The
# eight people never met: their videos are cut into segments that take turns. The man is David of
# three videos (office; dark room and lobby; outdoors); all other people, and detections without a
# face, are strangers that should not be named.
FACE_NAMES = ("office", "office_pixels", "places", "places_pixels")
FACE_PIXELS = ("face_streams/otb_haar_faces_64.npz", "94565f52c4872ebf678842d3f0ff67ea")
FACE_VECTORS = ("face_streams/otb_haar_faces_dlib128.npz", "d4c5b28de3c51e9a7d232d7065172947")
FACE_SOURCE = "Haar detections in 12 videos of the tracking benchmark OTB (Wu, Lim and Yang 2013)."
N_PEOPLE, N_SEGMENTS = 8, 10
PLACES = ("David2", "David", "Trellis")  # office, dark room and lobby, outdoors
FACE_SIDE_PX = 32
FACE_BLUR_PX = 1.0  # of the crop, which has 64 pixels


class DataMissingError(LookupError):
    """A data set is not available; the message says where to get it."""


@dataclass(frozen=True)
class Dataset:
    """Rows and their classes.

    The classes count from 0, or are `UNKNOWN_CLASS`. With `in_time` the rows are in the order in
    which they were recorded.
    """

    name: str
    X: Floats
    y: Ints
    in_time: bool

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Return a data set, by one of `NAMES`; raise DataMissingError if it is not available.

    The folder of the NPZ files is by default that of the environment variable LABELWALK_DATA. Data
    sets that OpenML publishes are fetched from there if the folder does not have them.

    Examples
    --------
    >>> data = load("moons")
    >>> data.X.shape, data.n_classes
    ((2000, 2), 2)
    """
    if name not in NAMES:
        raise ValueError(f"name={name!r} is unknown. Choose {' or '.join(NAMES)}.")
    return GENERATORS[name]() if name in GENERATORS else LOADERS[name](find_folder(folder))


def find_missing(
    names: tuple[str, ...], folder: str | os.PathLike[str] | None = None
) -> dict[str, str]:
    """Return the data sets that are not available, each with the reason."""
    reasons = {}
    for name in names:
        try:
            load(name, folder)
        except DataMissingError as error:
            reasons[name] = str(error)
    return reasons


def find_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the data folder; None if neither the argument nor LABELWALK_DATA names one."""
    name = os.environ.get(DATA_VARIABLE) if folder is None else folder
    if not name:
        return None
    path = Path(name)
    if not path.is_dir():
        raise DataMissingError(
            f"{path} is not a folder. Name the data folder with --data or {DATA_VARIABLE}."
        )
    return path


def read_npz(
    folder: Path | None, file: str, md5: str, origin: str | None = None
) -> dict[str, NDArray[Any]]:
    """Read an NPZ file of the folder after checking its bytes.

    If it is not there, raise DataMissingError with the origin of such data, or return nothing.
    """
    path = folder / file if folder else None
    if path is not None and path.is_file():
        check_content(path, md5)
        with np.load(path) as data:
            return dict(data)
    if origin is not None:
        raise DataMissingError(
            f"{file} is missing. Name a data folder with --data or {DATA_VARIABLE}. {origin}"
        )
    return {}


def check_content(path: Path, md5: str) -> None:
    """Raise ValueError if a file is not the one that results were measured on."""
    content = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    if content != md5:
        raise ValueError(
            f"{path} has the checksum {content}, not {md5}: it is damaged or another version. "
            "Fetch it again."
        )


def fetch_rows(name: str) -> tuple[Floats, NDArray[Any]]:
    """Fetch rows and labels from OpenML and compare their `fingerprint`."""
    from sklearn.datasets import fetch_openml

    number, sha256 = OPENML[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = fetch_openml(data_id=number, as_frame=False, parser="liac-arff")
        X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    except (OSError, ValueError) as error:
        raise DataMissingError(
            f"{name} is not in the data folder and could not be fetched from OpenML (number "
            f"{number}): {error}. Name a folder with --data or {DATA_VARIABLE}, or go online."
        ) from error
    if fingerprint(X, y, ordered=name in IN_TIME) != sha256:
        raise DataMissingError(
            f"OpenML's {name} (number {number}) has other rows than those that results were "
            f"measured on. Name a folder that has it with --data or {DATA_VARIABLE}."
        )
    return X, y


def fingerprint(X: Floats, y: NDArray[Any], *, ordered: bool = False) -> str:
    """Return a SHA-256 of labelled rows; the order of the rows counts only if `ordered`."""
    lines = [
        ",".join([*(f"{value:.9g}" for value in row), str(label)])
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    return hashlib.sha256("\n".join(lines if ordered else sorted(lines)).encode()).hexdigest()


def scale_by_first_rows(X: Floats) -> Floats:
    """Subtract the mean and divide by the standard deviation of the first rows.

    Examples
    --------
    >>> print(scale_by_first_rows(np.array([[1.0, 5.0], [3.0, 5.0]])))
    [[-1.  0.]
     [ 1.  0.]]
    """
    first = X[:N_SCALING_ROWS]
    deviation = first.std(axis=0)
    return np.asarray((X - first.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def encode_classes(y: NDArray[Any]) -> Ints:
    """Return classes as numbers from 0, in the order of their names."""
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def load_rows(name: str, folder: Path | None) -> Dataset:
    """Load rows from the data folder or from OpenML."""
    data = read_npz(folder, *FILES[name], origin=None if name in OPENML else DRIFT_DATA)
    if not data:
        X, y = fetch_rows(name)
        y = y == "DOWN" if name == "elec2" else y
    elif name == "optdigits":  # it has two parts
        X, y = (np.concatenate([data[f"{array}_tra"], data[f"{array}_tes"]]) for array in "Xy")
    else:
        X, y = data["X"], data["y"]
    if name == "elec2":
        X = X[:, 1:]  # the first feature is the date
    elif name not in OPENML:
        X = scale_by_first_rows(X)
    X = np.ascontiguousarray(X, dtype=np.float64)
    return Dataset(name, X, encode_classes(y), name in IN_TIME)


def digits() -> Dataset:
    """Handwritten digits of scikit-learn: the smaller part of optdigits."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Dataset("digits", X.astype(np.float64), y.astype(np.int64), False)


def moons(n: int = 2000, noise: float = 0.08, seed: int = 0) -> Dataset:
    """Two interleaved crescents, with angles drawn at random."""
    rng = np.random.default_rng(seed)
    y, angle = rng.integers(2, size=n), np.pi * rng.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y == 1] = [1.0, 0.5] - X[y == 1]
    return Dataset("moons", _add_noise(X, noise, rng), y, False)


def spirals(n: int = 3000, arms: int = 3, noise: float = 0.05, seed: int = 0) -> Dataset:
    """Arms that wind around each other one and a half times."""
    rng = np.random.default_rng(seed)
    y, position = np.arange(n) % arms, np.sqrt(rng.random(n))
    rng.shuffle(y)
    angle = 3 * np.pi * position + 2 * np.pi * y / arms
    X = 3 * position[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Dataset("spirals", _add_noise(X, noise, rng), y, False)


def swiss_roll(n: int = 3000, classes: int = 4, noise: float = 0.2, seed: int = 0) -> Dataset:
    """A rolled-up sheet in three dimensions; classes are strips along the roll."""
    rng = np.random.default_rng(seed)
    position = rng.random(n)
    angle = 1.5 * np.pi * (1 + 2 * position)
    X = np.column_stack([angle * np.cos(angle), 21 * rng.random(n), angle * np.sin(angle)])
    y = np.minimum((classes * position).astype(np.int64), classes - 1)
    return Dataset("swiss_roll", _add_noise(X, noise, rng), y, False)


def drifting(n: int = 6000, classes: int = 4, seed: int = 0) -> Dataset:
    """Gaussian clusters that move around a circle once during the stream."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    angle = 2 * np.pi * (y / classes + np.arange(n) / n)
    X = 5 * np.column_stack([np.cos(angle), np.sin(angle)])
    return Dataset("drifting", _add_noise(X, 0.5, rng), y, True)


def _add_noise(X: Floats, noise: float, rng: np.random.Generator) -> Floats:
    return np.asarray(X + noise * rng.normal(size=X.shape))


def load_faces(name: str, folder: Path | None) -> Dataset:
    """Load faces of eight people who take turns, or of one man in three places among strangers.

    They are vectors of a face network (dlib), or pixels.
    """
    is_pixels = name.endswith("pixels")
    data = read_npz(folder, *(FACE_PIXELS if is_pixels else FACE_VECTORS), origin=FACE_SOURCE)
    is_office = name.startswith("office")
    order, y = interleave_people(data["person"]) if is_office else mix_with_strangers(data)
    X = prepare_faces(data["faces"][order]) if is_pixels else data["emb"][order].astype(np.float64)
    return Dataset(name, X, y, True)


def prepare_faces(faces: NDArray[np.uint8]) -> Floats:
    """Equalize, smooth and shrink faces to 32 x 32 pixels.

    The distance of two results is the root mean square difference of grey values from 0 to 1.
    """
    rows = np.empty((len(faces), FACE_SIDE_PX**2))
    block = faces.shape[1] // FACE_SIDE_PX
    for i, face in enumerate(faces):
        # each grey value becomes the share of pixels that are not brighter
        shares = np.cumsum(np.bincount(face.ravel(), minlength=256)) / face.size
        smooth = gaussian_filter(shares[face], FACE_BLUR_PX)
        rows[i] = smooth.reshape(FACE_SIDE_PX, block, FACE_SIDE_PX, block).mean((1, 3)).ravel()
    return rows / FACE_SIDE_PX


def interleave_people(person: Ints) -> tuple[Ints, Ints]:
    """Return the order of frames in which segments of the most frequent people take turns.

    The second array is the class of each frame.
    """
    people, counts = np.unique(person[person >= 0], return_counts=True)
    frequent = people[np.argsort(-counts, kind="stable")][:N_PEOPLE]
    parts = [np.array_split(np.flatnonzero(person == i), N_SEGMENTS) for i in frequent]
    order = np.concatenate([parts[i][s] for s in range(N_SEGMENTS) for i in range(N_PEOPLE)])
    return order, encode_classes(person[order])


def mix_with_strangers(data: dict[str, NDArray[Any]]) -> tuple[Ints, Ints]:
    """Return the frames of David, place after place, with strangers at random moments.

    The second array is the class of each frame.
    """
    names, person = list(data["seq_names"]), data["person"]
    is_david = person == list(data["person_names"]).index("david")
    frames = np.concatenate(
        [np.flatnonzero(is_david & (data["seq"] == names.index(place))) for place in PLACES]
    )
    rng = np.random.default_rng(0)
    selected = rng.permutation(np.arange(len(person)) < len(frames))
    order = np.empty(len(person), dtype=np.int64)
    order[selected], order[~selected] = frames, rng.permutation(np.flatnonzero(~is_david))
    return order, np.where(selected, 0, UNKNOWN_CLASS)


LOADERS: dict[str, Callable[[Path | None], Dataset]] = {
    **{name: partial(load_rows, name) for name in FILES},
    **{name: partial(load_faces, name) for name in FACE_NAMES},
}
GENERATORS: dict[str, Callable[[], Dataset]] = {
    generator.__name__: generator for generator in (digits, moons, spirals, swiss_roll, drifting)
}
NAMES = (*LOADERS, *GENERATORS)
