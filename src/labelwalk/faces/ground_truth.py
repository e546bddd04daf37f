"""Where faces really are, and how many were named rightly."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from labelwalk.faces.boxes import Box, overlap
from labelwalk.parameters import check_number, check_whole

COLUMNS = ("frame", "x", "y", "w", "h", "name")
ENOUGH = 0.3  # a detection counts for a true box that it overlaps more


class NamedBox(NamedTuple):
    """A face and its name; None for a stranger."""

    box: Box
    name: str | None


Truth = Mapping[int, tuple[NamedBox, ...]]
"""The faces of each frame that is known; a frame that is not in it is not judged."""


@dataclass
class Tally:
    """Counts of names, given and true.

    Attributes
    ----------
    right : int
        Detections with the name of the true box they lie on.
    named : int
        Detections that got a name, right or wrong.
    true : int
        True boxes that have a name.
    strangers : int
        Detections that lie on no true box with a name: others, or no face at all.
    accepted : int
        Strangers that got a name.
    """

    right: int = 0
    named: int = 0
    true: int = 0
    strangers: int = 0
    accepted: int = 0

    @property
    def precision(self) -> float:
        """The share of names that are right; 1 where none was given."""
        return self.right / self.named if self.named else 1.0

    @property
    def recall(self) -> float:
        """The share of true names that were given; 1 where there are none."""
        return self.right / self.true if self.true else 1.0

    @property
    def false_accepts(self) -> float:
        """The share of strangers that got a name; 0 where there are none."""
        return self.accepted / self.strangers if self.strangers else 0.0

    def add(self, found: Iterable[NamedBox], true: Iterable[NamedBox]) -> None:
        """Count a frame; which detection is of which true box is not decided by names.

        Examples
        --------
        >>> tally = Tally()
        >>> there = [NamedBox(Box(0, 0, 9, 9), "Ada"), NamedBox(Box(30, 0, 9, 9), "Ben")]
        >>> tally.add([NamedBox(Box(1, 0, 9, 9), "Ada"), NamedBox(Box(60, 0, 9, 9), "Ada")], there)
        >>> tally.precision, tally.recall
        (0.5, 0.5)
        """
        there, given = list(true), list(found)
        who = {i: there[j].name for i, j in paired(given, there).items()}
        self.named += sum(one.name is not None for one in given)
        self.true += sum(one.name is not None for one in there)
        for i, one in enumerate(given):
            is_stranger = who.get(i) is None
            self.strangers += is_stranger
            self.accepted += is_stranger and one.name is not None
            self.right += not is_stranger and one.name == who[i]


def paired(found: Sequence[NamedBox], true: Sequence[NamedBox]) -> dict[int, int]:
    """Return the place of the true box that each detection lies on, where it does.

    Pairs are made by overlap, the largest first.
    """
    overlaps = sorted(
        (-shared, i, j)
        for i, one in enumerate(found)
        for j, other in enumerate(true)
        if (shared := overlap(one.box, other.box)) > ENOUGH
    )
    pairs: dict[int, int] = {}
    for _, i, j in overlaps:
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


def read_truth(
    path: str | os.PathLike[str], name: str | None = None, first: int | None = None
) -> Truth:
    """Read a file of either kind: a table where its first line names columns, else boxes.

    Parameters
    ----------
    path : str or path
    name : str, optional
        Whose boxes they are; what the file is called, where none is given.
    first : int, optional
        The frame of the first line; 1 where none is given.

    Raises
    ------
    ValueError
        A line cannot be understood, or a table has names and frames of its own.
    """
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            is_table = COLUMNS[0] in file.readline().lower()
        if is_table and (name is not None or first is not None):
            raise ValueError(f"{path} has names and frames of its own. Give neither beside it.")
        whose, begin = name or Path(path).stem, 1 if first is None else first
        truth = read_table(path) if is_table else read_boxes(path, whose, begin)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not text in UTF-8 ({error.reason}). Save it as that."
        ) from error
    if not truth:
        raise ValueError(f"{path} says nothing of any frame.")
    return truth


def read_boxes(path: str | os.PathLike[str], name: str, first: int = 1) -> Truth:
    """Read a file of one person: a line a frame, and x, y, width and height on it.

    Parameters
    ----------
    path : str or path
        Numbers with commas, tabs or blanks between them.
    name : str
        Whose boxes they are.
    first : int
        The frame of the first line.

    Raises
    ------
    ValueError
        A line cannot be understood.
    """
    check_whole("first", first, "1")
    truth: dict[int, tuple[NamedBox, ...]] = {}
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines()):
        if line.strip():
            box = _box(re.split(r"[,;\s]+", line.strip()), f"{path}, line {number + 1}")
            truth[first + number] = (NamedBox(box, name),)
    return truth


def read_table(path: str | os.PathLike[str]) -> Truth:
    """Read a CSV with the columns frame, x, y, w, h and name.

    A line a face. One without a name is a stranger; one with a frame and no box says that nobody
    is there.

    Raises
    ------
    ValueError
        A column is missing, or a line cannot be understood.
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
            frame = _frame(row["frame"], where)
            numbers = [(row[name] or "").strip() for name in ("x", "y", "w", "h")]
            faces = truth.get(frame, ())
            if any(numbers):
                name = (row["name"] or "").strip() or None
                faces = (*faces, NamedBox(_box(numbers, where), name))
            truth[frame] = faces
    return truth


def _frame(text: str | None, where: str) -> int:
    try:
        frame = int(text or "")
        check_whole("frame", frame, "1 for the first")
    except ValueError as error:
        raise ValueError(f"{where}: {text!r} is not the number of a frame from 1.") from error
    return frame


def _box(texts: list[str], where: str) -> Box:
    try:
        x, y, width, height = (float(text) for text in texts)
        for value in (x, y):
            check_number("corner", value, -1e6, 1e6, "pixels")
        for value in (width, height):
            check_number("side", value, 0.0, 1e6, "pixels")
    except ValueError as error:
        said = ",".join(texts)[:60]
        raise ValueError(
            f"{where}: {said!r} is not a box. Write x, y, width and height in pixels."
        ) from error
    return Box(round(x), round(y), round(width), round(height))
