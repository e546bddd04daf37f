"""Tracks: the twin's, one a box, none shared, and no more than can go on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.detection import HaarDetector
from labelwalk.faces.frames import Box
from labelwalk.faces.pipeline import Tracker
from tests.reference import tracks as reference

pytestmark = pytest.mark.shell

boxes = st.builds(Box, st.integers(0, 12), st.integers(0, 12), st.integers(1, 8), st.integers(1, 8))
streams = st.lists(st.lists(boxes, max_size=5), max_size=12)
patiences, leasts = st.integers(0, 4), st.sampled_from([0.01, 0.3, 0.5, 1.0])


@given(streams, patiences, leasts)
def test_the_twin_gives_the_same(frames: list[list[Box]], patience: int, least: float) -> None:
    tracker = Tracker(patience=patience, least=least)
    expected = reference.tracks([list(map(tuple, one)) for one in frames], patience, least)  # type: ignore[arg-type]
    assert [tracker.follow(one) for one in frames] == expected


@given(streams, patiences, leasts)
def test_one_box_one_track_and_no_track_twice(
    frames: list[list[Box]], patience: int, least: float
) -> None:
    tracker = Tracker(patience=patience, least=least)
    seen: dict[int, int] = {}
    for t, one in enumerate(frames):
        numbers = tracker.follow(one)
        assert len(numbers) == len(one) == len(set(numbers))
        for number in numbers:
            assert t - seen.get(number, t) <= patience + 1
            seen[number] = t
        assert set(numbers) <= set(tracker.alive)
        recent = sum(map(len, frames[max(0, t - patience) : t + 1]))
        assert len(tracker.alive) <= recent
    assert sorted(seen) == list(range(1, len(seen) + 1))


def test_a_face_that_is_missing_for_a_while_is_the_same() -> None:
    tracker, box = Tracker(patience=3), Box(0, 0, 10, 10)
    assert tracker.follow([box]) == [1]
    for _ in range(3):
        assert tracker.follow([]) == []
    assert tracker.follow([box]) == [1]
    for _ in range(4):
        tracker.follow([])
    assert tracker.alive == ()
    assert tracker.follow([box]) == [2]


@pytest.mark.slow
def test_people_of_the_demo_keep_their_tracks() -> None:
    video, detector, tracker = DemoVideo(people=3, n_frames=180), HaarDetector(), Tracker()
    boxes = [detector(video.image(number)) for number in range(1, 181, 3)]
    numbers = {number for one in boxes for number in tracker.follow(one)}
    assert sum(map(len, boxes)) == 80
    assert len(numbers) <= 4  # one who comes where another was may go on with that track


@pytest.mark.parametrize(
    ("options", "name"),
    [({"patience": -1}, "patience"), ({"least": 0.0}, "least"), ({"least": 1.5}, "least")],
)
def test_what_makes_no_sense_is_refused_by_name(options: dict[str, int], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}="):
        Tracker(**options)
