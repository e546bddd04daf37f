"""Pictures made to fit: small enough to be looked at, or of one size for a video."""

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
    scale = LARGEST_SIDE / max(image.shape[:2])
    return (image, 1.0) if scale >= 1.0 else (_resized(image, scale), scale)


def framed(image: Image, width: int, height: int) -> Image:
    """Return a picture of exactly this size: as large as it can be, in the middle of a black one.

    Examples
    --------
    >>> framed(np.full((4, 2, 3), 9, dtype=np.uint8), width=4, height=4)[:, :, 0]
    array([[0, 9, 9, 0],
           [0, 9, 9, 0],
           [0, 9, 9, 0],
           [0, 9, 9, 0]], dtype=uint8)
    """
    if image.shape[:2] == (height, width):
        return image
    fits = _resized(image, min(width / image.shape[1], height / image.shape[0]))
    black = np.zeros((height, width, 3), dtype=np.uint8)
    top, left = (height - fits.shape[0]) // 2, (width - fits.shape[1]) // 2
    black[top : top + fits.shape[0], left : left + fits.shape[1]] = fits
    return black


def _resized(image: Image, scale: float) -> Image:
    height, width = (max(1, round(side * scale)) for side in image.shape[:2])
    how = cv2.INTER_AREA if scale < 1.0 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (width, height), interpolation=how), np.uint8)
