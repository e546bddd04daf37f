"""Figure 2: a fixed number of centroids, as time passes."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from paper.studies import binary
from paper.studies.findings import Claim, Findings, Line, Panel, Picture, Plan, Study
from paper.studies.jobs import Job
from paper.studies.verdicts import judged

LITTLE = 0.03  # a change of accuracy that is called little
GREY, LIGHT = "0.35", "0.7"


def jobs(plan: Plan) -> list[Job]:
    """Return the jobs of both readings of "each class against every other"."""
    return [
        job
        for reading in binary.READINGS
        for job in (
            *(
                job
                for variant in binary.VARIANTS
                for job in binary.quantized_jobs(plan, reading, binary.K, variant)
            ),
            *binary.baseline_jobs(plan, reading),
        )
    ]


def conclude(plan: Plan) -> Findings:
    """Average over problems, and see whether errors level off and accuracy stays."""
    findings = Findings()
    for reading in binary.READINGS:
        averages = {name: _averages(plan, name, reading) for name in binary.datasets(plan)}
        for name, table in averages.items():
            findings.tables[f"fig2-{reading}-{name}"] = table
        findings.pictures.append(_picture(f"fig2-{reading}", averages))
        findings.claims.extend(_claims(reading, averages))
    return findings


def _averages(plan: Plan, dataset: str, reading: str) -> dict[str, list[float]]:
    """Mean over problems of every measure, at each look."""

    def mean(jobs: list[Job], column: str) -> list[float]:
        mine = [job for job in jobs if job.arguments["dataset"] == dataset]
        values = [plan.result(job).columns[column] for job in mine]
        return [float(value) for value in np.mean(values, axis=0)]

    baselines = binary.baseline_jobs(plan, reading)
    table: dict[str, list[float]] = {}
    for variant in binary.VARIANTS:
        quantized = binary.quantized_jobs(plan, reading, binary.K, variant)
        table["t"] = mean(quantized, "t")
        for name in ("normalised", "plain", "accuracy"):
            table[f"{name}, {variant}"] = mean(quantized, name)
    for work in (binary.offline, binary.every_example):
        table[work.__name__] = mean([job for job in baselines if job.work is work], "accuracy")
    return table


def _picture(name: str, averages: dict[str, dict[str, list[float]]]) -> Picture:
    errors = [
        Panel(
            dataset,
            "time t",
            r"$\|L^q_t - L^o_t\|_F$",
            [
                Line("as printed", table["t"], table["normalised, absorb"]),
                Line("labels pure", table["t"], table["normalised, pure"], "--"),
            ],
        )
        for dataset, table in averages.items()
    ]
    accuracy = [
        Panel(
            "",
            "time t",
            "cumulative accuracy",
            [
                Line("W (all examples, offline)", table["t"], table["offline"], "-", LIGHT),
                Line("W^o (all so far)", table["t"], table["every_example"], "-", GREY),
                Line("W^q (quantized, as printed)", table["t"], table["accuracy, absorb"]),
                Line("W^q (quantized, labels pure)", table["t"], table["accuracy, pure"], "--"),
            ],
        )
        for table in averages.values()
    ]
    return Picture(name, [errors, accuracy])


def _claims(reading: str, averages: dict[str, dict[str, list[float]]]) -> list[Claim]:
    both = [(name, variant) for name in averages for variant in binary.VARIANTS]
    slopes = {f"{name}, {v}": _slopes(averages[name], v) for name, v in both}
    changes = {f"{name}, {v}": _change(averages[name], v) for name, v in both}
    return [
        Claim(
            f"[{_said(reading)}] As time t increases, the error slowly levels off (Figure 2, top).",
            "Growth per example in the last half over that in the first half: "
            + "; ".join(f"{name} {share:.2f}" for name, share in slopes.items())
            + ". Below 0.5 is called levelling off.",
            judged(share < 0.5 for share in slopes.values()),
        ),
        Claim(
            f"[{_said(reading)}] The accuracy on W^q changes little with t (Figure 2, bottom).",
            "Largest less smallest cumulative accuracy after the first quarter: "
            + "; ".join(f"{name} {change:.3f}" for name, change in changes.items())
            + f". At most {LITTLE} is called little.",
            judged(change <= LITTLE for change in changes.values()),
        ),
    ]


def _said(reading: str) -> str:
    return {"pairs": "one class against one", "rest": "one against the rest"}[reading]


def _slopes(table: dict[str, list[float]], variant: str) -> float:
    t, error = np.array(table["t"]), np.array(table[f"normalised, {variant}"])
    half = len(t) // 2
    early, late = _slope(t[: half + 1], error[: half + 1]), _slope(t[half:], error[half:])
    return late / early if early > 0 else np.inf


def _slope(t: Floats, values: Floats) -> float:
    return float(np.polyfit(t, values, 1)[0])


def _change(table: dict[str, list[float]], variant: str) -> float:
    settled = np.array(table[f"accuracy, {variant}"])[len(table["t"]) // 4 :]
    return float(np.ptp(settled))


STUDY = Study("fig2", "Figure 2: 200 centroids over time", jobs, conclude, binary.WANTED)
