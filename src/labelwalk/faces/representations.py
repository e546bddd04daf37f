"""Vectors of faces: from any function, from pixels, or from the network of dlib."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import cv2
import numpy as np
from scipy.fft import dctn, idctn

from labelwalk._validation import check_whole
from labelwalk.arrays import Floats
from labelwalk.faces.frames import Box, Image, check_image, crop_box
from labelwalk.faces.profiles import PIXELS, VECTORS, Profile

Representation: TypeAlias = Callable[[Image], Any]
"""A function from the image of a face to its vector.

Optional attributes: `margin`, how much of the surroundings it needs on each side as a share of the
box (default 0); `name`, which differs for vectors that cannot be compared; and `profile`, how they
are compared (`labelwalk.faces.profiles.Profile`).
"""

MIN_SMOOTHED_PIXELS = 64  # a side: faces are smoothed at least this large, then averaged
SMOOTHING = 1 / 32  # standard deviation of the blur, as a share of the side
CENTRE_WIDTH = 0.5  # standard deviation of the weights, as a share of half a side
MIN_RELATIVE_ROOT = 0.3  # of the largest weight root; smaller ones are shown darker
N_WAVES = 24  # in each direction; smoothing has removed the finer ones
MODEL_PACKAGE = "face_recognition_models"
LANDMARK_FILE = "shape_predictor_5_face_landmarks.dat"
NETWORK_FILE = "dlib_face_recognition_resnet_model_v1.dat"
CHIP_PIXELS = 150  # a side, as the network was trained


class Pixels:
    """Grey values of a face of `side` × `side` pixels, equalized, smoothed and weighted.

    The Euclidean distance of two vectors is the root of the weighted mean squared difference of
    their pixels, for greys from 0 to 1. Two faces are at most 1 apart, for any side.

    The vector holds the 24 × 24 lowest frequencies of a discrete cosine transform, which preserves
    distances; after smoothing, the other frequencies are almost 0. Distances become slightly
    smaller, never larger.

    Equalized, a grey is the share of pixels that are no brighter. Changes of the light that keep
    the order of the greys have no effect; light from one side does.

    Examples
    --------
    >>> face = np.zeros((64, 64, 3), dtype=np.uint8)
    >>> face[:, 32:] = 200
    >>> as_vector = Pixels()
    >>> as_vector(face).shape
    (576,)
    >>> float(np.linalg.norm(as_vector(face) - as_vector(face + np.uint8(55))))
    0.0
    """

    margin = 0.0
    profile = PIXELS

    def __init__(self, side: int = 96) -> None:
        check_whole("side", side, "96 or 32", least=4, most=256)
        self.side, self.name = side, f"pixels {side}"
        from_centre = (2.0 * np.arange(side) + 1.0) / side - 1.0
        falling = np.exp(-(from_centre**2) / (2.0 * CENTRE_WIDTH**2))
        weights = np.outer(falling, falling)
        self._roots = np.sqrt(weights / weights.sum())  # of weights that fall from the centre

    def __call__(self, image: Image) -> Floats:
        """Return the vector of an image that shows a face and nothing else."""
        check_image(image)
        grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)
        block = -(-MIN_SMOOTHED_PIXELS // self.side)
        side = self.side * block
        interpolation = cv2.INTER_AREA if min(grey.shape) > side else cv2.INTER_LINEAR
        grey = np.asarray(cv2.resize(grey, (side, side), interpolation=interpolation), np.uint8)
        shares = np.cumsum(np.bincount(grey.ravel(), minlength=256)) / grey.size
        sigma, border = SMOOTHING * side, cv2.BORDER_REFLECT
        smooth = cv2.GaussianBlur(shares[grey], (0, 0), sigma, borderType=border)
        small = np.asarray(smooth, np.float64)
        small = small.reshape(self.side, block, self.side, block).mean(axis=(1, 3))
        waves = dctn(small * self._roots, norm="ortho")
        return np.asarray(waves[:N_WAVES, :N_WAVES], np.float64).ravel()

    def picture(self, vector: Floats) -> Image:
        """Return an image of a vector, or of a mean of vectors: the blurred face in greys."""
        waves = np.zeros((self.side, self.side))
        n = min(N_WAVES, self.side)
        waves[:n, :n] = vector.reshape(n, n)
        roots = np.maximum(self._roots, MIN_RELATIVE_ROOT * self._roots.max())
        shades = idctn(waves, norm="ortho") / roots
        grey = (255.0 * shades).round().clip(0.0, 255.0).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)


class DlibVectors:
    """Vectors in which faces of one person are less than about 0.6 apart.

    The face is turned upright by the corners of the eyes and the nose, and a residual network turns
    it into 128 numbers. This takes far longer than detection.

    Examples
    --------
    >>> from labelwalk.faces.demo import DemoVideo
    >>> DlibVectors()(DemoVideo().image(1)).shape
    (128,)
    """

    margin = 0.5
    name = "dlib 128"
    profile = VECTORS
    _margin_of_crop = margin / (1.0 + 2.0 * margin)

    def __init__(self) -> None:
        import dlib  # optional, and slow to import

        folder, self._dlib = _find_models(), dlib
        self._landmarks = dlib.shape_predictor(str(folder / LANDMARK_FILE))
        self._network = dlib.face_recognition_model_v1(str(folder / NETWORK_FILE))
        self._lock = Lock()  # the network stores the face that it processes

    def __call__(self, image: Image) -> Floats:
        """Return the vector of an image of a face with half of its size on each side."""
        check_image(image)
        rgb = np.ascontiguousarray(image[:, :, ::-1])
        height, width = image.shape[:2]
        left, top = round(width * self._margin_of_crop), round(height * self._margin_of_crop)
        face = self._dlib.rectangle(left, top, width - left, height - top)
        with self._lock:
            chip = self._dlib.get_face_chip(rgb, self._landmarks(rgb, face), size=CHIP_PIXELS)
            return np.asarray(self._network.compute_face_descriptor(chip), dtype=np.float64)


def vector_of(image: Image, box: Box, representation: Representation) -> Floats:
    """Return the vector of the face in a box of an image; refuse anything but finite numbers.

    Examples
    --------
    >>> vector_of(np.full((9, 9, 3), 100, np.uint8), Box(2, 2, 5, 5), lambda face: face[0, 0])
    array([100., 100., 100.])
    """
    margin = float(getattr(representation, "margin", 0.0))
    result = representation(crop_box(image, box, margin))
    try:
        vector = np.array(result, dtype=np.float64)
    except (TypeError, ValueError):
        problem = f"a {type(result).__name__}"
    else:
        if vector.ndim != 1 or vector.size == 0:
            problem = f"an array of shape {vector.shape}"
        elif not np.isfinite(vector).all():
            problem = "values that are not finite"
        else:
            return vector
    raise ValueError(
        f"representation={name_of(representation)} returned {problem} for a face instead of a "
        "vector of numbers. Return a one-dimensional array."
    )


def name_of(representation: Representation) -> str:
    """Return the name of the vectors."""
    name = getattr(representation, "name", None) or getattr(representation, "__name__", None)
    return str(name or type(representation).__name__)


def profile_of(representation: Representation) -> Profile:
    """Return how the vectors of a representation are compared."""
    profile = getattr(representation, "profile", None)
    if not isinstance(profile, Profile):
        raise ValueError(
            f"representation={name_of(representation)} has no profile, so the scale of its "
            "distances is unknown. Pass a profile: FaceRecognizer(Profile(bandwidth=..., ...))."
        )
    return profile


def find_representation(name: str | None = None) -> Representation:
    """Return the representation of a name: pixels, pixels-32 or "pixels 32", or dlib."""
    name = name or "pixels"
    if pixels := re.fullmatch(r"pixels(?:[ -](\d{1,3}))?", name):
        return Pixels(int(pixels[1] or 96))
    if name in ("dlib", "dlib 128"):
        return DlibVectors()
    raise ValueError(f"{name!r} is not a representation. Choose pixels, pixels-32 or dlib.")


def _find_models() -> Path:
    """Return the folder of the models, without importing their package, which fails."""
    spec = find_spec(MODEL_PACKAGE)
    for place in (spec and spec.submodule_search_locations) or []:
        folder = Path(place) / "models"
        if all((folder / file).is_file() for file in (LANDMARK_FILE, NETWORK_FILE)):
            return folder
    raise ModuleNotFoundError(
        f"The models of {MODEL_PACKAGE} are missing: pip install 'labelwalk[dlib]'",
        name=MODEL_PACKAGE,
    )
