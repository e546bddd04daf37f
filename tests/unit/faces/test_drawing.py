"""Names on frames: in any script, at any edge, and different where they differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces import drawing
from labelwalk.faces.drawing import GREY, Caption, choose_colour, draw_faces
from labelwalk.faces.frames import Box, Image
from tests.unit.faces.generated import scene

pytestmark = pytest.mark.shell

NAMES = ["Ada", "Zoë", "Jürgen", "Łukasz", "Ελένη", "Иван", "王小明", "山田", "علي", "🙂"]


def test_boxes_and_captions_are_where_they_belong() -> None:
    image = scene([3])
    box = Box(100, 80, 90, 100)
    said = draw_faces(image, [Caption(box, "Ada", 0.931)])
    changed = (said != image).any(axis=2)
    assert changed[80:180, 100].all()
    assert changed[179, 100:190].all()
    assert not changed[85:175, 105:185].any()  # the face itself is left as it is
    assert not changed[181:].any()
    assert changed[:80].any()
    assert (said[130, 100] == choose_colour("Ada")[::-1]).all()
    assert (image == scene([3])).all()


def test_what_is_written() -> None:
    box = Box(0, 0, 9, 9)
    assert Caption(box, "Ada", 0.931).text == "Ada 93%"
    assert Caption(box, "Ada").text == "Ada"
    assert Caption(box, None, 0.2).text == "unknown 20%"
    assert Caption(box, None, stranger=3).text == "unknown #3"


def test_a_name_has_one_colour_and_strangers_are_grey() -> None:
    assert choose_colour("Ada") == choose_colour("Ada")
    assert choose_colour(None) == GREY
    assert len({choose_colour(name) for name in NAMES}) > 3
    assert GREY not in {choose_colour(name) for name in NAMES}


def draw_text(name: str) -> Image:
    """Return the letters of a caption, white on black."""
    image = draw_faces(np.zeros((40, 400, 3), np.uint8), [Caption(Box(0, 0, 0, 0), name)])
    return np.asarray(image.min(axis=2) > 150, np.uint8)


@pytest.mark.parametrize("fonts", [drawing.FONT_FILES, ()], ids=["all fonts", "Pillow's alone"])
def test_different_names_look_different(
    fonts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "FONT_FILES", fonts)
    drawing.choose_font.cache_clear()
    images = [draw_text(name) for name in NAMES]
    drawing.choose_font.cache_clear()
    assert len({image.tobytes() for image in images}) == len(NAMES)
    assert all(image.any() for image in images)


@given(
    st.text(max_size=60),
    st.integers(-60, 90),
    st.integers(-60, 70),
    st.integers(0, 200),
    st.integers(0, 200),
)
def test_any_name_anywhere(name: str, x: int, y: int, width: int, height: int) -> None:
    image = np.zeros((60, 80, 3), np.uint8)
    assert draw_faces(image, [Caption(Box(x, y, width, height), name, 0.5)]).shape == image.shape
    assert not image.any()


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 300, 3), (1080, 1920, 3)])
def test_any_picture(shape: tuple[int, int, int]) -> None:
    image = np.zeros(shape, np.uint8)
    assert draw_faces(image, [Caption(Box(0, 0, 1, 1), "Ada", 1.0)]).any()
    assert (draw_faces(image, []) == image).all()
