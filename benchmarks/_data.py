"""Real streams with four labels a class, from a folder of NPZ files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.datasets import FACE_PIXELS, interleave_people, load, scale_by_first_rows
from paper.evaluation import Stream, labels_first


@dataclass(frozen=True)
class LabelledStream:
    """What is taught first, and the stream after it, with its truth."""

    whole: Stream

    @property
    def taught(self) -> NDArray[Any]:
        return self.whole.rows[~self.whole.answered]

    @property
    def labels(self) -> list[int]:
        return self.whole.truth[~self.whole.answered].tolist()

    @property
    def rows(self) -> NDArray[Any]:
        return self.whole.rows[self.whole.answered]

    @property
    def truth(self) -> NDArray[Any]:
        return self.whole.truth[self.whole.answered]


def split(X: NDArray[Any], y: NDArray[Any]) -> LabelledStream:
    """Teach the first four examples of each class; the rest, in order, is the stream."""
    return LabelledStream(labels_first(X, y))


def shuffled(seed: int, n: int) -> NDArray[Any]:
    return np.random.default_rng(seed).permutation(n)


def optdigits(folder: Path, seed: int) -> LabelledStream:
    data = load("optdigits", folder)
    order = shuffled(seed, len(data.y))
    return split(data.X[order], data.y[order])


def letter(folder: Path, seed: int) -> LabelledStream:
    data = load("letter", folder)
    order = shuffled(seed, len(data.y))[:6_000]
    return split(data.X[order], data.y[order])


def faces(folder: Path, seed: int) -> LabelledStream:
    data = load("office", folder)
    return split(data.X, data.y)


def face_pixels(folder: Path, seed: int) -> LabelledStream:
    """The same faces as 16 × 16 pixels, each of mean 0 and variance 1."""
    z = np.load(folder / FACE_PIXELS[0])
    small = z["faces"].reshape(-1, 16, 4, 16, 4).mean(axis=(2, 4)).reshape(len(z["faces"]), -1)
    small = (small - small.mean(axis=1, keepdims=True)) / small.std(axis=1, keepdims=True)
    order, person = interleave_people(z["person"])
    return split(small[order], person)


def outdoor(folder: Path, seed: int) -> LabelledStream:
    data = load("outdoor", folder)
    return split(data.X, data.y)


def keystroke(folder: Path, seed: int) -> LabelledStream:
    data = load("keystroke", folder)
    return split(data.X, data.y)


def outdoor_shuffled(folder: Path, seed: int) -> LabelledStream:
    return _scaled_again("outdoor", folder, seed)


def keystroke_shuffled(folder: Path, seed: int) -> LabelledStream:
    return _scaled_again("keystroke", folder, seed)


def elec2(folder: Path, seed: int) -> LabelledStream:
    data = load("elec2", folder)
    return split(data.X[:10_000], data.y[:10_000])


def elec2_later(folder: Path, seed: int) -> LabelledStream:
    data = load("elec2", folder)
    return split(data.X[10_000:20_000], data.y[10_000:20_000])


def _scaled_again(name: str, folder: Path, seed: int) -> LabelledStream:
    """Shuffled, and scaled on the rows that then come first."""
    data = load(name, folder)
    order = shuffled(seed, len(data.y))
    return split(scale_by_first_rows(data.X[order]), data.y[order])


Loader = Callable[[Path, int], LabelledStream]
