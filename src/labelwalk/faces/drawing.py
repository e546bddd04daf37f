"""Boxes and names, drawn onto a frame."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from labelwalk.faces.boxes import Box
from labelwalk.faces.image import Image, check_image
from labelwalk.faces.lettering import lettered
from labelwalk.faces.names import unknown

Colour = tuple[int, int, int]  # blue, green, red

GREY: Colour = (128, 128, 128)
# white letters are read on them
COLOURS: tuple[Colour, ...] = (
    (178, 114, 0),
    (0, 94, 213),
    (115, 158, 0),
    (141, 70, 160),
    (0, 110, 150),
    (140, 60, 60),
)
LETTERS, LINES = 20, 240  # letters are a 20th of the shorter side, lines a 240th
SMALLEST = 11  # pixels that letters need


class Caption(NamedTuple):
    """What is to be said of a face.

    Attributes
    ----------
    box : Box
    name : str or None
        None for a stranger.
    confidence : float, optional
        How sure that is.
    stranger : int, optional
        The number of a stranger.
    """

    box: Box
    name: str | None
    confidence: float | None = None
    stranger: int | None = None

    @property
    def text(self) -> str:
        """What is written: the name, or "unknown #3", and the confidence in percent."""
        name = unknown(self.stranger) if self.name is None else self.name
        return name if self.confidence is None else f"{name} {self.confidence:.0%}"


def drawn(image: Image, captions: Iterable[Caption]) -> Image:
    """Return a copy of a picture with boxes and what is said of them.

    A name has the same colour in every frame; strangers are grey.

    Parameters
    ----------
    image : array (height, width, 3) of uint8
    captions : Captions

    Examples
    --------
    >>> picture = np.zeros((120, 160, 3), dtype=np.uint8)
    >>> said = drawn(picture, [Caption(Box(40, 40, 50, 50), "Zoë", 0.93)])
    >>> picture.any(), said.any()
    (np.False_, np.True_)
    """
    check_image(image)
    copy = image.copy()
    shorter = min(image.shape[:2])
    line, letters = max(1, round(shorter / LINES)), max(SMALLEST, round(shorter / LETTERS))
    for caption in captions:
        colour = colour_of(caption.name)
        _outline(copy, caption.box, line, colour)
        _write(copy, caption.box, lettered(caption.text, letters), colour)
    return copy


def colour_of(name: str | None) -> Colour:
    """Return the colour of a name, which depends on nothing else."""
    if name is None:
        return GREY
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return COLOURS[int.from_bytes(digest, "big") % len(COLOURS)]


def _outline(image: Image, box: Box, line: int, colour: Colour) -> None:
    x, y, right, bottom = box.x, box.y, box.x + box.width, box.y + box.height
    for part in (
        Box(x, y, box.width, line),
        Box(x, bottom - line, box.width, line),
        Box(x, y, line, box.height),
        Box(right - line, y, line, box.height),
    ):
        _part(image, part)[:] = colour


def _write(image: Image, box: Box, ink: Image, colour: Colour) -> None:
    """Write white on a strip above the box; inside, where there is no room above."""
    pad = max(2, ink.shape[0] // 4)
    width, height = ink.shape[1] + 2 * pad, ink.shape[0] + 2 * pad
    left = max(0, min(box.x, image.shape[1] - width))
    top = box.y - height if box.y >= height else max(0, box.y)
    _part(image, Box(left, top, width, height))[:] = colour
    under = _part(image, Box(left + pad, top + pad, ink.shape[1], ink.shape[0]))
    share = ink[: under.shape[0], : under.shape[1], None] / 255.0
    under[:] = (under * (1.0 - share) + 255.0 * share).round().astype(np.uint8)


def _part(image: Image, box: Box) -> Image:
    """Return what of the box lies in the picture, to be written to."""
    top, left = max(0, box.y), max(0, box.x)
    return image[top : max(top, box.y + box.height), left : max(left, box.x + box.width)]
