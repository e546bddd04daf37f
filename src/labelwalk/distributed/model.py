"""A solved graph that names rows: the learner's own where it is small, a sparse one where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Floats, Label
from labelwalk.distributed import graph, solution
from labelwalk.distributed.budget import budget_of
from labelwalk.distributed.cover import Cover, empty
from labelwalk.distributed.covers import coarser
from labelwalk.distributed.planting import DENSE, planted
from labelwalk.distributed.sketches import Sketch, decide_held
from labelwalk.engine.bandwidth import typical
from labelwalk.engine.engine import Engine
from labelwalk.engine.frozen import Frozen
from labelwalk.engine.weights import capped_mean
from labelwalk.io.rows import InputError
from labelwalk.kernels.batch_answer import ReadoutParams, SolvedGraph
from labelwalk.kernels.comparison import own_bandwidths
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.progress import Rules
from labelwalk.learner import OnlineLearner
from labelwalk.rows import as_rows
from labelwalk.settings import Settings
from labelwalk.similarity import COVER_FRACTION, COVER_NEIGHBOUR, Gaussian
from labelwalk.storage import model_file
from labelwalk.verdicts import Verdicts, decide

STORED_NAMES = {"has_label": "lit"}  # of arrays in a model file


@dataclass(frozen=True)
class Model:
    """What names rows, and learns no more.

    Attributes
    ----------
    classes : tuple of labels
    frozen : Frozen
    abstain_below : float
    """

    classes: tuple[Label, ...]
    frozen: Frozen
    abstain_below: float

    @property
    def certificate(self) -> float:
        """The largest proven error of a probability at any vertex."""
        return float(self.frozen.solved.errors.max(initial=0.0))

    def label(self, rows: Floats) -> Verdicts:
        """Name rows; the answers do not depend on each other."""
        points = self.frozen.solved.points
        checked, _ = as_rows(rows, points.shape[1])
        return decide(self.frozen.answer(checked), self.classes, self.abstain_below)


def model_of(sketch: Sketch, settings: Settings) -> Model:
    """Return what names rows, from what stands for all of them.

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
            "no row has a label, so nothing can be named. Give a few rows one, in the column "
            "of labels (--label-column)."
        )
    return solved(
        decide_held(sketch, budget_of(settings).n_centroids).cover, *sketch.labelled(), settings
    )


def solved(cover: Cover, rows: Floats, labels: Sequence[Label], settings: Settings) -> Model:
    """Return what names rows, from a cover of all of them and a few labels.

    Where there are many vertices, the graph is chosen, and shares are balanced, on a coarser cover.

    Parameters
    ----------
    cover : Cover
    rows : array of shape (n, features)
    labels : n labels
    settings : Settings

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.distributed.covers import covered
    >>> stream = np.array([[0.0], [1.0], [2.0], [8.0], [9.0]])
    >>> cover = covered([stream], n_centroids=5)
    >>> model = solved(cover, stream[[0, 4]], ["low", "high"], OnlineLearner().settings)
    >>> model.label(stream).label.tolist()
    ['low', 'low', 'low', 'high', 'high']
    """
    if not len(cover):
        cover = empty(rows.shape[1])
    if len(cover) <= DENSE:
        return frozen_model(planted(cover, rows, labels, settings))
    learner = planted(coarser(cover, DENSE), rows, labels, settings)
    return Model(learner.classes, _sparse(cover, learner), settings.abstain_below)


def frozen_model(learner: OnlineLearner) -> Model:
    """Return what names rows as a learner does now."""
    frozen = learner._engine.frozen(learner._shares())
    return Model(learner.classes, frozen, learner.settings.abstain_below)


def _sparse(cover: Cover, learner: OnlineLearner) -> Frozen:
    """Solve on all vertices of a cover, and the labels of a learner that knows a coarser one.

    Walks take more steps on more vertices, so that each sink takes less: all together as much as
    those of the coarser cover.
    """
    engine, settings = learner._engine, learner.settings
    coarse = engine.frozen(learner._shares())
    rules, labelled = engine.rules, coarse.solved.labelled
    free = cover.means if settings.moving else cover.points
    points = np.concatenate([free, coarse.solved.points[labelled]])
    codes = np.concatenate([np.full(len(cover), UNLABELLED), coarse.solved.label]).astype(np.int64)
    reach, bandwidth = _bandwidths(points, settings, engine, coarse.params)
    weight, sink = _weights(cover, len(labelled), rules)
    sink *= (len(coarse.solved.points) - len(labelled)) / len(cover)
    w = graph.similarities(points, bandwidth, rules.cut)
    found = solution.solve(
        w, weight, np.full(len(points), sink), codes, len(learner.classes), rules.tolerance
    )
    solved = SolvedGraph(
        points=points,
        bandwidth=bandwidth,
        weight=weight,
        has_label=found.lit,
        f=found.f,
        errors=found.errors,
        labelled=np.flatnonzero(codes >= 0),
        label=coarse.solved.label,
        bias=coarse.solved.bias,
    )
    return Frozen(solved, reach._replace(sink=sink))


def _bandwidths(
    points: Floats, settings: Settings, engine: Engine, reach: ReadoutParams
) -> tuple[ReadoutParams, Floats]:
    """Measure bandwidths as `labelwalk.engine.bandwidth` does, with the width that was chosen."""
    similarity, neighbour = settings.similarity, reach.neighbour
    if isinstance(similarity, Gaussian):
        sigma = reach.sigma
        if similarity.bandwidth == "cover":
            sigma = COVER_FRACTION * typical(graph.local(points, COVER_NEIGHBOUR))
        return reach._replace(sigma=sigma), np.full(len(points), sigma)
    local = graph.local(points, neighbour)
    here, bandwidth = engine.now.progress.copy()[0], np.empty(len(points))
    here.typical = typical(local)
    own_bandwidths(local, here, engine.rules, bandwidth)
    usual = float(here.typical)
    return reach._replace(typical=usual, sigma=reach.width * usual), bandwidth


def _weights(cover: Cover, n_labelled: int, rules: Rules) -> tuple[Floats, float]:
    """Weigh vertices as `labelwalk.engine.weights` does."""
    free = cover.examples.astype(np.float64)
    if rules.label_weight == 0.0:
        return np.concatenate([free, np.ones(n_labelled)]), rules.sink
    mean = capped_mean(free, rules.weight_cap)
    heavy = np.full(n_labelled, rules.label_weight * mean)
    return np.concatenate([np.minimum(free, rules.weight_cap * mean), heavy]), rules.sink * mean


def model_to_bytes(model: Model) -> bytes:
    """Return a model as a file holds it.

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> learner = OnlineLearner()
    >>> learner.teach([[0.0], [9.0]], ["low", "high"])
    >>> content = model_to_bytes(frozen_model(learner))
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
        The content is damaged, or of something else.
    """
    header, arrays = model_file.unpack(content)
    try:
        sink, cut, neighbour, width, evenness, typical, sigma, far, guess, sharpness = arrays.pop(
            "reach"
        ).tolist()
        reach = ReadoutParams(
            *(sink, cut, int(neighbour), width, evenness, typical, sigma, far),
            *(bool(guess), sharpness),
        )
        names = {stored: name for name, stored in STORED_NAMES.items()}
        solved = SolvedGraph(**{names.get(own, own): array for own, array in arrays.items()})
        frozen = Frozen(solved, reach)
        return Model(tuple(header["classes"]), frozen, float(header["abstain_below"]))
    except (KeyError, TypeError, ValueError) as error:
        raise model_file.ModelFileError(f"this is no model of shards: {error}") from error
