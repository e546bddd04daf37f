"""Section 5.1 of the paper: letters and digits as binary problems, with and without quantization.

The paper says neither how many examples are labelled nor how much is regularised here. Four of each
class are. With its bandwidth almost everything is similar to everything, and with a small sink the
solution on all examples is flat and near to chance; so γ_g was searched for that solution, on five
pairs that are not among the ten (`search`), and is 1000 for all.

Figure 1 is run as printed, where labelled vertices take in unlabelled examples within R and grow as
heavy as what they took, and with labelled vertices that stand for their own examples alone.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian
from paper.baselines.every_example import EveryExample
from paper.baselines.full_graph import gaussian_similarities, scale_bandwidth
from paper.baselines.offline import OfflineHarmonic
from paper.bounds.distortion import nearest
from paper.bounds.laplacians import quantization_error
from paper.datasets import load
from paper.evaluation import Stream, accuracy, cumulative_accuracy, evaluate, labels_first
from paper.evaluation.running import Outcome
from paper.studies.findings import Plan
from paper.studies.jobs import Found, Job

SINK, GROWTH, LABELS = 1000.0, 1.5, 4
SINKS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)
Variant = Literal["absorb", "pure"]
VARIANTS: tuple[Variant, ...] = ("absorb", "pure")
READINGS = ("pairs", "rest")  # one class against another; one class against all others
WANTED, INSTEAD = ("letter", "optdigits"), ("digits",)
LOOKS = 12  # times at which errors are measured


class Scope(NamedTuple):
    """How much is done."""

    problems: int
    most_examples: int
    centroids: tuple[int, ...]


FULL = Scope(10, 1500, (25, 50, 100, 200, 400, 800))
QUICK = Scope(3, 800, (25, 50, 100, 200))
K = 200  # Figure 2


def scope(plan: Plan) -> Scope:
    """Return how much is done."""
    return QUICK if plan.quick else FULL


def datasets(plan: Plan) -> list[str]:
    """Return the data sets of the paper, or what stands in for them."""
    return plan.of(WANTED, INSTEAD)


def problems(dataset: str, reading: str, count: int) -> list[tuple[int, int]]:
    """Return pairs of classes, fixed by a seed; -1 stands for all other classes.

    Examples
    --------
    >>> problems("digits", "rest", 2)
    [(4, -1), (6, -1)]
    """
    classes = range(_n_classes(dataset))
    every = list(combinations(classes, 2)) if reading == "pairs" else [(c, -1) for c in classes]
    chosen = np.random.default_rng(0).permutation(len(every))[:count]
    return [every[i] for i in chosen]


@cache
def _n_classes(dataset: str) -> int:
    return load(dataset).n_classes


def stream_of(dataset: str, one: int, other: int, most: int) -> Stream:
    """Return the examples of two classes, shuffled, four labels each first."""
    data = load(dataset)
    rows = np.flatnonzero((data.y == one) | (other < 0) | (data.y == other))
    rows = np.random.default_rng(0).permutation(rows)[:most]
    return labels_first(data.X[rows], (data.y[rows] != one).astype(np.int64), per_class=LABELS)


def bandwidth_of(stream: Stream) -> float:
    """Return the bandwidth of section 5.1, measured on the whole problem."""
    return scale_bandwidth(stream.rows)


def offline(dataset: str, one: int, other: int, most: int) -> Found:
    """W: the solution on the graph of all examples, which sees them all before it answers."""
    stream = stream_of(dataset, one, other, most)
    similarity = Gaussian(bandwidth_of(stream), threshold=0.0)
    return _accuracy(evaluate(OfflineHarmonic(similarity=similarity, sink=SINK), stream))


def every_example(dataset: str, one: int, other: int, most: int) -> Found:
    """W^o: the solution on the graph of all examples so far, at each step."""
    stream = stream_of(dataset, one, other, most)
    similarity = Gaussian(bandwidth_of(stream), threshold=0.0)
    return _accuracy(evaluate(EveryExample(similarity=similarity, sink=SINK), stream))


def search(dataset: str, most: int) -> Found:
    """Accuracy on W for several sinks, on pairs that no figure shows."""
    others = problems(dataset, "pairs", FULL.problems + 5)[FULL.problems :]
    table: dict[str, list[float]] = {"sink": list(SINKS), "accuracy": []}
    for sink in SINKS:
        reached = []
        for one, other in others:
            stream = stream_of(dataset, one, other, most)
            similarity = Gaussian(bandwidth_of(stream), threshold=0.0)
            reached.append(accuracy(evaluate(OfflineHarmonic(similarity, sink), stream)))
        table["accuracy"].append(float(np.mean(reached)))
    return Found(table, {})


def quantized(dataset: str, one: int, other: int, most: int, k: int, variant: Variant) -> Found:
    """W^q: the paper's learner; its errors and accuracy at several times."""
    stream = stream_of(dataset, one, other, most)
    sigma = bandwidth_of(stream)
    learner = OnlineLearner.paper(k, sigma, SINK, GROWTH, labelled=variant)
    asked = stream.answered
    learner.teach(stream.rows[~asked], stream.truth[~asked].tolist())
    n_labels, right = int((~asked).sum()), np.zeros(0, dtype=bool)
    table: dict[str, list[float]] = {name: [] for name in ("t", "normalised", "plain", "radius")}
    for t in looks(len(stream)):
        block = slice(n_labels + len(right), t)
        said = learner.observe(stream.rows[block]).label == stream.truth[block]
        right = np.concatenate([right, said.astype(bool)])
        table["t"].append(t)
        table["radius"].append(learner.radius)
        for name, error in errors(stream.rows[:t], learner.vertices.points, sigma).items():
            table[name].append(error)
    so_far = cumulative_accuracy(right)
    table["accuracy"] = [float(so_far[int(t) - n_labels - 1]) for t in table["t"]]
    return Found(table, {})


