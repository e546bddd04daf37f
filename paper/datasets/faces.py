"""Faces out of twelve videos: eight people in one office, and one man in three places.

Stand-ins, as similar as public data allows, for the two recordings of section 5.2 of the paper,
which were not published. The eight people never met: their videos are cut into segments that take
turns. The man is David of three tracking videos, in an office, in a dark room and a lobby, and
outdoors; all other people, and detections that show no face, are strangers to be left unnamed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from labelwalk.arrays import Floats, Ints
from paper.datasets import files
from paper.datasets.dataset import OUTSIDER, Dataset

PIXELS = ("face_streams/otb_haar_faces_64.npz", "94565f52c4872ebf678842d3f0ff67ea")
VECTORS = ("face_streams/otb_haar_faces_dlib128.npz", "d4c5b28de3c51e9a7d232d7065172947")
OTB = "Haar detections in 12 videos of the tracking benchmark OTB (Wu, Lim and Yang 2013)."
PEOPLE, SEGMENTS = 8, 10
PLACES = ("David2", "David", "Trellis")  # office, dark room and lobby, outdoors
SIDE = 32  # pixels
SMOOTH = 1.0  # pixels of the crop, which has 64


def office(folder: Path | None) -> Dataset:
    """Eight people take turns, as vectors of a face network."""
    data = files.needed(folder, *VECTORS, OTB)
    order, y = taking_turns(data["person"])
    note = "faces of eight people in 12 videos, dlib vectors, ten segments each that take turns"
    return Dataset("office", data["emb"][order].astype(np.float64), y, True, note)


def office_pixels(folder: Path | None) -> Dataset:
    """Eight people take turns, as pixels."""
    data = files.needed(folder, *PIXELS, OTB)
    order, y = taking_turns(data["person"])
    note = "faces of eight people in 12 videos, pixels, ten segments each that take turns"
    return Dataset("office_pixels", prepared(data["faces"][order]), y, True, note)


def places(folder: Path | None) -> Dataset:
    """One man in three places among strangers, as vectors of a face network."""
    data = files.needed(folder, *VECTORS, OTB)
    order, y = among_strangers(data)
    note = "one man in three places among strangers and false detections, dlib vectors"
    return Dataset("places", data["emb"][order].astype(np.float64), y, True, note)


def places_pixels(folder: Path | None) -> Dataset:
    """One man in three places among strangers, as pixels."""
    data = files.needed(folder, *PIXELS, OTB)
    order, y = among_strangers(data)
    note = "one man in three places among strangers and false detections, pixels"
    return Dataset("places_pixels", prepared(data["faces"][order]), y, True, note)


def prepared(faces: NDArray[np.uint8]) -> Floats:
    """Equalise, smooth and shrink faces.

    The distance of two is the root of their mean squared difference, for greys from 0 to 1.

    Examples
    --------
    >>> prepared(np.arange(64 * 64, dtype=np.uint8).reshape(1, 64, 64)).shape
    (1, 1024)
    """
    rows = np.empty((len(faces), SIDE * SIDE))
    block = faces.shape[1] // SIDE
    for i, face in enumerate(faces):
        smooth = gaussian_filter(_equalised(face), SMOOTH)
        rows[i] = smooth.reshape(SIDE, block, SIDE, block).mean(axis=(1, 3)).ravel()
    return rows / SIDE


def _equalised(face: NDArray[np.uint8]) -> Floats:
    """Replace each grey by the share of pixels that are no brighter."""
    shares: Floats = np.cumsum(np.bincount(face.ravel(), minlength=256)) / face.size
    return shares[face]


def taking_turns(person: Ints) -> tuple[Ints, Ints]:
    """Segments of the people with most faces, and who is seen in each frame."""
    people, counts = np.unique(person[person >= 0], return_counts=True)
    most = people[np.argsort(-counts, kind="stable")][:PEOPLE]
    parts = [np.array_split(np.flatnonzero(person == one), SEGMENTS) for one in most]
    order = np.concatenate([parts[i][s] for s in range(SEGMENTS) for i in range(PEOPLE)])
    return order, np.unique(person[order], return_inverse=True)[1].astype(np.int64)


def among_strangers(data: dict[str, NDArray[Any]]) -> tuple[Ints, Ints]:
    """Frames of David, place after place, with strangers at random moments in between."""
    names, person = list(data["seq_names"]), data["person"]
    david = person == list(data["person_names"]).index("david")
    his = [np.flatnonzero(david & (data["seq"] == names.index(place))) for place in PLACES]
    his_rows, strangers = np.concatenate(his), np.flatnonzero(~david)
    random = np.random.default_rng(0)
    is_his = random.permutation(np.arange(len(person)) < len(his_rows))
    order = np.empty(len(person), dtype=np.int64)
    order[is_his], order[~is_his] = his_rows, random.permutation(strangers)
    return order, np.where(is_his, 0, OUTSIDER)
