"""Commands `labelwalk faces ...`: watch, enroll, name, list and erase people."""

import json
import os
from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Literal

import typer
from rich.console import Console

from labelwalk.cli.errors import EXIT_CODES, FAILED, INVALID_INPUT, exit_on_error, fail
from labelwalk.cli.options import PassphraseFile, Quiet, make_console, read_passphrase
from labelwalk.cli.terminal import echo, pluralize, show_progress

app = typer.Typer(name="faces", no_args_is_help=True)
Kind = Literal["pixels", "pixels-32", "dlib"]
Folder = Annotated[str, typer.Argument(help="Folder of people.")]
Faces = Annotated[
    Kind | None,
    typer.Option(
        help="Representation of faces: their pixels, or the vectors of dlib's network.",
        show_default="that of the folder, or pixels for a new one",
    ),
]
Smallest = Annotated[
    int | None,
    typer.Option(
        min=20,
        max=10_000,
        help="Minimum size of faces in pixels; smaller values take longer.",
        show_default="a sixth of the shorter side",
    ),
]


@app.callback(epilog=EXIT_CODES)
def faces() -> None:
    """Recognize faces in video from a few labelled faces; strangers stay unknown.

    Use it only with consent, and not for access control: see docs/guide/faces.md.

    \b
    Examples:
      labelwalk faces watch demo --people people --output seen.mp4
      labelwalk faces name people '#1' Ada
      labelwalk faces enroll people Ben ben-1.jpg ben-2.jpg
      labelwalk faces watch 0 --people people
    """  # noqa: D301