def errors(rows: Floats, centres: Floats, sigma: float) -> dict[str, float]:
    """Return ‖L^q − L^o‖_F of both Laplacians, each example taken for its nearest centroid."""
    own = nearest(rows, centres)
    w_o, w_q = (gaussian_similarities(x, x, sigma) for x in (rows, centres))
    return {
        "normalised": quantization_error(w_o, w_q, own, normalised=True),
        "plain": quantization_error(w_o, w_q, own, normalised=False),
    }


def looks(n: int) -> list[int]:
    """Return the times at which errors are measured, the last one n."""
    return [n * look // LOOKS for look in range(1, LOOKS + 1)]


def baseline_jobs(plan: Plan, reading: str) -> list[Job]:
    """Return the jobs of the solutions that do not quantize."""
    return [
        Job(f"binary/{place}/{work.__name__}", work, arguments)
        for place, arguments in _calls(plan, reading)
        for work in (offline, every_example)
    ]


def search_jobs(plan: Plan) -> list[Job]:
    """Return a job for each data set."""
    most = scope(plan).most_examples
    return [
        Job(f"binary/{name}/search", search, {"dataset": name, "most": most})
        for name in datasets(plan)
    ]


def quantized_jobs(plan: Plan, reading: str, k: int, variant: Variant) -> list[Job]:
    """Return the jobs of the paper's learner with k centroids."""
    return [
        Job(f"binary/{place}/k{k}-{variant}", quantized, {**arguments, "k": k, "variant": variant})
        for place, arguments in _calls(plan, reading)
    ]


def _calls(plan: Plan, reading: str) -> list[tuple[str, dict[str, object]]]:
    count, most, _ = scope(plan)
    return [
        (
            f"{dataset}/{reading}/{one}-{other if other >= 0 else 'rest'}",
            {"dataset": dataset, "one": one, "other": other, "most": most},
        )
        for dataset in datasets(plan)
        for one, other in problems(dataset, reading, count)
    ]


def _accuracy(outcome: Outcome) -> Found:
    """Accuracy up to the same times as those of the paper's learner."""
    so_far = cumulative_accuracy(outcome.right)
    n_labels = 2 * LABELS
    t = looks(len(so_far) + n_labels)
    return Found(
        {"t": t, "accuracy": [float(so_far[time - n_labels - 1]) for time in t]},
        {"per example": float(outcome.seconds.mean())},
    )
