"""Real streams with four labels a class, from a folder of NPZ files."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paper.datasets import FACE_PIXELS, interleave_people, load, scale_by_first_rows
from paper.evaluation import Stream, labels_first

Array = NDArray[Any]


class LabelledStream(NamedTuple):
    """What is taught first, and the stream after it, with its truth."""

    whole: Stream
    taught: Array
    labels: list[int]
    rows: Array
    truth: Array


Loader = Callable[[Path, int], LabelledStream]


def split(X: Array, y: Array) -> LabelledStream:
    """Teach the first four examples of each class; the rest, in order, is the stream."""
    whole = rows, truth, taught = labels_first(X, y)
    labels = truth[taught].tolist()
    return LabelledStream(whole, rows[taught], labels, rows[~taught], truth[~taught])


def draw_order(seed: int, n: int) -> Array:
    return np.random.default_rng(seed).permutation(n)


def load_in_order(
    name: str, folder: Path, seed: int, start: int = 0, stop: int | None = None
) -> LabelledStream:
    data = load(name, folder)
    return split(data.X[start:stop], data.y[start:stop])


def load_shuffled(
    name: str, folder: Path, seed: int, n: int | None = None, *, scaled: bool = False
) -> LabelledStream:
    """Shuffle the rows, take the first n, and perhaps scale them again by those that come first."""
    data = load(name, folder)
    order = draw_order(seed, len(data.y))[:n]
    X = data.X[order]
    return split(scale_by_first_rows(X) if scaled else X, data.y[order])


def face_pixels(folder: Path, seed: int) -> LabelledStream:
    """Faces as 16 × 16 pixels, each of mean 0 and variance 1."""
    z = np.load(folder / FACE_PIXELS[0])
    small = z["faces"].reshape(-1, 16, 4, 16, 4).mean(axis=(2, 4)).reshape(len(z["faces"]), -1)
    small = (small - small.mean(axis=1, keepdims=True)) / small.std(axis=1, keepdims=True)
    order, person = interleave_people(z["person"])
    return split(small[order], person)


optdigits: Loader = partial(load_shuffled, "optdigits")
letter: Loader = partial(load_shuffled, "letter", n=6_000)
faces: Loader = partial(load_in_order, "office")
outdoor: Loader = partial(load_in_order, "outdoor")
keystroke: Loader = partial(load_in_order, "keystroke")
outdoor_shuffled: Loader = partial(load_shuffled, "outdoor", scaled=True)
keystroke_shuffled: Loader = partial(load_shuffled, "keystroke", scaled=True)
elec2: Loader = partial(load_in_order, "elec2", stop=10_000)
elec2_later: Loader = partial(load_in_order, "elec2", start=10_000, stop=20_000)
