"""A camera of the service's own: looked at for ever, and opened again when it was away."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any, NamedTuple

from labelwalk.faces.frames import Frame, Source
from labelwalk.faces.opening import opened
from labelwalk.faces.pictures import encoded
from labelwalk.service.absent import NoFrameError
from labelwalk.service.cameras import Cameras

PAUSE = 5.0  # seconds before a camera that is away is looked for again
OWN = "own"  # what the camera is called among others


class View(NamedTuple):
    """A frame as a JPEG, and who is in it."""

    picture: bytes
    told: dict[str, Any]


class Watching:
    """Looks at a source in a thread of its own.

    A file is watched at its own pace, and once; a camera that is away is looked for again.

    Parameters
    ----------
    cameras : Cameras
    where : str
        As `labelwalk.faces.opening.opened` takes it.

    Attributes
    ----------
    name : str
        What it is called to people: without passwords.
    error : str or None
        Why there are no frames now.
    """

    def __init__(self, cameras: Cameras, where: str) -> None:
        self._cameras, self._where = cameras, where
        self._view: View | None = None
        self._end = threading.Event()
        first = opened(where)  # what cannot be opened at all is told at once
        self.name = first.name
        self.error: str | None = "there is no frame yet."
        self._thread = threading.Thread(  # whoever began it may be interrupted before they hold it
            target=self._watch, args=(first,), name="watching", daemon=True
        )
        self._thread.start()

    def view(self) -> View:
        """Return the newest frame.

        Raises
        ------
        NoFrameError
        """
        if self.error is not None or self._view is None:
            raise NoFrameError(f"{self.name}: {self.error}")
        return self._view

    def close(self) -> None:
        """Look no more."""
        self._end.set()
        self._thread.join()

    def _watch(self, source: Source | None) -> None:
        """Look at what is open, and then at what can be opened again."""
        while not self._end.is_set():
            try:
                if source is None:
                    source = opened(self._where)
                with source as now:
                    self._look_at_all(now)
                if not now.live:
                    self.error, self._view = "it has ended.", None
                    return
            except Exception as error:  # whatever it is: who looks must not see the last for ever
                self.error, self._view = str(error), None
            source = None
            self._end.wait(PAUSE)

    def _look_at_all(self, source: Source) -> None:
        begun = monotonic()
        for frame in source:
            if not source.live:
                self._end.wait(max(0.0, frame.seconds - (monotonic() - begun)))
            if self._end.is_set():
                return
            self._look_at(frame)

    def _look_at(self, frame: Frame) -> None:
        told = self._cameras.look_at(OWN, frame.image)
        self._view, self.error = View(encoded(frame.image), told), None
