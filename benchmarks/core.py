"""The learner's step against the same in NumPy, a Cholesky each step, and one bare distance pass.

Data: an endless 10-class stream of digits, 64 features, 4 labels a class, tolerance 1e-2, one
thread, everything warm. All times of a line come from one run on one machine: read the ratios.
Blocks are timed by the processor's clock, which other programs on the machine disturb less.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from operator import ge, le
from pathlib import Path
from typing import Any, NamedTuple

from _against import THREAD_VARIABLES

os.environ |= dict.fromkeys(THREAD_VARIABLES, "1")

import numpy as np
from _references import Graph, Profile, seconds_bare_pass, seconds_each
from _report import Measurement, make_parser, print_measurements
from _stopwatch import read_memory, time_call
from _stream import DigitStream
from rich.console import Console
from rich.table import Table
from sklearn.neighbors import KNeighborsClassifier

from labelwalk import Gaussian, OnlineLearner

# Graphs on which the exact solution beats the nearest label by at least three points. Walks get
# longer, and answers dearer, with a smaller sink or more vertices: see docs/guide/speed.md.
BANDWIDTH = {200: 6.0, 500: 5.5, 1000: 4.5}
SINK = {200: 1e-4, 500: 1e-3, 1000: 1e-3}
REFERENCE_STEPS = {200: 40, 500: 12, 1000: 6}
WARM_UP = 2_000
WANTED_NEIGHBOURS = 20
EXACT_ROWS = 500
EXACT = 1e-6  # of a probability; its answers are those of a direct solution, which takes longer

# What a release must reach, for each k: the least of a figure, or the most.
EACH = (200, 500, 1000)
LIMITS = [
    (ge, "dense", "times_naive", {200: 50, 500: 100, 1000: 200}),
    (ge, "dense", "times_cholesky", {200: 10, 500: 25, 1000: 50}),
    (ge, "dense", "over_nearest_label", dict.fromkeys(EACH, 0.03)),
    (ge, "dense", "exact_over_nearest_label", dict.fromkeys(EACH, 0.03)),
    (ge, "sparse", "times_naive", {200: 100, 500: 250, 1000: 500}),
    (ge, "defaults", "times_naive", {200: 100, 500: 250, 1000: 500}),
    (le, "dense", "times_bare_pass", dict.fromkeys(EACH, 30)),
    (le, "defaults", "times_bare_pass", dict.fromkeys(EACH, 20)),
    (le, "defaults", "gap_to_naive", dict.fromkeys(EACH, 0.01)),
    (le, "dense", "single_over_block", {500: 3}),
    (le, "dense", "mebibytes", {500: 8}),
    (le, "long", "last_over_second", {500: 1.1}),
    (le, "long", "memory_growth", {500: 0.02}),
    (le, "start", "cached_seconds", {500: 3}),
]

PARTS = ["defaults", "speed", "long", "start"]
COMPARED = ["defaults", "speed", "start"]  # by --measurements


class Figure(NamedTuple):
    """How a figure of a learner is printed; --measurements prints those with a better direction."""

    name: str
    form: str
    better: str = ""


FIGURES = {
    "microseconds": Figure("observe on a block, µs", "{:.1f}", "lower"),
    "predict_microseconds": Figure("predict on a block, µs", "{:.1f}", "lower"),
    "naive_ms": Figure("the same step in NumPy, ms", "{:.2f}"),
    "times_naive": Figure("… times faster than it", "{:.0f} ×"),
    "gap_to_naive": Figure("… answers differ by at most", "{:.4f}"),
    "cholesky_ms": Figure("cached + Cholesky, ms", "{:.2f}"),
    "times_cholesky": Figure("… times faster than it", "{:.0f} ×"),
    "bare_microseconds": Figure("one bare distance pass, µs", "{:.1f}", "control"),
    "times_bare_pass": Figure("… times slower than it", "{:.1f} ×"),
    "single_mean": Figure("row by row, mean µs", "{:.1f}"),
    "single_over_block": Figure("… over the block call", "{:.2f} ×"),
    "single_p50": Figure("row by row, p50 µs", "{:.1f}", "lower"),
    "single_p99": Figure("row by row, p99 µs", "{:.1f}"),
    "accuracy": Figure("accuracy", "{:.3f}", "higher"),
    "nearest_label": Figure("1-NN on the same labels", "{:.3f}"),
    "exact_accuracy": Figure(f"exact solution, first {EXACT_ROWS}", "{:.3f}"),
    "exact_over_nearest_label": Figure("… over 1-NN on those", "{:+.3f}"),
    "largest_bound": Figure("largest proven bound", "{:.4f}", "lower"),
    "certain": Figure("answers proven certain", "{:.3f}"),
    "neighbours": Figure("neighbours a vertex", "{:.0f}"),
    "mebibytes": Figure("learner's arrays, MiB", "{:.2f}", "lower"),
}

console = Console(width=118)


# What the references do not do either is as in the paper; weights are balanced.
PLAIN = {
    "weight_cap": None,
    "representative": "founder",
    "readout": "vertex",
    "unreached": "abstain",
    "quarantine": None,
    "calibrate": False,
    "remember": 0,
}


def make_learner(
    k: int, stream: DigitStream, threshold: float = 0.0, tolerance: float = 1e-2
) -> OnlineLearner:
    similarity = Gaussian(BANDWIDTH[k], threshold)
    learner = OnlineLearner(k, similarity=similarity, sink=SINK[k], tolerance=tolerance, **PLAIN)
    learner.teach(*stream.labels())
    learner.observe(stream.draw(WARM_UP)[0])
    return learner


def threshold_for(k: int) -> float:
    """The threshold that leaves about 20 neighbours a vertex, from a cover without one."""
    learner = make_learner(k, DigitStream(seed=1))
    w = np.sort(learner.graph.similarity, axis=None)[::-1]
    return float(w[WANTED_NEIGHBOURS * learner.n_vertices])


def speed(k: int, n: int, threshold: float, *, with_references: bool) -> dict[str, float]:
    stream = DigitStream()
    learner = make_learner(k, stream, threshold)
    rows, truth = stream.draw(n)
    if with_references:
        some, theirs = rows[:EXACT_ROWS], truth[:EXACT_ROWS]
        exact = make_learner(k, DigitStream(), threshold, EXACT).observe(some).label
        nearest = KNeighborsClassifier(1).fit(*stream.labels())
    figure = {"k": k} | measure_learner(learner, rows, truth)
    block = figure["microseconds"]
    singles = [
        1e6 * time_call(lambda x=x: learner.observe(x), time.perf_counter)[1]
        for x in stream.draw(min(n, 4_000))[0]
    ]
    figure |= {
        "single_mean": float(np.mean(singles)),
        "single_p50": float(np.median(singles)),
        "single_p99": float(np.quantile(singles, 0.99)),
        "single_over_block": float(np.mean(singles)) / block,
    }
    if not with_references:
        return figure
    graph = Graph(learner, BANDWIDTH[k], threshold)
    few = stream.draw(REFERENCE_STEPS[k] + 1)[0]
    naive = seconds_each(graph.step_naively, few)
    cholesky = seconds_each(graph.step_with_cholesky, few)
    nearest_label, exact_accuracy = nearest.score(rows, truth), float(np.mean(exact == theirs))
    return figure | {
        "naive_ms": 1e3 * naive,
        "times_naive": 1e6 * naive / block,
        "cholesky_ms": 1e3 * cholesky,
        "times_cholesky": 1e6 * cholesky / block,
        "nearest_label": nearest_label,
        "over_nearest_label": figure["accuracy"] - nearest_label,
        "exact_accuracy": exact_accuracy,
        "exact_over_nearest_label": exact_accuracy - nearest.score(some, theirs),
    }


def measure_learner(
    learner: OnlineLearner, rows: np.ndarray, truth: np.ndarray
) -> dict[str, float]:
    """Observe rows, and return the figures that every part of this benchmark has."""
    verdicts, seconds = time_call(lambda: learner.observe(rows))
    some = rows[:2_000]
    predictions = [time_call(lambda: learner.predict(some))[1] for _ in range(4)]
    bare = seconds_bare_pass(learner.settings.n_centroids, rows[:5_000])
    return {
        "neighbours": float((learner.graph.similarity > 0).sum(axis=1).mean()),
        "microseconds": 1e6 * seconds / len(rows),
        "predict_microseconds": 1e6 * min(predictions[1:]) / len(some),  # the first settles all
        "bare_microseconds": 1e6 * bare,
        "times_bare_pass": seconds / len(rows) / bare,
        "accuracy": float(np.mean(verdicts.label == truth)),
        "largest_bound": float(verdicts.bound.max()),
        "certain": float(verdicts.certain.mean()),
        "mebibytes": learner.nbytes / 2**20,
    }


def print_figures(results: list[dict[str, float]], title: str) -> None:
    table = Table(title=title)
    table.add_column("per example")
    for result in results:
        table.add_column(f"k={result['k']}", justify="right")
    for key, (name, form, _) in FIGURES.items():
        if key in results[0]:
            table.add_row(name, *(form.format(result[key]) for result in results))
    console.print(table)


def long_stream(n: int) -> dict[str, Any]:
    """Time an example in each quarter of a long stream, and measure the memory it adds.

    Memory is compared with that after the first twentieth, which has touched every path.
    """
    stream = DigitStream()
    learner = make_learner(500, stream)
    quarters, resident = [0.0] * 4, []
    for i in range(20):
        for rows in stream.chunks(n // 20):
            _, seconds = time_call(lambda rows=rows: learner.observe(rows))
            quarters[i // 5] += 1e6 * seconds / (n // 4)
        resident.append(read_memory())
    return {
        "n": n,
        "quarters_microseconds": quarters,
        "last_over_second": quarters[3] / quarters[1],
        "after_mebibytes": resident[-1],
        "memory_growth": resident[-1] / resident[0] - 1,
        "learner_mebibytes": learner.nbytes / 2**20,
    }


def defaults(k: int, n: int, *, with_references: bool) -> dict[str, float]:
    """The same stream with every parameter of the learner at its default."""
    stream = DigitStream()
    learner = OnlineLearner(k)
    learner.teach(*stream.labels())
    learner.observe(stream.draw(WARM_UP)[0])
    figure = {"k": k} | measure_learner(learner, *stream.draw(n))
    if not with_references:
        return figure
    few = stream.draw(REFERENCE_STEPS[k] + 1)[0]
    gap = gap_to_naive(learner, few)
    naive = seconds_each(Profile(learner).step, few)
    times = 1e6 * naive / figure["microseconds"]
    return figure | {"naive_ms": 1e3 * naive, "times_naive": times, "gap_to_naive": gap}


def gap_to_naive(learner: OnlineLearner, rows: np.ndarray) -> float:
    """How far the learner's answers are from those of its NumPy twin, both standing still."""
    twin, foreseen = Profile(learner), learner.predict(rows)
    known = np.flatnonzero(~foreseen.outlier)
    return max(float(np.abs(twin.answer(rows[i]) - foreseen.probabilities[i]).max()) for i in known)


