"""Synthetic people in front of a camera, with ground truth, to try faces without a video."""

from collections.abc import Iterator
from math import pi, sin
from typing import NamedTuple

import numpy as np

from labelwalk._validation import check_whole
from labelwalk.arrays import Floats
from labelwalk.faces.frames import Box, Frame, Image, Source

NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana")
SEEDS = (413, 220, 196, 348, 420, 65, 363, 405)  # of 500 people, the least similar ones
WIDTH_PIXELS, HEIGHT_PIXELS = 320, 240
BACKGROUND_SHADE, TINT = 0.45, np.array([0.80, 0.90, 1.0])  # blue, green, red of a grey
TURN_FRAMES = 60  # that a person stays
NOISE_DEVIATION = 0.015  # black is 0 and white is 1
FEATURES = {  # in the order in which they are drawn at random
    "skin": (0.55, 0.85),
    "hair": (0.05, 0.40),
    "brow": (0.10, 0.35),
    "width": (0.34, 0.44),
    "eye_apart": (0.13, 0.18),
    "eye_height": (0.40, 0.45),
    "mouth": (0.10, 0.20),
    "mouth_height": (0.74, 0.80),
    "nose": (0.04, 0.08),
    "fringe": (0.12, 0.24),
}


class NamedBox(NamedTuple):
    """A face and its name; None for a stranger."""

    box: Box
    name: str | None


def make_features(person: int) -> dict[str, float]:
    """Return the look of the person of a number: shades, and lengths relative to the face."""
    random = np.random.default_rng(person)
    features = {name: random.uniform(*bounds) for name, bounds in FEATURES.items()}
    return features | {"has_beard": random.random() < 0.4}


class DemoVideo(Source):
    """People who appear one after another, alone or in pairs, and move and talk in changing light.

    Parameters
    ----------
    people : int, from 1 to 8, called as in `NAMES`
    n_frames : int
    seed : int, of the noise and the paths; the people stay the same

    Examples
    --------
    >>> video = DemoVideo(people=3, n_frames=2)
    >>> [frame.image.shape for frame in video]
    [(240, 320, 3), (240, 320, 3)]
    >>> [face.name for face in video.truth(1)]
    ['Ada']
    """

    frames_per_second = 25.0

    def __init__(self, people: int = 4, n_frames: int = 600, seed: int = 0) -> None:
        check_whole("people", people, "4", most=len(NAMES))
        check_whole("n_frames", n_frames, "600")
        check_whole("seed", seed, "0", least=0)
        self.name = f"{people} synthetic people"
        self.people, self.n_frames, self.seed = people, n_frames, seed

    def __iter__(self) -> Iterator[Frame]:
        assert self.n_frames is not None
        for number in range(1, self.n_frames + 1):
            yield Frame(number, (number - 1) / self.frames_per_second, self.image(number))

    def image(self, number: int) -> Image:
        """Return the image of a frame."""
        shades = np.full((HEIGHT_PIXELS, WIDTH_PIXELS), BACKGROUND_SHADE)
        for face in self.truth(number):
            assert face.name is not None
            person = NAMES.index(face.name)
            talking = sin(2 * pi * number / 11 + person)
            paint_face(shades, SEEDS[person], face.box, talking)
        random = np.random.default_rng((self.seed, number))
        light = 1.0 + 0.15 * sin(2 * pi * number / 170)
        return convert_to_image(shades * light + random.normal(0.0, NOISE_DEVIATION, shades.shape))

    def truth(self, number: int) -> tuple[NamedBox, ...]:
        """Return the faces of a frame."""
        turn = (number - 1) // TURN_FRAMES
        first = turn % self.people
        second = (first + 1 + turn // 3) % self.people
        people = (first,) if turn % 3 != 2 or first == second else (first, second)
        places = (0.5,) if len(people) == 1 else (0.27, 0.73)
        return tuple(
            NamedBox(self._place_face(person, place, number), NAMES[person])
            for person, place in zip(people, places, strict=True)
        )

    def _place_face(self, person: int, place: float, number: int) -> Box:
        at = number + 17 * person + 29 * self.seed
        side = int(105 + 10 * sin(2 * pi * at / 97))
        x = place * WIDTH_PIXELS + 14 * sin(2 * pi * at / 71) - side / 2
        y = 0.5 * HEIGHT_PIXELS + 12 * sin(2 * pi * at / 53) - side / 2
        return Box(int(x), int(y), side, side)


def paint_face(shades: Floats, person: int, box: Box, talking: float) -> None:
    """Paint the face of the person of a number, of soft ellipses one over the other."""
    part = shades[box.y : box.y + box.height, box.x : box.x + box.width]
    y, x = np.mgrid[0 : box.height, 0 : box.width] / (box.width - 1.0)
    looks = make_features(person)

    def ellipse(
        at: tuple[float, float], radii: tuple[float, float], shade: float, soft: float, ink: float
    ) -> None:
        away = np.hypot((x - at[0]) / radii[0], (y - at[1]) / radii[1])
        cover = ink * np.clip((1.0 - away) / soft + 0.5, 0.0, 1.0)
        part[:] = part * (1.0 - cover) + shade * cover

    skin, width, fringe = looks["skin"], looks["width"], looks["fringe"] / 4
    ellipse((0.5, 0.45), (1.15 * width, 0.48), looks["hair"], 0.06, 1.0)
    ellipse((0.5, 0.52 + fringe), (width, 0.46 - fringe), skin, 0.06, 1.0)
    if looks["has_beard"]:
        ellipse((0.5, 0.85), (0.75 * width, 0.18), looks["hair"] + 0.1, 0.5, 1.0)
    for at in (0.5 - looks["eye_apart"], 0.5 + looks["eye_apart"]):
        ellipse((at, looks["eye_height"]), (0.11, 0.075), skin - 0.35, 0.8, 0.7)
        ellipse((at, looks["eye_height"]), (0.075, 0.035), 0.95 * skin, 0.3, 1.0)
        ellipse((at, looks["eye_height"]), (0.035, 0.035), 0.05, 0.3, 1.0)
        ellipse((at, looks["eye_height"] - 0.09), (0.10, 0.022), looks["brow"], 0.5, 1.0)
    ellipse((0.5, 0.56), (0.6 * looks["nose"], 0.14), skin + 0.15, 1.0, 0.6)
    ellipse((0.5, 0.66), (1.4 * looks["nose"], 0.03), skin - 0.3, 0.8, 0.7)
    mouth = looks["mouth"], 0.035 + 0.01 * talking
    ellipse((0.5, looks["mouth_height"]), mouth, skin - 0.4, 0.5, 1.0)


def convert_to_image(shades: Floats) -> Image:
    """Return shades from 0 to 1 as a slightly tinted image."""
    return (shades[:, :, None] * (255.0 * TINT)).clip(0, 255).round().astype(np.uint8)
