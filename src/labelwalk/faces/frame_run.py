"""Runs over frames until the end, a limit or a signal, with events and a table of who was seen."""

import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

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
from labelwalk.faces.frames import Box, Frame, Source, SourceError, scale_box
from labelwalk.faces.people_store import CropStore
from labelwalk.faces.pipeline import Face, FacePipeline
from labelwalk.faces.recognizer import format_person

DEMO = "demo"
Who = str | int | None
"""A name, the number of a stranger, or None if neither is known."""


class Event(NamedTuple):
    """A change of a track."""

    # "appears": a new track. "named": its person is known, or another than before. "unnamed": a
    # name was removed. "leaves": the track ended.
    kind: Literal["appears", "named", "unnamed", "leaves"]
    frame: int  # time of the event; for "leaves", of the last view
    seconds: float
    track: int
    box: Box  # in pixels of the source
    name: str | None
    stranger: int | None
    confidence: float  # of the name, or of the likeliest one
    since: int | None = None  # for "leaves": the first frame, and the number of views
    faces: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the event as a JSON object."""
        fields: dict[str, Any] = {"event": self.kind} | self._asdict()
        fields |= {"box": list(self.box), "seconds": round(self.seconds, 3)}
        fields |= {"confidence": round(self.confidence, 4)}
        for name in ("kind",) if self.kind == "leaves" else ("kind", "since", "faces"):
            del fields[name]
        return fields


class Presence(NamedTuple):
    """How often a person was seen: number of views, and of tracks."""

    who: Who
    faces: int
    visits: int


@dataclass
class _Visit:
    """A track that has not ended."""

    since: int
    last: Event
    person: Who = None
    counts: Counter[Who] = field(default_factory=Counter)
    n_unclear: int = 0  # views since the last one with a name or number

    def add(self, person: Who) -> None:
        """Count a view; unclear views before that of a stranger count for the stranger."""
        self.n_unclear += 1
        if person is not None:
            self.counts[person if isinstance(person, int) else None] += self.n_unclear - 1
            self.counts[person] += 1
            self.n_unclear = 0


class PresenceTracker:
    """Converts faces to events, and counts the views of each person."""

    def __init__(self) -> None:
        self._visits: dict[int, _Visit] = {}
        self._n_faces: Counter[Who] = Counter()
        self._n_visits: Counter[Who] = Counter()

    def update(self, frame: Frame, faces: Iterable[Face], alive: Collection[int]) -> list[Event]:
        """Return the events of a frame."""
        departures = self.end(alive)
        return departures + [event for face in faces for event in self._update_face(frame, face)]

    def end(self, alive: Collection[int] = ()) -> list[Event]:
        """End all tracks but those that are alive, and return these events."""
        return [self._leave(track) for track in list(self._visits) if track not in alive]

    def presences(self) -> list[Presence]:
        """Return the people who have left, those with the most views first."""
        presences = [Presence(who, n, self._n_visits[who]) for who, n in self._n_faces.items()]
        return sorted(presences, key=lambda item: (-item.faces, item.who is None, str(item.who)))

    def _update_face(self, frame: Frame, face: Face) -> list[Event]:
        person: Who = face.stranger if face.name is None else face.name
        event = Event(
            kind="appears",
            frame=frame.number,
            seconds=frame.seconds,
            track=face.track,
            box=scale_box(face.box, 1.0 / frame.scale),
            name=face.name,
            stranger=face.stranger,
            confidence=face.confidence,
        )
        is_new = face.track not in self._visits
        visit = self._visits.setdefault(face.track, _Visit(frame.number, event, person))
        visit.last, before = event, visit.person
        visit.add(person)
        if is_new:
            return [event]
        if person == before or (person is None and not isinstance(before, str)):
            return []
        visit.person = person
        return [event._replace(kind="unnamed" if person is None else "named")]

    def _leave(self, track: int) -> Event:
        visit = self._visits.pop(track)
        name = visit.person if isinstance(visit.person, str) else None
        stranger = visit.person if isinstance(visit.person, int) else None
        counts = +(visit.counts + Counter({stranger: visit.n_unclear}))
        self._n_faces.update(counts)
        self._n_visits.update(counts.keys())
        return visit.last._replace(
            kind="leaves", name=name, stranger=stranger, since=visit.since, faces=counts.total()
        )


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