FIRST_ANSWER = """
import time
start = time.perf_counter()
import numpy as np
from labelwalk import OnlineLearner
learner = OnlineLearner(500)
rows = np.random.default_rng(0).normal(size=(100, 64))
learner.teach(rows[:10], list(range(10)))
learner.observe(rows[10:])
learner.predict(rows)
print(time.perf_counter() - start)
"""


def first_answer() -> dict[str, float]:
    """Seconds from `import labelwalk` to the first answers in a new process, loops cached."""
    command = [sys.executable, "-c", FIRST_ANSWER]
    runs = [float(subprocess.check_output(command, text=True)) for _ in range(4)]
    return {
        "first_process_seconds": runs[0],
        "cached_seconds": max(runs[1:]),
        "least_seconds": min(runs[1:]),
    }


def measure(
    parts: list[str], sizes: list[int], scale: int, *, with_references: bool
) -> dict[str, list[dict[str, Any]]]:
    """Measure all parts; the learner with each number of centroids."""
    figures, n = {}, 20_000 // scale
    if "start" in parts:
        figures["start"] = [first_answer()]
    if "defaults" in parts:
        figures["defaults"] = [defaults(k, n, with_references=with_references) for k in sizes]
    if "speed" in parts:
        thresholds = {"dense": dict.fromkeys(sizes, 0.0)}
        thresholds["sparse"] = {k: threshold_for(k) for k in sizes}
        for name, by_k in thresholds.items():
            figures[name] = [speed(k, n, by_k[k], with_references=with_references) for k in sizes]
    if "long" in parts:
        figures["long"] = [long_stream(1_000_000 // scale)]
    return figures


def measurements(figures: dict[str, list[dict[str, Any]]]) -> Iterator[Measurement]:
    """Yield figures of the package alone, without references and limits."""
    for first in figures.get("start", ()):
        yield Measurement("first answer in a new process, s", first["least_seconds"])
    for part in ("defaults", "dense", "sparse"):
        for figure in figures.get(part, ()):
            for key, (name, _, better) in FIGURES.items():
                if better and key in figure:
                    yield Measurement(f"{part}, k={figure['k']}: {name}", figure[key], better)
    for long in figures.get("long", ()):
        for i, quarter in enumerate(long["quarters_microseconds"], 1):
            yield Measurement(f"long stream, quarter {i}, µs", quarter)
        yield Measurement("long stream, resident MiB", long["after_mebibytes"])


def judge(figures: dict[str, list[dict[str, Any]]]) -> int:
    """Say which floors hold; return how many do not."""
    missed = 0
    for holds, part, name, by_k in LIMITS:
        for figure in figures.get(part, ()):
            k = figure.get("k", 500)
            if k not in by_k:
                continue
            good = holds(figure[name], by_k[k])
            missed += not good
            mark = "[green]holds[/]" if good else "[red]MISSED[/]"
            sign = "≥" if holds is ge else "≤"
            console.print(f"{mark}  {part}, k={k}: {name} {figure[name]:.4g} {sign} {by_k[k]}")
    return missed


def main() -> int:
    parser = make_parser(__doc__, write=False, measurements=True)
    parser.add_argument(
        "parts",
        nargs="*",
        help=f"{', '.join(PARTS)} (default: all; with --measurements {', '.join(COMPARED)})",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the examples")
    parser.add_argument("--k", type=int, nargs="+", default=[200, 500, 1000])
    parser.add_argument("--json", help="also write all figures to this file")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    if options.measurements:
        parts = options.parts or COMPARED
        print_measurements(measurements(measure(parts, options.k, scale, with_references=False)))
        return 0
    figures = measure(options.parts or PARTS, options.k, scale, with_references=True)
    for first in figures.get("start", ()):
        console.print(f"first answer in a new process: {first['cached_seconds']:.2f} s")
    for part, title in (
        ("defaults", "every parameter at its default"),
        ("dense", f"Gaussian on all pairs, {20_000 // scale} examples"),
        ("sparse", "the same learner, ε-threshold"),
    ):
        if part in figures:
            print_figures(figures[part], title)
    for long in figures.get("long", ()):
        quarters = ", ".join(f"{q:.1f}" for q in long["quarters_microseconds"])
        console.print(
            f"{long['n']} examples, k=500, µs an example by quarter: {quarters}; last over second "
            f"{long['last_over_second']:.2f}; resident memory {long['memory_growth']:+.2%}, "
            f"learner's arrays {long['learner_mebibytes']:.2f} MiB"
        )
    if options.json:
        command = "scripts/bench core " + " ".join(sys.argv[1:])
        Path(options.json).write_text(json.dumps({"command": command} | figures, indent=1))
    return int(judge(figures) > 0)


if __name__ == "__main__":
    sys.exit(main())
