"""Face recognition compared with ground truth: `python -m paper.face_evaluation SOURCE [TRUTH]`."""

import argparse
import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import typer
from rich.console import Console

from labelwalk._validation import check_number, check_whole
from labelwalk.cli.errors import exit_on_error
from labelwalk.cli.options import read_passphrase
from labelwalk.cli.terminal import pluralize, show_progress
from labelwalk.concurrency import StopSignals
from labelwalk.faces.commands import Kind
from labelwalk.faces.demo import DemoVideo, NamedBox
from labelwalk.faces.detection import HaarDetector
from labelwalk.faces.frame_run import DEMO, FrameRun, open_named_source
from labelwalk.faces.frames import Box, Frame, Source, compute_overlap, scale_box
from labelwalk.faces.people_store import open_folder
from labelwalk.faces.pipeline import FacePipeline
from labelwalk.faces.recognizer import AUTOMATIC, FaceRecognizer, LearnerHandle
from labelwalk.faces.representations import find_representation
from labelwalk.io import InputError
from labelwalk.learner import from_bytes

DEFAULT_LABELS = 4
COLUMNS = ("frame", "x", "y", "w", "h", "name")
MIN_OVERLAP = 0.3  # of a detection with the true box that it counts for

Truth = Mapping[int, tuple[NamedBox, ...]]
"""The faces of each frame; other frames are not judged."""


@dataclass
class Tally:
    """Counts of given and true names."""

    right: int = 0  # detections with the name of their true box
    named: int = 0  # detections with a name, right or wrong
    true: int = 0  # true boxes with a name
    strangers: int = 0  # detections without a true box that has a name: other people, or no faces
    accepted: int = 0  # strangers with a name

    @property
    def precision(self) -> float:
        """Share of right names among the given ones; 1 if there are none."""
        return self.right / self.named if self.named else 1.0

    @property
    def recall(self) -> float:
        """Share of true names that were given; 1 if there are none."""
        return self.right / self.true if self.true else 1.0

    @property
    def false_accepts(self) -> float:
        """Share of strangers with a name; 0 if there are none."""
        return self.accepted / self.strangers if self.strangers else 0.0

    def add(self, detections: Sequence[NamedBox], true: Sequence[NamedBox]) -> None:
        """Count a frame; detections are matched with true boxes regardless of names.

        Examples
        --------
        >>> tally = Tally()
        >>> true = [NamedBox(Box(0, 0, 9, 9), "Ada"), NamedBox(Box(30, 0, 9, 9), "Ben")]
        >>> tally.add([NamedBox(Box(1, 0, 9, 9), "Ada"), NamedBox(Box(60, 0, 9, 9), "Ada")], true)
        >>> tally.precision, tally.recall
        (0.5, 0.5)
        """
        true_names = {i: true[j].name for i, j in match_boxes(detections, true).items()}
        self.named += sum(face.name is not None for face in detections)
        self.true += sum(face.name is not None for face in true)
        for i, face in enumerate(detections):
            is_stranger = true_names.get(i) is None
            self.strangers += is_stranger
            self.accepted += is_stranger and face.name is not None
            self.right += not is_stranger and face.name == true_names[i]


def match_boxes(detections: Sequence[NamedBox], true: Sequence[NamedBox]) -> dict[int, int]:
    """Return the index of the true box of each matched detection, the largest overlap first."""
    overlaps = sorted(
        (-overlap, i, j)
        for i, a in enumerate(detections)
        for j, b in enumerate(true)
        if (overlap := compute_overlap(a.box, b.box)) > MIN_OVERLAP
    )
    pairs: dict[int, int] = {}
    for _, i, j in overlaps:
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


def read_truth(
    path: str | os.PathLike[str], name: str | None = None, first: int | None = None
) -> Truth:
    """Read a file of either kind: a table if its first line names columns, else boxes.

    Boxes are those of a person, by default with the name of the file; the first is of frame 1.
    """
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            is_table = COLUMNS[0] in file.readline().lower()
        if is_table and (name is not None or first is not None):
            raise ValueError(f"{path} has a column for names and for frames. Give no other ones.")
        person, start = name or Path(path).stem, 1 if first is None else first
        truth = read_table(path) if is_table else read_boxes(path, person, start)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not text in UTF-8 ({error.reason}). Save it as that."
        ) from error
    if not truth:
        raise ValueError(f"{path} has no frames.")
    return truth


