"""Recorded videos, frame by frame, and what is said of those that end too early."""

from __future__ import annotations

from collections.abc import Iterator

from labelwalk.faces.capture import Capture
from labelwalk.faces.frames import Frame, Source
from labelwalk.faces.image import Image, SourceError
from labelwalk.faces.shrinking import fitted

WHOLE = 0.95  # of the declared frames and time: some kinds of video only estimate both


class Video(Source):
    """A video with an end.

    Parameters
    ----------
    capture : Capture
        At its first frame.

    Raises
    ------
    SourceError
        It has no frames.
    """

    def __init__(self, capture: Capture) -> None:
        self.name, self._capture = capture.name, capture
        self.n_frames, self.frames_per_second = capture.n_frames, capture.frames_per_second
        self._number, self._seconds, self._closed = 0, 0.0, False
        self._read_ahead = capture.read()
        if self._read_ahead is None:
            capture.close()
            raise SourceError(f"{self.name} has no frames that can be decoded.")

    def __iter__(self) -> Iterator[Frame]:
        """Give frame after frame; those before a damage are given before it is told."""
        while (image := self._next()) is not None:
            self._number += 1
            self._seconds = max(self._seconds, self._capture.seconds)
            yield Frame(self._number, self._seconds, *fitted(image))
        if not self._closed:
            self._check_end()

    def close(self) -> None:
        """Let go of the file."""
        self._closed, self._read_ahead = True, None
        self._capture.close()

    def _next(self) -> Image | None:
        image, self._read_ahead = self._read_ahead, None
        return self._capture.read() if image is None else image

    def _check_end(self) -> None:
        if self.n_frames is None or self.frames_per_second is None:
            return
        declared = self.n_frames / self.frames_per_second
        shown = self._seconds + 1.0 / self.frames_per_second
        if self._number < WHOLE * self.n_frames and shown < WHOLE * declared:
            raise SourceError(
                f"{self.name} is damaged or cut short: it ends after frame {self._number}, and "
                f"should have about {self.n_frames}."
            )
