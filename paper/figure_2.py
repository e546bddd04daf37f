"""Figure 2: a fixed number of centroids, as time passes."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from paper import section_5_1
from paper.findings import Claim, Findings, Picture, judge
from paper.study import Plan, Result, Study, list_values, select

K = 200
LITTLE = 0.03  # the largest change of accuracy that is called little
READING_TITLES = {"pairs": "one class against one", "rest": "one against the rest"}

Table = dict[str, list[float]]


def run(plan: Plan) -> list[Result]:
    """Run both readings of "each class against every other"."""
    readings = section_5_1.READINGS
    return plan.run(
        job for reading in readings for job in section_5_1.list_jobs(plan, reading, [K])
    )


def conclude(results: list[Result]) -> Findings:
    """Average over problems; judge whether errors level off and accuracy stays."""
    findings = Findings()
    for reading in section_5_1.READINGS:
        same = [r for r in results if (r.arguments["negative"] < 0) == (reading == "rest")]
        averages = {name: _average(same, name) for name in list_values(same, "dataset")}
        for name, table in averages.items():
            findings.tables[f"fig2-{reading}-{name}"] = table
        panels = section_5_1.draw_panels(averages, "t", "time t", r"$\|L^q_t - L^o_t\|_F$", "")
        findings.pictures.append(Picture(f"fig2-{reading}", panels))
        findings.claims.extend(_judge_claims(reading, averages))
    return findings


def _average(results: list[Result], dataset: str) -> Table:
    """Mean over problems of every measure, at each time."""

    def mean(same: list[Result], column: str) -> list[float]:
        return [float(value) for value in np.mean([r.columns[column] for r in same], axis=0)]

    table: Table = {}
    for variant in section_5_1.VARIANTS:
        same = select(results, section_5_1.solve_quantized, dataset=dataset, variant=variant)
        table["t"] = mean(same, "t")
        for name in ("normalised", "plain", "accuracy"):
            table[f"{name}, {variant}"] = mean(same, name)
    for name, work in section_5_1.BASELINES.items():
        table[name] = mean(select(results, work, dataset=dataset), "accuracy")
    return table


def _judge_claims(reading: str, averages: dict[str, Table]) -> list[Claim]:
    cases = [(name, variant) for name in averages for variant in section_5_1.VARIANTS]
    slopes = {f"{name}, {v}": _compare_slopes(averages[name], v) for name, v in cases}
    changes = {f"{name}, {v}": _measure_change(averages[name], v) for name, v in cases}
    title = READING_TITLES[reading]
    return [
        Claim(
            f"[{title}] As time t increases, the error slowly levels off (Figure 2, top).",
            "Growth per example in the last half over that in the first half: "
            + "; ".join(f"{name} {share:.2f}" for name, share in slopes.items())
            + ". Below 0.5 is called levelling off.",
            judge(share < 0.5 for share in slopes.values()),
        ),
        Claim(
            f"[{title}] The accuracy on W^q changes little with t (Figure 2, bottom).",
            "Largest less smallest cumulative accuracy after the first quarter: "
            + "; ".join(f"{name} {change:.3f}" for name, change in changes.items())
            + f". At most {LITTLE} is called little.",
            judge(change <= LITTLE for change in changes.values()),
        ),
    ]


def _compare_slopes(table: Table, variant: str) -> float:
    t, error = np.array(table["t"]), np.array(table[f"normalised, {variant}"])
    half = len(t) // 2
    early, late = _fit_slope(t[: half + 1], error[: half + 1]), _fit_slope(t[half:], error[half:])
    return late / early if early > 0 else np.inf


def _fit_slope(t: Floats, values: Floats) -> float:
    return float(np.polyfit(t, values, 1)[0])


def _measure_change(table: Table, variant: str) -> float:
    return float(np.ptp(table[f"accuracy, {variant}"][len(table["t"]) // 4 :]))


STUDY = Study("fig2", "Figure 2: 200 centroids over time", run, conclude, section_5_1.DATA)
