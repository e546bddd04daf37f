"""Rectangles in a picture: where a face is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwalk.faces.image import Image, check_image
from labelwalk.parameters import check_number


class Box(NamedTuple):
    """A rectangle in pixels: the corner at the top left, and what it spans."""

    x: int
    y: int
    width: int
    height: int

    @property
    def area(self) -> int:
        """How many pixels it has; 0 where it is empty."""
        return max(0, self.width) * max(0, self.height)


def overlap(a: Box, b: Box) -> float:
    """Return the share of two boxes that they have in common: 0 apart, 1 where they are the same.

    Examples
    --------
    >>> overlap(Box(0, 0, 10, 10), Box(5, 0, 10, 10))
    0.3333333333333333
    """
    width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (a.area + b.area - common)


def scaled(box: Box, factor: float) -> Box:
    """Return a box in a picture that is larger or smaller by a factor.

    Examples
    --------
    >>> scaled(Box(10, 20, 30, 40), 0.5)
    Box(x=5, y=10, width=15, height=20)
    """
    return Box(*(round(value * factor) for value in box))


def crop(image: Image, box: Box, margin: float = 0.0) -> Image:
    """Cut a box out of a picture, with a margin around it.

    Parameters
    ----------
    image : array (height, width, 3) of uint8
    box : Box
        No larger than the picture, and partly in it.
    margin : float
        How much more is cut out on each side, as a share of the box. Where that leaves the
        picture, pixels of its edge are repeated.

    Examples
    --------
    >>> picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    >>> crop(picture, Box(0, 0, 2, 2), margin=0.5)[:, :, 0]
    array([[ 0,  0,  3,  6],
           [ 0,  0,  3,  6],
           [12, 12, 15, 18],
           [24, 24, 27, 30]], dtype=uint8)
    """
    check_image(image)
    check_number("margin", margin, 0.0, 2.0, "0.5")
    height, width = image.shape[:2]
    _check_box(box, width, height)
    aside, above = round(margin * box.width), round(margin * box.height)
    columns = np.arange(box.x - aside, box.x + box.width + aside).clip(0, width - 1)
    rows = np.arange(box.y - above, box.y + box.height + above).clip(0, height - 1)
    part: Image = image[rows[:, None], columns]
    return part


def _check_box(box: Box, width: int, height: int) -> None:
    if box.width > width or box.height > height or not overlap(box, Box(0, 0, width, height)):
        raise ValueError(
            f"box={tuple(box)} does not lie in a picture of {width} × {height} pixels. "
            "Give x, y, width and height in pixels of this very picture."
        )
