"""Frames from video files, cameras and network addresses, read with OpenCV."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from urllib.parse import urlsplit, urlunsplit

import cv2
import numpy as np

from labelwalk.faces.frames import Frame, Image, Source, SourceError, check_size
from labelwalk.faces.pictures import PictureFolder, shrink_to_limit

TIMEOUT_MS = 10_000  # to open an address, and to read the next frame
TIMEOUTS = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, TIMEOUT_MS, cv2.CAP_PROP_READ_TIMEOUT_MSEC, TIMEOUT_MS]
TEXT_CODEC = cv2.VideoWriter.fourcc(*"ansi")  # FFmpeg renders any text file as a video
MAX_FRAMES_PER_S = 1000.0  # a higher declared rate is not believed
COMPLETE_SHARE = 0.95  # of the declared frames and time, which some formats only estimate
ADDRESS = re.compile("(rtsp|rtsps|rtmp|http|https)://", re.I)
CAMERA = re.compile("[0-9]{1,3}|/dev/video[0-9]+")

# OpenCV and FFmpeg print errors to standard error; here exceptions report them. Users who want the
# output set these variables. FFmpeg reads its variable at first use.
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
if "OPENCV_LOG_LEVEL" not in os.environ:
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


class Capture:
    """An open video, camera or address."""

    def __init__(self, where: str | int, name: str, problem: str) -> None:
        self.name = name
        if isinstance(where, int):
            self._device = cv2.VideoCapture(where)
        elif where.startswith("/dev/"):
            self._device = cv2.VideoCapture(where, cv2.CAP_V4L2)
        else:
            self._device = cv2.VideoCapture(where, cv2.CAP_FFMPEG, TIMEOUTS)
        is_text = int(self._device.get(cv2.CAP_PROP_FOURCC)) == TEXT_CODEC
        if not self._device.isOpened() or is_text:
            self.close()
            raise SourceError(problem)
        width = self._device.get(cv2.CAP_PROP_FRAME_WIDTH)
        check_size(width, self._device.get(cv2.CAP_PROP_FRAME_HEIGHT), name)
        n_frames = self._device.get(cv2.CAP_PROP_FRAME_COUNT)
        rate = self._device.get(cv2.CAP_PROP_FPS)
        self.n_frames = int(n_frames) if 1 <= n_frames < 2**53 else None  # as declared
        if self.n_frames is None:  # a camera: not all can buffer one frame only
            self._device.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        self.frames_per_second = rate if 0 < rate <= MAX_FRAMES_PER_S else None

    @property
    def seconds(self) -> float:
        """Time of the last frame."""
        return max(0.0, float(self._device.get(cv2.CAP_PROP_POS_MSEC)) / 1000.0)

    def read(self) -> Image | None:
        """Return the next frame; None at the end, or if it cannot be decoded."""
        try:
            is_read, image = self._device.read()
        except cv2.error:
            return None
        if not is_read or image is None:
            return None
        check_size(image.shape[1], image.shape[0], self.name)
        return np.asarray(image, np.uint8)

    def close(self) -> None:
        """Release the device."""
        self._device.release()


class Video(Source):
    """A recorded video."""

    def __init__(self, capture: Capture) -> None:
        self.name, self._capture = capture.name, capture
        self.n_frames, self.frames_per_second = capture.n_frames, capture.frames_per_second
        self._number, self._seconds, self._is_closed = 0, 0.0, False
        self._first_image = capture.read()
        if self._first_image is None:
            capture.close()
            raise SourceError(f"{self.name} has no frames that can be decoded.")

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames; raise an error at damage, after all frames before it."""
        image, self._first_image = self._first_image, None
        if image is None:
            image = self._capture.read()
        while image is not None:
            self._number += 1
            self._seconds = max(self._seconds, self._capture.seconds)
            yield Frame(self._number, self._seconds, *shrink_to_limit(image))
            image = self._capture.read()
        if self._is_closed or self.n_frames is None or self.frames_per_second is None:
            return
        declared_s = self.n_frames / self.frames_per_second
        shown_s = self._seconds + 1.0 / self.frames_per_second
        if self._number < COMPLETE_SHARE * self.n_frames and shown_s < COMPLETE_SHARE * declared_s:
            raise SourceError(
                f"{self.name} is damaged or truncated: it ends after frame {self._number} of about "
                f"{self.n_frames}."
            )

    def close(self) -> None:
        """Close the file."""
        self._is_closed, self._first_image = True, None
        self._capture.close()


