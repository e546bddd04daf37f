"""Pictures made small enough before anything else is done with them."""

from __future__ import annotations

import cv2
import numpy as np

from labelwalk.faces.image import Image

LARGEST_SIDE = 1920


def fitted(image: Image) -> tuple[Image, float]:
    """Shrink a picture whose larger side is longer than 1920; return it with its scale.

    Examples
    --------
    >>> small, scale = fitted(np.zeros((4320, 7680, 3), dtype=np.uint8))
    >>> small.shape, scale
    ((1080, 1920, 3), 0.25)
    """
    height, width = image.shape[:2]
    scale = LARGEST_SIDE / max(height, width)
    if scale >= 1.0:
        return image, 1.0
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8), scale
