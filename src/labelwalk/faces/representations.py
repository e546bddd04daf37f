"""What makes a vector of a face: any function of a picture, with a margin if it wants one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.faces.boxes import Box, crop
from labelwalk.faces.image import Image

Representation: TypeAlias = Callable[[Image], Any]
"""A function from the picture of a face to its vector.

It may have an attribute `margin`, how much it wants to see around the box of the face on each
side, as a share of it (0 where there is none); `name`, which differs where vectors cannot be
compared; and `profile`, how they are (`labelwalk.faces.profiles.Profile`).
"""


def vector_of(image: Image, box: Box, representation: Representation) -> Floats:
    """Return the vector of the face in a box of a picture.

    Raises
    ------
    ValueError
        The function gave no vector, or one with values that are not finite.

    Examples
    --------
    >>> picture = np.full((9, 9, 3), 100, dtype=np.uint8)
    >>> vector_of(picture, Box(2, 2, 5, 5), lambda face: face.mean(axis=(0, 1)))
    array([100., 100., 100.])
    """
    margin = float(getattr(representation, "margin", 0.0))
    found = representation(crop(image, box, margin))
    try:
        vector = np.array(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _no_vector(representation, f"a {type(found).__name__}") from error
    if vector.ndim != 1 or vector.size == 0:
        raise _no_vector(representation, f"an array of the shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise _no_vector(representation, "values that are not finite")
    return vector


def name_of(representation: Representation) -> str:
    """Return what the vectors are called.

    Examples
    --------
    >>> name_of(abs)
    'abs'
    """
    named = getattr(representation, "name", None) or getattr(representation, "__name__", None)
    return str(named or type(representation).__name__)


def _no_vector(representation: Representation, found: str) -> ValueError:
    return ValueError(
        f"representation={name_of(representation)} gave {found} for a face, not a vector of "
        "numbers. Let it return a one-dimensional array."
    )
