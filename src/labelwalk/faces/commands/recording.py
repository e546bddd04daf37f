"""What was seen, as a video with names in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labelwalk.faces.closing import Closing

if TYPE_CHECKING:
    from labelwalk.faces.drawing import Caption
    from labelwalk.faces.frames import Frame, Source
    from labelwalk.faces.image import Image
    from labelwalk.faces.onlooker import Face
    from labelwalk.faces.writing import VideoFile

USUAL, SLOWEST = 25.0, 0.1  # frames a second, where a source does not say, and that can be written


class Recording(Closing):
    """A video that begins with the first frame, in its size; a context manager that finishes it.

    A live source skips frames: each is shown until the next one came, so that time is real.

    Parameters
    ----------
    path : str
    source : Source

    Raises
    ------
    SourceError
        The path does not name a video.
    """

    def __init__(self, path: str, source: Source) -> None:
        from labelwalk.faces.writing import check_named_as_video

        check_named_as_video(path)
        self._path, self._live = path, source.live
        self._rate = max(SLOWEST, source.frames_per_second or USUAL)
        self._file: VideoFile | None = None
        self._size, self._begun, self._written = (0, 0), 0.0, 0
        self._newest: Image | None = None

    @property
    def has_begun(self) -> bool:
        """Whether there is a video."""
        return self._file is not None

    def add(self, frame: Frame, faces: Sequence[Face]) -> None:
        """Add a frame, with boxes and names drawn onto it."""
        from labelwalk.faces.drawing import drawn
        from labelwalk.faces.shrinking import framed
        from labelwalk.faces.writing import VideoFile

        image = drawn(frame.image, map(_caption, faces))
        if self._file is None:
            self._size, self._begun = (image.shape[1], image.shape[0]), frame.seconds
            self._file = VideoFile(self._path, self._rate, self._size)
        due = round((frame.seconds - self._begun) * self._rate) if self._live else self._written
        while self._newest is not None and self._written < due:
            self._write(self._newest)
        self._newest = framed(image, *self._size)
        if self._written <= due:
            self._write(self._newest)

    def close(self) -> None:
        """Finish the video, if there is one."""
        if self._file is not None:
            self._file.close()

    def _write(self, image: Image) -> None:
        assert self._file is not None
        self._file.write(image)
        self._written += 1


def _caption(face: Face) -> Caption:
    from labelwalk.faces.drawing import Caption

    confidence = None if face.name is None else face.confidence
    return Caption(face.box, face.name, confidence, face.stranger)
