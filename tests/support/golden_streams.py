"""Seeded streams whose results must not change from version to version.

Every stream uses public names that exist since version 0.7.0, so that this module runs with the
sources of that version too. `results` returns what a stream led to, as arrays; `digests` returns a
SHA-256 of each group of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwalk import Gaussian, OnlineLearner, SelfTuning
from labelwalk.learner import from_bytes

Array = NDArray[Any]
Arrays = dict[str, Array]
GROUPS = {
    "answers": ("label", "confidence", "probabilities", "scores", "outlier", "certain"),
    "bounds": ("bound",),
    "cover": ("radius", "points", "means", "count", "reach", "vertex_label", "founder"),
    "graph": ("weight", "bandwidth", "similarity"),
    "solution": ("f",),
    "predictions": ("predicted_label", "predicted_probabilities", "predicted_bound"),
}


def make_rows(seed: int, n: int, d: int = 2, n_classes: int = 3) -> tuple[Array, Array]:
    """Return clusters of eighths, exact in binary, and the class of each row."""
    rng = np.random.default_rng(seed)
    centers = rng.integers(-6, 7, size=(n_classes, d)) * 2.0
    y = rng.integers(0, n_classes, size=n)
    noise = rng.integers(-8, 9, size=(n, d)) + rng.integers(-8, 9, size=(n, d))
    return centers[y] + noise / 8.0, y


def teach_first(learner: OnlineLearner, X: Array, y: Array, per_class: int = 2) -> Array:
    """Teach the first rows of each class; return a mask of the others."""
    taught = np.zeros(len(y), dtype=bool)
    for name in np.unique(y):
        taught[np.flatnonzero(y == name)[:per_class]] = True
    learner.teach(X[taught], [f"c{code}" for code in y[taught]])
    return ~taught


class Recorder:
    """A learner with all that it answered."""

    def __init__(self, learner: OnlineLearner) -> None:
        self.learner = learner
        self.verdicts: list[Any] = []

    def observe(self, X: Array, **options: Any) -> Any:
        """Observe rows and keep the verdicts."""
        observed = self.learner.observe(X, **options)
        self.verdicts.append(observed[0] if options.get("ids") else observed)
        return observed


def run(learner: OnlineLearner, seed: int, n: int = 600, **rows: int) -> Recorder:
    """Teach two rows a class, then observe the others."""
    X, y = make_rows(seed, n, **rows)
    others = teach_first(learner, X, y)
    recorder = Recorder(learner)
    recorder.observe(X[others])
    return recorder


def default_with_duplicates() -> Recorder:
    X, y = make_rows(4, 150)
    X = np.repeat(X, 3, axis=0)
    recorder = Recorder(OnlineLearner(30))
    others = teach_first(recorder.learner, X, np.repeat(y, 3))
    recorder.observe(X[others])
    return recorder


def default_in_single_rows() -> Recorder:
    X, y = make_rows(5, 120)
    recorder = Recorder(OnlineLearner(25))
    for x in X[teach_first(recorder.learner, X, y)]:
        recorder.observe(x[np.newaxis])
    return recorder


def far_outliers() -> Recorder:
    X, y = make_rows(6, 400)
    X[50::25] += 1000.0
    recorder = Recorder(OnlineLearner(40))
    recorder.observe(X[teach_first(recorder.learner, X, y)])
    return recorder


def stuck_source() -> Recorder:
    X, y = make_rows(7, 300)
    recorder = Recorder(OnlineLearner(40))
    others = X[teach_first(recorder.learner, X, y)]
    recorder.observe(np.concatenate([others[:100], np.tile(others[7], (500, 1)), others[100:]]))
    return recorder


def many_labels() -> Recorder:
    X, y = make_rows(8, 500)
    recorder = Recorder(OnlineLearner(40, labels_per_class=8))
    recorder.observe(X[teach_first(recorder.learner, X, y, per_class=40)])
    return recorder


def no_labels() -> Recorder:
    recorder = Recorder(OnlineLearner(40))
    recorder.observe(make_rows(9, 300)[0])
    return recorder


def one_label() -> Recorder:
    X, y = make_rows(10, 400)
    recorder = Recorder(OnlineLearner(40))
    recorder.observe(X[teach_first(recorder.learner, X, y, per_class=1)])
    return recorder


def late_classes() -> Recorder:
    X, y = make_rows(11, 600, n_classes=4)
    recorder = Recorder(OnlineLearner(50))
    for code in range(4):
        recorder.learner.teach(X[y == code][:2], [f"c{code}"] * 2)
        recorder.observe(X[150 * code : 150 * (code + 1)])
    return recorder


def late_labels() -> Recorder:
    X, y = make_rows(12, 500)
    recorder = Recorder(OnlineLearner(50, remember=200))
    others = np.flatnonzero(teach_first(recorder.learner, X, y, per_class=1))
    for start in range(0, 400, 100):
        _, ids = recorder.observe(X[others[start : start + 100]], ids=True)
        for place in (3, 50, 97):
            label = f"c{y[others[start + place]]}"
            recorder.learner.teach_later(int(ids[place]), label)
    return recorder


def retract_examples() -> Recorder:
    X, y = make_rows(13, 400)
    recorder = Recorder(OnlineLearner(50))
    recorder.observe(X[:100])
    ids = recorder.learner.teach(X[100:112], [f"c{code}" for code in y[100:112]], ids=True)
    recorder.learner.retract(int(ids[3]))
    recorder.observe(X[112:300])
    recorder.learner.retract(int(ids[5]))
    recorder.observe(X[300:])
    return recorder


def retract_class() -> Recorder:
    X, y = make_rows(14, 400)
    recorder = Recorder(OnlineLearner(50))
    others = X[teach_first(recorder.learner, X, y)]
    recorder.observe(others[:200])
    recorder.learner.retract(label="c1")
    recorder.observe(others[200:])
    return recorder


def forget_class() -> Recorder:
    X, y = make_rows(15, 400)
    recorder = Recorder(OnlineLearner(50))
    others = X[teach_first(recorder.learner, X, y)]
    recorder.observe(others[:200])
    recorder.learner.forget("c0")
    recorder.observe(others[200:])
    return recorder


def merged(first: OnlineLearner, second: OnlineLearner, seed: int) -> Recorder:
    X, y = make_rows(seed, 700)
    recorder = Recorder(first)
    others = X[teach_first(first, X, y)]
    teach_first(second, X[::-1], y[::-1])
    recorder.observe(others[:300])
    second.observe(others[300:600])
    first.merge(second)
    recorder.observe(others[600:])
    return recorder


def saved_and_loaded() -> Recorder:
    X, y = make_rows(18, 500)
    recorder = Recorder(OnlineLearner(40))
    others = X[teach_first(recorder.learner, X, y)]
    recorder.observe(others[:250])
    recorder.learner = from_bytes(recorder.learner.to_bytes())
    recorder.observe(others[250:])
    return recorder


def adjusted() -> Recorder:
    X, y = make_rows(19, 500)
    recorder = Recorder(OnlineLearner(40))
    others = X[teach_first(recorder.learner, X, y)]
    recorder.observe(others[:250])
    recorder.learner.adjust(sink=1e-2, prior="uniform", abstain_below=0.4)
    recorder.observe(others[250:])
    return recorder


def loud_source() -> Recorder:
    X, y = make_rows(20, 500)
    recorder = Recorder(OnlineLearner(40, source_share=0.5))
    others = X[teach_first(recorder.learner, X, y)]
    names = np.where(np.arange(len(others)) % 5 == 0, "quiet", "loud")
    recorder.observe(others, source=names.tolist())
    return recorder


def drift() -> Recorder:
    X, y = make_rows(21, 1200, d=3)
    X[600:] += np.linspace(0.0, 6.0, 600).round(1)[:, np.newaxis]
    recorder = Recorder(OnlineLearner(60))
    recorder.observe(X[teach_first(recorder.learner, X, y)])
    return recorder


STREAMS: dict[str, Callable[[], Recorder]] = {
    "default": lambda: run(OnlineLearner(40), 1),
    "default_wide": lambda: run(OnlineLearner(60), 2, n=800, d=16, n_classes=5),
    "default_every_example": lambda: run(OnlineLearner(None), 3, n=250),
    "default_with_duplicates": default_with_duplicates,
    "default_in_single_rows": default_in_single_rows,
    "default_large": lambda: run(OnlineLearner(), 22, n=2500, d=4, n_classes=4),
    "self_tuning": lambda: run(OnlineLearner(40, similarity=SelfTuning(5, width=0.5)), 23),
    "gaussian": lambda: run(OnlineLearner(40, similarity=Gaussian(0.5)), 24),
    "gaussian_cover": lambda: run(OnlineLearner(40, similarity=Gaussian("cover")), 25),
    "gaussian_threshold": lambda: run(
        OnlineLearner(40, similarity=Gaussian(0.7, threshold=1e-4)), 26
    ),
    "paper": lambda: run(OnlineLearner.paper(60), 27),
    "paper_cover": lambda: run(OnlineLearner.paper(60, "cover", 1e-3), 28),
    "paper_threshold": lambda: run(OnlineLearner.paper(60, 0.5, 1e-3, threshold=1e-4), 29),
    "paper_pure": lambda: run(OnlineLearner.paper(30, 0.5, labelled="pure"), 30),
    "prior_uniform": lambda: run(OnlineLearner(40, prior="uniform"), 31),
    "prior_given": lambda: run(OnlineLearner(40, prior={"c0": 0.5, "c1": 0.3, "c2": 0.2}), 32),
    "robust_scale": lambda: run(OnlineLearner(40, scale="robust"), 33, d=4),
    "half_life": lambda: run(OnlineLearner(40, half_life=200), 34, n=1500),
    "half_life_every_example": lambda: run(OnlineLearner(None, half_life=60), 35, n=400),
    "exact": lambda: run(OnlineLearner(30, tolerance=0.0), 36, n=200),
    "abstaining": lambda: run(OnlineLearner(30, abstain_below=0.6, unreached="abstain"), 37),
    "no_quarantine": lambda: run(OnlineLearner(30, quarantine=None), 38),
    "far_outliers": far_outliers,
    "stuck_source": stuck_source,
    "loud_source": loud_source,
    "many_labels": many_labels,
    "no_labels": no_labels,
    "one_label": one_label,
    "late_classes": late_classes,
    "late_labels": late_labels,
    "retract_examples": retract_examples,
    "retract_class": retract_class,
    "forget_class": forget_class,
    "merged": lambda: merged(OnlineLearner(40), OnlineLearner(40), 16),
    "merged_paper": lambda: merged(OnlineLearner.paper(40, 0.5), OnlineLearner.paper(40, 0.5), 17),
    "saved_and_loaded": saved_and_loaded,
    "adjusted": adjusted,
    "drift": drift,
}


def results(recorder: Recorder) -> Arrays:
    """Return what a stream led to, under names that do not depend on the version."""
    learner, verdicts = recorder.learner, recorder.verdicts
    codes = {name: code for code, name in enumerate(learner.classes)}
    n_classes = len(codes)
    vertices, graph = learner.vertices, learner.graph
    questions = make_rows(99, 100, d=learner.n_features or 1)[0]
    predicted = [learner.predict(questions), learner.predict(questions[:20])]

    def encode(labels: Array) -> Array:
        return np.array([codes.get(label, -1) for label in labels], dtype=np.int64)

    def join(parts: list[Any], name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    def widen(parts: list[Any], name: str) -> Array:
        # classes that come late have no column in the answers before
        columns = [np.zeros((len(part), n_classes)) for part in parts]
        for column, part in zip(columns, parts, strict=True):
            values = getattr(part, name)[:, :n_classes]
            column[:, : values.shape[1]] = values
        return np.concatenate(columns)

    return {
        "label": encode(join(verdicts, "label")),
        "confidence": join(verdicts, "confidence"),
        "probabilities": widen(verdicts, "probabilities"),
        "scores": widen(verdicts, "scores"),
        "outlier": join(verdicts, "outlier"),
        "certain": join(verdicts, "certain"),
        "bound": join(verdicts, "bound"),
        "radius": np.array([learner.radius]),
        "points": vertices.points,
        "means": vertices.means,
        "count": vertices.count,
        "reach": vertices.reach,
        "vertex_label": encode(vertices.label),
        "founder": vertices.founder,
        "weight": vertices.weight,
        "bandwidth": vertices.bandwidth,
        "similarity": graph.similarity,
        "f": vertices.probabilities,
        "predicted_label": encode(join(predicted, "label")),
        "predicted_probabilities": widen(predicted, "probabilities"),
        "predicted_bound": join(predicted, "bound"),
    }


def digest(arrays: Arrays, names: tuple[str, ...]) -> str:
    """Return a SHA-256 of arrays, with their shapes and types."""
    whole = hashlib.sha256()
    for name in names:
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"))
        whole.update(f"{name} {array.dtype.str} {array.shape}".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def digests(arrays: Arrays) -> dict[str, str]:
    """Return the digest of each group of results."""
    return {group: digest(arrays, names) for group, names in GROUPS.items()}


def arithmetic_probe() -> str:
    """Return a digest of operations that round differently from machine to machine.

    Where it differs from the recorded one, digests of floating-point results cannot be compared.
    """
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(70, 70))
    symmetric = matrix @ matrix.T + np.eye(70)
    parts = (np.exp(matrix), symmetric, np.linalg.cholesky(symmetric), np.log(np.abs(matrix)))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
