"""Section 5.1 of the paper, Figures 2 and 3: letters and digits as binary problems.

The paper says neither how many examples are labelled nor how much is regularised here. Four of each
class are. With its bandwidth almost everything is similar to everything, and with a small sink the
solution on all examples is flat and near to chance; so γ_g was searched for that solution, on five
pairs that are not among the ten (`search_sink`), and is 1000 for all.

Figure 1 is run as printed, where labelled vertices absorb unlabelled examples within R and grow as
heavy as their examples, and with labelled vertices that stand for their own examples alone.
"""

from collections.abc import Iterable
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

import numpy as np

from labelwalk.arrays import Bools
from labelwalk.evaluation import cumulative_accuracy
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian
from paper.baselines.full_graph import (
    EveryExample,
    OfflineHarmonic,
    compute_similarities,
    scale_bandwidth,
)
from paper.bounds.generalization import fit_exponent
from paper.bounds.quantization import find_nearest, quantization_error
from paper.datasets import load
from paper.evaluation import EvaluationResult, Stream, evaluate, labels_first
from paper.findings import Claim, Findings, Line, Panel, Picture, Table, judge, tabulate
from paper.study import Job, Measurement, Plan, Result, Study, list_values, select

SINK, GROWTH, N_LABELS = 1000.0, 1.5, 4
SINKS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)
Variant = Literal["absorb", "pure"]
VARIANTS: dict[Variant, str] = {"absorb": "as printed", "pure": "labelled vertices pure"}
# one class against another; one class against all others
READINGS = {"pairs": "one class against one", "rest": "one against the rest"}
DATA, SUBSTITUTES = ("letter", "optdigits"), ("digits",)
K = 200  # centroids of Figure 2
N_TIMES = 12  # at which errors are measured
LITTLE = 0.03  # the largest change of accuracy that is called little
CLOSE = 0.01  # the largest difference of accuracies that are called alike
GREY, LIGHT_GREY = "0.35", "0.7"
BASELINES: dict[str, type[OfflineHarmonic | EveryExample]] = {
    "offline": OfflineHarmonic,
    "every_example": EveryExample,
}


class Scope(NamedTuple):
    """Number of problems and examples, and the numbers of centroids of Figure 3."""

    problems: int
    max_examples: int
    centroids: tuple[int, ...]


FULL = Scope(10, 1500, (25, 50, 100, 200, 400, 800))
QUICK = Scope(3, 800, (25, 50, 100, 200))


def choose_problems(dataset: str, reading: str, count: int) -> list[tuple[int, int]]:
    """Return pairs of classes, fixed by a seed; -1 stands for all other classes.

    Examples
    --------
    >>> choose_problems("digits", "rest", 2)
    [(4, -1), (6, -1)]
    """
    classes = range(load(dataset).n_classes)
    pairs = list(combinations(classes, 2)) if reading == "pairs" else [(c, -1) for c in classes]
    order = np.random.default_rng(0).permutation(len(pairs))[:count]
    return [pairs[i] for i in order]


def make_stream(dataset: str, positive: int, negative: int, max_examples: int) -> Stream:
    """Return the examples of two classes, shuffled, four labels each first."""
    data = load(dataset)
    rows = np.flatnonzero((data.y == positive) | (negative < 0) | (data.y == negative))
    rows = np.random.default_rng(0).permutation(rows)[:max_examples]
    return labels_first(
        data.X[rows], (data.y[rows] != positive).astype(np.int64), per_class=N_LABELS
    )


def list_jobs(plan: Plan, reading: str, centroids: Iterable[int]) -> list[Job]:
    """Return the jobs of all problems: quantized with k centroids, offline, and online."""
    count, max_examples, _ = QUICK if plan.quick else FULL
    problems = [
        {"dataset": name, "positive": one, "negative": other, "max_examples": max_examples}
        for name in plan.choose(DATA, SUBSTITUTES)
        for one, other in choose_problems(name, reading, count)
    ]
    quantized = [
        Job(solve_quantized, {**problem, "k": k, "variant": variant})
        for k in centroids
        for variant in VARIANTS
        for problem in problems
    ]
    return quantized + [
        Job(solve_unquantized, {**problem, "method": method})
        for method in BASELINES
        for problem in problems
    ]


def solve_unquantized(
    dataset: str, positive: int, negative: int, max_examples: int, method: str
) -> Measurement:
    """W, the solution on all examples for every answer, or W^o, that on all examples so far."""
    stream = make_stream(dataset, positive, negative, max_examples)
    return _sample_accuracy(_evaluate(BASELINES[method], stream).correct)


