"""Findings of a study: tables, pictures as plain data, and claims with a verdict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

Columns = Mapping[str, Sequence[Any] | NDArray[Any]]
Table = dict[str, list[Any]]
Verdict = Literal["holds", "holds in part", "does not hold", "not measured"]


class Claim(NamedTuple):
    """A statement of the paper, the measurement, and whether they agree."""

    paper: str
    ours: str
    verdict: Verdict


class Line(NamedTuple):
    """Points to be joined, and their name."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str = "-"
    colour: str = "black"


@dataclass(frozen=True)
class Panel:
    """One plot of a picture."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False


class Picture(NamedTuple):
    """Rows of panels."""

    name: str
    rows: Sequence[Sequence[Panel]]


@dataclass(frozen=True)
class Findings:
    """Tables, pictures as plain data, claims with a verdict, and notes."""

    tables: dict[str, Columns] = field(default_factory=dict)
    pictures: list[Picture] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def judge(agreements: Iterable[bool]) -> Verdict:
    """Return whether a claim holds for all, for some, or for none of the measurements.

    Examples
    --------
    >>> judge([True, True]), judge([True, False]), judge([False])
    ('holds', 'holds in part', 'does not hold')
    """
    flags = list(agreements)
    if not flags:
        return "not measured"
    if all(flags):
        return "holds"
    return "holds in part" if any(flags) else "does not hold"


def tabulate(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return the columns of rows.

    Examples
    --------
    >>> tabulate(("k", "accuracy"), [(50, 0.8), (100, 0.9)]), tabulate(("k", "accuracy"), [])
    ({'k': [50, 100], 'accuracy': [0.8, 0.9]}, {'k': [], 'accuracy': []})
    """
    columns = list(zip(*rows, strict=True))
    if not columns:
        return {name: [] for name in names}
    return {name: list(column) for name, column in zip(names, columns, strict=True)}
