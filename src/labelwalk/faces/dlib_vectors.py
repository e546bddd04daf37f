"""Vectors of 128 numbers from the residual network of dlib."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import dlib
import numpy as np

from labelwalk.arrays import Floats
from labelwalk.faces.frames import Image, check_image
from labelwalk.faces.profiles import VECTORS

MODEL_PACKAGE = "face_recognition_models"
LANDMARK_FILE = "shape_predictor_5_face_landmarks.dat"
NETWORK_FILE = "dlib_face_recognition_resnet_model_v1.dat"
CHIP_PIXELS = 150  # a side, as the network was trained


class DlibVectors:
    """Vectors in which faces of one person are less than about 0.6 apart.

    The face is turned upright by the corners of the eyes and the nose, and a residual network turns
    it into 128 numbers. This takes far longer than detection.

    Examples
    --------
    >>> from labelwalk.faces.demo import scene
    >>> from labelwalk.faces.detection import HaarDetector
    >>> from labelwalk.faces.frames import crop_box
    >>> picture, as_vector = scene(people=[3]), DlibVectors()
    >>> [box] = HaarDetector()(picture)
    >>> as_vector(crop_box(picture, box, as_vector.margin)).shape
    (128,)
    """

    margin = 0.5
    name = "dlib 128"
    profile = VECTORS

    def __init__(self) -> None:
        folder = _find_models()
        self._landmarks = dlib.shape_predictor(str(folder / LANDMARK_FILE))
        self._network = dlib.face_recognition_model_v1(str(folder / NETWORK_FILE))
        self._lock = Lock()  # the network stores the face that it processes

    def __call__(self, image: Image) -> Floats:
        """Return the vector of an image of a face with half of its size on each side."""
        check_image(image)
        rgb = np.ascontiguousarray(image[:, :, ::-1])
        height, width = image.shape[:2]
        left, top = round(width * _CROP_MARGIN), round(height * _CROP_MARGIN)
        face = dlib.rectangle(left, top, width - left, height - top)
        with self._lock:
            chip = dlib.get_face_chip(rgb, self._landmarks(rgb, face), size=CHIP_PIXELS)
            return np.asarray(self._network.compute_face_descriptor(chip), dtype=np.float64)


_CROP_MARGIN = DlibVectors.margin / (1.0 + 2.0 * DlibVectors.margin)


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
