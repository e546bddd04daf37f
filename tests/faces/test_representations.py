"""Any function makes vectors of faces; what it gives is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelwalk.faces.demo import scene
from labelwalk.faces.frames import Box, Image, crop_box
from labelwalk.faces.representations import Pixels, name_of, vector_of

pytestmark = pytest.mark.shell

BOX = Box(100, 70, 40, 60)


class Seen:
    """Tells what it is shown."""

    margin = 0.25

    def __call__(self, image: Image) -> list[int]:
        return list(image.shape)


def test_a_function_sees_the_margin_it_wants() -> None:
    assert vector_of(scene([3]), BOX, Seen()).tolist() == [90, 60, 3]
    assert vector_of(scene([3]), BOX, lambda image: image.shape).tolist() == [60, 40, 3]
    pixels = Pixels(32)
    assert (vector_of(scene([3]), BOX, pixels) == pixels(crop_box(scene([3]), BOX))).all()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (None, "an array of the shape"),
        (1.0, "an array of the shape"),
        ([], "an array of the shape"),
        ([[1.0]], "an array of the shape"),
        (["a"], "a list"),
        ([1.0, np.nan], "values that are not finite"),
        ([np.inf], "values that are not finite"),
    ],
)
def test_what_is_no_vector_is_refused(given: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"representation=<lambda> gave {why}"):
        vector_of(scene([3]), BOX, lambda image: given)


def test_names() -> None:
    assert name_of(Pixels(32)) == "pixels 32"
    assert name_of(Seen()) == "Seen"
    assert name_of(name_of) == "name_of"  # type: ignore[arg-type]
