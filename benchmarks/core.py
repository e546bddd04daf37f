"""The learner's step against the same in NumPy, a Cholesky each step, and one bare distance pass.

Data: an endless 10-class stream of digits, 64 features, 4 labels a class, tolerance 1e-2, one
thread, everything warm. All times of a line come from one run on one machine: read the ratios.
Blocks are timed by the processor's clock, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
from _references import (  # noqa: E402
    Graph,
    Profile,
    seconds_bare_pass,
    seconds_cholesky,
    seconds_naive,
    seconds_profile,
)
from _report import Measurement, print_measurements  # noqa: E402
from _stream import DigitStream  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402

from labelwalk import Gaussian, OnlineLearner  # noqa: E402

# Graphs on which the exact solution beats the nearest label by at least three points. Walks get
# longer, and answers dearer, with a smaller sink or more vertices: see docs/guide/speed.md.
BANDWIDTH = {200: 6.0, 500: 5.5, 1000: 4.5}
SINK = {200: 1e-4, 500: 1e-3, 1000: 1e-3}
REFERENCE_STEPS = {200: 40, 500: 12, 1000: 6}
WARM_UP = 2_000
WANTED_NEIGHBOURS = 20
EXACT_ROWS = 500
EXACT = 1e-6  # of a probability; its answers are those of a direct solution, which takes longer

# What a release must reach: figure, dense or sparse, the least or the most for each k.
AT_LEAST = {
    ("dense", "times_naive"): {200: 50, 500: 100, 1000: 200},
    ("dense", "times_cholesky"): {200: 10, 500: 25, 1000: 50},
    ("dense", "over_nearest_label"): {200: 0.03, 500: 0.03, 1000: 0.03},
    ("dense", "exact_over_nearest_label"): {200: 0.03, 500: 0.03, 1000: 0.03},
    ("sparse", "times_naive"): {200: 100, 500: 250, 1000: 500},
    ("defaults", "times_naive"): {200: 100, 500: 250, 1000: 500},
}
AT_MOST = {
    ("dense", "times_bare_pass"): {200: 30, 500: 30, 1000: 30},
    ("defaults", "times_bare_pass"): {200: 20, 500: 20, 1000: 20},
    ("defaults", "gap_to_naive"): {200: 0.01, 500: 0.01, 1000: 0.01},
    ("dense", "single_over_block"): {500: 3},
    ("dense", "mebibytes"): {500: 8},
    ("long", "last_over_second"): {500: 1.1},
    ("long", "memory_growth"): {500: 0.02},
    ("start", "cached_seconds"): {500: 3},
}

PARTS = ["defaults", "speed", "long", "start"]
COMPARED = ["defaults", "speed", "start"]  # by --measurements
# What --measurements prints of each learner, and what is better.
MEASURED = {
    "microseconds": ("observe on a block, µs", "lower"),
    "single_p50": ("row by row, p50 µs", "lower"),
    "predict_microseconds": ("predict on a block, µs", "lower"),
    "bare_microseconds": ("one bare distance pass, µs", "control"),
    "accuracy": ("accuracy", "higher"),
    "largest_bound": ("largest proven bound", "lower"),
    "mebibytes": ("learner's arrays, MiB", "lower"),
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


def started(
    k: int, stream: DigitStream, threshold: float = 0.0, tolerance: float = 1e-2
) -> OnlineLearner:
    similarity = Gaussian(BANDWIDTH[k], threshold)
    learner = OnlineLearner(k, similarity=similarity, sink=SINK[k], tolerance=tolerance, **PLAIN)
    learner.teach(*stream.labels())
    learner.observe(stream.draw(WARM_UP)[0])
    return learner


def neighbours(learner: OnlineLearner) -> float:
    return float((learner.graph.similarity > 0).sum(axis=1).mean())


def threshold_for(k: int, wanted: float) -> float:
    """The threshold that leaves about `wanted` neighbours a vertex, from a cover without one."""
    learner = started(k, DigitStream(seed=1))
    w = np.sort(learner.graph.similarity, axis=None)[::-1]
    return float(w[int(wanted * learner.n_vertices)])


def speed(k: int, n: int, threshold: float, *, with_references: bool) -> dict[str, float]:
    stream = DigitStream()
    learner = started(k, stream, threshold)
    rows, truth = stream.draw(n)
    if with_references:
        some, theirs = rows[:EXACT_ROWS], truth[:EXACT_ROWS]
        exact = started(k, DigitStream(), threshold, EXACT).observe(some).label
        nearest = KNeighborsClassifier(1).fit(*stream.labels())
    figure = observed(learner, rows, truth)
    block = figure["microseconds"] / 1e6
    singles = []
    for x in stream.draw(min(n, 4_000))[0]:
        start = time.perf_counter()
        learner.observe(x)
        singles.append(time.perf_counter() - start)
    figure |= {
        "k": k,
        "single_mean": 1e6 * float(np.mean(singles)),
        "single_p50": 1e6 * float(np.median(singles)),
        "single_p99": 1e6 * float(np.quantile(singles, 0.99)),
        "single_over_block": float(np.mean(singles)) / block,
    }
    if not with_references:
        return figure
    graph = Graph(learner, BANDWIDTH[k], threshold)
    few = stream.draw(REFERENCE_STEPS[k] + 1)[0]
    naive, cholesky = seconds_naive(graph, few), seconds_cholesky(graph, few)
    nearest_label, exact_accuracy = nearest.score(rows, truth), float(np.mean(exact == theirs))
    return figure | {
        "naive_ms": 1e3 * naive,
        "times_naive": naive / block,
        "cholesky_ms": 1e3 * cholesky,
        "times_cholesky": cholesky / block,
        "nearest_label": nearest_label,
        "over_nearest_label": figure["accuracy"] - nearest_label,
        "exact_accuracy": exact_accuracy,
        "exact_over_nearest_label": exact_accuracy - nearest.score(some, theirs),
    }


def observed(learner: OnlineLearner, rows: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Observe rows, and measure what every part of this benchmark tells of a learner."""
    start = time.process_time()
    verdicts = learner.observe(rows)
    block = (time.process_time() - start) / len(rows)
    predictions = []
    for _ in range(4):  # the first settles every vertex
        start = time.process_time()
        learner.predict(rows[:2_000])
        predictions.append((time.process_time() - start) / len(rows[:2_000]))
    bare = seconds_bare_pass(learner.settings.n_centroids, rows[:5_000])
    return {
        "neighbours": neighbours(learner),
        "microseconds": 1e6 * block,
        "predict_microseconds": 1e6 * min(predictions[1:]),
        "bare_microseconds": 1e6 * bare,
        "times_bare_pass": block / bare,
        "accuracy": float(np.mean(verdicts.label == truth)),
        "largest_bound": float(verdicts.bound.max()),
        "certain": float(verdicts.certain.mean()),
        "mebibytes": learner.nbytes / 2**20,
    }


