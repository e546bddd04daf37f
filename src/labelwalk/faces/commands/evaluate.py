"""`labelwalk faces evaluate`: how often names are right, where the truth is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.failures import told
from labelwalk.cli.passphrase import PassphraseFile
from labelwalk.cli.progress import showing
from labelwalk.faces.commands.fitting import Fitting
from labelwalk.faces.commands.folders import kept_in
from labelwalk.faces.commands.options import Faces, Frames, Kind, Smallest, Source
from labelwalk.faces.commands.passing import DEMO, Passing, source_of

if TYPE_CHECKING:
    from labelwalk.faces import frames as given
    from labelwalk.faces.ground_truth import NamedBox, Truth
    from labelwalk.faces.onlooker import Onlooker
    from labelwalk.faces.trial import Trial

LABELS = 4


def evaluate(
    source: Source,
    truth: Annotated[
        str | None,
        typer.Argument(
            help="Where faces really are: a CSV with frame, x, y, w, h and name, or lines of x, y, "
            "width and height, one a frame, of one person. `demo` brings its own."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Whose lines they are.", show_default="what the file is called"),
    ] = None,
    first: Annotated[
        int | None, typer.Option(min=1, help="The frame of the first line.", show_default="1")
    ] = None,
    labels: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many faces of each person are taught, the first that are found; they are "
            "not judged.",
            show_default=f"{LABELS}, or 0 with --people",
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(help="A folder with people who are known; it stays as it is."),
    ] = None,
    faces: Faces = None,
    frames: Frames = None,
    smallest: Smallest = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    passphrase_file: PassphraseFile = None,
    quiet: read.Quiet = False,
) -> None:
    """Compare names with the truth: precision, recall and false accepts.

    \b
    Examples:
      labelwalk faces evaluate demo
      labelwalk faces evaluate david.webm david.txt --first 300 --name David --faces dlib
    """  # noqa: D301
    if truth is None and source != DEMO:
        raise typer.BadParameter("TRUTH is missing. Say where faces really are.")
    with told():
        from labelwalk.faces.trial import Trial
        from labelwalk.io.stop_signals import StopSignals

        console = Console(stderr=True, highlight=False, quiet=quiet)
        with StopSignals() as stop, source_of(source) as seen:
            fitting = None
            if truth is not None:
                fitting = Fitting(truth, _truth(truth, name, first), seen.name)
            truth_of = _own_truth(seen) if fitting is None else fitting.truth_of
            onlooker = _onlooker(people, faces, smallest, passphrase_file)
            n_labels = (LABELS if people is None else 0) if labels is None else labels
            if not n_labels and not onlooker.recognizer.people:
                raise ValueError("nobody is known. Give --labels, or --people with some in it.")
            trial, passing = Trial(onlooker, n_labels), Passing(seen, stop, frames)
            with showing(console) as show:
                for frame in passing:
                    trial.look(frame, truth_of(frame))
                    show(passing.state(""))
        if fitting is not None:
            fitting.check(trial)
            for warning in fitting.warnings(trial, to_the_end=passing.is_complete):
                typer.echo(f"Warning: {warning}", err=True)
        found = _found(trial, passing.n_frames)
        if as_json:
            typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            _say(found)
        passing.end(console, "the figures are those of the frames until then")


def _truth(path: str, name: str | None, first: int | None) -> Truth:
    from labelwalk.faces.ground_truth import read_truth
    from labelwalk.io import InputError

    try:
        return read_truth(path, name, first)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(
            f"TRUTH: {path} cannot be read ({reason}). Give the path of a CSV with frame, x, y, w, "
            "h and name, or of lines of x, y, width and height."
        ) from error
    except ValueError as error:
        raise InputError(str(error)) from error


def _own_truth(source: given.Source) -> Callable[[given.Frame], Iterable[NamedBox]]:
    """Return what tells who is in a frame of the demo, and where."""
    from labelwalk.faces.demo import DemoVideo

    assert isinstance(source, DemoVideo)
    return lambda frame: source.truth(frame.number)


def _onlooker(
    people: str | None, kind: Kind | None, smallest: int | None, passphrase_file: str | None
) -> Onlooker:
    """Return who looks: with a copy of all who are known in a folder, or knowing nobody."""
    from labelwalk.faces.haar import HaarDetector
    from labelwalk.faces.onlooker import Onlooker
    from labelwalk.faces.people_store import called

    detector = HaarDetector(smallest=smallest)
    if people is None:
        return Onlooker(called(kind or "pixels"), detector=detector)
    with kept_in(people, kind, passphrase_file) as gallery:
        known = gallery.recognizer.copied()
        return Onlooker(gallery.representation, recognizer=known, detector=detector)


def _found(trial: Trial, n_frames: int) -> dict[str, Any]:
    tally = trial.tally
    return {
        "frames": n_frames,
        "judged": trial.n_judged,
        "taught": dict(trial.taught),
        "precision": tally.precision,
        "recall": tally.recall,
        "false_accepts": tally.false_accepts,
        "named": tally.named,
        "right": tally.right,
        "true": tally.true,
        "strangers": tally.strangers,
        "accepted": tally.accepted,
    }


def _say(found: dict[str, Any]) -> None:
    taught = ", ".join(f"{name} {n}" for name, n in found["taught"].items()) or "nobody"
    for line in (
        "{frames:,} frames, {judged:,} of them judged. Faces taught: " + taught + ".",
        "precision      {precision:.4f}   {right:,} of {named:,} names are right",
        "recall         {recall:.4f}   {right:,} of {true:,} faces of known people were named",
        "false accepts  {false_accepts:.4f}   {accepted:,} of {strangers:,} others got a name",
    ):
        typer.echo(line.format(**found))
