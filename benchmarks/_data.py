"""Real streams with four labels a class, from a folder of NPZ files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LABELS_PER_CLASS = 4
SEGMENTS = 10  # of each person's frames, interleaved


class LabelledStream(NamedTuple):
    """What is taught first, and the stream after it, with its truth."""

    taught: NDArray[Any]
    labels: list[int]
    rows: NDArray[Any]
    truth: NDArray[Any]


def split(X: NDArray[Any], y: NDArray[Any], order: NDArray[Any]) -> LabelledStream:
    """Teach the first four examples of each class; the rest, in order, is the stream."""
    X, codes = X[order].astype(float), np.unique(y[order], return_inverse=True)[1]
    first = np.zeros(len(codes), dtype=bool)
    for c in range(codes.max() + 1):
        first[np.flatnonzero(codes == c)[:LABELS_PER_CLASS]] = True
    return LabelledStream(X[first], codes[first].tolist(), X[~first], codes[~first])


def z_scored(X: NDArray[Any]) -> NDArray[Any]:
    """Centre and scale by the first 200 rows."""
    spread = X[:200].std(axis=0)
    return (X - X[:200].mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def optdigits(folder: Path, seed: int) -> LabelledStream:
    z = np.load(folder / "optdigits/optdigits.npz")
    X, y = np.r_[z["X_tra"], z["X_tes"]], np.r_[z["y_tra"], z["y_tes"]]
    return split(X, y, np.random.default_rng(seed).permutation(len(y)))


def letter(folder: Path, seed: int) -> LabelledStream:
    z = np.load(folder / "letter/letter.npz")
    return split(z["X"], z["y"], np.random.default_rng(seed).permutation(20_000)[:6_000])


def faces(folder: Path, seed: int) -> LabelledStream:
    """The eight people with most faces, in ten segments each, one person after another."""
    z = np.load(folder / "face_streams/otb_haar_faces_dlib128.npz")
    return split(z["emb"], z["person"], face_order(z["person"]))


def face_order(person: NDArray[Any]) -> NDArray[Any]:
    ids, counts = np.unique(person[person >= 0], return_counts=True)
    most = ids[np.argsort(-counts, kind="stable")][:8]
    parts = [np.array_split(np.flatnonzero(person == one), SEGMENTS) for one in most]
    return np.concatenate([parts[i][s] for s in range(SEGMENTS) for i in range(8)])


def outdoor(folder: Path, seed: int) -> LabelledStream:
    z = np.load(folder / "outdoor_objects/outdoor.npz")
    return split(z_scored(z["X"]), z["y"], np.arange(len(z["y"])))


def keystroke(folder: Path, seed: int) -> LabelledStream:
    z = np.load(folder / "keystroke/keystroke.npz")
    return split(z_scored(z["X"]), z["y"], np.arange(len(z["y"])))


def elec2(folder: Path, seed: int) -> LabelledStream:
    """Without the date; the rest comes scaled."""
    z = np.load(folder / "elec2/elec2.npz")
    return split(z["X"][:10_000, 1:], z["y"][:10_000], np.arange(10_000))


def face_pixels(folder: Path, seed: int) -> LabelledStream:
    """The same faces as 16 × 16 pixels, each of mean 0 and variance 1."""
    z = np.load(folder / "face_streams/otb_haar_faces_64.npz")
    small = z["faces"].reshape(-1, 16, 4, 16, 4).mean(axis=(2, 4)).reshape(len(z["faces"]), -1)
    small = (small - small.mean(axis=1, keepdims=True)) / small.std(axis=1, keepdims=True)
    return split(small, z["person"], face_order(z["person"]))


def outdoor_shuffled(folder: Path, seed: int) -> LabelledStream:
    z = np.load(folder / "outdoor_objects/outdoor.npz")
    order = np.random.default_rng(seed).permutation(len(z["y"]))
    return split(z_scored(z["X"][order]), z["y"][order], np.arange(len(order)))


def keystroke_shuffled(folder: Path, seed: int) -> LabelledStream:
    z = np.load(folder / "keystroke/keystroke.npz")
    order = np.random.default_rng(seed).permutation(len(z["y"]))
    return split(z_scored(z["X"][order]), z["y"][order], np.arange(len(order)))


def elec2_later(folder: Path, seed: int) -> LabelledStream:
    z = np.load(folder / "elec2/elec2.npz")
    return split(z["X"][10_000:20_000, 1:], z["y"][10_000:20_000], np.arange(10_000))


Loader = Callable[[Path, int], LabelledStream]
