"""Synthetic people in front of a camera, with ground truth, to try faces without a video."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, pi, sin, sqrt
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


class NamedBox(NamedTuple):
    """A face and its name; None for a stranger."""

    box: Box
    name: str | None


@dataclass(frozen=True)
class Features:
    """The look of a person: shades from 0 to 1, lengths relative to the face."""

    skin: float
    hair: float
    brow: float
    width: float
    fringe: float
    eye_apart: float
    eye_height: float
    nose: float
    mouth: float
    mouth_height: float
    beard: bool


def make_features(person: int) -> Features:
    """Return the look of the person of a number."""
    random = np.random.default_rng(person)
    return Features(
        skin=random.uniform(0.55, 0.85),
        hair=random.uniform(0.05, 0.40),
        brow=random.uniform(0.10, 0.35),
        width=random.uniform(0.34, 0.44),
        eye_apart=random.uniform(0.13, 0.18),
        eye_height=random.uniform(0.40, 0.45),
        mouth=random.uniform(0.10, 0.20),
        mouth_height=random.uniform(0.74, 0.80),
        nose=random.uniform(0.04, 0.08),
        fringe=random.uniform(0.12, 0.24),
        beard=bool(random.random() < 0.4),
    )


def scene(people: Sequence[int], width: int = WIDTH_PIXELS, height: int = HEIGHT_PIXELS) -> Image:
    """Return an image of these people, in rows."""
    shades = np.full((height, width), BACKGROUND_SHADE)
    if people:
        columns = ceil(sqrt(len(people) * width / height))
        rows = ceil(len(people) / columns)
        side = int(0.7 * min(width / columns, height / rows))
        for i, person in enumerate(people):
            row, column = divmod(i, columns)
            x = int((column + 0.5) * width / columns) - side // 2
            y = int((row + 0.5) * height / rows) - side // 2
            _paint(shades, make_features(person), Box(x, y, side, side), 0.0)
    return _convert_to_image(shades)


class DemoVideo(Source):
    """People who appear one after another, alone or in pairs, and move and talk in changing light.

    Parameters
    ----------
    people : int
        From 1 to 8, called as in `NAMES`.
    n_frames : int
    seed : int
        Of the noise and the paths; the people stay the same.

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
        """Yield the frames."""
        assert self.n_frames is not None
        for number in range(1, self.n_frames + 1):
            yield Frame(number, (number - 1) / self.frames_per_second, self.image(number))

    def close(self) -> None:
        """Do nothing: no file is open."""

    def image(self, number: int) -> Image:
        """Return the image of a frame."""
        shades = np.full((HEIGHT_PIXELS, WIDTH_PIXELS), BACKGROUND_SHADE)
        for face in self.truth(number):
            assert face.name is not None
            person = NAMES.index(face.name)
            talking = sin(2 * pi * number / 11 + person)
            _paint(shades, make_features(SEEDS[person]), face.box, talking)
        random = np.random.default_rng((self.seed, number))
        light = 1.0 + 0.15 * sin(2 * pi * number / 170)
        return _convert_to_image(shades * light + random.normal(0.0, NOISE_DEVIATION, shades.shape))

    def truth(self, number: int) -> tuple[NamedBox, ...]:
        """Return the faces of a frame."""
        people = self._list_present((number - 1) // TURN_FRAMES)
        places = (0.5,) if len(people) == 1 else (0.27, 0.73)
        return tuple(
            NamedBox(self._place_face(person, place, number), NAMES[person])
            for person, place in zip(people, places, strict=True)
        )

    def _list_present(self, turn: int) -> tuple[int, ...]:
        first = turn % self.people
        second = (first + 1 + turn // 3) % self.people
        return (first,) if turn % 3 != 2 or first == second else (first, second)

    def _place_face(self, person: int, place: float, number: int) -> Box:
        at = number + 17 * person + 29 * self.seed
        side = int(105 + 10 * sin(2 * pi * at / 97))
        x = place * WIDTH_PIXELS + 14 * sin(2 * pi * at / 71) - side / 2
        y = 0.5 * HEIGHT_PIXELS + 12 * sin(2 * pi * at / 53) - side / 2
        return Box(int(x), int(y), side, side)


def _paint(shades: Floats, looks: Features, box: Box, talking: float) -> None:
    """Paint a face of soft ellipses, one over the other."""
    part = shades[box.y : box.y + box.height, box.x : box.x + box.width]
    y, x = np.mgrid[0 : box.height, 0 : box.width] / (box.width - 1.0)

    def ellipse(
        at: tuple[float, float], radii: tuple[float, float], shade: float, soft: float, ink: float
    ) -> None:
        away = np.hypot((x - at[0]) / radii[0], (y - at[1]) / radii[1])
        cover = ink * np.clip((1.0 - away) / soft + 0.5, 0.0, 1.0)
        part[:] = part * (1.0 - cover) + shade * cover

    skin, width, fringe = looks.skin, looks.width, looks.fringe / 4
    ellipse((0.5, 0.45), (1.15 * width, 0.48), looks.hair, 0.06, 1.0)
    ellipse((0.5, 0.52 + fringe), (width, 0.46 - fringe), skin, 0.06, 1.0)
    if looks.beard:
        ellipse((0.5, 0.85), (0.75 * width, 0.18), looks.hair + 0.1, 0.5, 1.0)
    for at in (0.5 - looks.eye_apart, 0.5 + looks.eye_apart):
        ellipse((at, looks.eye_height), (0.11, 0.075), skin - 0.35, 0.8, 0.7)
        ellipse((at, looks.eye_height), (0.075, 0.035), 0.95 * skin, 0.3, 1.0)
        ellipse((at, looks.eye_height), (0.035, 0.035), 0.05, 0.3, 1.0)
        ellipse((at, looks.eye_height - 0.09), (0.10, 0.022), looks.brow, 0.5, 1.0)
    ellipse((0.5, 0.56), (0.6 * looks.nose, 0.14), skin + 0.15, 1.0, 0.6)
    ellipse((0.5, 0.66), (1.4 * looks.nose, 0.03), skin - 0.3, 0.8, 0.7)
    ellipse((0.5, looks.mouth_height), (looks.mouth, 0.035 + 0.01 * talking), skin - 0.4, 0.5, 1.0)


def _convert_to_image(shades: Floats) -> Image:
    return (shades[:, :, None] * (255.0 * TINT)).clip(0, 255).round().astype(np.uint8)
