"""From the name of a study to its results, tables, pictures and report."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labelwalk.parameters import check_choice, check_whole
from labelwalk.storage.atomic_write import write_atomic
from paper import datasets
from paper.datasets.files import VARIABLE, data_folder
from paper.evaluation.results import Columns, versions
from paper.studies import (
    bounds,
    budget,
    everywhere,
    figure2,
    figure3,
    figure5,
    report,
)
from paper.studies.findings import Claim, Findings, Plan, Study
from paper.studies.jobs import run_all

STUDIES = {
    study.name: study
    for study in (
        figure2.STUDY,
        figure3.STUDY,
        figure5.ADAPTATION,
        figure5.OFFICE,
        bounds.STUDY,
        budget.STUDY,
        everywhere.STUDY,
    )
}
ALL = "all"
Watch = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Reproduced:
    """What a run has left behind, and what it has found."""

    report: Path
    claims: list[Claim]
    missing: dict[str, str]


def reproduce(
    name: str,
    out: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    workers: int = 2,
    watch: Watch | None = None,
) -> Reproduced:
    """Run a study of the paper, or all of them; what was done before is not done again.

    Parameters
    ----------
    name : str
        One of `STUDIES`, or "all".
    out : path
        A folder; a quick run uses `quick/` in it. `results/` holds a Parquet and a JSON file for
        each job, `tables/` CSV files, `figures/` PNG and SVG files, and `report.html` puts it all
        together (`report-NAME.html` for one study).
    data : path, optional
        The folder of the data sets; else LABELWALK_DATA says it. What is missing is replaced by
        data that comes with scikit-learn or is made.
    quick : bool
        Fewer problems, seeds and examples.
    workers : int
        How many processes.
    watch : function, optional
        Called with the number of jobs done, of all jobs, and the key of the last one done.
    """
    check_choice("name", name, (*STUDIES, ALL))
    out = Path(out) / "quick" if quick else Path(out)
    check_whole("workers", workers, "2")
    studies = list(STUDIES.values()) if name == ALL else [STUDIES[name]]
    command = f"python -m paper {name}{' --quick' if quick else ''}"
    data_folder(data)
    with _data_folder(data):
        wanted = tuple(dict.fromkeys(one for study in studies for one in study.data))
        missing = datasets.missing(wanted)
        kept = out / "results"
        plan = Plan(quick, frozenset(wanted) - set(missing), kept)
        jobs = [job for study in studies for job in study.jobs(plan)]
        run_all(jobs, kept, command, workers=workers, watch=watch)
        findings = {study: study.conclude(plan) for study in studies}
    _write_tables(out / "tables", findings.values())
    about = f"{command}, with " + ", ".join(f"{k} {v}" for k, v in versions().items())
    page = out / ("report.html" if name == ALL else f"report-{name}.html")
    report.write(page, findings, _drawn(findings, out), missing, about)
    claims = [claim for found in findings.values() for claim in found.claims]
    return Reproduced(page, claims, missing)


@contextmanager
def _data_folder(data: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let every process of the run know the folder, by the environment."""
    before = os.environ.get(VARIABLE)
    if data is not None:
        os.environ[VARIABLE] = str(Path(data).absolute())
    try:
        yield
    finally:
        if data is not None:
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before


def _drawn(findings: dict[Study, Findings], out: Path) -> dict[str, Path]:
    from paper.studies.drawing import draw

    pictures = [picture for found in findings.values() for picture in found.pictures]
    return {picture.name: draw(picture, out / "figures") for picture in pictures}


def _write_tables(folder: Path, findings: Iterable[Findings]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for found in findings:
        for name, columns in found.tables.items():
            write_atomic(folder / f"{name}.csv", [memoryview(_csv(columns).encode())])


def _csv(columns: Columns) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
