"""Section 5.1 of the paper: letters and digits as binary problems, with and without quantization.

The paper says neither how many examples are labelled nor how much is regularised here. Four of each
class are. With its bandwidth almost everything is similar to everything, and with a small sink the
solution on all examples is flat and near to chance; so γ_g was searched for that solution, on five
pairs that are not among the ten (`search_sink`), and is 1000 for all.

Figure 1 is run as printed, where labelled vertices absorb unlabelled examples within R and grow as
heavy as their examples, and with labelled vertices that stand for their own examples alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import combinations
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
from paper.bounds.quantization import find_nearest, quantization_error
from paper.datasets import load
from paper.evaluation import Stream, evaluate, labels_first
from paper.findings import Line, Panel
from paper.study import Job, Measurement, Plan

SINK, GROWTH, N_LABELS = 1000.0, 1.5, 4
SINKS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)
Variant = Literal["absorb", "pure"]
VARIANTS: tuple[Variant, ...] = ("absorb", "pure")
READINGS = ("pairs", "rest")  # one class against another; one class against all others
DATA, SUBSTITUTES = ("letter", "optdigits"), ("digits",)
N_TIMES = 12  # at which errors are measured
GREY, LIGHT_GREY = "0.35", "0.7"


class Scope(NamedTuple):
    """Number of problems and examples, and the numbers of centroids of Figure 3."""

    problems: int
    max_examples: int
    centroids: tuple[int, ...]


FULL = Scope(10, 1500, (25, 50, 100, 200, 400, 800))
QUICK = Scope(3, 800, (25, 50, 100, 200))


def choose_scope(plan: Plan) -> Scope:
    """Return the scope of a plan."""
    return QUICK if plan.quick else FULL


def choose_problems(dataset: str, reading: str, count: int) -> list[tuple[int, int]]:
    """Return pairs of classes, fixed by a seed; -1 stands for all other classes.

    Examples
    --------
    >>> choose_problems("digits", "rest", 2)
    [(4, -1), (6, -1)]
    """
    classes = range(_count_classes(dataset))
    pairs = list(combinations(classes, 2)) if reading == "pairs" else [(c, -1) for c in classes]
    order = np.random.default_rng(0).permutation(len(pairs))[:count]
    return [pairs[i] for i in order]


@cache
def _count_classes(dataset: str) -> int:
    return load(dataset).n_classes


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
    count, max_examples, _ = choose_scope(plan)
    problems = [
        {
            "dataset": dataset,
            "positive": positive,
            "negative": negative,
            "max_examples": max_examples,
        }
        for dataset in plan.choose(DATA, SUBSTITUTES)
        for positive, negative in choose_problems(dataset, reading, count)
    ]
    quantized = [
        Job(solve_quantized, {**problem, "k": k, "variant": variant})
        for k in centroids
        for variant in VARIANTS
        for problem in problems
    ]
    baselines = [Job(work, p) for work in BASELINES.values() for p in problems]
    return quantized + baselines


def solve_offline(dataset: str, positive: int, negative: int, max_examples: int) -> Measurement:
    """W: the solution on the graph of all examples, which uses them all for every answer."""
    stream = make_stream(dataset, positive, negative, max_examples)
    similarity = Gaussian(scale_bandwidth(stream.rows), threshold=0.0)
    return _sample_accuracy(evaluate(OfflineHarmonic(similarity, SINK), stream).correct)


def solve_online(dataset: str, positive: int, negative: int, max_examples: int) -> Measurement:
    """W^o: the solution on the graph of all examples so far, at each step."""
    stream = make_stream(dataset, positive, negative, max_examples)
    similarity = Gaussian(scale_bandwidth(stream.rows), threshold=0.0)
    return _sample_accuracy(evaluate(EveryExample(similarity, SINK), stream).correct)


def search_sink(dataset: str, max_examples: int) -> Measurement:
    """Accuracy on W for several sinks, on pairs that no figure shows."""
    pairs = choose_problems(dataset, "pairs", FULL.problems + 5)[FULL.problems :]
    table: dict[str, list[float]] = {"sink": list(SINKS), "accuracy": []}
    for sink in SINKS:
        shares = []
        for positive, negative in pairs:
            stream = make_stream(dataset, positive, negative, max_examples)
            similarity = Gaussian(scale_bandwidth(stream.rows), threshold=0.0)
            shares.append(evaluate(OfflineHarmonic(similarity, sink), stream).accuracy)
        table["accuracy"].append(float(np.mean(shares)))
    return Measurement(table)


BASELINES = {"offline": solve_offline, "every_example": solve_online}  # by column


def solve_quantized(
    dataset: str, positive: int, negative: int, max_examples: int, k: int, variant: Variant
) -> Measurement:
    """W^q: the paper's learner; its errors ‖L^q − L^o‖_F and accuracy at several times."""
    stream = make_stream(dataset, positive, negative, max_examples)
    sigma = scale_bandwidth(stream.rows)
    learner = OnlineLearner.paper(k, sigma, SINK, GROWTH, labelled=variant)
    taught = stream.taught
    learner.teach(stream.rows[taught], stream.truth[taught].tolist())
    start, correct = int(taught.sum()), np.zeros(0, dtype=np.bool_)
    table: dict[str, list[float]] = {name: [] for name in ("t", "normalised", "plain", "radius")}
    for t in list_times(len(stream.rows)):
        block = slice(start + len(correct), t)
        answers = learner.observe(stream.rows[block]).label == stream.truth[block]
        correct = np.concatenate([correct, answers.astype(np.bool_)])
        rows, centres = stream.rows[:t], learner.vertices.points
        w, w_q = (compute_similarities(x, x, sigma) for x in (rows, centres))
        assigned = find_nearest(rows, centres)
        table["t"].append(t)
        table["radius"].append(learner.radius)
        table["normalised"].append(quantization_error(w, w_q, assigned))
        table["plain"].append(quantization_error(w, w_q, assigned, normalised=False))
    return Measurement({**table, **_sample_accuracy(correct).columns})


def list_times(n: int) -> list[int]:
    """Return the times at which errors are measured, the last one n."""
    return [n * i // N_TIMES for i in range(1, N_TIMES + 1)]


def _sample_accuracy(correct: Bools) -> Measurement:
    """Return the cumulative accuracy at each time."""
    shares, n_labels = cumulative_accuracy(correct), 2 * N_LABELS
    times = list_times(len(shares) + n_labels)
    return Measurement({"t": times, "accuracy": [float(shares[t - n_labels - 1]) for t in times]})


def draw_panels(
    tables: dict[str, dict[str, list[float]]], x: str, x_label: str, y_label: str, marker: str
) -> list[list[Panel]]:
    """Return the panels of Figures 2 and 3: errors above, accuracies below."""
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
