"""Frames written as a video."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import cv2

from labelwalk.faces.capture import FASTEST, Capture
from labelwalk.faces.closing import Closing
from labelwalk.faces.image import Image, SourceError, check_image, check_size
from labelwalk.parameters import check_number

CODECS = {".mp4": "mp4v", ".webm": "VP80", ".avi": "MJPG", ".mkv": "VP80"}
WHOLE = 0.95  # of the frames: what a disk must have taken
_ONE_AT_A_TIME = Lock()


class VideoFile(Closing):
    """A video that is being written; a context manager that finishes it.

    Parameters
    ----------
    path : str or path
        .mp4, .webm, .mkv or .avi. A file that is there is overwritten.
    frames_per_second : float
    size : (int, int)
        Width and height of all frames. Codecs want even numbers: of odd ones, a row or column is
        left out.

    Raises
    ------
    SourceError
        It cannot be written here.
    """

    def __init__(
        self, path: str | os.PathLike[str], frames_per_second: float, size: tuple[int, int]
    ) -> None:
        check_named_as_video(path)
        self._path, self._size, self._written = Path(path), size, 0
        check_number("frames_per_second", frames_per_second, 0.1, FASTEST, "25.0")
        check_size(*size, f"size={size}")
        codec = cv2.VideoWriter.fourcc(*CODECS[self._path.suffix.lower()])
        with _hushed():
            self._writer = cv2.VideoWriter(
                str(self._path.absolute()), cv2.CAP_FFMPEG, codec, frames_per_second, size
            )
        if not self._writer.isOpened():
            raise SourceError(
                f"{path} cannot be written. See that its folder exists and may be written to, and "
                "that frames have 2 pixels a side or more; if so, choose another kind of video."
            )

    def write(self, image: Image) -> None:
        """Add a frame."""
        check_image(image)
        if (image.shape[1], image.shape[0]) != self._size:
            raise ValueError(
                f"image has {image.shape[1]} × {image.shape[0]} pixels, not the "
                f"{self._size[0]} × {self._size[1]} of this video. Give frames of one source."
            )
        self._writer.write(image)
        self._written += 1

    def close(self) -> None:
        """Finish the video, and see that it is there: the codecs do not tell of a full disk.

        Raises
        ------
        SourceError
            It is not.
        """
        if not self._writer.isOpened():
            return
        self._writer.release()
        unusable = f"{self._path} could not be written whole. Is the disk full?"
        if self._written:
            made = Capture(str(self._path.absolute()), str(self._path), unusable)
            there = made.n_frames or 0
            made.close()
            if there < WHOLE * self._written:
                raise SourceError(unusable)


def check_named_as_video(path: str | os.PathLike[str]) -> None:
    """Refuse a path that does not say which kind of video is to be written.

    Raises
    ------
    SourceError

    Examples
    --------
    >>> check_named_as_video("out.gif")
    Traceback (most recent call last):
    labelwalk.faces.image.SourceError: out.gif is not named as a video. Choose .mp4, ...
    """
    if Path(path).suffix.lower() not in CODECS:
        raise SourceError(f"{path} is not named as a video. Choose {', '.join(CODECS)}.")


@contextmanager
def _hushed() -> Iterator[None]:
    """Point standard error nowhere: OpenCV remarks there on tags of codecs, at any log level."""
    with _ONE_AT_A_TIME:  # else who leaves last would put back what is nowhere
        nowhere, kept = os.open(os.devnull, os.O_WRONLY), os.dup(2)
        try:
            os.dup2(nowhere, 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(nowhere)
            os.close(kept)
