"""Figure 3: the whole stream, with more and more centroids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from paper import section_5_1
from paper.bounds.generalization import fit_exponent
from paper.datasets import load
from paper.findings import Claim, Findings, Picture, judge
from paper.study import Job, Plan, Result, Study, list_values, select

CLOSE = 0.01  # the largest difference of accuracies that are called alike

Table = dict[str, list[float]]


def run(plan: Plan) -> list[Result]:
    """Run each problem with each number of centroids and without quantization."""
    scope = section_5_1.choose_scope(plan)
    searches = [
        Job(section_5_1.search_sink, {"dataset": name, "max_examples": scope.max_examples})
        for name in plan.choose(section_5_1.DATA, section_5_1.SUBSTITUTES)
    ]
    return plan.run(section_5_1.list_jobs(plan, "pairs", scope.centroids) + searches)


def conclude(results: list[Result]) -> Findings:
    """Average over problems; judge whether more centroids help."""
    datasets = list_values(results, "dataset")
    tables = {name: _average(results, name) for name in datasets}
    searches = {
        f"fig3-search-{name}": select(results, section_5_1.search_sink, dataset=name)[0].columns
        for name in datasets
    }
    label = "number of centroids k"
    panels = section_5_1.draw_panels(tables, "k", label, r"$\|L^q - L\|_F$", "o")
    return Findings(
        tables={**{f"fig3-{name}": table for name, table in tables.items()}, **searches},
        pictures=[Picture("fig3", panels)],
        claims=[claim for v in section_5_1.VARIANTS for claim in _judge_claims(tables, v)],
        notes=[f"{section_5_1.__doc__}".partition("\n\n")[2].replace("\n", " ")],
    )


def _average(results: list[Result], dataset: str) -> Table:
    """Mean over problems of every measure at the end, for each number of centroids."""

    def mean(same: list[Result], column: str) -> float:
        return float(np.mean([result.columns[column][-1] for result in same]))

    centroids = list_values(results, "k")
    table: Table = {"k": [float(k) for k in centroids]}
    for variant in section_5_1.VARIANTS:
        same = select(results, section_5_1.solve_quantized, dataset=dataset, variant=variant)
        for column in ("normalised", "plain", "radius", "accuracy"):
            table[f"{column}, {variant}"] = [
                mean([r for r in same if r.arguments["k"] == k], column) for k in centroids
            ]
    for name, work in section_5_1.BASELINES.items():
        at_end = mean(select(results, work, dataset=dataset), "accuracy")
        table[name] = [at_end] * len(centroids)
    return table


def _judge_claims(tables: dict[str, Table], variant: str) -> list[Claim]:
    title = {"absorb": "as printed", "pure": "labelled vertices pure"}[variant]
    errors = {name: table[f"normalised, {variant}"] for name, table in tables.items()}
    accuracies = {name: table[f"accuracy, {variant}"] for name, table in tables.items()}
    gains = {name: shares[-1] - shares[0] for name, shares in accuracies.items()}
    gaps = {name: tables[name]["every_example"][-1] - accuracies[name][-1] for name in tables}
    steps = [
        later < earlier or later == earlier == 0.0
        for series in errors.values()
        for earlier, later in pairwise(series)
    ]
    return [
        Claim(
            f"[{title}] As k increases, the quantization error decreases (Figure 3, top).",
            f"It falls at {sum(steps)} of {len(steps)} steps between the fewest and the most (R "
            "grows in steps of 1.5). Fitted exponents of the error in k: "
            f"{_format_exponents(tables, errors)}.",
            judge(steps),
        ),
        Claim(
            f"[{title}] As k increases, the quality of the solutions on W^q improves (Figure 3, "
            "bottom).",
            f"Accuracy with most centroids less that with fewest: {_format_numbers(gains)}.",
            judge(gain > 0 for gain in gains.values()),
        ),
        Claim(
            f"[{title}] It approaches that on W^o (Figure 3, bottom).",
            f"Accuracy on W^o less that with most centroids: {_format_numbers(gaps)}. Within "
            f"{CLOSE} is called that.",
            judge(abs(gap) <= CLOSE for gap in gaps.values()),
        ),
    ]


def _format_exponents(tables: dict[str, Table], errors: dict[str, list[float]]) -> str:
    texts = []
    for name, error in errors.items():
        # the error is 0 if all examples are centroids
        lossy = [(k, e) for k, e in zip(tables[name]["k"], error, strict=True) if e > 0]
        slope = f"{fit_exponent(*zip(*lossy, strict=True)):.2f}" if len(lossy) > 1 else "none"
        features = load(name).X.shape[1]
        texts.append(f"{name} {slope} (-1/d = {-1 / features:.3f} for its {features} features)")
    return ", ".join(texts)


def _format_numbers(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:+.3f}" for name, number in numbers.items())


STUDY = Study("fig3", "Figure 3: more and more centroids", run, conclude, section_5_1.DATA)
