"""Shards sketched apart, merged and solved: as accurate as one learner that saw the whole stream.

Four labels a class, in whichever shards they fall. One learner is taught them, and then observes
all other rows once: "online" is its answer to each row at its own step, "after" its answers to all
of them at the end. Shards are cut from the same rows, in the order of the stream or sorted by
class; each is sketched apart, sketches merge as in a job, and the model answers the same rows. An
answer of None counts as wrong. Figures are means over 20 shuffles, and after ± the standard
deviation of a difference; faces come in one order, with the default settings and with those of the
recognizer. "In another order" is the same learner with the other rows shuffled once more.

Required of each cut: in the mean at most a point below the single stream, online and after.
Invariants are checked on all merged covers, over all pairs of vertices and of rows and vertices.

    python benchmarks/sharded.py [--data FOLDER] [--write docs/results/sharded.md]
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from _data import LabelledStream, draw_order, faces, letter, optdigits, split
from _report import Line, run_with_data
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits

from labelwalk import OnlineLearner
from labelwalk.distributed import Sketch, merge, model_of, sketch
from labelwalk.faces.profiles import VECTORS

CUTS = [(is_sorted, n) for is_sorted in (False, True) for n in (2, 8, 32)]
MAX_LOSS, ROUNDING = 0.01, 1e-12


class Data(NamedTuple):
    """A data set, and the learner for it."""

    name: str
    load: Callable[[int], LabelledStream]
    learner: Callable[[], OnlineLearner]
    seeds: int
    abstains: bool = False


def score(labels: Any, truth: Any) -> tuple[float, float]:
    """Return the share of right answers, and of answers that are right."""
    words = np.asarray(labels).astype(str)
    right = float(np.mean(words == truth.astype(str)))
    return right, right / float(np.mean(words != "None"))


def stream_answers(data: Data, stream: LabelledStream, seed: int) -> list[tuple[float, float]]:
    """Return the answers of a single learner: online, after, and after another order."""
    rows, learner, other = stream.rows, data.learner(), data.learner()
    for own in (learner, other):
        own.teach(stream.taught, stream.labels)
    online = learner.observe(rows).label
    other.observe(rows[draw_order(1000 + seed, len(rows))])
    labels = (online, learner.predict(rows).label, other.predict(rows).label)
    return [score(own, stream.truth) for own in labels]


def sketch_shards(data: Data, stream: LabelledStream, is_sorted: bool, n: int) -> Sketch:
    """Sketch each shard apart, and merge in the tree of a job."""
    settings, whole = data.learner().settings, stream.whole
    order = np.argsort(whole.truth, kind="stable") if is_sorted else np.arange(len(whole.rows))
    k, labels = settings.n_centroids, settings.labels_per_class
    assert k is not None
    sketches = []
    for ids in np.array_split(order, n):
        columns: dict[str, Any] = {f"x{j}": column for j, column in enumerate(whole.rows[ids].T)}
        names = [None if whole.answered[i] else str(whole.truth[i]) for i in ids]
        batch = pa.RecordBatch.from_pydict(columns | {"label": pa.array(names, pa.string())})
        growth = float(settings.growth)
        sketches.append(sketch([batch], k, labels_per_class=labels, growth=growth))
    return merge(sketches, k, labels)


class CoverCheck:
    """The invariants of merged covers, and distances in radii."""

    def __init__(self) -> None:
        self.holds = True
        self.proven: list[float] = []
        self.farthest: list[float] = []

    def add(self, merged: Sketch, rows: Any) -> None:
        cover = merged.cover
        farthest = cdist(rows, cover.points).min(axis=1).max()
        self.holds &= cover.n_seen + merged.n_held == len(rows)
        self.holds &= bool(pdist(cover.points).min() >= cover.radius * (1.0 - ROUNDING))
        if not merged.held:
            self.holds &= bool(farthest <= cover.distortion * (1.0 + ROUNDING))
        self.proven.append(cover.distortion / cover.radius)
        self.farthest.append(farthest / cover.radius)

    def line(self, name: str) -> Line:
        figure = f"{len(self.proven)} covers; the farthest row is {spread(self.farthest)} radii "
        figure += f"away, proven {spread(self.proven)}"
        required = "each row counted once, vertices a radius apart, rows within the proven distance"
        return Line(f"{name}: invariants", figure, required, self.holds)


def spread(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def lines_of(data: Data) -> Iterator[Line]:
    results, check = [], CoverCheck()
    for seed in range(data.seeds):
        stream = data.load(seed)
        answers = stream_answers(data, stream, seed)
        for cut in CUTS:
            merged = sketch_shards(data, stream, *cut)
            check.add(merged, stream.rows)
            labels = model_of(merged, data.learner().settings).label(stream.rows)
            answers.append(score(labels.label, stream.truth))
        results.append(answers)
    accuracy, precision = np.moveaxis(np.array(results), 2, 0)
    online, after, otherwise, *cuts = accuracy.T
    precisions = [
        f"; precision {own:.4f}" if data.abstains else "" for own in precision.mean(axis=0)
    ]
    figure = f"online {online.mean():.4f}, after {after.mean():.4f}, in another order "
    figure += compare(otherwise, after, "after") + precisions[1]
    yield Line(f"{data.name}: single stream", figure)
    for (is_sorted, n), own, words in zip(CUTS, cuts, precisions[3:], strict=True):
        figure = f"{own.mean():.4f}: {compare(own, online, 'online')}, "
        figure += compare(own, after, "after") + words
        holds = own.mean() >= max(online.mean(), after.mean()) - MAX_LOSS
        title = f"{data.name}: {n} shards {'sorted by class' if is_sorted else 'in stream order'}"
        yield Line(title, figure, "≥ −0.01 to both", bool(holds))
    yield check.line(data.name)


def compare(own: Any, other: Any, name: str) -> str:
    gap = own - other
    deviation = f" ± {gap.std(ddof=1):.4f}" if len(gap) > 1 else ""
    return f"{gap.mean():+.4f}{deviation} to {name}".replace("-", "−")


def digits(seed: int) -> LabelledStream:
    X, y = load_digits(return_X_y=True)
    order = draw_order(seed, len(y))
    return split(X[order], y[order])


def all_data(folder: Path | None) -> Iterator[Data]:
    yield Data("digits of scikit-learn, k = 200", digits, lambda: OnlineLearner(200), 20)
    if folder is None:
        return
    yield Data("optdigits, k = 500", lambda s: optdigits(folder, s), lambda: OnlineLearner(500), 20)
    yield Data("letter, 6000, k = 500", lambda s: letter(folder, s), lambda: OnlineLearner(500), 20)
    yield Data("faces, k = 300", lambda s: faces(folder, s), lambda: OnlineLearner(300), 1)
    name = "faces, k = 300, settings of the recognizer"
    yield Data(name, lambda s: faces(folder, s), lambda: VECTORS.learner(300), 1, True)


def lines(folder: Path | None) -> Iterator[Line]:
    for data in all_data(folder):
        yield from lines_of(data)


if __name__ == "__main__":
    run_with_data("Shards", __doc__, lines, needed=False)