LINES = {
    "observe on a block, µs": ("microseconds", "{:.1f}"),
    "predict on a block, µs": ("predict_microseconds", "{:.1f}"),
    "the same step in NumPy, ms": ("naive_ms", "{:.2f}"),
    "… times faster than it": ("times_naive", "{:.0f} ×"),
    "… answers differ by at most": ("gap_to_naive", "{:.4f}"),
    "cached + Cholesky, ms": ("cholesky_ms", "{:.2f}"),
    "… times faster than it ": ("times_cholesky", "{:.0f} ×"),
    "one bare distance pass, µs": ("bare_microseconds", "{:.1f}"),
    "… times slower than it": ("times_bare_pass", "{:.1f} ×"),
    "row by row, mean µs": ("single_mean", "{:.1f}"),
    "… over the block call": ("single_over_block", "{:.2f} ×"),
    "row by row, p50 µs": ("single_p50", "{:.1f}"),
    "row by row, p99 µs": ("single_p99", "{:.1f}"),
    "accuracy": ("accuracy", "{:.3f}"),
    "1-NN on the same labels": ("nearest_label", "{:.3f}"),
    f"exact solution, first {EXACT_ROWS}": ("exact_accuracy", "{:.3f}"),
    "… over 1-NN on those": ("exact_over_nearest_label", "{:+.3f}"),
    "largest proven bound": ("largest_bound", "{:.4f}"),
    "answers proven certain": ("certain", "{:.3f}"),
    "neighbours a vertex": ("neighbours", "{:.0f}"),
    "learner's arrays, MiB": ("mebibytes", "{:.2f}"),
}


