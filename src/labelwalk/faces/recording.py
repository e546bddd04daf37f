"""Video files: write frames, and record a stream with boxes and names in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import cv2

from labelwalk._validation import check_number
from labelwalk.faces.capture import COMPLETE_SHARE, MAX_FRAMES_PER_S, Capture
from labelwalk.faces.drawing import Caption, draw_faces
from labelwalk.faces.frames import (
    Closing,
    Frame,
    Image,
    Source,
    SourceError,
    check_image,
    check_size,
)
from labelwalk.faces.pictures import pad_to_size
from labelwalk.faces.pipeline import Face

CODECS = {".mp4": "mp4v", ".webm": "VP80", ".avi": "MJPG", ".mkv": "VP80"}
MIN_FRAMES_PER_S, DEFAULT_FRAMES_PER_S = 0.1, 25.0
_STDERR_LOCK = Lock()


class VideoFile(Closing):
    """A video file that is being written; a context manager that finishes it.

    Parameters
    ----------
    path : str or path
        .mp4, .webm, .mkv or .avi. An existing file is overwritten.
    frames_per_second : float
    size : (int, int)
        Width and height of all frames. Codecs need even numbers: of an odd one, a row or column is
        cut off.

    Raises
    ------
    SourceError
        The file cannot be written.
    """

    def __init__(
        self, path: str | os.PathLike[str], frames_per_second: float, size: tuple[int, int]
    ) -> None:
        check_video_path(path)
        self._path, self._size, self._n_written = Path(path), size, 0
        check_number(
            "frames_per_second", frames_per_second, MIN_FRAMES_PER_S, MAX_FRAMES_PER_S, "25.0"
        )
        check_size(*size, f"size={size}")
        codec = cv2.VideoWriter.fourcc(*CODECS[self._path.suffix.lower()])
        with _silence_stderr():
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
        self._n_written += 1

    def close(self) -> None:
        """Finish the file and read it: the codecs do not report a full disk."""
        if not self._writer.isOpened():
            return
        self._writer.release()
        problem = f"{self._path} could not be written whole. Is the disk full?"
        if self._n_written:
            capture = Capture(str(self._path.absolute()), str(self._path), problem)
            n_frames = capture.n_frames or 0
            capture.close()
            if n_frames < COMPLETE_SHARE * self._n_written:
                raise SourceError(problem)


class Recording(Closing):
    """A video of a stream with boxes and names; it starts at the first frame, in its size.

    A live source skips frames: each frame is repeated until the time of the next one.
    """

    def __init__(self, path: str, source: Source) -> None:
        check_video_path(path)
        self._path, self._live = path, source.live
        self._rate = max(MIN_FRAMES_PER_S, source.frames_per_second or DEFAULT_FRAMES_PER_S)
        self._file: VideoFile | None = None
        self._size, self._start_s, self._n_written = (0, 0), 0.0, 0
        self._newest: Image | None = None

    @property
    def has_started(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    def add(self, frame: Frame, faces: Sequence[Face]) -> None:
        """Add a frame with its faces."""
        captions = []
        for face in faces:
            confidence = None if face.name is None else face.confidence
            captions.append(Caption(face.box, face.name, confidence, face.stranger))
        image = draw_faces(frame.image, captions)
        if self._file is None:
            self._size, self._start_s = (image.shape[1], image.shape[0]), frame.seconds
            self._file = VideoFile(self._path, self._rate, self._size)
        n_due = self._n_written
        if self._live:
            n_due = round((frame.seconds - self._start_s) * self._rate)
        while self._newest is not None and self._n_written < n_due:
            self._write(self._file, self._newest)
        self._newest = pad_to_size(image, *self._size)
        if self._n_written <= n_due:
            self._write(self._file, self._newest)

    def close(self) -> None:
        """Finish the file, if there is one."""
        if self._file is not None:
            self._file.close()

    def _write(self, file: VideoFile, image: Image) -> None:
        file.write(image)
        self._n_written += 1


def check_video_path(path: str | os.PathLike[str]) -> None:
    """Raise `SourceError` if the suffix of a path is not one of a video."""
    if Path(path).suffix.lower() not in CODECS:
        raise SourceError(f"{path} is not named as a video. Choose {', '.join(CODECS)}.")


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Redirect standard error to nowhere: OpenCV prints about codecs at any log level."""
    with _STDERR_LOCK:  # else two threads would restore each other's file
        null, saved = os.open(os.devnull, os.O_WRONLY), os.dup(2)
        try:
            os.dup2(null, 2)
            yield
        finally:
            os.dup2(saved, 2)
            os.close(null)
            os.close(saved)
