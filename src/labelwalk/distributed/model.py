"""A model that labels rows: the solved graph of a cover, dense if it is small, sparse if not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_type_hints

import numpy as np

from labelwalk._validation import as_rows
from labelwalk.arrays import Floats, Label
from labelwalk.distributed.cover import Cover, coarsen_cover, empty_cover
from labelwalk.distributed.sketches import (
    MAX_DENSE_VERTICES,
    Sketch,
    budget_from_settings,
    check_settings,
    decide_held,
)
from labelwalk.distributed.sparse_solution import (
    compute_similarities,
    measure_local_distances,
    solve_sparse,
)
from labelwalk.engine.bandwidth import typical
from labelwalk.engine.batch_predictor import BatchPredictor
from labelwalk.engine.engine import Engine
from labelwalk.engine.persistence import LearnerParts
from labelwalk.engine.scaling import Scale
from labelwalk.engine.state import State, resize
from labelwalk.engine.weights import Sources, compute_capped_mean
from labelwalk.io.rows import InputError
from labelwalk.kernels.compare import compute_bandwidths
from labelwalk.kernels.counters import NEVER, NO_ROW, KernelParams
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.nearest import ReadoutParams, SolvedGraph
from labelwalk.kernels.system import STEPS
from labelwalk.learner import OnlineLearner
from labelwalk.settings import Settings
from labelwalk.similarity import COVER_FRACTION, COVER_NEIGHBOUR, Gaussian, euclidean
from labelwalk.storage import model_file
from labelwalk.verdicts import Verdicts, decide

SPARE_VERTICES = 16  # allocated in addition to those of the cover
STORED_NAMES = {"has_label": "lit"}  # of arrays in a model file


@dataclass(frozen=True)
class Model:
    """A solved graph that labels rows and does not learn.

    Attributes
    ----------
    classes : tuple of labels
    frozen : BatchPredictor
    abstain_below : float
    """

    classes: tuple[Label, ...]
    frozen: BatchPredictor
    abstain_below: float

    @property
    def certificate(self) -> float:
        """The largest proven error of a probability at any vertex."""
        return float(self.frozen.solved.errors.max(initial=0.0))

    def label(self, rows: Floats) -> Verdicts:
        """Label rows independently of each other."""
        points = self.frozen.solved.points
        checked, _ = as_rows(rows, points.shape[1])
        return decide(self.frozen.answer(checked), self.classes, self.abstain_below)


def model_of(sketch: Sketch, settings: Settings) -> Model:
    """Return the model of a sketch of all rows.

    Parameters
    ----------
    sketch : Sketch
        Of all shards, merged.
    settings : Settings
        Of a learner: `OnlineLearner(500).settings`.

    Raises
    ------
    InputError
        No row has a label.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.distributed import sketch
    >>> names = ["low", None, None, "high"]
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.0, 1.0, 8.0, 9.0], "label": names})
    >>> model = model_of(sketch([batch], n_centroids=5), OnlineLearner(5).settings)
    >>> model.label(np.array([[2.0], [7.0]])).label.tolist()
    ['low', 'high']
    """
    if not sketch.taught:
        raise InputError(
            "no row has a label. Label a few rows in the label column (--label-column)."
        )
    cover = decide_held(sketch, budget_from_settings(settings).n_centroids).cover
    return solve_cover(cover, *sketch.collect_labelled(), settings)


def solve_cover(cover: Cover, rows: Floats, labels: Sequence[Label], settings: Settings) -> Model:
    """Return the model of a cover of all rows, and a few rows with labels.

    If there are many vertices, the parameters of the graph and the class balance are chosen on a
    coarser cover.
    """
    if not len(cover):
        cover = empty_cover(rows.shape[1])
    if len(cover) <= MAX_DENSE_VERTICES:
        return freeze_learner(learner_from_cover(cover, rows, labels, settings))
    coarse = coarsen_cover(cover, MAX_DENSE_VERTICES)
    learner = learner_from_cover(coarse, rows, labels, settings)
    return Model(learner.classes, _solve_sparse_cover(cover, learner), settings.abstain_below)


def freeze_learner(learner: OnlineLearner) -> Model:
    """Return a model with the present answers of a learner."""
    frozen = learner._engine.get_predictor(learner._shares())
    return Model(learner.classes, frozen, learner.settings.abstain_below)


def learner_from_cover(
    cover: Cover, rows: Floats, labels: Sequence[Label], settings: Settings
) -> OnlineLearner:
    """Return a learner whose unlabelled vertices are those of a cover, and teach it."""
    check_settings(settings)
    engine = Engine.start(settings, cover.n_features, Scale(frozen=True))
    state = engine.state = resize(engine.state, len(cover) + SPARE_VERTICES, 0)
    _copy_cover(state, cover)
    state.system.g[: len(cover)] = settings.sink
    state.system.f[STEPS, : len(cover)] = 1.0  # every walk takes at least one step
    engine.rebuild_from_cover()
    if state.counters.choose_at_seen != NEVER:
        state.counters.choose_at_seen = cover.n_seen + len(labels)
    learner = OnlineLearner.__new__(OnlineLearner)
    learner._become(LearnerParts(engine, [], Sources()))
    if len(rows):
        learner.teach(rows, labels)
        learner._engine.measure()
    return learner


def _copy_cover(state: State, cover: Cover) -> None:
    """Make the vertices of a cover the first ones of a state."""
    n, counters, vertices = len(cover), state.counters, state.vertices
    vertices.points[:, :n] = cover.points.T
    if len(vertices.means):
        vertices.means[:, :n] = cover.means.T
    representatives = cover.means if len(vertices.means) else cover.points
    for points, distances in (
        (cover.points, vertices.distance),
        (representatives, vertices.mean_distances),
    ):
        for i in range(n):
            distances[i, :n] = euclidean(points[i], points)
    for column in (
        vertices.examples,
        vertices.similarity_count,
        vertices.decayed_count,
        state.system.v,
    ):
        column[:n] = cover.examples
    vertices.reach[:n] = cover.reach
    vertices.label[:n], vertices.founder[:n] = UNLABELLED, NO_ROW
    counters.n = counters.n_unlabelled = counters.n_founded = n
    counters.n_seen = counters.n_absorbed = cover.n_seen
    counters.radius = cover.radius


def _solve_sparse_cover(cover: Cover, learner: OnlineLearner) -> BatchPredictor:
    """Solve on all vertices of a cover, and the labels of a learner that has a coarser one.

    Walks take more steps on more vertices, so each sink is smaller: their sum stays the same.
    """
    engine, settings = learner._engine, learner.settings
    coarse = engine.get_predictor(learner._shares())
    rules, labelled = engine.rules, coarse.solved.labelled
    centers = cover.means if settings.moving else cover.points
    points = np.concatenate([centers, coarse.solved.points[labelled]])
    codes = np.concatenate([np.full(len(cover), UNLABELLED), coarse.solved.label]).astype(np.int64)
    params, bandwidth = _measure_bandwidths(points, settings, engine, coarse.params)
    weight, sink = _weigh_vertices(cover, len(labelled), rules)
    sink *= (len(coarse.solved.points) - len(labelled)) / len(cover)
    w = compute_similarities(points, bandwidth, rules.cut)
    solution = solve_sparse(
        w, weight, np.full(len(points), sink), codes, len(learner.classes), rules.tolerance
    )
    solved = SolvedGraph(
        points=points,
        bandwidth=bandwidth,
        weight=weight,
        has_label=solution.has_label,
        f=solution.f,
        errors=solution.errors,
        labelled=np.flatnonzero(codes >= 0),
        label=coarse.solved.label,
        bias=coarse.solved.bias,
    )
    return BatchPredictor(solved, params._replace(sink=sink))


def _measure_bandwidths(
    points: Floats, settings: Settings, engine: Engine, params: ReadoutParams
) -> tuple[ReadoutParams, Floats]:
    """Measure bandwidths as `labelwalk.engine.bandwidth` does, with the width that was chosen."""
    similarity = settings.similarity
    if isinstance(similarity, Gaussian):
        sigma = params.sigma
        if similarity.bandwidth == "cover":
            sigma = COVER_FRACTION * typical(measure_local_distances(points, COVER_NEIGHBOUR))
        return params._replace(sigma=sigma), np.full(len(points), sigma)
    local = measure_local_distances(points, params.neighbour)
    counters, bandwidth = engine.state.progress.copy()[0], np.empty(len(points))
    counters.typical = typical(local)
    compute_bandwidths(local, counters, bandwidth)
    distance = float(counters.typical)
    return params._replace(typical=distance, sigma=params.width * distance), bandwidth


def _weigh_vertices(cover: Cover, n_labelled: int, rules: KernelParams) -> tuple[Floats, float]:
    """Weigh vertices as `labelwalk.engine.weights` does."""
    counts = cover.examples.astype(np.float64)
    if rules.label_weight == 0.0:
        return np.concatenate([counts, np.ones(n_labelled)]), rules.sink
    mean = compute_capped_mean(counts, rules.weight_cap)
    labelled = np.full(n_labelled, rules.label_weight * mean)
    weights = np.concatenate([np.minimum(counts, rules.weight_cap * mean), labelled])
    return weights, rules.sink * mean


def model_to_bytes(model: Model) -> bytes:
    """Return the content of the file of a model.

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> learner = OnlineLearner()
    >>> learner.teach([[0.0], [9.0]], ["low", "high"])
    >>> content = model_to_bytes(freeze_learner(learner))
    >>> model_from_bytes(content).label(np.array([[1.0]])).label.tolist()
    ['low']
    """
    header = {"classes": list(model.classes), "abstain_below": float(model.abstain_below)}
    solved = model.frozen.solved._asdict()
    arrays = {STORED_NAMES.get(name, name): array for name, array in solved.items()}
    return model_file.pack(header, arrays | {"reach": np.array(model.frozen.params, dtype=float)})


def model_from_bytes(content: bytes) -> Model:
    """Return the model whose file has this content.

    Raises
    ------
    ModelFileError
        The content is damaged or not a model.
    """
    header, arrays = model_file.unpack(content)
    try:
        types = get_type_hints(ReadoutParams).values()
        values = arrays.pop("reach").tolist()
        params = ReadoutParams(*(kind(value) for kind, value in zip(types, values, strict=True)))
        names = {stored: name for name, stored in STORED_NAMES.items()}
        solved = SolvedGraph(**{names.get(name, name): array for name, array in arrays.items()})
        frozen = BatchPredictor(solved, params)
        return Model(tuple(header["classes"]), frozen, float(header["abstain_below"]))
    except (KeyError, TypeError, ValueError) as error:
        raise model_file.ModelFileError(f"not the model of a job: {error}") from error
