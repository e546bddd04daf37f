"""The one face that a picture is meant to show, out of pictures, videos and cameras."""

from __future__ import annotations

import os
from collections.abc import Sequence

from labelwalk.arrays import Floats
from labelwalk.faces.boxes import Box
from labelwalk.faces.frames import Source
from labelwalk.faces.haar import Detector
from labelwalk.faces.image import Image
from labelwalk.faces.opening import opened
from labelwalk.faces.pictures import is_picture, read
from labelwalk.faces.representations import Representation, vector_of

LARGER = 2.0  # times the pixels of any other face: then it is the one that is meant
LOOKS = 24  # frames of a video that are looked at, spread over all of it
STEP = 12  # frames between two looks, where it is not known how many there are


class NoPortraitError(ValueError):
    """There is no face, or none that is clearly meant; says which of the two."""


def portrayed(image: Image, detector: Detector) -> Box:
    """Return the largest face of a picture, if it is clearly the largest.

    Raises
    ------
    NoPortraitError

    Examples
    --------
    >>> from labelwalk.faces.demo import scene
    >>> from labelwalk.faces.haar import HaarDetector
    >>> portrayed(scene(people=[3, 7]), HaarDetector())
    Traceback (most recent call last):
    labelwalk.faces.portraits.NoPortraitError: 2 faces of about the same size are found. ...
    """
    return _clearly_largest(detector(image))


def views_of(
    where: str | os.PathLike[str], representation: Representation, detector: Detector
) -> list[Floats]:
    """Return the vectors of the face that a picture shows, or that a video shows again and again.

    Parameters
    ----------
    where : str or path
        A picture, or whatever `opened` takes. Of what is longer, some 24 frames are looked at, and
        those that show no clear face are passed over.
    representation, detector : functions

    Raises
    ------
    NoPortraitError
        There is no face, or none that is clearly meant.
    SourceError
        It cannot be read.
    """
    if is_picture(where):
        image = read(where).image
        return [vector_of(image, portrayed(image, detector), representation)]
    with opened(where) as source:
        return _views_in(source, representation, detector)


def _views_in(source: Source, representation: Representation, detector: Detector) -> list[Floats]:
    step = STEP if source.n_frames is None else max(1, source.n_frames // LOOKS)
    found: list[Floats] = []
    looked, due = 0, 1
    for frame in source:
        if frame.number < due:
            continue
        looked, due = looked + 1, frame.number + step
        try:
            box = portrayed(frame.image, detector)
            found.append(vector_of(frame.image, box, representation))
        except NoPortraitError as error:
            why = error
        if looked == LOOKS:
            break
    if not found:
        raise NoPortraitError(f"in none of {looked} frames. The last time: {why}")
    return found


def _clearly_largest(boxes: Sequence[Box]) -> Box:
    if not boxes:
        raise NoPortraitError(
            "no face is found. Give a picture in which it is large, and looks at the camera."
        )
    largest = max(boxes, key=lambda box: box.area)
    alike = [box for box in boxes if LARGER * box.area > largest.area]
    if len(alike) > 1:
        raise NoPortraitError(
            f"{len(alike)} faces of about the same size are found. Cut out the one that is meant."
        )
    return largest
