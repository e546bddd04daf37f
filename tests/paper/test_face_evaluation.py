"""True boxes from files, names counted against them, and a recognizer evaluated on a stream."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces.demo import DemoVideo, NamedBox
from labelwalk.faces.frames import Box, scale_box
from labelwalk.faces.pipeline import FacePipeline
from labelwalk.faces.representations import Pixels
from paper.face_evaluation import (
    RecognitionEvaluation,
    Tally,
    copy_recognizer,
    read_boxes,
    read_table,
    read_truth,
)
from tests.unit.faces.real_videos import real

pytestmark = pytest.mark.shell

A, B, C = Box(0, 0, 10, 10), Box(30, 0, 10, 10), Box(60, 0, 10, 10)


def counted(found: list[NamedBox], true: list[NamedBox]) -> tuple[int, int, int]:
    tally = Tally()
    tally.add(found, true)
    return tally.right, tally.named, tally.true


def test_names_are_counted_where_boxes_meet() -> None:
    true = [NamedBox(A, "Ada"), NamedBox(B, "Ben"), NamedBox(C, None)]
    assert counted(true, true) == (2, 2, 2)
    assert counted([NamedBox(A, "Ben"), NamedBox(B, "Ada")], true) == (0, 2, 2)
    assert counted([NamedBox(A, None)], true) == (0, 0, 2)
    assert counted([NamedBox(C, "Ada")], true) == (0, 1, 2)  # a stranger got a name
    assert counted([], []) == (0, 0, 0)


def test_a_true_box_is_met_once_and_by_the_nearest() -> None:
    near, nearer = NamedBox(Box(3, 0, 10, 10), "Ada"), NamedBox(Box(1, 0, 10, 10), "Ben")
    assert counted([near, nearer], [NamedBox(A, "Ada")]) == (0, 2, 1)
    assert counted([near], [NamedBox(A, "Ada")]) == (1, 1, 1)
    too_far = NamedBox(Box(6, 0, 10, 10), "Ada")  # shares a quarter
    assert counted([too_far], [NamedBox(A, "Ada")]) == (0, 1, 1)


def test_shares_of_nothing_are_one() -> None:
    assert (Tally().precision, Tally().recall) == (1.0, 1.0)
    assert (Tally(right=1, named=2, true=4).precision, Tally(1, 2, 4).recall) == (0.5, 0.25)
    assert (Tally().false_accepts, Tally(strangers=4, accepted=1).false_accepts) == (0.0, 0.25)


def test_strangers_are_whatever_lies_on_no_box_with_a_name() -> None:
    tally, true = Tally(), [NamedBox(A, "Ada"), NamedBox(B, None)]
    tally.add([NamedBox(A, "Ben"), NamedBox(B, "Ada"), NamedBox(C, None)], true)
    assert (tally.strangers, tally.accepted, tally.named, tally.right) == (2, 1, 2, 0)


faces = st.lists(
    st.builds(
        NamedBox,
        st.builds(Box, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
        st.sampled_from(["Ada", "Ben", None]),
    ),
    max_size=6,
)


@given(faces, faces)
def test_no_more_is_right_than_was_said_or_is_true(
    found: list[NamedBox], true: list[NamedBox]
) -> None:
    tally = Tally()
    tally.add(found, true)
    assert tally.right <= min(tally.named, tally.true)
    assert tally.accepted <= min(tally.strangers, tally.named - tally.right)
    assert tally.strangers <= len(found)


@pytest.mark.parametrize("between", [",", "\t", " ", ", ", ";"])
def test_a_file_of_one_person(between: str, tmp_path: Path) -> None:
    path = tmp_path / "gt.txt"
    lines = [["1", "2", "3", "4"], ["5.4", "6", "7", "8"]]
    path.write_text("\n".join(between.join(line) for line in lines) + "\n\n")
    assert read_boxes(path, "David", first=300) == {
        300: (NamedBox(Box(1, 2, 3, 4), "David"),),
        301: (NamedBox(Box(5, 6, 7, 8), "David"),),
    }


@pytest.mark.parametrize("line", ["1,2,3", "1,2,3,4,5", "a,b,c,d", "nan,0,1,1", "0,0,-1,1"])
def test_a_line_that_is_no_box_is_told(line: str, tmp_path: Path) -> None:
    path = tmp_path / "gt.txt"
    path.write_text(f"1,2,3,4\n{line}\n")
    with pytest.raises(ValueError, match=r"gt.txt, line 2: .* is not a box"):
        read_boxes(path, "David")


def test_a_table_of_many(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text(
        "\ufeffname,frame,x,y,w,h\nZoë,7,0,0,10,10\n,7,30,0,10,10\n,8,,,,\n", encoding="utf-8"
    )
    assert read_table(path) == {7: (NamedBox(A, "Zoë"), NamedBox(B, None)), 8: ()}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "has no column frame, x, y, w, h, name"),
        ("frame,x,y,w,name\n", "has no column h"),
        ("frame,x,y,w,h,name\nfirst,0,0,1,1,Ada\n", "line 2: 'first' is not the number of a frame"),
        ("frame,x,y,w,h,name\n0,0,0,1,1,Ada\n", "line 2: '0' is not the number of a frame from 1"),
        ("frame,x,y,w,h,name\n1,0,,1,1,Ada\n", "line 2: '0,,1,1' is not a box"),
        ("frame,x,y,w,h,name\n1,0\n\n2\n3,x\n", "line 2: '0,,,' is not a box"),
    ],
)
def test_a_table_that_cannot_be_understood(content: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=why):
        read_table(path)


def test_either_kind_is_known_by_its_first_line(tmp_path: Path) -> None:
    boxes, table = tmp_path / "david.txt", tmp_path / "truth.csv"
    boxes.write_text("1 2 3 4\n")
    table.write_text("name,frame,x,y,w,h\nAda,7,0,0,10,10\n")
    assert read_truth(boxes) == {1: (NamedBox(Box(1, 2, 3, 4), "david"),)}
    assert read_truth(boxes, "David", 300) == {300: (NamedBox(Box(1, 2, 3, 4), "David"),)}
    assert read_truth(table) == {7: (NamedBox(A, "Ada"),)}
    with pytest.raises(ValueError, match=r"truth.csv has a column for names and for frames"):
        read_truth(table, "Ada")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "has no frames"),
        (b"frame,x,y,w,h,name\n", "has no frames"),
        (b"\xff\xfe\x00", "is not text in UTF-8"),
        (b"x,y,w,h,name\n1,2,3,4,Ada\n", "line 1: 'x,y,w,h,name' is not a box"),
    ],
)
def test_a_truth_that_cannot_be_used(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=why):
        read_truth(path)


def test_real_boxes() -> None:
    truth = read_boxes(real("face_videos/david_gt.txt"), "David", first=300)
    assert (min(truth), max(truth)) == (300, 770)


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
