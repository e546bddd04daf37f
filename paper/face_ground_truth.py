"""True faces of a video, read from files, and counts of right and wrong names."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labelwalk._validation import check_number, check_whole
from labelwalk.faces.demo import NamedBox
from labelwalk.faces.frames import Box, compute_overlap

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
