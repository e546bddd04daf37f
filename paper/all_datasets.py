"""Beyond the paper: every method on every data set; accuracy against labels, k and time.

Each method is tuned first: all its parameters are tried on another shuffle of the data, or, where
the order means something, on the first third of the stream, with the truth to choose by, which no
user has. Our default profile is the same everywhere, but was chosen on, or changed after looking
at, all real data here, digits and moons; spirals, the swiss roll and the drifting clusters had no
part in it. Abstentions count as wrong. Slow methods see the first examples only, as the table says.
"""

import json
from collections.abc import Callable

import numpy as np

from labelwalk.evaluation import calibration_error, windowed_accuracy
from labelwalk.learner import OnlineLearner
from paper.datasets import GENERATORS, load
from paper.evaluation import Stream, evaluate, labels_first
from paper.findings import Claim, Findings, Line, Panel, Picture, Table, judge, tabulate
from paper.methods import MAX_EXAMPLES, MAX_TUNING_EXAMPLES, METHODS, make_learner
from paper.study import Job, Measurement, Plan, Result, Study, list_values, select

DATA = ("optdigits", "letter", "outdoor", "keystroke", "elec2", "office")
ALWAYS = tuple(GENERATORS)
OURS, NEAREST, FIGURE_1 = "ours, default profile", "nearest label", "ours, Figure 1"
FULL, QUICK = {"max_examples": 6000, "seeds": 3}, {"max_examples": 500, "seeds": 1}
TUNING_SEED = 100
LABELS_PER_CLASS = (1, 2, 4, 8, 16)
CENTROIDS = (50, 100, 200, 500, 1000)
WINDOW = 500
MAX_LOSS = 0.01
PANELS_PER_ROW = 3


def run(plan: Plan) -> list[Result]:
    """Run each method on each data set; the learner with each number of labels and centroids."""
    size = QUICK if plan.quick else FULL
    datasets = [*(name for name in DATA if name in plan.available), *ALWAYS]
    shuffled = [name for name in datasets if not load(name).in_time]
    variations = (
        (compare_method, datasets, "method", METHODS),
        (measure_by_labels, shuffled, "per_class", LABELS_PER_CLASS),
        (measure_by_centroids, datasets, "n_centroids", CENTROIDS),
    )
    return plan.run(
        Job(work, {"dataset": dataset, argument: value, **size})
        for work, names, argument, values in variations
        for dataset in names
        for value in values
    )


def make_stream(dataset: str, seed: int, max_examples: int, per_class: int = 4) -> Stream:
    """Return a shuffled stream, or the first examples in order if the order means something."""
    data = load(dataset)
    order = np.arange(len(data.y))
    if not data.in_time:
        order = np.random.default_rng(seed).permutation(order)
    order = order[:max_examples]
    return labels_first(data.X[order], data.y[order], per_class=per_class)


