"""Vectors of faces: of any function, and of pixels."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from labelwalk.arrays import Floats
from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.detection import HaarDetector
from labelwalk.faces.frames import Box, Image, crop_box
from labelwalk.faces.representations import N_WAVES, Pixels, name_of, vector_of
from tests.unit.faces.generated import scene

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
        (None, "an array of shape"),
        (1.0, "an array of shape"),
        ([], "an array of shape"),
        ([[1.0]], "an array of shape"),
        (["a"], "a list"),
        ([1.0, np.nan], "values that are not finite"),
        ([np.inf], "values that are not finite"),
    ],
)
def test_what_is_no_vector_is_refused(given: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"representation=<lambda> returned {why}"):
        vector_of(scene([3]), BOX, lambda image: given)


def test_names() -> None:
    assert name_of(Pixels(32)) == "pixels 32"
    assert name_of(Seen()) == "Seen"
    assert name_of(name_of) == "name_of"  # type: ignore[arg-type]


seeds = st.integers(0, 10_000)
kinds = st.builds(Pixels, st.sampled_from([4, 16, 32, 96]))


def face(seed: int) -> Image:
    """Something smooth with all greys, of any size."""
    random = np.random.default_rng(seed)
    height, width = random.integers(1, 200, 2)
    coarse = random.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(coarse, (int(width), int(height))), np.uint8)


def apart(a: Floats, b: Floats) -> float:
    return float(np.linalg.norm(a - b))


@given(st.tuples(seeds, seeds))
def test_the_distance_is_the_weighted_difference_of_greys(seed: tuple[int, int]) -> None:
    """The same in plain words: equal shares, smooth, weigh, and take the root of the mean."""
    a, b = (cv2.cvtColor(cv2.resize(face(one), (96, 96)), cv2.COLOR_BGR2GRAY) for one in seed)
    shades = []
    for grey in (a, b):
        ranks = np.searchsorted(np.sort(grey.ravel()), grey.ravel(), side="right") / grey.size
        shades.append(gaussian_filter(ranks.reshape(96, 96), 3.0))
    at = (np.arange(96) + 0.5) / 48.0 - 1.0
    weights = np.exp(-2.0 * (at[:, None] ** 2 + at[None, :] ** 2))
    expected = np.sqrt((weights * (shades[0] - shades[1]) ** 2).sum() / weights.sum())
    as_vector = Pixels()
    pictures = [np.repeat(np.asarray(grey, np.uint8)[:, :, None], 3, axis=2) for grey in (a, b)]
    found = apart(*map(as_vector, pictures))
    assert 0.999 * expected <= found <= expected + 1e-12


@given(seeds, seeds, kinds)
def test_lengths_numbers_and_bounds(one: int, other: int, as_vector: Pixels) -> None:
    a, b = as_vector(face(one)), as_vector(face(other))
    assert a.shape == b.shape == (min(as_vector.side, N_WAVES) ** 2,)
    assert a.dtype == np.float64
    assert np.isfinite(a).all()
    assert apart(a, b) <= 1.0 + 1e-9
    assert (as_vector(face(one)) == a).all()


@given(seeds, st.integers(1, 2), st.integers(0, 85))
def test_light_does_not_count(seed: int, contrast: int, brightness: int) -> None:
    """Exactly, if greys stay whole numbers."""
    grey = np.asarray(cv2.resize(face(seed), (96, 96)), np.uint8)[:, :, :1] // 3
    picture = np.repeat(grey, 3, axis=2)
    brighter = (contrast * picture + brightness).astype(np.uint8)
    assert (Pixels()(picture) == Pixels()(brighter)).all()


def test_a_face_of_one_grey_is_a_vector_too() -> None:
    even = Pixels()(np.full((50, 50, 3), 77, np.uint8))
    assert np.isfinite(even).all()
    assert even.any()


@pytest.mark.slow
@pytest.mark.parametrize("as_vector", [Pixels(), Pixels(32)])
def test_people_of_the_demo_are_told_apart(as_vector: Pixels) -> None:
    video, detector = DemoVideo(people=5, n_frames=1200), HaarDetector()
    rows, names = [], []
    for number in range(5, 1200, 20):
        there = video.truth(number)
        if len(there) == 1:
            image = video.image(number)
            [box] = detector(image)
            rows.append(as_vector(crop_box(image, box, as_vector.margin)))
            names.append(there[0].name)
    X, y = np.array(rows), np.array(names)
    taught = np.concatenate([np.flatnonzero(y == name)[:4] for name in np.unique(y)])
    nearest = taught[np.linalg.norm(X[:, None] - X[taught], axis=2).argmin(axis=1)]
    assert len(np.unique(y)) == 5
    assert (y[nearest] == y).mean() > 0.95


def test_each_side_has_its_name() -> None:
    assert [Pixels(side).name for side in (32, 96)] == ["pixels 32", "pixels 96"]


def test_what_is_no_picture_of_a_face_is_refused() -> None:
    for image in (np.zeros((5, 5), np.uint8), np.zeros((0, 5, 3), np.uint8)):
        with pytest.raises(ValueError, match="not an array of height"):
            Pixels()(image)
    for side in (3, 257, 96.0, True):
        with pytest.raises(ValueError, match="side="):
            Pixels(side)  # type: ignore[arg-type]
