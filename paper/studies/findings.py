"""What a study comes to: tables, pictures as plain data, and claims with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from paper.evaluation.results import Columns, Result
from paper.studies.jobs import Job

Verdict = Literal["holds", "holds in part", "does not hold", "not measured"]


@dataclass(frozen=True)
class Plan:
    """What is to be done: how thoroughly, and on which data."""

    quick: bool
    available: frozenset[str]
    folder: Path  # of results

    def result(self, job: Job) -> Result:
        """Return the result of a job that has been run."""
        found = job.result(self.folder)
        if found is None:
            raise LookupError(f"{job.key} has no result in {self.folder}. Run its study first.")
        return found

    def of(self, wanted: Sequence[str], instead: Sequence[str]) -> list[str]:
        """Return those of the data sets that are available, or others where none is."""
        return [name for name in wanted if name in self.available] or list(instead)


class Claim(NamedTuple):
    """What the paper says, what was measured, and whether that agrees."""

    paper: str
    ours: str
    verdict: Verdict


class Line(NamedTuple):
    """Points to be joined, and what they are called."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str = "-"
    colour: str = "black"


@dataclass(frozen=True)
class Panel:
    """One plot of a picture."""

    title: str
    across: str
    up: str
    lines: Sequence[Line]
    log_across: bool = False
    log_up: bool = False


class Picture(NamedTuple):
    """Panels in rows."""

    name: str
    rows: Sequence[Sequence[Panel]]


@dataclass(frozen=True)
class Findings:
    """What a study comes to."""

    tables: dict[str, Columns] = field(default_factory=dict)
    pictures: list[Picture] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Study:
    """One figure of the paper, or one thing beyond it."""

    name: str
    title: str
    jobs: Callable[[Plan], list[Job]]
    conclude: Callable[[Plan], Findings]
    data: tuple[str, ...] = ()  # data sets it wants
