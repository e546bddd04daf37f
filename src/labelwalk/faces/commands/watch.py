"""`labelwalk faces watch`: who is in a video or before a camera."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.failures import told
from labelwalk.cli.files import say
from labelwalk.cli.passphrase import PassphraseFile
from labelwalk.cli.progress import showing
from labelwalk.faces.commands.folders import is_kept, kept_in
from labelwalk.faces.commands.options import Faces, Frames, Kind, Smallest, Source
from labelwalk.faces.commands.passing import Passing, source_of
from labelwalk.faces.commands.recording import Recording
from labelwalk.faces.commands.summary import say_who_was_there, title_of
from labelwalk.faces.commands.telling import Tell, telling

if TYPE_CHECKING:
    from labelwalk.faces.frames import Frame
    from labelwalk.faces.onlooker import Face, Onlooker
    from labelwalk.faces.people_store import Gallery
    from labelwalk.faces.visits import Event, Presence


def watch(
    source: Source,
    people: Annotated[
        str | None,
        typer.Option(
            help="The folder in which people are kept: who is there is recognised, and all faces "
            "are learned; made if not there. Not given: everybody is unknown, and nothing is kept."
        ),
    ] = None,
    faces: Faces = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="A video with boxes and names: .mp4, .webm, .mkv or .avi."
        ),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(
            help="Where to write, in JSON lines, who appears, is named and leaves; - for stdout."
        ),
    ] = None,
    frames: Frames = None,
    smallest: Smallest = None,
    keep_crops: Annotated[
        bool,
        typer.Option(
            "--keep-crops",
            help="With --people: keep a picture of each face that appears, not its vector alone.",
        ),
    ] = False,
    passphrase_file: PassphraseFile = None,
    quiet: read.Quiet = False,
) -> None:
    """Say who is in a video or before a camera, until it ends or Ctrl-C.

    Strangers are numbered, and can be named afterwards.

    \b
    Examples:
      labelwalk faces watch demo --people people --output seen.mp4
      labelwalk faces watch 0 --people people --events - --quiet
      labelwalk faces watch rtsp://camera.local/stream --frames 1000
    """  # noqa: D301
    if keep_crops and people is None:
        raise typer.BadParameter("--keep-crops keeps pictures with people. Give --people too.")
    with told():
        from labelwalk.io.formats import check_distinct
        from labelwalk.io.stop_signals import StopSignals

        check_distinct(source=source, output=output, events=events)
        console = Console(stderr=True, highlight=False, quiet=quiet)
        with StopSignals() as stop, ExitStack() as held:
            seen = held.enter_context(source_of(source))
            recording = held.enter_context(Recording(output, seen)) if output else None
            tell = held.enter_context(telling(events))
            gallery = None
            if people is not None:
                is_new = not is_kept(people)
                kept = kept_in(people, faces, passphrase_file, new=True, keep_crops=keep_crops)
                gallery = held.enter_context(kept)
                if is_new:
                    say(console, f"{people} is new: nobody is known there yet.")
            onlooker = _onlooker(gallery, faces, smallest)
            passing = Passing(seen, stop, frames)
            watched = _Watched(onlooker, tell, recording, gallery)
            with showing(console) as show:
                for frame in passing:
                    there = watched.look(frame)
                    show(passing.state(there))
            presences = watched.end()
            n, pace = passing.n_frames, passing.pace
            say_who_was_there(console, f"{n:,} frames of {seen.name}{pace}", presences, people)
        if recording is not None and recording.has_begun:
            say(console, f"Video: {output}")
        if events not in (None, "-"):
            say(console, f"Events: {events}")
        if people is not None:
            say(console, f"People: {people}")
        passing.end(console, "all that was seen until then is finished")


def _onlooker(gallery: Gallery | None, kind: Kind | None, smallest: int | None) -> Onlooker:
    """Return who looks: with the people of a folder, or knowing nobody."""
    from labelwalk.faces.haar import HaarDetector
    from labelwalk.faces.onlooker import Onlooker
    from labelwalk.faces.people_store import called

    detector = HaarDetector(smallest=smallest)
    if gallery is None:
        return Onlooker(called(kind or "pixels"), detector=detector)
    return Onlooker(gallery.representation, recognizer=gallery.recognizer, detector=detector)


class _Watched:
    """What is done with each frame."""

    def __init__(
        self,
        onlooker: Onlooker,
        tell: Tell,
        recording: Recording | None,
        gallery: Gallery | None,
    ) -> None:
        from labelwalk.faces.renumbering import Renumbering
        from labelwalk.faces.visits import Visits

        self._onlooker, self._tell, self._recording = onlooker, tell, recording
        self._crops = None if gallery is None else gallery.crops
        self._renumbering, self._visits = Renumbering(onlooker.recognizer), Visits()

    def look(self, frame: Frame) -> str:
        """Look at a frame, and return who is in it, in words."""
        faces = self._onlooker.look(frame.image)
        self._renumbering.look()
        news = self._visits.see(frame, faces, self._onlooker.alive)
        self._tell(news)
        if self._recording is not None:
            self._recording.add(frame, faces)
        if self._crops is not None and self._crops.are_kept:
            self._keep_pictures(frame, faces, news)
        return ", ".join(title_of(face.name or face.stranger) for face in faces)

    def end(self) -> list[Presence]:
        """Let everybody leave, and return who was there."""
        self._tell(self._visits.end())
        return self._visits.presences()

    def _keep_pictures(self, frame: Frame, faces: Sequence[Face], news: Sequence[Event]) -> None:
        from labelwalk.faces.crops import pictured

        assert self._crops is not None
        new = {event.track for event in news if event.kind == "appears"}
        for face in faces:
            if face.track in new:
                self._crops.hold(face.example, pictured(frame.image, face.box))
                self._crops.keep(face.example)
