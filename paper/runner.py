"""From the name of a study to its results, tables, pictures and report."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paper import all_datasets, budget, figure_5, section_4, section_5_1
from paper.datasets import find_missing
from paper.findings import Claim
from paper.report import write_report
from paper.study import Plan, list_versions

STUDIES = {
    study.name: study
    for study in (
        section_5_1.OVER_TIME,
        section_5_1.OVER_K,
        figure_5.ADAPTATION,
        figure_5.OFFICE,
        section_4.STUDY,
        budget.STUDY,
        all_datasets.STUDY,
    )
}
ALL = "all"


@dataclass(frozen=True)
class Evidence:
    """The report of a run, its claims, and the data sets that were not available."""

    report: Path
    claims: list[Claim]
    missing: dict[str, str]


def reproduce(
    name: str,
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    workers: int = 2,
    watch: Callable[[int, int, str], object] = lambda *_: None,
) -> Evidence:
    """Run a study of the paper, or all of them; stored results are not computed again.

    Data sets that are not available are replaced by data from scikit-learn or from a seed. Of the
    output folder, or `quick/` in it, `results/` has a JSON file for each job, `tables/` CSV files,
    `figures/` PNG and SVG files, and `report.html` shows all of it (`report-NAME.html` for one
    study).
    """
    if name not in (*STUDIES, ALL):
        raise ValueError(f"name={name!r} is unknown. Choose {' or '.join((*STUDIES, ALL))}.")
    if workers < 1:
        raise ValueError(f"workers={workers} is less than 1. Try 2.")
    folder = Path(out) / "quick" if quick else Path(out)
    studies = list(STUDIES.values()) if name == ALL else [STUDIES[name]]
    command = f"python -m paper {name}{' --quick' if quick else ''}"
    names = tuple(dict.fromkeys(dataset for study in studies for dataset in study.data))
    missing = find_missing(names)
    plan = Plan(quick, frozenset(names) - set(missing), folder / "results", command, workers, watch)
    findings = {study: study.conclude(study.run(plan)) for study in studies}
    about = f"{command}, with " + ", ".join(f"{k} {v}" for k, v in list_versions().items())
    page = folder / ("report.html" if name == ALL else f"report-{name}.html")
    write_report(page, findings, missing, about)
    claims = [claim for outcome in findings.values() for claim in outcome.claims]
    return Evidence(page, claims, missing)
