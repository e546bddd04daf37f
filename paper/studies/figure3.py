"""Figure 3: the whole stream, with more and more centroids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from paper.bounds.schedules import fitted_exponent
from paper.datasets import load
from paper.studies import binary
from paper.studies.findings import Claim, Findings, Line, Panel, Picture, Plan, Study
from paper.studies.jobs import Job
from paper.studies.verdicts import judged

CLOSE = 0.01  # accuracies this close are called alike
GREY, LIGHT = "0.35", "0.7"
READING = "pairs"


def jobs(plan: Plan) -> list[Job]:
    """Return a job for each problem and number of centroids, and those that do not quantize."""
    quantized = [
        job
        for k in binary.scope(plan).centroids
        for variant in binary.VARIANTS
        for job in binary.quantized_jobs(plan, READING, k, variant)
    ]
    return quantized + binary.baseline_jobs(plan, READING) + binary.search_jobs(plan)


def conclude(plan: Plan) -> Findings:
    """Average over problems, and see whether more centroids help."""
    tables = {name: _table(plan, name) for name in binary.datasets(plan)}
    searches = {job.arguments["dataset"]: plan.result(job) for job in binary.search_jobs(plan)}
    return Findings(
        tables={f"fig3-{name}": table for name, table in tables.items()}
        | {f"fig3-search-{name}": found.columns for name, found in searches.items()},
        pictures=[_picture(tables)],
        claims=[
            *(claim for v in binary.VARIANTS for claim in _claims(tables, v)),
        ],
        notes=[f"{binary.__doc__}".partition("\n\n")[2].replace("\n", " ")],
    )


def _table(plan: Plan, dataset: str) -> dict[str, list[float]]:
    centroids = binary.scope(plan).centroids
    table: dict[str, list[float]] = {"k": [float(k) for k in centroids]}
    for variant in binary.VARIANTS:
        for column in ("normalised", "plain", "radius", "accuracy"):
            table[f"{column}, {variant}"] = [
                _mean_at_end(
                    plan, binary.quantized_jobs(plan, READING, k, variant), dataset, column
                )
                for k in centroids
            ]
    for work in (binary.offline, binary.every_example):
        same = [job for job in binary.baseline_jobs(plan, READING) if job.work is work]
        at_end = _mean_at_end(plan, same, dataset, "accuracy")
        table[work.__name__] = [at_end] * len(centroids)
    return table


def _mean_at_end(plan: Plan, jobs: list[Job], dataset: str, column: str) -> float:
    mine = [job for job in jobs if job.arguments["dataset"] == dataset]
    return float(np.mean([plan.result(job).columns[column][-1] for job in mine]))


def _picture(tables: dict[str, dict[str, list[float]]]) -> Picture:
    errors = [
        Panel(
            dataset,
            "number of centroids k",
            r"$\|L^q - L\|_F$",
            [
                Line("as printed", table["k"], table["normalised, absorb"], "o-"),
                Line("labels pure", table["k"], table["normalised, pure"], "o--"),
            ],
            log_across=True,
        )
        for dataset, table in tables.items()
    ]
    accuracy = [
        Panel(
            "",
            "number of centroids k",
            "cumulative accuracy",
            [
                Line("W (all examples, offline)", table["k"], table["offline"], "-", LIGHT),
                Line("W^o (all so far)", table["k"], table["every_example"], "-", GREY),
                Line("W^q (quantized, as printed)", table["k"], table["accuracy, absorb"], "o-"),
                Line("W^q (quantized, labels pure)", table["k"], table["accuracy, pure"], "o--"),
            ],
            log_across=True,
        )
        for table in tables.values()
    ]
    return Picture("fig3", [errors, accuracy])


def _claims(tables: dict[str, dict[str, list[float]]], variant: str) -> list[Claim]:
    how = {"absorb": "as printed", "pure": "labelled vertices pure"}[variant]
    errors = {name: table[f"normalised, {variant}"] for name, table in tables.items()}
    reached = {name: table[f"accuracy, {variant}"] for name, table in tables.items()}
    gains = {name: shares[-1] - shares[0] for name, shares in reached.items()}
    gaps = {name: tables[name]["every_example"][-1] - reached[name][-1] for name in tables}
    steps = [
        later < error or later == error == 0.0
        for found in errors.values()
        for error, later in pairwise(found)
    ]
    return [
        Claim(
            f"[{how}] As k increases, the quantization error decreases (Figure 3, top).",
            f"It falls at {sum(steps)} of {len(steps)} steps between the fewest and the most (R "
            "grows in steps of 1.5). Fitted exponents of the error in k: "
            f"{_exponents(tables, errors)}.",
            judged(steps),
        ),
        Claim(
            f"[{how}] As k increases, the quality of the solutions on W^q improves (Figure 3, "
            "bottom).",
            f"Accuracy with most centroids less that with fewest: {_listed(gains)}.",
            judged(gain > 0 for gain in gains.values()),
        ),
        Claim(
            f"[{how}] It approaches that on W^o (Figure 3, bottom).",
            f"Accuracy on W^o less that with most centroids: {_listed(gaps)}. Within {CLOSE} is "
            "called that.",
            judged(abs(gap) <= CLOSE for gap in gaps.values()),
        ),
    ]


def _exponents(tables: dict[str, dict[str, list[float]]], errors: dict[str, list[float]]) -> str:
    told = []
    for name, error in errors.items():
        # where all examples are centroids, nothing is lost
        lossy = [(k, e) for k, e in zip(tables[name]["k"], error, strict=True) if e > 0]
        slope = f"{fitted_exponent(*zip(*lossy, strict=True)):.2f}" if len(lossy) > 1 else "none"
        features = load(name).X.shape[1]
        told.append(f"{name} {slope} (-1/d = {-1 / features:.3f} for its {features} features)")
    return ", ".join(told)


def _listed(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:+.3f}" for name, number in numbers.items())


STUDY = Study("fig3", "Figure 3: more and more centroids", jobs, conclude, binary.WANTED)