def read_boxes(path: str | os.PathLike[str], name: str, first: int = 1) -> Truth:
    """Read boxes of one person: a line for each frame with x, y, width and height.

    Commas, semicolons or blanks separate the numbers.
    """
    check_whole("first", first, "1")
    truth: dict[int, tuple[NamedBox, ...]] = {}
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines()):
        if line.strip():
            box = _parse_box(re.split(r"[,;\s]+", line.strip()), f"{path}, line {number + 1}")
            truth[first + number] = (NamedBox(box, name),)
    return truth


def read_table(path: str | os.PathLike[str]) -> Truth:
    """Read a CSV with the columns frame, x, y, w, h and name.

    Each line is a face. Without a name, it is a stranger; without a box, the frame has no faces.
    """
    truth: dict[int, tuple[NamedBox, ...]] = {}
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise ValueError(
                f"{path} has no column {', '.join(missing)}. Its first line must name "
                f"{', '.join(COLUMNS)}."
            )
        for row in rows:
            where = f"{path}, line {rows.line_num}"
            frame = _parse_frame(row["frame"], where)
            numbers = [(row[name] or "").strip() for name in ("x", "y", "w", "h")]
            faces = truth.get(frame, ())
            if any(numbers):
                name = (row["name"] or "").strip() or None
                faces = (*faces, NamedBox(_parse_box(numbers, where), name))
            truth[frame] = faces
    return truth


def _parse_frame(text: str | None, where: str) -> int:
    try:
        frame = int(text or "")
        check_whole("frame", frame, "1 for the first")
    except ValueError as error:
        raise ValueError(f"{where}: {text!r} is not the number of a frame from 1.") from error
    return frame


def _parse_box(texts: list[str], where: str) -> Box:
    try:
        x, y, width, height = (float(text) for text in texts)
        for value, least in ((x, -1e6), (y, -1e6), (width, 0.0), (height, 0.0)):
            check_number("box", value, least, 1e6, "pixels")
    except ValueError as error:
        text = ",".join(texts)[:60]
        raise ValueError(
            f"{where}: {text!r} is not a box. Write x, y, width and height in pixels."
        ) from error
    return Box(round(x), round(y), round(width), round(height))


class RecognitionEvaluation:
    """Labels the first faces of each person in a stream, and judges all others.

    The first `labels` detections on true boxes with the name of a person are labelled and not
    judged. People who are not known yet count as strangers.

    Examples
    --------
    >>> from labelwalk.faces.representations import Pixels
    >>> video = DemoVideo(people=1, n_frames=30)
    >>> evaluation = RecognitionEvaluation(FacePipeline(Pixels(32)))
    >>> for frame in video:
    ...     evaluation.process(frame, video.truth(frame.number))
    >>> evaluation.taught["Ada"], evaluation.tally.precision
    (4, 1.0)
    """

    def __init__(self, pipeline: FacePipeline, labels: int = DEFAULT_LABELS) -> None:
        check_whole("labels", labels, "4", least=0)
        self.tally, self.taught = Tally(), Counter[str]()
        self.n_judged = 0  # frames with ground truth
        self.n_matched = 0  # true boxes with a detection, under any name
        self._pipeline, self._labels, self.recognizer = pipeline, labels, pipeline.recognizer

    def process(self, frame: Frame, truth: Iterable[NamedBox] | None) -> None:
        """Process the next frame; its true faces, in pixels of the source, may not be known."""
        faces = self._pipeline.process(frame.image)
        if truth is None:
            return
        self.n_judged += 1
        true = list(truth)
        detections = [NamedBox(scale_box(face.box, 1.0 / frame.scale), face.name) for face in faces]
        pairs = match_boxes(detections, true)
        self.n_matched += len(pairs)
        labelled: dict[int, int] = {}
        for i, j in pairs.items():
            name = true[j].name
            if name is not None and self.taught[name] < self._labels:
                self.recognizer.name(faces[i].example, name)
                self.taught[name] += 1
                labelled[i] = j
        known = self.recognizer.people
        true = [face if face.name in known else face._replace(name=None) for face in true]
        self.tally.add(
            [face for i, face in enumerate(detections) if i not in labelled],
            [face for j, face in enumerate(true) if j not in labelled.values()],
        )

    def to_json(self, n_frames: int) -> dict[str, Any]:
        """Return all figures as a JSON object."""
        shares = ("precision", "recall", "false_accepts")
        counts = ("named", "right", "true", "strangers", "accepted")
        return {
            "frames": n_frames,
            "judged": self.n_judged,
            "taught": dict(self.taught),
            **{name: getattr(self.tally, name) for name in (*shares, *counts)},
        }


