"""A face as the 128 numbers of dlib's network."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import dlib
import numpy as np

from labelwalk.arrays import Floats
from labelwalk.faces.image import Image, check_image
from labelwalk.faces.profiles import VECTORS

MODELS = "face_recognition_models"
LANDMARKS = "shape_predictor_5_face_landmarks.dat"
NETWORK = "dlib_face_recognition_resnet_model_v1.dat"
CHIP = 150  # pixels, as the network was trained


class DlibVectors:
    """Vectors in which faces of one person are less than about 0.6 apart.

    Corners of the eyes and the nose are found, the face is turned upright by them, and a residual
    network makes 128 numbers of it. That takes far longer than to find the face.

    Examples
    --------
    >>> from labelwalk.faces.boxes import crop
    >>> from labelwalk.faces.demo import scene
    >>> from labelwalk.faces.haar import HaarDetector
    >>> picture, as_vector = scene(people=[3]), DlibVectors()
    >>> [box] = HaarDetector()(picture)
    >>> as_vector(crop(picture, box, as_vector.margin)).shape
    (128,)
    """

    margin = 0.5
    name = "dlib 128"
    profile = VECTORS

    def __init__(self) -> None:
        folder = _models()
        self._landmarks = dlib.shape_predictor(str(folder / LANDMARKS))
        self._network = dlib.face_recognition_model_v1(str(folder / NETWORK))
        self._one_at_a_time = Lock()  # a network has room for the face it looks at

    def __call__(self, image: Image) -> Floats:
        """Return the vector of a picture that shows a face and half of its size on each side."""
        check_image(image)
        rgb = np.ascontiguousarray(image[:, :, ::-1])
        height, width = image.shape[:2]
        aside, above = round(width * _MARGIN_OF_CROP), round(height * _MARGIN_OF_CROP)
        face = dlib.rectangle(aside, above, width - aside, height - above)
        with self._one_at_a_time:
            chip = dlib.get_face_chip(rgb, self._landmarks(rgb, face), size=CHIP)
            return np.asarray(self._network.compute_face_descriptor(chip), dtype=np.float64)


_MARGIN_OF_CROP = DlibVectors.margin / (1.0 + 2.0 * DlibVectors.margin)


def _models() -> Path:
    """Return the folder of the models; their package is not run: it wants what it does not name."""
    found = find_spec(MODELS)
    for place in (found and found.submodule_search_locations) or []:
        folder = Path(place) / "models"
        if all((folder / file).is_file() for file in (LANDMARKS, NETWORK)):
            return folder
    raise ModuleNotFoundError(
        f"The models of {MODELS} are missing: pip install 'labelwalk[dlib]'", name=MODELS
    )
