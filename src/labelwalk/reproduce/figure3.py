"""Figure 3: the whole stream, with more and more centroids."""

from __future__ import annotations

import numpy as np

from labelwalk.bounds.schedules import fitted_exponent
from labelwalk.datasets import load
from labelwalk.reproduce import binary
from labelwalk.reproduce.findings import Claim, Findings, Line, Panel, Picture, Plan, Study
from labelwalk.reproduce.jobs import Job
from labelwalk.reproduce.verdicts import judged

CLOSE = 0.01  # accuracies this close are called alike
GREY, LIGHT = "0.35", "0.7"
READING = "pairs"


def jobs(plan: Plan) -> list[Job]:
    """Return a job for each problem and number of centroids, and those that do not quantize."""
    quantized = [
        job for k in binary.scope(plan).centroids for job in binary.quantized_jobs(plan, READING, k)
    ]
    return quantized + binary.baseline_jobs(plan, READING)


def conclude(plan: Plan) -> Findings:
    """Average over problems, and see whether more centroids help."""
    tables = {name: _table(plan, name) for name in binary.datasets(plan)}
    return Findings(
        tables={f"fig3-{name}": table for name, table in tables.items()},
        pictures=[_picture(tables)],
        claims=_claims(tables),
    )


def _table(plan: Plan, dataset: str) -> dict[str, list[float]]:
    centroids = binary.scope(plan).centroids
    table: dict[str, list[float]] = {"k": [float(k) for k in centroids]}
    for column in ("normalised", "plain", "radius", "accuracy"):
        table[column] = [
            _mean_at_end(plan, binary.quantized_jobs(plan, READING, k), dataset, column)
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
            "‖L^q − L‖_F",
            [Line("at the end of the stream", table["k"], table["normalised"], "o-")],
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
                Line("W^q (quantized)", table["k"], table["accuracy"], "o-", "black"),
            ],
            log_across=True,
        )
        for table in tables.values()
    ]
    return Picture("fig3", [errors, accuracy])


def _claims(tables: dict[str, dict[str, list[float]]]) -> list[Claim]:
    falls = [bool((np.diff(table["normalised"]) < 0).all()) for table in tables.values()]
    exponents = ", ".join(
        f"{name} {fitted_exponent(table['k'], table['normalised']):.2f} "
        f"(-1/d = {-1 / load(name).X.shape[1]:.3f} for its {load(name).X.shape[1]} features)"
        for name, table in tables.items()
    )
    gaps = {
        name: table["every_example"][-1] - table["accuracy"][-1] for name, table in tables.items()
    }
    gains = {name: table["accuracy"][-1] - table["accuracy"][0] for name, table in tables.items()}
    return [
        Claim(
            "As k increases, the quantization error decreases (Figure 3, top).",
            f"It falls at every step of k for {sum(falls)} of {len(falls)} data sets. Fitted "
            f"exponents of the error in k: {exponents}.",
            judged(falls),
        ),
        Claim(
            "As k increases, the quality of the solutions on W^q improves (Figure 3, bottom), "
            "and approaches that on W^o.",
            "Accuracy with most centroids less that with fewest: "
            + ", ".join(f"{name} {gain:+.3f}" for name, gain in gains.items())
            + "; accuracy on W^o less that with most centroids: "
            + ", ".join(f"{name} {gap:+.3f}" for name, gap in gaps.items())
            + f". Within {CLOSE} is called alike.",
            judged(gains[name] > -CLOSE and gaps[name] <= CLOSE for name in tables),
        ),
    ]


STUDY = Study("fig3", "Figure 3: more and more centroids", jobs, conclude, binary.WANTED)