class LiveSource(Source):
    """A camera or an address without an end.

    A thread reads every frame and keeps only the newest one, so there is no backlog.
    """

    live = True

    def __init__(self, capture: Capture) -> None:
        self.name, self._capture = capture.name, capture
        self.frames_per_second = capture.frames_per_second
        self._changed = Condition()
        self._newest: tuple[int, float, Image] | None = None
        self._error: SourceError | None = None
        self._n_read, self._is_closed = 0, False
        self._reader = Thread(target=self._read_all, name="newest frame", daemon=True)
        self._reader.start()

    def __iter__(self) -> Iterator[Frame]:
        """Yield the newest frame, each at most once."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._newest or self._error or self._is_closed)
                newest, self._newest = self._newest, None
            if self._is_closed:
                return
            if newest is None:
                assert self._error is not None
                raise self._error
            number, seconds, image = newest
            yield Frame(number, seconds, *shrink_to_limit(image))

    def close(self) -> None:
        """Close the device after the current read."""
        with self._changed:
            self._is_closed, self._newest = True, None
            self._changed.notify_all()
        self._reader.join(2 * TIMEOUT_MS / 1000.0)

    def _read_all(self) -> None:
        start = monotonic()
        try:
            while not self._is_closed and (image := self._capture.read()) is not None:
                with self._changed:
                    self._n_read += 1
                    self._newest = self._n_read, monotonic() - start, image
                    self._changed.notify_all()
            error = SourceError(
                f"{self.name} stopped after frame {self._n_read}. Check that it is connected and "
                "can be reached, and open it again."
            )
        except SourceError as reason:
            error = reason
        except Exception as reason:  # the consumer must not wait for ever
            error = SourceError(f"{self.name} can no longer be read ({reason}).")
        with self._changed:
            self._error = error
            self._changed.notify_all()
        self._capture.close()


def open_source(where: str | os.PathLike[str]) -> Source:
    """Open a source of frames.

    Parameters
    ----------
    where : str or path
        A video file; a folder of pictures; a camera, as a number or as /dev/video0; or an rtsp://
        or http:// address. Cameras and addresses of unknown length yield the newest frame (live).

    Returns
    -------
    source : Source, to use in a `with`, and to iterate over once

    Raises
    ------
    SourceError
        There is no such source, or it has no frames.

    Examples
    --------
    >>> open_source("nowhere.mp4")
    Traceback (most recent call last):
    labelwalk.faces.frames.SourceError: nowhere.mp4: no such file or folder.
    """
    name = os.fspath(where)
    if ADDRESS.match(name):
        public = _remove_secrets(name)
        problem = "does not return a video. Check that it can be reached from this machine."
        capture = Capture(name, public, f"{public} {problem}")
        return LiveSource(capture) if capture.n_frames is None else Video(capture)
    if CAMERA.fullmatch(name):
        problem = (
            f"camera {name} does not exist or is in use by another program. Cameras are numbered "
            "from 0."
        )
        device = int(name) if name.isdigit() else name
        return LiveSource(Capture(device, f"camera {name}", problem))
    path = Path(name)
    if name and path.is_dir():
        return PictureFolder(path)
    if not path.is_file():
        raise SourceError(f"{name}: no such file or folder.")
    if not os.access(path, os.R_OK):
        raise SourceError(f"{name} cannot be read by this user. Check its permissions.")
    problem = f"{name} is not a readable video, or its beginning is damaged."
    return Video(Capture(str(path.absolute()), name, problem))


opened = open_source  # the documented name of version 0.7


def _remove_secrets(address: str) -> str:
    """Return an address without user, password and query."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise SourceError(
            f"this is not a valid address ({error}). Use the form rtsp://host/path."
        ) from error
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