def print_speed(results: list[dict[str, float]], title: str) -> None:
    table = Table(title=title)
    table.add_column("per example")
    for result in results:
        table.add_column(f"k={result['k']}", justify="right")
    for name, (key, form) in LINES.items():
        if key in results[0]:
            table.add_row(name, *(form.format(result[key]) for result in results))
    console.print(table)


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def long_stream(n: int) -> dict[str, float]:
    """Time an example in each quarter of a long stream, and measure the memory it adds.

    Memory is compared with that after the first twentieth, which has touched every path.
    """
    stream = DigitStream()
    learner = started(500, stream)
    quarters, resident = [0.0] * 4, []
    for i in range(20):
        for rows in stream.chunks(n // 20):
            start = time.process_time()
            learner.observe(rows)
            quarters[i // 5] += 1e6 * (time.process_time() - start) / (n // 4)
        resident.append(resident_bytes())
    return {
        "n": n,
        "quarters_microseconds": quarters,
        "last_over_second": quarters[3] / quarters[1],
        "after_mebibytes": resident[-1] / 2**20,
        "memory_growth": resident[-1] / resident[0] - 1,
        "learner_mebibytes": learner.nbytes / 2**20,
    }


def defaults(k: int, n: int, *, with_references: bool) -> dict[str, float]:
    """The same stream with nothing chosen: every parameter of the learner left as it is."""
    stream = DigitStream()
    learner = OnlineLearner(k)
    learner.teach(*stream.labels())
    learner.observe(stream.draw(WARM_UP)[0])
    figure = {"k": k} | observed(learner, *stream.draw(n))
    if not with_references:
        return figure
    few = stream.draw(REFERENCE_STEPS[k] + 1)[0]
    gap = gap_to_naive(learner, few)
    naive = seconds_profile(Profile(learner), few)
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
    runs = [
        float(subprocess.run([sys.executable, "-c", FIRST_ANSWER], capture_output=True, check=True,
                             text=True).stdout)
        for _ in range(4)
    ]  # fmt: skip
    return {"first_process_seconds": runs[0], "cached_seconds": max(runs[1:]),
            "least_seconds": min(runs[1:])}  # fmt: skip


def measurements(parts: list[str], sizes: list[int], scale: int) -> Iterator[Measurement]:
    """Measure the package alone, without references and limits."""
    if "start" in parts:
        seconds = first_answer()["least_seconds"]
        yield Measurement("first answer in a new process, s", seconds)
    for k in sizes:
        if "defaults" in parts:
            figure = defaults(k, 20_000 // scale, with_references=False)
            yield from measured("defaults", figure)
        if "speed" in parts:
            for name, threshold in (
                ("dense", 0.0),
                ("sparse", threshold_for(k, WANTED_NEIGHBOURS)),
            ):
                figure = speed(k, 20_000 // scale, threshold, with_references=False)
                yield from measured(name, figure)
    if "long" in parts:
        figure = long_stream(1_000_000 // scale)
        for i, quarter in enumerate(figure["quarters_microseconds"], 1):
            yield Measurement(f"long stream, quarter {i}, µs", quarter)
        yield Measurement("long stream, resident MiB", figure["after_mebibytes"])


def measured(part: str, figure: dict[str, float]) -> Iterator[Measurement]:
    for key, (name, better) in MEASURED.items():
        if key in figure:
            yield Measurement(f"{part}, k={figure['k']}: {name}", figure[key], better)


def judge(figures: dict[str, object]) -> int:
    """Say which floors hold; return how many do not."""
    missed = 0
    for limits, holds, sign in ((AT_LEAST, float.__ge__, "≥"), (AT_MOST, float.__le__, "≤")):
        for (part, name), by_k in limits.items():
            found = figures.get(part, [])
            for figure in found if isinstance(found, list) else [found]:
                limit = by_k.get(figure.get("k", 500))
                if limit is None:
                    continue
                good = holds(float(figure[name]), float(limit))
                missed += not good
                mark = "[green]holds[/]" if good else "[red]MISSED[/]"
                console.print(
                    f"{mark}  {part}, k={figure.get('k', 500)}: {name} {figure[name]:.4g} "
                    f"{sign} {limit}"
                )
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS) + " (default: all)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the examples")
    parser.add_argument("--k", type=int, nargs="+", default=[200, 500, 1000])
    parser.add_argument("--json", help="also write all figures to this file")
    parser.add_argument(
        "--measurements",
        action="store_true",
        help=f"print one JSON line for each measurement; by default of {', '.join(COMPARED)}",
    )
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    if options.measurements:
        print_measurements(measurements(options.parts or COMPARED, options.k, scale))
        return
    options.parts = options.parts or PARTS
    figures: dict[str, object] = {"command": "scripts/bench core " + " ".join(sys.argv[1:])}
    if "start" in options.parts:
        figures["start"] = first = first_answer()
        console.print(f"first answer in a new process: {first['cached_seconds']:.2f} s")
    if "defaults" in options.parts:
        figures["defaults"] = [
            defaults(k, 20_000 // scale, with_references=True) for k in options.k
        ]
        print_speed(figures["defaults"], "every parameter at its default")
    if "speed" in options.parts:
        figures["dense"] = [speed(k, 20_000 // scale, 0.0, with_references=True) for k in options.k]
        print_speed(figures["dense"], f"Gaussian on all pairs, {20_000 // scale} examples")
        thresholds = {k: threshold_for(k, WANTED_NEIGHBOURS) for k in options.k}
        figures["sparse"] = [
            speed(k, 20_000 // scale, thresholds[k], with_references=True) for k in options.k
        ]
        print_speed(figures["sparse"], "the same learner, ε-threshold")
    if "long" in options.parts:
        figures["long"] = long = long_stream(1_000_000 // scale)
        quarters = ", ".join(f"{q:.1f}" for q in long["quarters_microseconds"])
        console.print(
            f"{long['n']} examples, k=500, µs an example by quarter: {quarters}; last over second "
            f"{long['last_over_second']:.2f}; resident memory {long['memory_growth']:+.2%}, "
            f"learner's arrays {long['learner_mebibytes']:.2f} MiB"
        )
    missed = judge(figures)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