def watch(
    source: Annotated[
        str,
        typer.Argument(
            help="Source: a video, a folder of pictures, a camera number, an address "
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
    frames: Annotated[int | None, typer.Option(min=1, help="Maximum number of frames.")] = None,
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
    """Recognize people in a video or in front of a camera, until the video ends or Ctrl-C.

    Strangers get numbers, and can be named afterwards.

    \b
    Examples:
      labelwalk faces watch demo --people people --output seen.mp4
      labelwalk faces watch 0 --people people --events - --quiet
      labelwalk faces watch rtsp://camera.local/stream --frames 1000
    """  # noqa: D301
    from labelwalk.concurrency import StopSignals
    from labelwalk.faces import detection, drawing, frame_run, people_store
    from labelwalk.faces.pipeline import FacePipeline
    from labelwalk.faces.representations import find_representation
    from labelwalk.io.formats import check_distinct

    if keep_crops and people is None:
        raise typer.BadParameter("--keep-crops requires --people. Give both.")
    check_distinct(source=source, output=output, events=events)
    console = make_console(quiet)
    with StopSignals() as stop, ExitStack() as stack:
        opened = stack.enter_context(frame_run.open_named_source(source))
        recording = stack.enter_context(drawing.Recording(output, opened)) if output else None
        write_events = stack.enter_context(frame_run.open_events(events))
        detector, crops = detection.HaarDetector(smallest=smallest), None
        if people is None:
            pipeline = FacePipeline(find_representation(faces), detector=detector)
        else:
            is_new = not people_store.has_learners(people)
            passphrase = read_passphrase(passphrase_file)
            folder = people_store.open_folder(
                people, faces, passphrase, create=True, keep_crops=keep_crops
            )
            store = stack.enter_context(folder)
            pipeline, crops = store.make_pipeline(detector), store.crops if keep_crops else None
            if is_new:
                echo(console, f"{people} is new and has no people yet.")
        run = frame_run.FrameRun(opened, stop, frames)
        watcher = frame_run.Watcher(pipeline, write_events, recording, crops)
        with show_progress(console) as show:
            for frame in run:
                show(run.describe(watcher.process(frame)))
        write_events(watcher.presence.end())
        summary = f"{run.n_frames:,} frames of {opened.name}{run.rate}"
        frame_run.print_presences(console, summary, watcher.presence.presences(), people)
    video = output if run.n_frames else None  # it starts at the first frame
    for title, path in (("Video", video), ("Events", events), ("People", people)):
        if path not in (None, "-"):
            echo(console, f"{title}: {path}")
    run.exit_if_ended(console, "all output is complete")


def enroll(
    folder: Annotated[str, typer.Argument(help="Folder of people; created if it does not exist.")],
    name: Annotated[str, typer.Argument(help="Name of the person.")],
    pictures: Annotated[
        list[str],
        typer.Argument(
            help="Pictures, folders of pictures, videos, or the number of a camera; the largest "
            "face in each is used."
        ),
    ],
    faces: Faces = None,
    smallest: Smallest = None,
    skip: Annotated[
        bool,
        typer.Option("--skip", help="Skip files without a clear face instead of stopping."),
    ] = False,
    passphrase_file: PassphraseFile = None,
    quiet: Quiet = False,
) -> None:
    """Teach a person from pictures in which that person's face is the largest.

    Up to 24 frames of a video or camera are searched; those without a clear face are skipped.

    \b
    Examples:
      labelwalk faces enroll people Ada ada-1.jpg ada-2.jpg ada-3.jpg ada-4.jpg
      labelwalk faces enroll people Ben pictures-of-ben --skip
    """  # noqa: D301
    from labelwalk.faces import detection, people_store
    from labelwalk.faces.pictures import list_pictures
    from labelwalk.faces.recognizer import clean_name
    from labelwalk.faces.representations import find_representation

    open_people = partial(people_store.open_folder, folder, faces, create=True)
    console, name = make_console(quiet), clean_name(name)
    paths: list[str] = []
    for path in pictures:
        paths += map(str, list_pictures(path)) if os.path.isdir(path) else [path]
    paths = list(dict.fromkeys(paths))
    with ExitStack() as stack:
        store = None
        if people_store.has_learners(folder):
            store = stack.enter_context(open_people(read_passphrase(passphrase_file)))
        representation = store.representation if store else find_representation(faces)
        detector = detection.HaarDetector(smallest=smallest)
        report = partial(typer.echo, err=True)
        views = detection.read_all_portraits(paths, representation, detector, report)
        n_skipped = len(paths) - len(views)
        if not views:
            fail("Nothing was taught.", INVALID_INPUT)
        if n_skipped and not skip:
            files = pluralize(n_skipped, "file")
            fail(f"Nothing was taught. Omit {files}, or use --skip.", INVALID_INPUT)
        if store is None:  # the folder is created when there is something to store
            store = stack.enter_context(open_people(read_passphrase(passphrase_file)))
        recognizer = store.recognizer
        vectors = [vector for file_views in views.values() for vector in file_views]
        answers = recognizer.handle.ask(lambda learner: learner.predict(vectors).label.tolist())
        confused = Counter(answer for answer in answers if answer not in (None, name))
        for other, n in confused.items():
            echo(console, f"{pluralize(n, 'view')} of these would have been recognized as {other}.")
        recognizer.teach(vectors, [name] * len(vectors))
        n_names = pluralize(len(recognizer.people), "name")
        n_views, n_files = pluralize(len(vectors), "view"), pluralize(len(views), "file")
        echo(console, f"{name}: {n_views} taught from {n_files}.")
        echo(console, f"People: {folder}, with {n_names}.")


def name(
    folder: Folder,
    stranger: Annotated[
        str,
        typer.Argument(help="Number of the stranger: '#3', or 'unknown #3' as `watch` prints it."),
    ],
    name: Annotated[str, typer.Argument(help="Name of the person.")],
    passphrase_file: PassphraseFile = None,
    quiet: Quiet = False,
) -> None:
    """Name a stranger: a few views are labelled, and the others are named automatically.

    If the name already exists, the views are added to that person, and a message says so.

    \b
    Examples:
      labelwalk faces name people '#3' Ada
      labelwalk faces name people 'unknown #3' Ada
    """  # noqa: D301
    from labelwalk.faces.people_store import open_folder
    from labelwalk.faces.recognizer import clean_name, parse_unknown

    name = clean_name(name)
    number = parse_unknown(stranger if "#" in stranger else f"#{stranger}")
    if number is None:
        raise ValueError(f"{stranger!r} is not a stranger. Give a number, as in '#3'.")
    with open_folder(folder, None, read_passphrase(passphrase_file)) as store:
        people = store.recognizer.known()
        n_before = sum(person.taught for person in people if person.name == name)
        examples = store.name_stranger(number, name)
    console = make_console(quiet)
    n_views = pluralize(len(examples), "view")
    echo(console, f"unknown #{number} is {name}: {n_views} taught.")
    if n_before:
        before = pluralize(n_before, "view")
        echo(console, f"{name} already existed with {before}, and now has {n_views} more.")
        undo = f"POST /api/faces/undo {json.dumps({'examples': examples})}"
        echo(console, f"Not the same person? Undo it in a service with faces: {undo}")
    echo(console, f"People: {folder}")


def people(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    passphrase_file: PassphraseFile = None,
) -> None:
    """List the people of a folder with the number of taught views and of recognized views.

    \b
    Examples:
      labelwalk faces people people
      labelwalk faces people people --json
    """  # noqa: D301
    from labelwalk.faces.frame_run import print_table
    from labelwalk.faces.people_store import open_folder
    from labelwalk.faces.recognizer import format_person
    from labelwalk.faces.representations import name_of

    with open_folder(folder, None, read_passphrase(passphrase_file)) as store:
        recognizer = store.recognizer
        persons, strangers = recognizer.known(), recognizer.strangers()
        listing = {
            "representation": name_of(store.representation),
            "people": [
                {"name": item.name, "taught": item.taught, "examples": item.examples}
                for item in persons
            ],
            "strangers": [{"number": item.number, "examples": item.examples} for item in strangers],
            "examples": recognizer.learner.n_seen,
            "sink": recognizer.sink,
        }
    if as_json:
        typer.echo(json.dumps(listing, indent=2, ensure_ascii=False))
        return
    rows = [(item.name, f"{item.taught:,}", f"{item.examples:,}") for item in persons]
    rows += [(format_person(item.number), "-", f"{item.examples:,}") for item in strangers]
    print_table(Console(highlight=False), ("who", "taught", "seen"), rows)


def forget(
    folder: Folder,
    who: Annotated[
        str | None,
        typer.Argument(help="Name of the person, or '#3' for a stranger.", metavar="NAME"),
    ] = None,
    strangers: Annotated[
        bool,
        typer.Option("--strangers", help="Erase all strangers, numbered or not."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    passphrase_file: PassphraseFile = None,
    quiet: Quiet = False,
) -> None:
    """Permanently erase a person: labels, recognized views and pictures, also in backups.

    \b
    Examples:
      labelwalk faces forget people Ada
      labelwalk faces forget people '#3' --yes
      labelwalk faces forget people --strangers
    """  # noqa: D301
    from labelwalk.faces.people_store import open_folder
    from labelwalk.faces.recognizer import format_person, parse_unknown

    if (who is None) != strangers:
        raise typer.BadParameter("Give either a NAME, '#3' in quotes, or --strangers.")
    with open_folder(folder, None, read_passphrase(passphrase_file)) as store:
        titles: dict[str | int | None, str] = {}
        if who is None:
            titles[None] = "All views without a name"
        for person in store.recognizer.known():
            taught, seen = pluralize(person.taught, "view"), pluralize(person.examples, "time")
            titles[person.name] = f"{person.name}: {taught} taught, seen about {seen}"
        for stranger in store.recognizer.strangers():
            seen = pluralize(stranger.examples, "time")
            titles[stranger.number] = f"{format_person(stranger.number)}: seen about {seen}"
        target = who if who is None or who in titles else parse_unknown(who)
        if target not in titles:
            people = ", ".join(item for item in titles if isinstance(item, str)) or "none"
            numbers = ", ".join(f"#{n}" for n in titles if isinstance(n, int)) or "none"
            raise ValueError(f"No person is named {who!r}. Names: {people}. Strangers: {numbers}.")
        if not yes and not typer.confirm(f"{titles[target]}. Erase all of it?", err=True):
            fail("Nothing was erased.", FAILED)
        result = store.forget(target)
    console = make_console(quiet)
    echo(console, f"Erased: {pluralize(result.examples, 'view')}. {result.meaning}")


for command in (watch, enroll, name, people, forget):
    app.command(epilog=EXIT_CODES)(exit_on_error()(command))
