"""The loss from merging covers of shards, and the value of more vertices.

Rows are shuffled and cut into shards, each is covered by at most k vertices, and the covers are
merged two at a time, as in a job, or four. "Stated" is the distortion that the cover proves,
"largest" and "mean" are distances of rows to the nearest founder, and no k points could bring the
largest below the first number of "optimum". Accuracy is that of the model on the merged cover.
Digits of scikit-learn with four labels per class, and generated rows (20,000 of 64 features, 50
clusters of ten classes) with twenty. Means of five seeds.

    python benchmarks/merging.py [--write docs/results/merging.md]
"""

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from _report import Line, make_parser, report
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from labelwalk import OnlineLearner
from labelwalk.distributed.cover import Cover, build_cover, merge_covers
from labelwalk.distributed.model import solve_cover
from paper.bounds.quantization import bracket_optimum

Array = NDArray[Any]
SEEDS = 5
SHARDS = ((1, 2), (2, 2), (8, 2), (32, 2), (32, 4))
VERTICES = (50, 100, 200, 500, 1000)
CLUSTERS, INNER, NOISE, APART, CLASSES = 50, 8, 0.1, 3.0, 10  # of generated rows
LOST = 0.02  # of accuracy, at most, with 32 shards


class Figures(NamedTuple):
    radius: float
    stated: float
    largest: float
    mean: float
    accuracy: float


class Data(NamedTuple):
    """Rows without a label, their classes, and a few with one."""

    rows: Array
    truth: Array
    taught: Array
    labels: list[int]


def split(rows: Array, truth: Array, each: int, seed: int) -> Data:
    order = np.random.default_rng(seed).permutation(len(rows))
    rows, truth = rows[order], truth[order]
    few = np.concatenate([np.flatnonzero(truth == one)[:each] for one in np.unique(truth)])
    rest = np.setdiff1d(np.arange(len(rows)), few)
    return Data(rows[rest], truth[rest], rows[few], truth[few].tolist())


def merge_shards(rows: Array, k: int, shards: int, fan_in: int) -> Cover:
    covers = [build_cover([part], k) for part in np.array_split(rows, shards)]
    while len(covers) > 1:
        covers = [merge_covers(covers[i : i + fan_in], k) for i in range(0, len(covers), fan_in)]
    return covers[0]


def figures(data: Data, cover: Cover, k: int) -> Figures:
    apart = np.concatenate([cdist(some, cover.points).min(axis=1) for some in _blocks(data.rows)])
    model = solve_cover(cover, data.taught, data.labels, OnlineLearner(k).settings)
    accuracy = float((model.label(data.rows).label == data.truth).mean())
    return Figures(
        cover.radius, cover.distortion, float(apart.max()), float(apart.mean()), accuracy
    )


def _blocks(rows: Array) -> list[Array]:
    return np.array_split(rows, max(1, len(rows) // 4096))


def average(many: list[Data], k: int, shards: int, fan_in: int) -> Figures:
    every = [figures(data, merge_shards(data.rows, k, shards, fan_in), k) for data in many]
    return Figures(*np.mean(every, axis=0).tolist())


def in_words(own: Figures) -> str:
    return (
        f"R {own.radius:.3g}, stated {own.stated:.3g}, largest {own.largest:.3g}, "
        f"mean {own.mean:.3g}, accuracy {own.accuracy:.3f}"
    )


def shards_of(name: str, many: list[Data], k: int) -> Iterator[Line]:
    optimum = bracket_optimum(many[0].rows, k)
    yield Line(f"{name}, k = {k}, optimum", f"{optimum.low:.3g} to {optimum.high:.3g}")
    alone = None
    for shards, fan_in in SHARDS:
        own = average(many, k, shards, fan_in)
        alone = alone or own
        required = f"accuracy ≥ {alone.accuracy - LOST:.3f}" if shards == 32 else ""
        reached = not required or own.accuracy >= alone.accuracy - LOST
        title = f"… {shards} shards, {fan_in} at a time" if shards > 1 else "… one pass"
        yield Line(title, in_words(own), required, reached)


def lines() -> Iterator[Line]:
    X, y = load_digits(return_X_y=True)
    digits = [split(X, y, 4, seed) for seed in range(SEEDS)]
    clusters = [split(*generate_clusters(20_000, 64, seed), 20, seed) for seed in range(SEEDS)]
    yield from shards_of("digits", digits, 200)
    yield from shards_of("generated", clusters, 1000)
    for k in VERTICES:
        own = average(digits, k, 1, 2)
        apart = average(digits, k, 8, 2)
        figure = f"{own.accuracy:.3f}, of 8 shards {apart.accuracy:.3f}"
        yield Line(f"digits, accuracy with k = {k}", figure)


def generate_clusters(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """Return rows of clusters of few inner dimensions among many features, and their classes."""
    shape, random = np.random.default_rng(d), np.random.default_rng([d, seed])
    centers = APART * shape.normal(size=(CLUSTERS, d))
    directions = shape.normal(size=(CLUSTERS, INNER, d))
    cluster_of = random.integers(0, CLUSTERS, n)
    rows = np.empty((n, d), dtype=np.float32)
    for cluster in range(CLUSTERS):
        own = cluster_of == cluster
        inner, noise = random.normal(size=(own.sum(), INNER)), random.normal(size=(own.sum(), d))
        rows[own] = centers[cluster] + inner @ directions[cluster] / INNER**0.5 + NOISE * noise
    return rows.astype(np.float64), cluster_of % CLASSES


if __name__ == "__main__":
    sys.exit(report("Merged covers", __doc__, lines(), make_parser(__doc__).parse_args().write))
