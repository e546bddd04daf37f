"""The command `labelwalk faces watch`: recognize people in a video or in front of a camera."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelwalk.cli.errors import EXIT_CODES, FAILED, exit_if_not_writable, exit_on_error, fail
from labelwalk.cli.options import PassphraseFile, Quiet
from labelwalk.cli.terminal import Status, echo, show_progress
from labelwalk.faces.commands import Faces, Smallest, app, has_learners, open_folder, print_table

if TYPE_CHECKING:
    from labelwalk.faces.drawing import Recording
    from labelwalk.faces.frames import Frame, Source, SourceError
    from labelwalk.faces.people_store import PeopleStore
    from labelwalk.faces.pipeline import FacePipeline
    from labelwalk.faces.presence import Event, Presence, Who
    from labelwalk.io.stop_signals import StopSignals

DEMO = "demo"
WriteEvents = Callable[[Iterable["Event"]], None]


@app.command(epilog=EXIT_CODES)
def watch(
    source: Annotated[
        str,
        typer.Argument(
            help="Source: a video, a folder of pictures, the number of a camera, an address "
            "(rtsp:// or http://), or demo for synthetic people."
        ),
    ],
    people: Annotated[
        str | None,
        typer.Option(
            help="Folder of people to recognize; all faces are learned. Created if it does not "
            "exist. Default: everyone is unknown, and nothing is stored."
        ),
    ] = None,
    faces: Faces = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Video to write, with boxes and names: .mp4, .webm, .mkv or .avi.",
        ),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(
            help="File for events as JSON lines (a person appears, is named, leaves); - for stdout."
        ),
    ] = None,
    frames: Annotated[
        int | None, typer.Option("--frames", min=1, help="Maximum number of frames.")
    ] = None,
    smallest: Smallest = None,
    keep_crops: Annotated[
        bool,
        typer.Option(
            "--keep-crops",
            help="Store a picture of each face, not only its vector. Requires --people.",
        ),
    ] = False,
    passphrase_file: PassphraseFile = None,
    quiet: Quiet = False,
) -> None:
    """Recognize people in a video or in front of a camera, until it ends or Ctrl-C.

    Strangers get numbers, and can be named afterwards.

    \b
    Examples:
      labelwalk faces watch demo --people people --output seen.mp4
      labelwalk faces watch 0 --people people --events - --quiet
      labelwalk faces watch rtsp://camera.local/stream --frames 1000
    """  # noqa: D301
    if keep_crops and people is None:
        raise typer.BadParameter("--keep-crops requires --people. Give both.")
    with exit_on_error():
        from labelwalk.faces.detection import HaarDetector
        from labelwalk.faces.drawing import Recording
        from labelwalk.faces.pipeline import FacePipeline
        from labelwalk.faces.representations import find_representation
        from labelwalk.io.formats import check_distinct
        from labelwalk.io.stop_signals import StopSignals

        check_distinct(source=source, output=output, events=events)
        console = Console(stderr=True, highlight=False, quiet=quiet)
        with StopSignals() as stop, ExitStack() as stack:
            opened = stack.enter_context(open_named_source(source))
            recording = stack.enter_context(Recording(output, opened)) if output else None
            write_events = stack.enter_context(open_events(events))
            store = None
            if people is not None:
                is_new = not has_learners(people)
                folder = open_folder(
                    people, faces, passphrase_file, create=True, keep_crops=keep_crops
                )
                store = stack.enter_context(folder)
                if is_new:
                    echo(console, f"{people} is new and has no people yet.")
            pipeline = FacePipeline(
                store.representation if store else find_representation(faces or "pixels"),
                recognizer=store.recognizer if store else None,
                detector=HaarDetector(smallest=smallest),
            )
            run = FrameRun(opened, stop, frames)
            watcher = _Watcher(pipeline, write_events, recording, store)
            with show_progress(console) as show:
                for frame in run:
                    show(run.describe(watcher.process(frame)))
            write_events(watcher.presence.end())
            summary = f"{run.n_frames:,} frames of {opened.name}{run.rate}"
            _print_presences(console, summary, watcher.presence.presences(), people)
        video = output if recording is not None and recording.has_started else None
        for title, path in (("Video", video), ("Events", events), ("People", people)):
            if path not in (None, "-"):
                echo(console, f"{title}: {path}")
        run.exit_if_ended(console, "everything before is complete")


def open_named_source(where: str) -> Source:
    """Open a source of frames, or the demo."""
    from labelwalk.faces.capture import open_source
    from labelwalk.faces.demo import DemoVideo

    return DemoVideo() if where == DEMO else open_source(where)


class FrameRun:
    """The frames of a source, until its end, a limit or a signal.

    Attributes
    ----------
    n_frames : int
        Number of processed frames.
    error : SourceError or None
        Why there are no more, other than the end.
    """

    def __init__(self, source: Source, stop: StopSignals, limit: int | None) -> None:
        self.n_frames = 0
        self.error: SourceError | None = None
        self._source, self._stop, self._limit = source, stop, limit
        self._first_s = self._last_s = 0.0  # when frames were finished

    def __iter__(self) -> Iterator[Frame]:
        frames = iter(self._source)
        while self.n_frames != self._limit and (frame := self._read(frames)) is not None:
            yield frame
            self._last_s = time.monotonic()
            self._first_s = self._first_s or self._last_s  # the first frame compiles
            self.n_frames += 1

    @property
    def rate(self) -> str:
        """Frames per second as text; empty if there are too few frames."""
        elapsed_s = self._last_s - self._first_s
        return f", {(self.n_frames - 1) / elapsed_s:.1f} a second" if elapsed_s > 0.0 else ""

    @property
    def is_complete(self) -> bool:
        """Whether the source has no more frames."""
        is_stopped = self.error is not None or self._stop.signal is not None
        return not is_stopped and self.n_frames != self._limit

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

    def _read(self, frames: Iterator[Frame]) -> Frame | None:
        from labelwalk.faces.frames import SourceError
        from labelwalk.io.stop_signals import Stopped

        try:
            with self._stop.waiting():
                return next(frames, None)
        except Stopped:
            return None
        except SourceError as error:
            self.error = error
            return None


class _Watcher:
    """Recognizes the faces of each frame, records them and stores their pictures."""

    def __init__(
        self,
        pipeline: FacePipeline,
        write_events: WriteEvents,
        recording: Recording | None,
        store: PeopleStore | None,
    ) -> None:
        from labelwalk.faces.presence import PresenceTracker

        self.presence = PresenceTracker()
        self._pipeline, self._write_events, self._recording = pipeline, write_events, recording
        self._crops = store.crops if store is not None and store.crops.are_kept else None

    def process(self, frame: Frame) -> str:
        """Return a text that says who is in a frame."""
        faces = self._pipeline.process(frame.image)
        self._pipeline.recognizer.number_strangers()
        events = self.presence.update(frame, faces, self._pipeline.alive)
        self._write_events(events)
        if self._recording is not None:
            self._recording.add(frame, faces)
        if self._crops is not None:
            new_tracks = {event.track for event in events if event.kind == "appears"}
            for face in faces:
                if face.track in new_tracks:
                    self._crops.cache(face.example, frame.image, face.box)
                    self._crops.persist(face.example)
        return ", ".join(_format_title(face.name or face.stranger) for face in faces)


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


def _print_presences(
    console: Console, summary: str, presences: Sequence[Presence], people: str | None
) -> None:
    """Print who was seen how often, and how to name a stranger."""
    n = sum(presence.faces for presence in presences)
    echo(console, f"{summary}; {n:,} faces." if n else f"{summary}; no face was found.")
    if not presences:
        return
    rows = [(_format_title(item.who), f"{item.faces:,}", f"{item.visits:,}") for item in presences]
    print_table(console, ("who", "faces", "visits"), rows)
    numbers = [presence.who for presence in presences if isinstance(presence.who, int)]
    if numbers and people is None:
        echo(console, "Nothing is stored. Use --people FOLDER to name people afterwards.")
    elif numbers:
        echo(console, f"To name one: labelwalk faces name {people} '#{numbers[0]}' NAME")


def _format_title(who: Who) -> str:
    from labelwalk.faces.people import format_unknown

    return who if isinstance(who, str) else format_unknown(who)
