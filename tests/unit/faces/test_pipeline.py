"""Names that follow faces through frames."""

from __future__ import annotations

import numpy as np
import pytest

from labelwalk.faces.demo import DemoVideo, NamedBox
from labelwalk.faces.frames import Box, Image, compute_overlap
from labelwalk.faces.pipeline import FacePipeline
from labelwalk.faces.profiles import VECTORS
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.faces.representations import Pixels
from paper.face_evaluation import Tally
from tests.unit.faces.people import views

pytestmark = pytest.mark.shell


class Stage:
    """People who stand in a row: a detector and a representation that know whom they show."""

    margin = 0.0

    def __init__(self) -> None:
        self.standing: list[int] = []
        self._seen: dict[int, int] = {}

    def detect(self, image: Image) -> list[Box]:
        return [Box(40 * place, 0, 30, 30) for place in range(len(self.standing))]

    def __call__(self, face: Image) -> np.ndarray:
        who = self.standing[int(face[0, 0, 0]) // 40]
        self._seen[who] = self._seen.get(who, -1) + 1
        found: np.ndarray = views(self._seen[who] + 1, who)[-1]
        return found


def staged() -> tuple[Stage, FacePipeline, Image]:
    stage = Stage()
    image = np.zeros((30, 240, 3), dtype=np.uint8)
    image[:, :, 0] = np.arange(240)
    onlooker = FacePipeline(stage, recognizer=FaceRecognizer(VECTORS), detector=stage.detect)
    return stage, onlooker, image


def test_one_click_names_a_track_and_the_name_stays() -> None:
    stage, onlooker, image = staged()
    stage.standing = [1, 2]
    for _ in range(10):
        faces = onlooker.process(image)
    assert [face.name for face in faces] == [None, None]
    onlooker.name(faces[0].example, "ada")
    assert (onlooker.recognizer.learner.vertices.label == "ada").sum() == 4
    for _ in range(60):
        faces = onlooker.process(image)
    assert [face.name for face in faces] == ["ada", None]
    assert [face.track for face in faces] == [1, 2]
    assert faces[0].confidence > 0.5 > faces[1].confidence


def test_a_name_is_said_from_the_next_frame_on() -> None:
    stage, onlooker, image = staged()
    stage.standing = [1]
    for _ in range(40):
        (face,) = onlooker.process(image)
    onlooker.name(face.example, "ada")
    assert [one.name for one in onlooker.process(image)] == ["ada"]


def test_no_two_faces_in_a_frame_have_one_name() -> None:
    """The same person twice, as in a mirror."""
    stage, onlooker, image = staged()
    stage.standing = [1]
    for _ in range(5):
        (face,) = onlooker.process(image)
    onlooker.name(face.example, "ada")
    stage.standing = [1, 1]
    for _ in range(20):
        names = [face.name for face in onlooker.process(image)]
        assert names.count("ada") == 1


def test_who_was_named_otherwise_is_not_named_again() -> None:
    stage, onlooker, image = staged()
    stage.standing = [1]
    (face,) = onlooker.process(image)
    onlooker.name(face.example, "ada")
    onlooker.name(face.example, "ada")
    with pytest.raises(ValueError, match="Remove that label first"):
        onlooker.name(face.example, "ben")


def test_who_steps_into_the_place_of_another_is_not_taken_for_them() -> None:
    stage, onlooker, image = staged()
    stage.standing = [1]
    for _ in range(10):
        (face,) = onlooker.process(image)
    onlooker.name(face.example, "ada")
    stage.standing = [2]
    (face,) = onlooker.process(image)
    assert (face.track, face.name) == (1, None)
    onlooker.name(face.example, "ben")
    labels = onlooker.recognizer.learner.vertices.label.tolist()
    assert (labels.count("ada"), labels.count("ben")) == (4, 1)


def test_nobody_is_there() -> None:
    stage, onlooker, image = staged()
    assert onlooker.process(image) == []
    stage.standing = [3]
    assert len(onlooker.process(image)) == 1


def test_tracks_that_ended_are_not_kept() -> None:
    stage, onlooker, image = staged()
    for n in range(60):
        stage.standing = [1] if n % 20 < 5 else []
        onlooker.process(image)
    assert len(onlooker._votes) <= 1


@pytest.mark.slow
def test_made_up_people_in_a_video() -> None:
    """Found by a real cascade, compared by their pixels, each named once when first seen."""
    onlooker, tally, named = FacePipeline(Pixels(32)), Tally(), set[str]()
    video = DemoVideo(people=2, n_frames=200)
    for frame in video:
        faces, truth = onlooker.process(frame.image), video.truth(frame.number)
        for face in faces:
            for box, name in truth:
                if name is not None and name not in named and compute_overlap(face.box, box) > 0.3:
                    onlooker.name(face.example, name)
                    named.add(name)
        if frame.number > 20:
            tally.add([NamedBox(face.box, face.name) for face in faces if face.name], truth)
    assert tally.precision > 0.95
    assert tally.recall > 0.8
