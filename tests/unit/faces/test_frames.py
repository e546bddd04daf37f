"""Boxes: how much they share, and what is cut out of a picture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces.frames import Box, compute_overlap, crop_box

pytestmark = pytest.mark.shell

boxes = st.builds(
    Box, st.integers(-20, 20), st.integers(-20, 20), st.integers(0, 30), st.integers(0, 30)
)
PICTURE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)


def pixels(box: Box) -> set[tuple[int, int]]:
    return {
        (x, y) for x in range(box.x, box.x + box.width) for y in range(box.y, box.y + box.height)
    }


@given(boxes, boxes)
def test_overlap_is_what_counting_pixels_gives(a: Box, b: Box) -> None:
    union = len(pixels(a) | pixels(b))
    assert compute_overlap(a, b) == (len(pixels(a) & pixels(b)) / union if union else 0.0)
    assert compute_overlap(a, b) == compute_overlap(b, a)


@given(
    st.integers(-5, 29),
    st.integers(-5, 19),
    st.integers(6, 20),
    st.integers(6, 20),
    st.floats(0.0, 1.0),
)
def test_a_crop_repeats_the_edge_where_it_leaves_the_picture(
    x: int, y: int, width: int, height: int, margin: float
) -> None:
    part = crop_box(PICTURE, Box(x, y, width, height), margin)
    aside, above = round(margin * width), round(margin * height)
    assert part.shape == (height + 2 * above, width + 2 * aside, 3)
    for row in range(part.shape[0]):
        for column in range(part.shape[1]):
            from_row = min(max(y - above + row, 0), 19)
            from_column = min(max(x - aside + column, 0), 29)
            assert (part[row, column] == PICTURE[from_row, from_column]).all()


def test_a_crop_is_a_copy() -> None:
    picture = PICTURE.copy()
    crop_box(picture, Box(0, 0, 5, 5))[:] = 0
    assert (picture == PICTURE).all()


@pytest.mark.parametrize(
    "box", [Box(30, 0, 5, 5), Box(-5, 0, 5, 5), Box(0, 0, 0, 5), Box(0, 0, 31, 5), Box(0, 0, 5, -5)]
)
def test_a_box_elsewhere_is_refused(box: Box) -> None:
    with pytest.raises(ValueError, match="is outside the image of 30 × 20 pixels"):
        crop_box(PICTURE, box)


@pytest.mark.parametrize("margin", [-0.1, 3.0, float("nan"), "1"])
def test_a_margin_that_is_none_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin="):
        crop_box(PICTURE, Box(0, 0, 5, 5), margin)


@pytest.mark.parametrize(
    "image",
    [
        PICTURE.astype(np.float64),
        PICTURE[:, :, 0],
        PICTURE[:0],
        np.zeros((5, 5, 4), np.uint8),
        [[0]],
        None,
    ],
)
def test_what_is_no_picture_is_refused(image: object) -> None:
    with pytest.raises(ValueError, match="not an array of height × width × 3 in uint8"):
        crop_box(image, Box(0, 0, 1, 1))  # type: ignore[arg-type]