def search_sink(dataset: str, max_examples: int) -> Measurement:
    """Accuracy on W for several sinks, on pairs that no figure shows."""
    pairs = choose_problems(dataset, "pairs", FULL.problems + 5)[FULL.problems :]
    streams = [make_stream(dataset, *pair, max_examples) for pair in pairs]
    accuracy = [
        float(np.mean([_evaluate(OfflineHarmonic, stream, sink).accuracy for stream in streams]))
        for sink in SINKS
    ]
    return Measurement({"sink": list(SINKS), "accuracy": accuracy})


def _evaluate(
    method: type[OfflineHarmonic | EveryExample], stream: Stream, sink: float = SINK
) -> EvaluationResult:
    similarity = Gaussian(scale_bandwidth(stream.rows), threshold=0.0)
    return evaluate(method(similarity, sink), stream)


def solve_quantized(
    dataset: str, positive: int, negative: int, max_examples: int, k: int, variant: Variant
) -> Measurement:
    """W^q: the paper's learner; its errors ‖L^q − L^o‖_F and accuracy at several times."""
    stream = make_stream(dataset, positive, negative, max_examples)
    sigma = scale_bandwidth(stream.rows)
    learner = OnlineLearner.paper(k, sigma, SINK, GROWTH, labelled=variant)
    taught = stream.taught
    learner.teach(stream.rows[taught], stream.truth[taught].tolist())
    start, correct, measured = int(taught.sum()), np.zeros(0, dtype=np.bool_), []
    for t in list_times(len(stream.rows)):
        block = slice(start + len(correct), t)
        answers = learner.observe(stream.rows[block]).label == stream.truth[block]
        correct = np.concatenate([correct, answers.astype(np.bool_)])
        rows, centres = stream.rows[:t], learner.vertices.points
        w, w_q = (compute_similarities(x, x, sigma) for x in (rows, centres))
        assigned = find_nearest(rows, centres)
        errors = (quantization_error(w, w_q, assigned, normalised) for normalised in (True, False))
        measured.append((t, *errors, learner.radius))
    table = tabulate(("t", "normalised", "plain", "radius"), measured)
    return Measurement({**table, **_sample_accuracy(correct).columns})


