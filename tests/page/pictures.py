"""Pictures of the documentation: taken anew where LABELWALK_PICTURES is set."""

from __future__ import annotations

import io
import os
from pathlib import Path

from PIL import Image

IMAGES = Path(__file__).parents[2] / "docs" / "images"
ARE_WANTED = bool(os.environ.get("LABELWALK_PICTURES"))
RARE_COLOURS_TOO = Image.Quantize.MAXCOVERAGE


def keep(content: bytes, name: str) -> None:
    """Put a screenshot among the pictures, in few colours."""
    IMAGES.mkdir(exist_ok=True)
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    few = picture.quantize(256, RARE_COLOURS_TOO, kmeans=2, dither=Image.Dither.NONE)
    few.save(IMAGES / name, optimize=True)
