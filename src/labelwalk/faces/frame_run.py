"""Runs over frames until the end, a limit or a signal, with events and a table of who was seen."""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from labelwalk.cli.errors import FAILED, exit_if_not_writable, fail
from labelwalk.cli.terminal import Status, echo
from labelwalk.concurrency import Stopped, StopSignals
from labelwalk.faces.capture import open_source
from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.drawing import Recording
from labelwalk.faces.frames import Frame, Source, SourceError
from labelwalk.faces.people_store import CropStore
from labelwalk.faces.pipeline import FacePipeline
from labelwalk.faces.presence import Event, Presence, PresenceTracker
from labelwalk.faces.recognizer import format_person

DEMO = "demo"
WriteEvents = Callable[[Iterable[Event]], None]


def open_named_source(where: str) -> Source:
    """Open a source of frames, or the demo."""
    return DemoVideo() if where == DEMO else open_source(where)


class FrameRun:
    """The frames of a source, until its end, a limit or a signal."""

    def __init__(self, source: Source, stop: StopSignals, limit: int | None) -> None:
        self.n_frames = 0  # that were processed
        self.error: SourceError | None = None  # why there are no more, other than the end
        self._source, self._stop, self._limit = source, stop, limit
        self._first_s = self._last_s = 0.0  # when frames were finished

    def __iter__(self) -> Iterator[Frame]:
        frames = iter(self._source)
        try:
            while self.n_frames != self._limit:
                with self._stop.waiting():
                    frame = next(frames, None)
                if frame is None:
                    return
                yield frame
                self._last_s = time.monotonic()
                self._first_s = self._first_s or self._last_s  # the first frame compiles
                self.n_frames += 1
        except Stopped:
            return
        except SourceError as error:
            self.error = error

    @property
    def rate(self) -> str:
        """Frames per second as text; empty if there are too few frames."""
        elapsed_s = self._last_s - self._first_s
        return f", {(self.n_frames - 1) / elapsed_s:.1f} a second" if elapsed_s > 0.0 else ""

    def describe(self, names: str) -> Status:
        """Return the progress and the people in the current frame, as text."""
        expected = self._source.n_frames
        if self._limit is not None:
            expected = min(self._limit, expected or self._limit)
        share = None if expected is None else min(1.0, self.n_frames / expected)
        line = f"{self.n_frames:,} frames{self.rate}"
        return Status(self.n_frames, share, f"{line}: {names}" if names else line)

    def exit_if_ended(self, console: Console, outcome: str) -> None:
        """Exit with an error if the source failed, or with the code of a signal."""
        if self.error is not None:
            fail(str(self.error), FAILED)
        if self._stop.signal is not None:
            echo(console, f"Ended by {signal.Signals(self._stop.signal).name}; {outcome}.")
            raise typer.Exit(128 + self._stop.signal)


@dataclass
class Watcher:
    """Recognizes the faces of each frame, records them and stores their pictures."""

    pipeline: FacePipeline
    write_events: WriteEvents
    recording: Recording | None
    crops: CropStore | None
    presence: PresenceTracker = field(default_factory=PresenceTracker)

    def process(self, frame: Frame) -> str:
        """Return a text that says who is in a frame."""
        faces = self.pipeline.process(frame.image)
        self.pipeline.recognizer.number_strangers()
        events = self.presence.update(frame, faces, self.pipeline.alive)
        self.write_events(events)
        if self.recording is not None:
            self.recording.add(frame, faces)
        if self.crops is not None:
            new_tracks = {event.track for event in events if event.kind == "appears"}
            for face in faces:
                if face.track in new_tracks:
                    self.crops.cache(face.example, frame.image, face.box)
                    self.crops.persist(face.example)
        return ", ".join(format_person(face.name or face.stranger) for face in faces)


@contextmanager
def open_events(path: str | None) -> Iterator[WriteEvents]:
    """Yield a function that writes events to a file, to standard output for -, or nowhere."""
    with ExitStack() as stack:
        file = sys.stdout  # as it is before the progress bar replaces it
        if path not in (None, "-"):
            with exit_if_not_writable(Path(path)):
                file = stack.enter_context(open(path, "w", encoding="utf-8"))

        def write(events: Iterable[Event]) -> None:
            for event in events:
                file.write(json.dumps(event.to_json(), ensure_ascii=False) + "\n")
            file.flush()

        yield (lambda events: None) if path is None else write


def print_presences(
    console: Console, summary: str, presences: Sequence[Presence], people: str | None
) -> None:
    """Print who was seen how often, and how to name a stranger."""
    n = sum(presence.faces for presence in presences)
    echo(console, f"{summary}; {n:,} faces." if n else f"{summary}; no face was found.")
    if not presences:
        return
    rows = [(format_person(item.who), f"{item.faces:,}", f"{item.visits:,}") for item in presences]
    print_table(console, ("who", "faces", "visits"), rows)
    numbers = [presence.who for presence in presences if isinstance(presence.who, int)]
    if numbers and people is None:
        echo(console, "Nothing is stored. Use --people FOLDER to name people afterwards.")
    elif numbers:
        echo(console, f"To name one: labelwalk faces name {people} '#{numbers[0]}' NAME")


def print_table(
    console: Console, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> None:
    """Print names on the left, and numbers."""
    table = Table(box=SIMPLE)
    table.add_column(columns[0], overflow="fold")
    for column in columns[1:]:
        table.add_column(column, justify="right")
    for title, *cells in rows:
        table.add_row(escape(title), *cells)
    console.print(table)
