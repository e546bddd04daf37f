"""Faces found by OpenCV's cascades of Haar features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import cv2
import numpy as np
from cv2.data import haarcascades

from labelwalk.faces.boxes import Box, scaled
from labelwalk.faces.image import Image, check_image
from labelwalk.parameters import check_number, check_whole

Detector: TypeAlias = Callable[[Image], Sequence[Box]]
"""Whatever finds faces in a picture."""

FACES, EYES = "haarcascade_frontalface_default.xml", "haarcascade_eye.xml"
SHARE = 6  # a face of a sixth of the shorter side is large enough to be meant
LEAST = 20  # pixels; the cascade was trained with 24
DETAIL = 480  # pixels of the shorter side: with more, a search takes longer than a camera waits
UPPER = 0.6  # of a face: where eyes are


class HaarDetector:
    """Find faces that look at the camera.

    The same picture gives the same boxes, whatever number of threads OpenCV uses.

    Parameters
    ----------
    smallest : int, optional
        Faces of fewer pixels a side are not looked for. The default is a sixth of the shorter side
        of the picture, as of people at a desk; half of it also finds those across the room, and
        takes nearly twice the time. Pictures of more than 480 pixels a side are shrunk for the
        search, in which a face has 20 at least.
    step : float
        By which factor the sizes that are tried differ. 1.2 is twice as fast, and finds less.
    neighbours : int
        How many hits close to each other make a face; fewer find more, false ones too.
    eyes : bool
        Whether to drop faces in which no eye is found. That drops most false ones, and faces in
        profile, blurred or with closed eyes.
    most : int
        How many faces are given at most, the largest first.

    Examples
    --------
    >>> from labelwalk.faces.demo import scene
    >>> len(HaarDetector()(scene(people=[3, 7])))
    2
    """

    def __init__(
        self,
        *,
        smallest: int | None = None,
        step: float = 1.1,
        neighbours: int = 5,
        eyes: bool = False,
        most: int = 50,
    ) -> None:
        if smallest is not None:
            check_whole("smallest", smallest, "40", least=LEAST, most=10_000)
        check_number("step", step, 1.01, 2.0, "1.1")
        check_whole("neighbours", neighbours, "5", least=1, most=100)
        check_whole("most", most, "50", least=1, most=1000)
        self.smallest, self.step, self.neighbours = smallest, step, neighbours
        self.eyes, self.most = eyes, most
        self._faces, self._eyes = _cascade(FACES), _cascade(EYES) if eyes else None
        self._one_at_a_time = Lock()  # a cascade has room for the picture it searches

    def __call__(self, image: Image) -> list[Box]:
        """Return where faces are, the largest first."""
        check_image(image)
        shorter = min(image.shape[:2])
        scale = min(1.0, DETAIL / shorter)
        grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        if scale < 1.0:
            grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        smallest = self.smallest or max(LEAST, shorter // SHARE)
        least = max(LEAST, round(smallest * scale))
        with self._one_at_a_time:
            found = self._faces.detectMultiScale(
                grey, self.step, self.neighbours, minSize=(least, least)
            )
            boxes = [Box(*map(int, one)) for one in found]
            if self._eyes is not None:
                boxes = [box for box in boxes if _has_eye(self._eyes, grey, box)]
        boxes.sort(key=lambda box: (-box.area, box.y, box.x))
        return [scaled(box, 1.0 / scale) for box in boxes[: self.most]]


def _cascade(file: str) -> cv2.CascadeClassifier:
    path = Path(haarcascades) / file
    cascade = cv2.CascadeClassifier(str(path))
    if cascade.empty():
        raise ValueError(f"{path} is missing or damaged: pip install 'labelwalk[faces]' again.")
    return cascade


def _has_eye(cascade: cv2.CascadeClassifier, grey: np.ndarray[Any, Any], box: Box) -> bool:
    upper = grey[box.y : box.y + round(UPPER * box.height), box.x : box.x + box.width]
    return len(cascade.detectMultiScale(upper)) > 0
