"""Made-up people: always the same, in the picture, and where they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from labelwalk.faces.demo import NAMES, DemoVideo, make_features

pytestmark = pytest.mark.shell


def test_the_same_seed_gives_the_same_frames() -> None:
    one, same, other = DemoVideo(), DemoVideo(), DemoVideo(seed=1)
    assert (one.image(7) == same.image(7)).all()
    assert not (one.image(7) == other.image(7)).all()
    assert make_features(3) == make_features(3) != make_features(4)


@pytest.mark.parametrize("people", [1, 2, 5, 8])
def test_everybody_comes_alone_and_nobody_leaves_the_picture(people: int) -> None:
    video = DemoVideo(people=people)
    alone, most = set(), 0
    for number in range(1, 2000):
        there = video.truth(number)
        most = max(most, len(there))
        assert len({face.name for face in there}) == len(there)
        if len(there) == 1:
            alone.add(there[0].name)
        for face in there:
            assert 0 <= face.box.x <= 320 - face.box.width
            assert 0 <= face.box.y <= 240 - face.box.height
    assert alone == set(NAMES[:people])
    assert most == min(2, people)


def test_frames_are_counted_and_timed() -> None:
    with DemoVideo(people=2, n_frames=26) as video:
        frames = list(video)
    assert [frame.number for frame in frames] == list(range(1, 27))
    assert frames[-1].seconds == 1.0
    assert frames[0].image.dtype == np.uint8


@pytest.mark.parametrize(
    ("options", "name"), [({"people": 9}, "people"), ({"n_frames": 0}, "n_frames")]
)
def test_what_makes_no_sense_is_refused_by_name(options: dict[str, int], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}="):
        DemoVideo(**options)
