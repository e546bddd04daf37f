"""The detector finds the people of the demo and of real videos, and nothing where nobody is."""

from __future__ import annotations

import threading

import cv2
import numpy as np
import pytest
from cv2.data import haarcascades

from labelwalk.faces.capture import open_source
from labelwalk.faces.demo import DemoVideo, NamedBox
from labelwalk.faces.detection import HaarDetector
from labelwalk.faces.frames import Box, Image, compute_overlap
from paper.face_evaluation import Tally, read_boxes
from tests.unit.faces.generated import scene
from tests.unit.faces.real_videos import real

pytestmark = pytest.mark.shell


def found(detector: HaarDetector, video: DemoVideo, every: int) -> Tally:
    tally = Tally()
    assert video.n_frames is not None
    for number in range(1, video.n_frames, every):
        there = [NamedBox(face.box, "face") for face in video.truth(number)]
        tally.add([NamedBox(box, "face") for box in detector(video.image(number))], there)
    return tally


@pytest.mark.slow
@pytest.mark.parametrize("eyes", [False, True])
def test_all_people_of_the_demo_are_found_and_nothing_else(eyes: bool) -> None:
    tally = found(HaarDetector(eyes=eyes), DemoVideo(people=8, n_frames=960), every=40)
    assert tally.right == tally.named == tally.true > 24


@pytest.mark.parametrize(
    "image",
    [
        scene([]),
        np.zeros((240, 320, 3), np.uint8),
        np.random.default_rng(0).integers(0, 256, (240, 320, 3), dtype=np.uint8),
        np.zeros((1, 1, 3), np.uint8),
        np.zeros((2, 5000, 3), np.uint8),
    ],
    ids=["nobody", "dark", "noise", "a pixel", "a line"],
)
def test_nobody_is_there(image: Image) -> None:
    assert HaarDetector()(image) == []


@pytest.mark.slow
def test_fifty_people_in_one_picture_and_no_more_than_asked_for() -> None:
    crowd = scene(range(50), 1280, 960)
    everybody = HaarDetector(smallest=40)(crowd)
    assert len(everybody) >= 45
    assert everybody == sorted(everybody, key=lambda box: -box.area)
    assert HaarDetector(smallest=40, most=7)(crowd) == everybody[:7]


def test_boxes_are_in_pixels_of_the_picture_however_large_it_is() -> None:
    small = scene([3], 320, 240)
    large = cv2.resize(small, (1920, 1440), interpolation=cv2.INTER_LINEAR)
    [box], [six_times] = HaarDetector()(small), HaarDetector()(np.asarray(large, np.uint8))
    assert compute_overlap(Box(*(6 * value for value in box)), six_times) > 0.8


def test_it_is_the_search_that_recorded_the_streams() -> None:
    """Boxes of the data sets were found by OpenCV's cascade with 1.1, 5 and 20 pixels."""
    image = scene(range(12))
    cascade = cv2.CascadeClassifier(haarcascades + "haarcascade_frontalface_default.xml")
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    boxes = cascade.detectMultiScale(grey, 1.1, 5, minSize=(20, 20))
    assert set(HaarDetector(smallest=20)(image)) == {Box(*map(int, box)) for box in boxes}


def test_faces_smaller_than_asked_for_are_left_out() -> None:
    [box] = HaarDetector()(scene([3]))
    assert HaarDetector(smallest=box.width - 10)(scene([3]))
    assert HaarDetector(smallest=box.width + 30)(scene([3])) == []


def test_a_face_without_eyes_is_dropped() -> None:
    image = scene([3])
    [box] = HaarDetector()(image)
    blind = image.copy()
    stripe = slice(box.y + box.height // 5, box.y + box.height * 11 // 20)
    blind[stripe] = cv2.GaussianBlur(blind[stripe], (0, 0), 6.0)
    assert HaarDetector()(blind)
    assert HaarDetector(eyes=True)(blind) == []


def test_threads_change_nothing() -> None:
    images = [scene(range(12)), DemoVideo(people=3).image(150)]
    detector, before = HaarDetector(), cv2.getNumThreads()
    try:
        answers = []
        for threads in (1, 2, 4):
            cv2.setNumThreads(threads)
            answers.append([detector(image) for image in images])
    finally:
        cv2.setNumThreads(before)
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0][0]) == 12


def test_many_may_ask_one_detector_at_once() -> None:
    detector, video = HaarDetector(), DemoVideo(people=3)
    images = [video.image(number) for number in range(1, 9)]
    alone = [detector(image) for image in images]
    answers: dict[int, list[Box]] = {}

    def ask(i: int) -> None:
        answers[i] = detector(images[i])

    askers = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert [answers[i] for i in range(8)] == alone


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"smallest": 5}, "smallest"),
        ({"smallest": 40.0}, "smallest"),
        ({"step": 1.0}, "step"),
        ({"neighbours": 0}, "neighbours"),
        ({"most": 0}, "most"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options: dict[str, int], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}="):
        HaarDetector(**options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_real_person_is_found() -> None:
    truth = read_boxes(real("face_videos/david_gt.txt"), "David", first=300)
    tally, detector = Tally(), HaarDetector()
    with open_source(real("face_videos/david.webm")) as video:
        for frame in video:
            if frame.number in truth and frame.number % 4 == 0:
                boxes = [NamedBox(box, "David") for box in detector(frame.image)]
                tally.add(boxes, truth[frame.number])
    assert tally.recall > 0.6
    assert tally.precision > 0.9