def compare_method(dataset: str, method: str, max_examples: int, seeds: int) -> Measurement:
    """Tune a method, and evaluate it for each seed."""
    n = min(max_examples, MAX_EXAMPLES.get(method, max_examples))
    n_tuning = min(n, MAX_TUNING_EXAMPLES.get(method, n))
    grid = METHODS[method][1]
    best = grid[0]
    if len(grid) > 1:
        shares = [_tuning_accuracy(dataset, method, chosen, n_tuning) for chosen in grid]
        best = grid[int(np.argmax(shares))]
    names = ("seed", "accuracy", "calibration", "examples", "bytes", "chosen", "over time")
    rows, seconds = [], []
    for seed in _list_seeds(dataset, seeds):
        stream = make_stream(dataset, seed, n)
        result = evaluate(make_learner(method, stream.rows, best), stream)
        n_answers = len(result.correct)
        over_time = windowed_accuracy(result.correct, WINDOW)[:: max(1, n_answers // 40)]
        calibration = calibration_error(result.confidence, result.correct & result.answered)
        row = (seed, result.accuracy, calibration, n_answers, result.nbytes, json.dumps(best))
        rows.append((*row, over_time.tolist()))
        seconds.append(float(result.seconds.mean()))
    return Measurement(tabulate(names, rows), {"per example": float(np.mean(seconds))})


def _list_seeds(dataset: str, seeds: int) -> range:
    """Return one seed for data in an order that means something, which no seed changes."""
    return range(1 if load(dataset).in_time else seeds)


def _tuning_accuracy(dataset: str, method: str, chosen: dict[str, float], n: int) -> float:
    data = load(dataset)
    n = min(n, len(data.y) // 3) if data.in_time else n
    stream = make_stream(dataset, TUNING_SEED, n)
    return evaluate(make_learner(method, stream.rows, chosen), stream).accuracy


def measure_by_labels(dataset: str, per_class: int, max_examples: int, seeds: int) -> Measurement:
    """Accuracy of our default and of the nearest label with so many labels a class."""
    table: Table = {OURS: [], NEAREST: []}
    for seed in range(seeds):
        stream = make_stream(dataset, seed, max_examples, per_class)
        for method, column in table.items():
            column.append(evaluate(make_learner(method, stream.rows, {}), stream).accuracy)
    return Measurement(table)


def measure_by_centroids(
    dataset: str, n_centroids: int, max_examples: int, seeds: int
) -> Measurement:
    """Accuracy of our default with so many vertices."""
    streams = [make_stream(dataset, seed, max_examples) for seed in _list_seeds(dataset, seeds)]
    return Measurement({OURS: [evaluate(OnlineLearner(n_centroids), s).accuracy for s in streams]})


def conclude(results: list[Result]) -> Findings:
    """Put all of it into tables, and find where our default is not best."""
    table = _average(results, compare_method, "method", "method", ("accuracy", "calibration"))
    compared = select(results, compare_method)
    for name in ("examples", "bytes", "chosen"):
        table[name] = [result.columns[name][0] for result in compared]
    microseconds = [round(1e6 * result.seconds["per example"], 1) for result in compared]
    times = {"data": table["data"], "method": table["method"], "microseconds": microseconds}
    labels = _average(results, measure_by_labels, "per_class", "labels a class", (OURS, NEAREST))
    centroids = _average(results, measure_by_centroids, "n_centroids", "k", (OURS,))
    return Findings(
        tables={
            "everywhere": table,
            "everywhere-times": times,
            "everywhere-labels": labels,
            "everywhere-centroids": centroids,
        },
        pictures=[
            _draw_table("everywhere-labels", labels, "labels a class"),
            _draw_table("everywhere-centroids", centroids, "k"),
            _draw_times(results),
        ],
        claims=_judge_claims(table),
        notes=[f"{__doc__}".strip().partition("\n\n")[2].replace("\n", " ")],
    )


def _average(
    results: list[Result],
    work: Callable[..., Measurement],
    argument: str,
    title: str,
    columns: tuple[str, ...],
) -> Table:
    """Return the mean of columns for each value of an argument, in a column with this title."""
    same = select(results, work)
    rows = (
        (
            *(result.arguments["dataset"], result.arguments[argument]),
            *(round(float(np.mean(result.columns[name])), 4) for name in columns),
        )
        for result in same
    )
    return tabulate(("data", title, *columns), rows)


def _draw_table(name: str, table: Table, x_label: str) -> Picture:
    panels = []
    for dataset in dict.fromkeys(table["data"]):
        rows = [i for i, data in enumerate(table["data"]) if data == dataset]
        x = [float(table[x_label][i]) for i in rows]
        lines = [
            Line(method, x, [table[method][i] for i in rows], "o-", colour)
            for method, colour in ((OURS, "black"), (NEAREST, "0.6"))
            if method in table
        ]
        panels.append(Panel(dataset, x_label, "accuracy", lines, log_x=True))
    return _arrange(name, panels)


def _draw_times(results: list[Result]) -> Picture:
    styles = {OURS: ("-", "black"), NEAREST: ("-", "0.6"), FIGURE_1: ("--", "0.35")}
    panels = []
    for dataset in list_values(results, "dataset"):
        if not load(dataset).in_time:
            continue
        lines = []
        for result in select(results, compare_method, dataset=dataset):
            method = result.arguments["method"]
            if method in styles:
                y, n = result.columns["over time"][0], result.columns["examples"][0]
                lines.append(Line(method, np.linspace(0, n, len(y)).tolist(), y, *styles[method]))
        panels.append(Panel(dataset, "time", f"accuracy of the last {WINDOW}", lines))
    return _arrange("everywhere-time", panels)


def _arrange(name: str, panels: list[Panel]) -> Picture:
    starts = range(0, len(panels), PANELS_PER_ROW)
    return Picture(name, [panels[start : start + PANELS_PER_ROW] for start in starts])


def _judge_claims(table: Table) -> list[Claim]:
    shares: dict[str, dict[str, float]] = {}
    for data, method, share in zip(table["data"], table["method"], table["accuracy"], strict=True):
        shares.setdefault(data, {})[method] = share
    # offline methods and those that see fewer examples are not compared
    rivals = [m for m in METHODS if not m.endswith("offline") and m not in MAX_EXAMPLES]
    best = {data: max(rivals, key=methods.__getitem__) for data, methods in shares.items()}
    return [
        Claim(
            "[ours, not the paper's] The default profile is never more than a point below the "
            "nearest label.",
            ", ".join(
                f"{data} {m[OURS]:.3f} against {m[NEAREST]:.3f}" for data, m in shares.items()
            ),
            judge(m[OURS] >= m[NEAREST] - MAX_LOSS for m in shares.values()),
        ),
        Claim(
            "[ours, not the paper's] The default profile, the same everywhere, is the best of the "
            "methods that answer at once and see the whole stream, all others tuned for each.",
            ", ".join(
                f"{data}: best is {best[data]} ({m[best[data]]:.3f}), ours {m[OURS]:.3f}"
                for data, m in shares.items()
            ),
            judge(best[data] == OURS for data in shares),
        ),
    ]


STUDY = Study("everywhere", "Beyond the paper: every method on every data set", run, conclude, DATA)
