"""Face detection: all faces of an image, and the main face of a portrait."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import cv2
import numpy as np
from cv2.data import haarcascades

from labelwalk._validation import check_number, check_whole
from labelwalk.arrays import Floats
from labelwalk.errors import LabelwalkError
from labelwalk.faces.capture import open_source
from labelwalk.faces.frames import Box, Image, SourceError, check_image, scale_box
from labelwalk.faces.pictures import is_picture, read_picture
from labelwalk.faces.representations import Representation, vector_of

Detector: TypeAlias = Callable[[Image], Sequence[Box]]
"""A function from an image to the boxes of its faces."""

FACE_CASCADE, EYE_CASCADE = "haarcascade_frontalface_default.xml", "haarcascade_eye.xml"
MIN_SHARE = 6  # by default, faces of at least a sixth of the shorter side are found
MIN_FACE_PIXELS = 20  # a side; the cascade was trained with 24
SEARCH_SIDE_PIXELS = 480  # larger images are shrunk: else a search is slower than a camera
EYE_SHARE = 0.6  # upper part of a face that is searched for eyes
PORTRAIT_RATIO = 2.0  # a portrait has no other face of more than half the area
PORTRAIT_FRAMES = 24  # frames of a video that are searched, evenly spaced
FRAME_STEP = 12  # between two of them if the length is unknown


class NoPortraitError(LabelwalkError, ValueError):
    """An image shows no face, or none that is clearly the largest."""


@dataclass(kw_only=True, eq=False)
class HaarDetector:
    """Find faces that look at the camera with OpenCV's cascades of Haar features.

    Equal images give equal boxes, for any number of threads of OpenCV.

    Parameters
    ----------
    smallest : int, optional
        Size in pixels of the smallest faces that are found. The default is a sixth of the shorter
        side of the image, as of people at a desk; half of it also finds those across the room, and
        takes nearly twice the time. Larger images are shrunk to 480 pixels a side for the search,
        in which a face needs 20.
    step : float
        Ratio of two sizes that are tried. 1.2 is twice as fast, and finds fewer faces.
    neighbours : int
        Number of overlapping hits that make a face; fewer find more faces, and more false ones.
    eyes : bool
        Whether to drop faces without a visible eye: most false ones, and faces in profile, blurred
        or with closed eyes.
    most : int
        Maximum number of faces, largest first.

    Examples
    --------
    >>> from labelwalk.faces.demo import DemoVideo
    >>> len(HaarDetector()(DemoVideo().image(150)))
    2
    """

    smallest: int | None = None
    step: float = 1.1
    neighbours: int = 5
    eyes: bool = False
    most: int = 50

    def __post_init__(self) -> None:
        if self.smallest is not None:
            check_whole("smallest", self.smallest, "40", least=MIN_FACE_PIXELS, most=10_000)
        check_number("step", self.step, 1.01, 2.0, "1.1")
        check_whole("neighbours", self.neighbours, "5", least=1, most=100)
        check_whole("most", self.most, "50", least=1, most=1000)
        self._face_cascade = _load_cascade(FACE_CASCADE)
        self._eye_cascade = _load_cascade(EYE_CASCADE) if self.eyes else None
        self._lock = Lock()  # a cascade holds the image that it searches

    def __call__(self, image: Image) -> list[Box]:
        """Return the boxes of the faces, largest first."""
        check_image(image)
        shorter = min(image.shape[:2])
        scale = min(1.0, SEARCH_SIDE_PIXELS / shorter)
        grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        if scale < 1.0:
            grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        smallest = self.smallest or max(MIN_FACE_PIXELS, shorter // MIN_SHARE)
        side = max(MIN_FACE_PIXELS, round(smallest * scale))
        with self._lock:
            rectangles = self._face_cascade.detectMultiScale(
                grey, self.step, self.neighbours, minSize=(side, side)
            )
            boxes = [Box(*map(int, rectangle)) for rectangle in rectangles]
            if self._eye_cascade is not None:
                boxes = [box for box in boxes if _has_eye(self._eye_cascade, grey, box)]
        boxes.sort(key=lambda box: (-box.area, box.y, box.x))
        return [scale_box(box, 1.0 / scale) for box in boxes[: self.most]]


def _load_cascade(file: str) -> cv2.CascadeClassifier:
    path = Path(haarcascades) / file
    cascade = cv2.CascadeClassifier(str(path))
    if cascade.empty():
        raise ValueError(f"{path} is missing or damaged. Reinstall: pip install 'labelwalk[faces]'")
    return cascade


def _has_eye(cascade: cv2.CascadeClassifier, grey: np.ndarray[Any, Any], box: Box) -> bool:
    upper = grey[box.y : box.y + round(EYE_SHARE * box.height), box.x : box.x + box.width]
    return len(cascade.detectMultiScale(upper)) > 0


def find_portrait(image: Image, detector: Detector) -> Box:
    """Return the largest face of an image, if it is clearly the largest."""
    boxes = detector(image)
    if not boxes:
        raise NoPortraitError(
            "no face was found. Use a picture with a large face that looks at the camera."
        )
    largest = max(boxes, key=lambda box: box.area)
    n = sum(PORTRAIT_RATIO * box.area > largest.area for box in boxes)
    if n > 1:
        raise NoPortraitError(
            f"{n} faces of about the same size were found. Crop the picture to one of them."
        )
    return largest


def read_portraits(
    where: str | os.PathLike[str], representation: Representation, detector: Detector
) -> list[Floats]:
    """Return the vectors of the main face of a picture, or of what `open_source` takes.

    Up to 24 frames of a video are searched, and those without a clear face are skipped. Raises
    `NoPortraitError` if there is none in any of them.
    """
    if is_picture(where):
        image = read_picture(where).image
        return [vector_of(image, find_portrait(image, detector), representation)]
    vectors: list[Floats] = []
    n_searched, next_number = 0, 1
    with open_source(where) as source:
        length = source.n_frames
        step = FRAME_STEP if length is None else max(1, length // PORTRAIT_FRAMES)
        for frame in source:
            if frame.number < next_number:
                continue
            n_searched, next_number = n_searched + 1, frame.number + step
            try:
                box = find_portrait(frame.image, detector)
                vectors.append(vector_of(frame.image, box, representation))
            except NoPortraitError as error:
                reason = error
            if n_searched == PORTRAIT_FRAMES:
                break
    if not vectors:
        raise NoPortraitError(
            f"none of {n_searched} frames shows a clear face. Last reason: {reason}"
        )
    return vectors


def read_all_portraits(
    paths: Iterable[str],
    representation: Representation,
    detector: Detector,
    report: Callable[[str], None],
) -> dict[str, list[Floats]]:
    """Return the vectors of each file with a clear face, and report why the others have none."""
    views: dict[str, list[Floats]] = {}
    for path in paths:
        try:
            views[path] = read_portraits(path, representation, detector)
        except NoPortraitError as error:
            report(f"{path}: {error}")
        except SourceError as error:
            report(str(error))
    return views
