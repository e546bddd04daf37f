"""An onlooker tried on a stream of which the truth is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.frames import scale_box
from labelwalk.faces.pipeline import FacePipeline
from labelwalk.faces.representations import Pixels
from paper.face_evaluation import RecognitionEvaluation, copy_recognizer

pytestmark = pytest.mark.shell


def tried(video: DemoVideo, trial: RecognitionEvaluation) -> RecognitionEvaluation:
    for frame in video:
        trial.process(frame, video.truth(frame.number))
    return trial


@pytest.mark.slow
def test_the_first_faces_are_taught_and_not_judged() -> None:
    trial = tried(
        DemoVideo(people=2, n_frames=80), RecognitionEvaluation(FacePipeline(Pixels(32)), labels=3)
    )
    assert trial.taught == {"Ada": 3, "Ben": 3}
    assert trial.n_judged == 80
    assert trial.tally.true == 80 - 6
    assert trial.tally.precision == 1.0
    assert trial.tally.recall > 0.9
    assert trial.tally.accepted == 0


@pytest.mark.slow
def test_who_is_not_known_is_a_stranger() -> None:
    knows_ada = tried(
        DemoVideo(people=1, n_frames=60), RecognitionEvaluation(FacePipeline(Pixels(32)))
    ).recognizer
    before = knows_ada.learner.digest()
    onlooker = FacePipeline(Pixels(32), recognizer=copy_recognizer(knows_ada))
    trial = tried(
        DemoVideo(people=2, n_frames=120, seed=1), RecognitionEvaluation(onlooker, labels=0)
    )
    assert not trial.taught
    assert trial.tally.true == 60
    assert trial.tally.strangers == 60
    assert trial.tally.recall > 0.9
    assert knows_ada.learner.digest() == before  # the copy alone was changed


def test_frames_without_truth_are_seen_and_not_judged() -> None:
    trial, video = RecognitionEvaluation(FacePipeline(Pixels(32))), DemoVideo(people=1, n_frames=5)
    for frame in video:
        trial.process(frame, None)
    assert (trial.n_judged, trial.tally.named, trial.taught) == (0, 0, {})
    assert trial.recognizer.learner.n_seen == 5


def test_truth_is_in_pixels_of_the_source() -> None:
    trial, video = RecognitionEvaluation(FacePipeline(Pixels(32))), DemoVideo(people=1, n_frames=5)
    for frame in video:
        truth = [one._replace(box=scale_box(one.box, 2.0)) for one in video.truth(frame.number)]
        trial.process(replace(frame, scale=0.5), truth)
    assert trial.taught == {"Ada": 4}


def test_labels_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="labels=-1"):
        RecognitionEvaluation(FacePipeline(Pixels(32)), labels=-1)
