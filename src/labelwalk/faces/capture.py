"""Videos and cameras, opened by OpenCV without its chatter."""

from __future__ import annotations

import os

import cv2
import numpy as np

from labelwalk.faces.image import Image, SourceError, check_size

PATIENCE = 10_000  # milliseconds that an address may take to answer, and a stream to go on
TIMES = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, PATIENCE, cv2.CAP_PROP_READ_TIMEOUT_MSEC, PATIENCE]
TEXT = cv2.VideoWriter.fourcc(*"ansi")  # FFmpeg makes a film of letters out of any text
FASTEST = 1000.0  # frames a second; what is above says nothing

# Both print of damage, and of cameras that are not there, to standard error. What matters is told
# by exceptions; whoever wants the rest sets these variables. FFmpeg's is read at its first use.
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
if "OPENCV_LOG_LEVEL" not in os.environ:
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


class Capture:
    """An open video, camera or address.

    Parameters
    ----------
    where : str or int
        A path, an address, or the number of a camera.
    name : str
        What it is called in messages.
    unusable : str
        What is said where it cannot be opened.

    Raises
    ------
    SourceError
        It cannot be opened, or its pictures would be too large.
    """

    def __init__(self, where: str | int, name: str, unusable: str) -> None:
        self.name = name
        if isinstance(where, int):
            self._opened = cv2.VideoCapture(where)
        elif where.startswith("/dev/"):
            self._opened = cv2.VideoCapture(where, cv2.CAP_V4L2)
        else:
            self._opened = cv2.VideoCapture(where, cv2.CAP_FFMPEG, TIMES)
        if not self._opened.isOpened() or self._is_text():
            self.close()
            raise SourceError(unusable)
        width, height = (
            self._opened.get(what) for what in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)
        )
        check_size(width, height, name)

    @property
    def n_frames(self) -> int | None:
        """How many frames there are; None where that is not known."""
        declared = self._opened.get(cv2.CAP_PROP_FRAME_COUNT)
        return int(declared) if 1 <= declared < 2**53 else None

    @property
    def frames_per_second(self) -> float | None:
        """How many frames a second has; None where that is not known."""
        declared = self._opened.get(cv2.CAP_PROP_FPS)
        return float(declared) if 0 < declared <= FASTEST else None

    @property
    def seconds(self) -> float:
        """When the last frame is shown."""
        return max(0.0, float(self._opened.get(cv2.CAP_PROP_POS_MSEC)) / 1000.0)

    def keep_no_backlog(self) -> None:
        """Ask a camera to hold one frame; not all can, and those go on as they are."""
        self._opened.set(cv2.CAP_PROP_BUFFERSIZE, 1)

    def read(self) -> Image | None:
        """Return the next picture; None where there is none, or none that can be decoded.

        Raises
        ------
        SourceError
            It is too large.
        """
        try:
            read, image = self._opened.read()
        except cv2.error:
            return None
        if not read or image is None:
            return None
        height, width = image.shape[:2]
        check_size(width, height, self.name)
        return np.asarray(image, np.uint8)

    def close(self) -> None:
        """Let go of it."""
        self._opened.release()

    def _is_text(self) -> bool:
        return int(self._opened.get(cv2.CAP_PROP_FOURCC)) == TEXT
