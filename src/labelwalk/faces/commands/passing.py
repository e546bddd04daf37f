"""Frames one after the other, until there are no more or somebody asks to stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from labelwalk.cli.failures import FAILED, fail
from labelwalk.cli.files import say
from labelwalk.cli.progress import State

if TYPE_CHECKING:
    from labelwalk.faces.frames import Frame, Source
    from labelwalk.faces.image import SourceError
    from labelwalk.io.stop_signals import StopSignals

DEMO = "demo"


def source_of(where: str) -> Source:
    """Open what frames come from."""
    from labelwalk.faces.demo import DemoVideo
    from labelwalk.faces.opening import opened

    return DemoVideo() if where == DEMO else opened(where)


class Passing:
    """The frames of a source, each counted when it has been looked at.

    Parameters
    ----------
    source : Source
    stop : StopSignals
        It may come while a frame is waited for; what is in hand is finished.
    limit : int or None
        How many frames are wanted.

    Attributes
    ----------
    n_frames : int
    trouble : SourceError or None
        Why there are no more, where that is not the end.
    """

    def __init__(self, source: Source, stop: StopSignals, limit: int | None) -> None:
        self.n_frames = 0
        self.trouble: SourceError | None = None
        self._source, self._stop, self._limit = source, stop, limit
        self._first = self._last = 0.0  # when frames were done

    def __iter__(self) -> Iterator[Frame]:
        frames = iter(self._source)
        while self.n_frames != self._limit and (frame := self._next(frames)) is not None:
            yield frame
            self._last = time.monotonic()
            self._first = self._first or self._last  # the first one compiles
            self.n_frames += 1

    def state(self, there: str) -> State:
        """Return how far it has come, and who is there now."""
        expected = self._source.n_frames
        if self._limit is not None:
            expected = min(self._limit, expected or self._limit)
        share = None if expected is None else min(1.0, self.n_frames / expected)
        said = f"{self.n_frames:,} frames{self.pace}"
        return State(self.n_frames, share, f"{said}: {there}" if there else said)

    @property
    def pace(self) -> str:
        """How many frames a second were done, in words; nothing where there were too few."""
        spent = self._last - self._first
        return f", {(self.n_frames - 1) / spent:.1f} a second" if spent > 0.0 else ""

    @property
    def is_complete(self) -> bool:
        """Whether there are no more frames than those that passed."""
        stopped = self.trouble is not None or self._stop.signal is not None
        return not stopped and self.n_frames != self._limit

    def end(self, console: Console, kept: str) -> None:
        """End the command where the source broke or a signal came, and say what became of it."""
        if self.trouble is not None:
            fail(str(self.trouble), FAILED)
        if self._stop.signal is not None:
            say(console, f"Ended by {signal.Signals(self._stop.signal).name}; {kept}.")
            raise typer.Exit(128 + self._stop.signal)

    def _next(self, frames: Iterator[Frame]) -> Frame | None:
        from labelwalk.faces.image import SourceError
        from labelwalk.io.stop_signals import Stopped

        try:
            with self._stop.waiting():
                return next(frames, None)
        except Stopped:
            return None
        except SourceError as error:
            self.trouble = error
            return None
