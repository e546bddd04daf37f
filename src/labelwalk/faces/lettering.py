"""Text as pixels, in whatever script the fonts of this machine know."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from labelwalk.faces.image import Image

# Looked for where the system keeps its fonts; Pillow brings a Latin one along.
FONTS = (
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
LONGEST = 40  # characters
NOWHERE = "\U0010ffff"  # a character of no font: it looks like all that are missing


@lru_cache(maxsize=512)
def lettered(text: str, height: int) -> Image:
    """Return text as an array of ink from 0 to 255, about `height` pixels high.

    Where no font knows all of its characters, those that are unknown lose their accents, or become
    their number in brackets: never a question mark, which would make different names the same.

    Examples
    --------
    >>> bool((lettered("Zoë", 16) > 0).any())
    True
    """
    font, text = _readable(text, height)
    left, top, right, bottom = font.getbbox(text)
    size = max(1, round(right - left)), max(1, round(bottom - top))
    ink = Pillow.new("L", size)
    ImageDraw.Draw(ink).text((-left, -top), text, fill=255, font=font)
    pixels = np.array(ink, dtype=np.uint8)
    pixels.setflags(write=False)  # it is given out again and again
    return pixels


def _readable(text: str, height: int) -> tuple[ImageFont.FreeTypeFont, str]:
    """Return a font, and the text in characters that it knows."""
    text = "".join(one if one.isprintable() else " " for one in text).strip() or " "
    text = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    fonts = [font for name in FONTS if (font := _font(name, height)) is not None]
    fonts.append(_brought_along(height))
    for font in fonts:
        if all(_knows(font, one) for one in text):
            return font, text
    font = fonts[0]
    return font, "".join(one if _knows(font, one) else _spelled(one) for one in text)


@lru_cache(maxsize=64)
def _font(name: str, height: int) -> ImageFont.FreeTypeFont | None:
    try:
        return ImageFont.truetype(name, height)
    except OSError:
        return None


@lru_cache(maxsize=8)
def _brought_along(height: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(height)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


@lru_cache(maxsize=4096)
def _knows(font: ImageFont.FreeTypeFont, character: str) -> bool:
    if character == " ":
        return True
    drawn, missing = font.getmask(character), font.getmask(NOWHERE)
    return drawn.size != missing.size or bytes(drawn) != bytes(missing)


def _spelled(character: str) -> str:
    """Return a character without its accent, or its number.

    >>> _spelled("ë"), _spelled("明")
    ('e', '[660E]')
    """
    plain = unicodedata.normalize("NFKD", character)[0]
    return plain if plain.isascii() and plain.isprintable() else f"[{ord(character):04X}]"