class TruthCheck:
    """Checks, while frames pass, that the ground truth of a file belongs to them."""

    def __init__(self, path: str, truth: Truth, source: str) -> None:
        self._path, self._truth, self._source = path, truth, source
        self._last, self._n_boxes, self._n_outside, self._size = 0, 0, 0, ""

    def get_faces(self, frame: Frame) -> tuple[NamedBox, ...] | None:
        """Return the true faces of a frame; None if they are not known."""
        self._last = frame.number
        faces = self._truth.get(frame.number)
        if faces:
            width, height = (round(side / frame.scale) for side in frame.image.shape[1::-1])
            self._size = f"{width} × {height} pixels"
            whole = Box(0, 0, width, height)
            self._n_boxes += len(faces)
            self._n_outside += sum(compute_overlap(face.box, whole) == 0.0 for face in faces)
        return faces

    def check(self, evaluation: RecognitionEvaluation) -> None:
        """Raise `InputError` if nothing could be compared."""
        if self._last and not evaluation.n_judged:
            raise InputError(
                f"{self._path} has none of the frames 1 to {self._last:,} of {self._source}, "
                f"but frames {min(self._truth):,} to {max(self._truth):,}. "
                "The first frame is 1; --first says at which frame lines of boxes begin."
            )
        if self._n_boxes and self._n_outside == self._n_boxes:
            raise InputError(
                f"{self._path}: none of its {self._n_boxes:,} boxes for these frames "
                f"lies in the {self._size} of {self._source}. Give boxes in pixels of that size."
            )

    def list_warnings(
        self, evaluation: RecognitionEvaluation, *, is_complete: bool
    ) -> Iterator[str]:
        """Yield in words what does not match, after some or all frames of the source."""
        beyond = sum(number > self._last for number in self._truth)
        if is_complete and beyond:
            yield (
                f"{self._path}: {beyond:,} of its {pluralize(len(self._truth), 'frame')} come "
                f"after frame {self._last:,}, the last of {self._source}. It may be of another "
                "video, or count frames differently."
            )
        if is_complete and min(self._truth) == 1 and max(self._truth) < self._last:
            yield (
                f"{self._path}: it ends at frame {max(self._truth):,}, and {self._source} at "
                f"{self._last:,}. If its lines begin at a later frame, say so with --first."
            )
        if self._n_outside:
            yield (
                f"{self._path}: {self._n_outside:,} of {self._n_boxes:,} true boxes do not lie in "
                f"the {self._size} of {self._source}. They may be of a video of another size."
            )
        if self._n_boxes and not evaluation.n_matched:
            yield (
                f"{self._path}: on none of its {self._n_boxes:,} true boxes was a face found. "
                "Frames may be counted differently, boxes be of another size, or faces too small "
                "(--smallest)."
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _make_parser()
    options = parser.parse_args(arguments)
    if options.truth is None and options.source != DEMO:
        parser.error("TRUTH is missing. Say where faces really are.")
    try:
        _evaluate(options)
    except typer.Exit as error:
        return error.exit_code
    return 0


def _evaluate(options: argparse.Namespace) -> None:
    with exit_on_error():
        if options.frames is not None:
            check_whole("frames", options.frames, "100")
        console = Console(stderr=True, highlight=False, quiet=options.quiet)
        with StopSignals() as stop, open_named_source(options.source) as source:
            check = None
            if options.truth is not None:
                check = TruthCheck(options.truth, _read_truth(options), source.name)
            get_faces = _get_own_truth(source) if check is None else check.get_faces
            pipeline = _make_pipeline(options)
            default = DEFAULT_LABELS if options.people is None else 0
            n_labels = default if options.labels is None else options.labels
            if not n_labels and not pipeline.recognizer.people:
                raise ValueError("nobody is known. Give --labels, or --people with some in it.")
            evaluation = RecognitionEvaluation(pipeline, n_labels)
            run = FrameRun(source, stop, options.frames)
            with show_progress(console) as show:
                for frame in run:
                    evaluation.process(frame, get_faces(frame))
                    show(run.describe(""))
        if check is not None:
            check.check(evaluation)
            is_complete = run.error is None and stop.signal is None
            is_complete &= run.n_frames != options.frames
            for warning in check.list_warnings(evaluation, is_complete=is_complete):
                print(f"Warning: {warning}", file=sys.stderr)
        figures = evaluation.to_json(run.n_frames)
        if options.json:
            print(json.dumps(figures, indent=2, ensure_ascii=False))
        else:
            _print_figures(figures)
        run.exit_if_ended(console, "the figures are those of the frames until then")


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m paper.face_evaluation", description=__doc__)
    add = parser.add_argument
    add("source", help="a video, a folder of pictures, a camera, an address, or demo")
    add(
        "truth",
        nargs="?",
        help="a CSV with frame, x, y, w, h and name, or lines of x, y, width and height, one for "
        "each frame, of one person; the demo has its own",
    )
    add("--name", help="of the person whose boxes the lines are [the name of the file]")
    add("--first", type=int, help="frame of the first line [1]")
    add("--labels", type=int, help="faces of each person that are labelled [4, or 0 with --people]")
    add("--people", help="folder with people who are known; it does not change")
    add("--faces", choices=get_args(Kind), help="how faces are compared")
    add("--frames", type=int, help="stop after this number of frames")
    add("--smallest", type=int, help="size in pixels of the smallest faces that are found")
    add("--json", action="store_true", help="print one JSON object")
    add("--passphrase-file", help="file with the passphrase of the folder")
    add("--quiet", "-q", action="store_true", help="no progress")
    return parser


def _read_truth(options: argparse.Namespace) -> Truth:
    try:
        return read_truth(options.truth, options.name, options.first)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(
            f"TRUTH: {options.truth} cannot be read ({reason}). Give the path of a CSV with frame, "
            "x, y, w, h and name, or of lines of x, y, width and height."
        ) from error
    except ValueError as error:
        raise InputError(str(error)) from error


def _get_own_truth(source: Source) -> Callable[[Frame], Iterable[NamedBox]]:
    assert isinstance(source, DemoVideo)
    return lambda frame: source.truth(frame.number)


def _make_pipeline(options: argparse.Namespace) -> FacePipeline:
    """Return a pipeline with a copy of the people of a folder, or without people."""
    detector = HaarDetector(smallest=options.smallest)
    if options.people is None:
        return FacePipeline(find_representation(options.faces or "pixels"), detector=detector)
    passphrase = read_passphrase(options.passphrase_file)
    with open_folder(options.people, options.faces, passphrase) as store:
        recognizer = copy_recognizer(store.recognizer)
        return FacePipeline(store.representation, recognizer=recognizer, detector=detector)


def copy_recognizer(recognizer: FaceRecognizer) -> FaceRecognizer:
    """Return a copy in memory; it numbers strangers again from 1."""
    content = recognizer.handle.ask(lambda learner: learner.to_bytes())
    handle = LearnerHandle(from_bytes(content))
    handle.note({AUTOMATIC: recognizer.automatic})
    return FaceRecognizer(recognizer.profile, handle=handle)


def _print_figures(figures: dict[str, Any]) -> None:
    taught = ", ".join(f"{name} {n}" for name, n in figures["taught"].items()) or "nobody"
    for line in (
        "{frames:,} frames, {judged:,} of them judged. Faces taught: " + taught + ".",
        "precision      {precision:.4f}   {right:,} of {named:,} names are right",
        "recall         {recall:.4f}   {right:,} of {true:,} faces of known people were named",
        "false accepts  {false_accepts:.4f}   {accepted:,} of {strangers:,} others got a name",
    ):
        print(line.format(**figures))


if __name__ == "__main__":
    sys.exit(main())
