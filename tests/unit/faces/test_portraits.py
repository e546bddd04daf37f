"""The face that a picture is meant to show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.detection import (
    PORTRAIT_FRAMES,
    HaarDetector,
    NoPortraitError,
    find_portrait,
    read_portraits,
)
from labelwalk.faces.frames import Box, Image, SourceError
from labelwalk.faces.pictures import encode_jpeg
from labelwalk.faces.representations import Pixels, vector_of
from tests.unit.faces import generated
from tests.unit.faces.generated import scene
from tests.unit.faces.real_videos import real

pytestmark = pytest.mark.shell
NOTHING = np.zeros((200, 200, 3), np.uint8)


def found(*sides: int) -> Box:
    boxes = [Box(0, 0, side, side) for side in sides]
    return find_portrait(NOTHING, lambda image: boxes)


def test_the_largest_is_meant_where_it_is_twice_as_large() -> None:
    assert found(50).width == 50
    assert found(50, 100, 70).width == 100
    with pytest.raises(NoPortraitError, match="2 faces of about the same size"):
        found(50, 100, 71)
    with pytest.raises(NoPortraitError, match="3 faces of about the same size"):
        found(90, 100, 90)
    with pytest.raises(NoPortraitError, match="no face was found"):
        found()


def test_a_picture_has_one_view(tmp_path: Path) -> None:
    path = tmp_path / "ada.png"
    generated.folder(tmp_path, [("ada.png", scene([3]))])
    detector, as_vector = HaarDetector(), Pixels(32)
    [vector] = read_portraits(path, as_vector, detector)
    [box] = detector(scene([3]))
    assert (vector == vector_of(scene([3]), box, as_vector)).all()


@pytest.mark.slow
def test_a_video_has_views_spread_over_it(people: Callable[[str], Path]) -> None:
    looked: list[Image] = []

    def detector(image: Image) -> list[Box]:
        looked.append(image)
        return HaarDetector()(image)

    views = read_portraits(people(".avi"), Pixels(32), detector)
    assert len(looked) == PORTRAIT_FRAMES
    assert len(views) > PORTRAIT_FRAMES // 2
    last = DemoVideo(people=2).image(2 * PORTRAIT_FRAMES - 1)
    assert np.abs(looked[-1].astype(float) - last).mean() < 8.0


def test_a_short_video_is_looked_at_whole(tmp_path: Path) -> None:
    path = generated.video(tmp_path / "short.avi", n_frames=3)
    assert len(read_portraits(path, Pixels(32), HaarDetector())) == 3


def test_a_video_of_nobody(tmp_path: Path) -> None:
    generated.folder(tmp_path / "empty", [(f"{i}.png", scene([])) for i in range(3)])
    with pytest.raises(
        NoPortraitError, match=r"none of 3 frames shows a clear face. Last reason: no face"
    ):
        read_portraits(tmp_path / "empty", Pixels(32), HaarDetector())


@pytest.mark.parametrize("name", ["no.jpg", "no.avi"])
def test_what_is_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=rf"{name}(: no such| cannot be read \(No such)"):
        read_portraits(tmp_path / name, Pixels(32), HaarDetector())


def test_what_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("hello")
    (tmp_path / "cut.jpg").write_bytes(encode_jpeg(scene([3]))[:-2000])
    for name in ("text.jpg", "cut.jpg"):
        with pytest.raises(SourceError, match=rf"{name} is not a (readable )?picture"):
            read_portraits(tmp_path / name, Pixels(32), HaarDetector())


def test_a_real_person() -> None:
    assert len(read_portraits(real("face_videos/faceocc2.webm"), Pixels(32), HaarDetector())) > 3
