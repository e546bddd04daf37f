"""Names on frames: in any script, at any edge, and different where they differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces import lettering
from labelwalk.faces.boxes import Box
from labelwalk.faces.demo import scene
from labelwalk.faces.drawing import GREY, Caption, colour_of, drawn
from labelwalk.faces.lettering import lettered

pytestmark = pytest.mark.shell

NAMES = ["Ada", "Zoë", "Jürgen", "Łukasz", "Ελένη", "Иван", "王小明", "山田", "علي", "🙂"]


def test_boxes_and_captions_are_where_they_belong() -> None:
    image = scene([3])
    box = Box(100, 80, 90, 100)
    said = drawn(image, [Caption(box, "Ada", 0.931)])
    changed = (said != image).any(axis=2)
    assert changed[80:180, 100].all()
    assert changed[179, 100:190].all()
    assert not changed[85:175, 105:185].any()  # the face itself is left as it is
    assert not changed[181:].any()
    assert changed[:80].any()
    assert (said[130, 100] == colour_of("Ada")).all()
    assert (image == scene([3])).all()


def test_what_is_written() -> None:
    box = Box(0, 0, 9, 9)
    assert Caption(box, "Ada", 0.931).text == "Ada 93%"
    assert Caption(box, "Ada").text == "Ada"
    assert Caption(box, None, 0.2).text == "unknown 20%"
    assert Caption(box, None, stranger=3).text == "unknown #3"


def test_a_name_has_one_colour_and_strangers_are_grey() -> None:
    assert colour_of("Ada") == colour_of("Ada")
    assert colour_of(None) == GREY
    assert len({colour_of(name) for name in NAMES}) > 3
    assert GREY not in {colour_of(name) for name in NAMES}


@pytest.mark.parametrize("fonts", [lettering.FONTS, ()], ids=["all fonts", "Pillow's alone"])
def test_different_names_look_different(
    fonts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lettering, "FONTS", fonts)
    lettered.cache_clear()
    looks = {(ink.shape, ink.tobytes()) for ink in (lettered(name, 16) for name in NAMES)}
    lettered.cache_clear()
    assert len(looks) == len(NAMES)
    assert all(0 < shape[0] < 40 for shape, _ in looks)


@given(
    st.text(max_size=60),
    st.integers(-60, 90),
    st.integers(-60, 70),
    st.integers(0, 200),
    st.integers(0, 200),
)
def test_any_name_anywhere(name: str, x: int, y: int, width: int, height: int) -> None:
    image = np.zeros((60, 80, 3), np.uint8)
    assert drawn(image, [Caption(Box(x, y, width, height), name, 0.5)]).shape == image.shape
    assert not image.any()


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 300, 3), (1080, 1920, 3)])
def test_any_picture(shape: tuple[int, int, int]) -> None:
    image = np.zeros(shape, np.uint8)
    assert drawn(image, [Caption(Box(0, 0, 1, 1), "Ada", 1.0)]).any()
    assert (drawn(image, []) == image).all()