def list_times(n: int) -> list[int]:
    """Return the times at which errors are measured, the last one n."""
    return [n * i // N_TIMES for i in range(1, N_TIMES + 1)]


def _sample_accuracy(correct: Bools) -> Measurement:
    """Return the cumulative accuracy at each time."""
    shares, n_labels = cumulative_accuracy(correct), 2 * N_LABELS
    times = list_times(len(shares) + n_labels)
    return Measurement({"t": times, "accuracy": [float(shares[t - n_labels - 1]) for t in times]})


def run_over_time(plan: Plan) -> list[Result]:
    """Run both readings of "each class against every other" for Figure 2."""
    return plan.run(job for reading in READINGS for job in list_jobs(plan, reading, [K]))


def run_over_k(plan: Plan) -> list[Result]:
    """Run each problem of Figure 3 with each number of centroids and without quantization."""
    _, max_examples, centroids = QUICK if plan.quick else FULL
    searches = [
        Job(search_sink, {"dataset": name, "max_examples": max_examples})
        for name in plan.choose(DATA, SUBSTITUTES)
    ]
    return plan.run(list_jobs(plan, "pairs", centroids) + searches)


def conclude_over_time(results: list[Result]) -> Findings:
    """Average over problems; judge whether errors level off and accuracy stays."""
    findings, every = Findings(), slice(None)
    for reading in READINGS:
        same = [r for r in results if (r.arguments["negative"] < 0) == (reading == "rest")]
        averages = {}
        for name in list_values(same, "dataset"):
            times = _average(select(same, solve_quantized, dataset=name), "t", every)
            measures = ("normalised", "plain", "accuracy")
            averages[name] = {"t": times, **_average_all(same, name, measures, every)}
            findings.tables[f"fig2-{reading}-{name}"] = averages[name]
        panels = _draw_panels(averages, "t", "time t", r"$\|L^q_t - L^o_t\|_F$", "")
        findings.pictures.append(Picture(f"fig2-{reading}", panels))
        findings.claims.extend(_judge_over_time(reading, averages))
    return findings


def conclude_over_k(results: list[Result]) -> Findings:
    """Average over problems at the end of the stream; judge whether more centroids help."""
    centroids = [float(k) for k in list_values(results, "k")]
    measures = ("normalised", "plain", "radius", "accuracy")
    tables: dict[str, Table] = {}
    searches: dict[str, Table] = {}
    for name in list_values(results, "dataset"):
        tables[name] = {"k": centroids, **_average_all(results, name, measures, -1)}
        searches[f"fig3-search-{name}"] = select(results, search_sink, dataset=name)[0].columns
    panels = _draw_panels(tables, "k", "number of centroids k", r"$\|L^q - L\|_F$", "o")
    return Findings(
        tables={**{f"fig3-{name}": table for name, table in tables.items()}, **searches},
        pictures=[Picture("fig3", panels)],
        claims=[claim for v in VARIANTS for claim in _judge_over_k(tables, v)],
        notes=[f"{__doc__}".partition("\n\n")[2].replace("\n", " ")],
    )


def _average(results: list[Result], column: str, at: int | slice) -> list[float]:
    """Return the mean over problems at one time, or at several."""
    means = np.mean([result.columns[column][at] for result in results], axis=0)
    return [float(mean) for mean in np.atleast_1d(means)]


def _average_all(
    results: list[Result], dataset: str, measures: tuple[str, ...], at: int | slice
) -> Table:
    """Return the means of each measure, for one number of centroids after the other."""
    centroids = list_values(results, "k")
    table: Table = {}
    for variant in VARIANTS:
        same = select(results, solve_quantized, dataset=dataset, variant=variant)
        for measure in measures:
            table[f"{measure}, {variant}"] = [
                mean
                for k in centroids
                for mean in _average(select(same, solve_quantized, k=k), measure, at)
            ]
    for method in BASELINES:
        same = select(results, solve_unquantized, dataset=dataset, method=method)
        table[method] = _average(same, "accuracy", at) * len(centroids)
    return table


def _draw_panels(
    tables: dict[str, Table], x: str, x_label: str, y_label: str, marker: str
) -> list[list[Panel]]:
    """Return the panels of a figure: errors above, accuracies below."""
    printed, pure, log_x = f"{marker}-", f"{marker}--", bool(marker)
    errors, accuracies = [], []
    for dataset, table in tables.items():
        lines = [
            Line("as printed", table[x], table["normalised, absorb"], printed),
            Line("labels pure", table[x], table["normalised, pure"], pure),
        ]
        errors.append(Panel(dataset, x_label, y_label, lines, log_x))
        lines = [
            Line("W (all examples, offline)", table[x], table["offline"], "-", LIGHT_GREY),
            Line("W^o (all so far)", table[x], table["every_example"], "-", GREY),
            Line("W^q (quantized, as printed)", table[x], table["accuracy, absorb"], printed),
            Line("W^q (quantized, labels pure)", table[x], table["accuracy, pure"], pure),
        ]
        accuracies.append(Panel("", x_label, "cumulative accuracy", lines, log_x))
    return [errors, accuracies]


def _judge_over_time(reading: str, averages: dict[str, Table]) -> list[Claim]:
    cases = [(name, variant) for name in averages for variant in VARIANTS]
    slopes = {f"{name}, {v}": _compare_slopes(averages[name], v) for name, v in cases}
    changes = {
        f"{name}, {v}": float(np.ptp(averages[name][f"accuracy, {v}"][N_TIMES // 4 :]))
        for name, v in cases
    }
    title = READINGS[reading]
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
    halves = slice(len(t) // 2 + 1), slice(len(t) // 2, None)
    early, late = (float(np.polyfit(t[half], error[half], 1)[0]) for half in halves)
    return late / early if early > 0 else np.inf


def _judge_over_k(tables: dict[str, Table], variant: Variant) -> list[Claim]:
    title = VARIANTS[variant]
    errors = {name: table[f"normalised, {variant}"] for name, table in tables.items()}
    accuracies = {name: table[f"accuracy, {variant}"] for name, table in tables.items()}
    gains = {name: shares[-1] - shares[0] for name, shares in accuracies.items()}
    gaps = {name: tables[name]["every_example"][-1] - accuracies[name][-1] for name in tables}
    steps = [
        later < earlier or later == earlier == 0.0
        for series in errors.values()
        for earlier, later in pairwise(series)
    ]
    exponents = ", ".join(_format_exponent(n, tables[n]["k"], errors[n]) for n in tables)
    return [
        Claim(
            f"[{title}] As k increases, the quantization error decreases (Figure 3, top).",
            f"It falls at {sum(steps)} of {len(steps)} steps between the fewest and the most (R "
            f"grows in steps of 1.5). Fitted exponents of the error in k: {exponents}.",
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


def _format_exponent(name: str, centroids: list[float], errors: list[float]) -> str:
    # the error is 0 if all examples are centroids
    lossy = [(k, e) for k, e in zip(centroids, errors, strict=True) if e > 0]
    slope = f"{fit_exponent(*zip(*lossy, strict=True)):.2f}" if len(lossy) > 1 else "none"
    features = load(name).X.shape[1]
    return f"{name} {slope} (-1/d = {-1 / features:.3f} for its {features} features)"


def _format_numbers(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:+.3f}" for name, number in numbers.items())


OVER_TIME = Study(
    "fig2", "Figure 2: 200 centroids over time", run_over_time, conclude_over_time, DATA
)
OVER_K = Study("fig3", "Figure 3: more and more centroids", run_over_k, conclude_over_k, DATA)
