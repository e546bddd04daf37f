"""Boxes and names drawn onto frames, in any script for which there is a font."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from labelwalk.faces.frames import Box, Image, check_image
from labelwalk.faces.people import format_unknown

Colour = tuple[int, int, int]  # red, green, blue

GREY: Colour = (128, 128, 128)
# white letters are readable on these
COLOURS: tuple[Colour, ...] = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (160, 70, 141),
    (150, 110, 0),
    (60, 60, 140),
)
LETTERS_PER_SIDE, LINES_PER_SIDE = 20, 240  # letters are a 20th of the shorter side high
MIN_LETTER_PIXELS = 11
MAX_CHARACTERS = 40
MISSING_CHARACTER = "\U0010ffff"  # in no font: drawn as all missing characters are
# Searched for where the system has its fonts. Pillow contains a Latin one.
FONT_FILES = (
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "NotoSansCJK-Regular.ttc",
    "wqy-microhei.ttc",
    "Arial Unicode.ttf",
    "PingFang.ttc",
    "arial.ttf",
    "msyh.ttc",
    "malgun.ttf",
)


class Caption(NamedTuple):
    """A box with a name; None for a stranger."""

    box: Box
    name: str | None
    confidence: float | None = None
    stranger: int | None = None

    @property
    def text(self) -> str:
        """The name, or "unknown #3", and the confidence in percent."""
        name = format_unknown(self.stranger) if self.name is None else self.name
        return name if self.confidence is None else f"{name} {self.confidence:.0%}"


def draw_faces(image: Image, captions: Iterable[Caption]) -> Image:
    """Return a copy of an image with boxes and captions.

    A name has the same colour in every frame; strangers are grey.

    Examples
    --------
    >>> image = np.zeros((120, 160, 3), dtype=np.uint8)
    >>> captioned = draw_faces(image, [Caption(Box(40, 40, 50, 50), "Zoë", 0.93)])
    >>> image.any(), captioned.any()
    (np.False_, np.True_)
    """
    check_image(image)
    canvas = Pillow.fromarray(np.ascontiguousarray(image[:, :, ::-1]))
    pen = ImageDraw.Draw(canvas)
    shorter = min(canvas.size)
    line = max(1, round(shorter / LINES_PER_SIDE))
    letters = max(MIN_LETTER_PIXELS, round(shorter / LETTERS_PER_SIDE))
    for caption in captions:
        x, y, width, height = caption.box
        colour = choose_colour(caption.name)
        if caption.box.area:
            corners = (x, y, x + width - 1, y + height - 1)
            pen.rectangle(corners, outline=colour, width=line)
        font, text = choose_font(caption.text, letters)
        left, top, right, bottom = map(round, font.getbbox(text))
        pad = max(2, max(1, bottom - top) // 4)
        strip_width, strip_height = right - left + 2 * pad, bottom - top + 2 * pad
        strip_x = max(0, min(x, canvas.width - strip_width))
        strip_y = y - strip_height if y >= strip_height else max(0, y)  # inside if not above
        corners = (strip_x, strip_y, strip_x + strip_width - 1, strip_y + strip_height - 1)
        pen.rectangle(corners, fill=colour)
        pen.text((strip_x + pad - left, strip_y + pad - top), text, fill="white", font=font)
    return np.ascontiguousarray(np.asarray(canvas)[:, :, ::-1])


drawn = draw_faces  # the documented name of version 0.7


def choose_colour(name: str | None) -> Colour:
    """Return the colour of a name, which depends on nothing else."""
    if name is None:
        return GREY
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return COLOURS[int.from_bytes(digest, "big") % len(COLOURS)]


@lru_cache(maxsize=512)
def choose_font(text: str, height: int) -> tuple[ImageFont.FreeTypeFont, str]:
    """Return a font, and the text in characters of this font.

    Characters that no font has lose their accents, or become their number in brackets: with a
    question mark, different names would look the same.
    """
    text = "".join(char if char.isprintable() else " " for char in text).strip() or " "
    text = text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 3] + "..."
    fonts = [font for name in (*FONT_FILES, None) if (font := _load_font(name, height))]
    for font in fonts:
        if all(_has_glyph(font, char) for char in text):
            return font, text
    font = fonts[0]
    return font, "".join(char if _has_glyph(font, char) else _spell(char) for char in text)


@lru_cache(maxsize=64)
def _load_font(name: str | None, height: int) -> ImageFont.FreeTypeFont | None:
    """Return a font of the system, or for None that of Pillow; None if there is no such font."""
    try:
        font = ImageFont.truetype(name, height) if name else ImageFont.load_default(height)
    except OSError:
        return None
    return font if isinstance(font, ImageFont.FreeTypeFont) else None


@lru_cache(maxsize=4096)
def _has_glyph(font: ImageFont.FreeTypeFont, character: str) -> bool:
    if character == " ":
        return True
    glyph, missing = font.getmask(character), font.getmask(MISSING_CHARACTER)
    return glyph.size != missing.size or bytes(glyph) != bytes(missing)


def _spell(character: str) -> str:
    """Return a character without its accent, or its number.

    >>> _spell("ë"), _spell("明")
    ('e', '[660E]')
    """
    plain = unicodedata.normalize("NFKD", character)[0]
    return plain if plain.isascii() and plain.isprintable() else f"[{ord(character):04X}]"
