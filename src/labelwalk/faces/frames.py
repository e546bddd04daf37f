"""Images, boxes in images and frames of a stream: the data types that the other modules share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwalk._validation import check_number
from labelwalk.errors import LabelwalkError

Image: TypeAlias = NDArray[np.uint8]
"""An array of height × width × 3: blue, green and red from 0 to 255."""

MAX_PIXELS = 2**26  # 8192 × 8192: more than 8K, and 200 MB when decoded


class SourceError(LabelwalkError, OSError):
    """A source of frames cannot be used, or ended early."""


class NoFrameError(LabelwalkError, OSError):
    """The camera of the service has no current frame."""


class Box(NamedTuple):
    """A rectangle in pixels: its top left corner and its size."""

    x: int
    y: int
    width: int
    height: int

    @property
    def area(self) -> int:
        """Number of pixels; 0 if empty."""
        return max(0, self.width) * max(0, self.height)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One image of a stream."""

    number: int  # counts from 1. A live source also counts the frames that it skipped
    seconds: float  # since the start of the video, or since a live source was opened
    image: Image
    scale: float = 1.0  # size of `image` relative to the original; boxes are in pixels of `image`


class Closing:
    """A context manager that closes itself."""

    def close(self) -> None:
        """Release files and devices, if any."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Source(Closing, ABC):
    """A sequence of frames that can be iterated once; a context manager."""

    name: str  # for messages
    n_frames: int | None = None  # number of frames if known; some video formats only estimate it
    frames_per_second: float | None = None
    live: bool = False  # whether frames are lost while the consumer is busy

    @abstractmethod
    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames; raise `SourceError` after the last readable one."""


def check_size(width: float, height: float, name: str) -> None:
    """Raise `SourceError` if an image would have too many pixels, or none."""
    if not (width >= 1 and height >= 1):
        raise SourceError(f"{name} has images of {width:.0f} × {height:.0f} pixels.")
    if width * height > MAX_PIXELS:
        raise SourceError(
            f"{name} has {width:.0f} × {height:.0f} pixels, more than the maximum of "
            f"{MAX_PIXELS}. Reduce its size first."
        )


def check_image(image: object) -> None:
    """Raise `ValueError` if an object is not an image."""
    if not isinstance(image, np.ndarray):
        problem = type(image).__name__
    elif image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        problem = f"{image.dtype} of shape {image.shape}"
    else:
        return
    raise ValueError(
        f"image is {problem}, not an array of height × width × 3 in uint8. Pass the image of a "
        "frame, or a part of it."
    )


def compute_overlap(a: Box, b: Box) -> float:
    """Return the intersection of two boxes over their union."""
    width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    common = max(0, width) * max(0, height)
    return common / (a.area + b.area - common) if common else 0.0


def scale_box(box: Box, factor: float) -> Box:
    """Return a box in an image that is larger or smaller by a factor."""
    return Box(*(round(value * factor) for value in box))


def crop_box(image: Image, box: Box, margin: float = 0.0) -> Image:
    """Return the part of an image in a box, with a margin on each side."""
    check_image(image)
    check_number("margin", margin, 0.0, 2.0, "0.5")
    height, width = image.shape[:2]
    is_inside = compute_overlap(box, Box(0, 0, width, height)) > 0.0
    if box.width > width or box.height > height or not is_inside:
        raise ValueError(
            f"box={tuple(box)} is outside the image of {width} × {height} pixels. Pass x, y, width "
            "and height in pixels of this image."
        )
    margin_x, margin_y = round(margin * box.width), round(margin * box.height)
    columns = np.arange(box.x - margin_x, box.x + box.width + margin_x).clip(0, width - 1)
    rows = np.arange(box.y - margin_y, box.y + box.height + margin_y).clip(0, height - 1)
    crop: Image = image[rows[:, None], columns]
    return crop
