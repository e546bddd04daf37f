"""Cameras and addresses that go on by themselves: the newest frame, and no backlog."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Condition, Thread
from time import monotonic

from labelwalk.faces.capture import PATIENCE, Capture
from labelwalk.faces.frames import Frame, Source
from labelwalk.faces.image import Image, SourceError
from labelwalk.faces.shrinking import fitted


class Live(Source):
    """A source that does not wait.

    A thread takes every frame as it comes and keeps the newest alone. Whoever iterates gets that,
    or waits for it; frames that came in between are counted and gone.

    Parameters
    ----------
    capture : Capture
    """

    live = True

    def __init__(self, capture: Capture) -> None:
        self.name, self._capture = capture.name, capture
        self.frames_per_second = capture.frames_per_second
        capture.keep_no_backlog()
        self._changed = Condition()
        self._newest: tuple[int, float, Image] | None = None
        self._came = 0
        self._why_no_more: SourceError | None = None
        self._closed = False
        self._reader = Thread(target=self._read_on, name="newest frame", daemon=True)
        self._reader.start()

    def __iter__(self) -> Iterator[Frame]:
        """Give the newest frame, each once."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._newest or self._why_no_more or self._closed,
                )
                newest, self._newest = self._newest, None
            if self._closed:
                return
            if newest is None:
                assert self._why_no_more is not None
                raise self._why_no_more
            number, seconds, image = newest
            yield Frame(number, seconds, *fitted(image))

    def close(self) -> None:
        """Let go of it, when the frame that is being read has come."""
        with self._changed:
            self._closed, self._newest = True, None
            self._changed.notify_all()
        self._reader.join(2 * PATIENCE / 1000.0)

    def _read_on(self) -> None:
        begun = monotonic()
        try:
            while not self._closed and (image := self._capture.read()) is not None:
                with self._changed:
                    self._came += 1
                    self._newest = self._came, monotonic() - begun, image
                    self._changed.notify_all()
            self._end(
                SourceError(
                    f"{self.name} gives no more frames after frame {self._came}. "
                    "See that it is plugged in and can be reached, and open it again."
                )
            )
        except SourceError as error:
            self._end(error)
        except Exception as error:  # nobody expected it: whoever waits must hear of it
            self._end(SourceError(f"{self.name} cannot be read any more ({error})."))
        finally:
            self._capture.close()

    def _end(self, why: SourceError) -> None:
        with self._changed:
            self._why_no_more = why
            self._changed.notify_all()
