"""What counts as a picture, and how large one may be."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Image: TypeAlias = NDArray[np.uint8]
"""A picture: height × width × 3, blue, green and red from 0 to 255."""

MOST_PIXELS = 2**26  # 8192 × 8192: more than 8K, and 200 MB when decoded


class SourceError(OSError):
    """A source of frames that cannot be used, or gives no more of them; says why, and when."""


def check_size(width: float, height: float, what: str) -> None:
    """Refuse a picture of too many pixels, or of none.

    Raises
    ------
    SourceError

    Examples
    --------
    >>> check_size(7680, 4320, "8k.png")
    >>> check_size(50_000, 50_000, "bomb.png")
    Traceback (most recent call last):
    labelwalk.faces.image.SourceError: bomb.png has 50000 × 50000 pixels, more than the 67108864...
    """
    if not (width >= 1 and height >= 1):
        raise SourceError(f"{what} says that its pictures are {width:.0f} × {height:.0f} pixels.")
    if width * height > MOST_PIXELS:
        raise SourceError(
            f"{what} has {width:.0f} × {height:.0f} pixels, more than the {MOST_PIXELS} that are "
            "read. Make it smaller first."
        )


def check_image(image: object) -> None:
    """Refuse what is not a picture.

    Raises
    ------
    ValueError
    """
    if not isinstance(image, np.ndarray):
        found = type(image).__name__
    elif image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        found = f"{image.dtype} of the shape {image.shape}"
    else:
        return
    raise ValueError(
        f"image is {found}, not a picture of height × width × 3 in uint8. "
        "Give the image of a frame, or a part of it."
    )
