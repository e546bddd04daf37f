"""A model that labels rows: the solved graph of a cover, dense if it is small, sparse if not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_type_hints

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from labelwalk._validation import as_rows
from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.concurrency import single_blas_thread
from labelwalk.distributed import sketches
from labelwalk.distributed.cover import Cover, coarsen_cover, empty_cover, index_points
from labelwalk.engine.bandwidth import typical
from labelwalk.engine.batch_predictor import BatchPredictor
from labelwalk.engine.engine import Engine
from labelwalk.engine.persistence import LearnerParts
from labelwalk.engine.scaling import Scale
from labelwalk.engine.sources import Sources
from labelwalk.engine.state import State, resize
from labelwalk.engine.weights import compute_capped_mean
from labelwalk.io.rows import InputError
from labelwalk.kernels.compare import compute_bandwidths
from labelwalk.kernels.counters import NEVER, NO_ROW, KernelParams
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.nearest import ReadoutParams, SolvedGraph, list_pairs, write_local_distances
from labelwalk.kernels.system import STEPS, UNIT_ROUNDOFF
from labelwalk.learner import OnlineLearner
from labelwalk.settings import Settings
from labelwalk.similarity import COVER_FRACTION, COVER_NEIGHBOUR, Gaussian, euclidean
from labelwalk.storage import model_file
from labelwalk.verdicts import Verdicts, decide

SPARE_VERTICES = 16  # allocated in addition to those of the cover
STORED_NAMES = {"has_label": "lit"}  # of arrays in a model file
FIRST_ACCURACY, LAST_ACCURACY = 1e-4, 1e-13  # relative residuals at which the solver stops
ACCURACY_STEP = 1e-2  # factor of the accuracy of the next attempt
MAX_CG_STEPS = 20_000


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


def model_of(sketch: sketches.Sketch, settings: Settings) -> Model:
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
    cover = sketches.decide_held(sketch, sketches.budget_from_settings(settings).n_centroids).cover
    return solve_cover(cover, *sketch.collect_labelled(), settings)


def solve_cover(cover: Cover, rows: Floats, labels: Sequence[Label], settings: Settings) -> Model:
    """Return the model of a cover of all rows, and a few rows with labels.

    If there are many vertices, the parameters of the graph and the class balance are chosen on a
    coarser cover.
    """
    if not len(cover):
        cover = empty_cover(rows.shape[1])
    if len(cover) <= sketches.MAX_DENSE_VERTICES:
        return freeze_learner(learner_from_cover(cover, rows, labels, settings))
    coarse = coarsen_cover(cover, sketches.MAX_DENSE_VERTICES)
    learner = learner_from_cover(coarse, rows, labels, settings)
    return Model(learner.classes, solve_sparse_cover(cover, learner), settings.abstain_below)


def freeze_learner(learner: OnlineLearner) -> Model:
    """Return a model with the present answers of a learner."""
    frozen = learner._engine.get_predictor(learner._shares())
    return Model(learner.classes, frozen, learner.settings.abstain_below)


def learner_from_cover(
    cover: Cover, rows: Floats, labels: Sequence[Label], settings: Settings
) -> OnlineLearner:
    """Return a learner whose unlabelled vertices are those of a cover, and teach it."""
    sketches.check_settings(settings)
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
    graphs = (cover.points, vertices.distance), (representatives, vertices.mean_distances)
    for points, distances in graphs:
        for i in range(n):
            distances[i, :n] = euclidean(points[i], points)
    counts = vertices.examples, vertices.similarity_count, vertices.decayed_count, state.system.v
    for column in counts:
        column[:n] = cover.examples
    vertices.reach[:n] = cover.reach
    vertices.label[:n], vertices.founder[:n] = UNLABELLED, NO_ROW
    counters.n = counters.n_unlabelled = counters.n_founded = n
    counters.n_seen = counters.n_absorbed = cover.n_seen
    counters.radius = cover.radius


class SparseSolution(NamedTuple):
    """Fields of a `SolvedGraph`: probabilities of vertices, and bounds on their errors."""

    f: Floats  # (n, classes); 0 if no labelled vertex can be reached
    errors: Floats
    has_label: Bools  # whether a labelled vertex can be reached


class FreeSystem(NamedTuple):
    """The equations of vertices without a label that can reach one."""

    flow: csr_array  # w_ij v_j between them
    total: Floats  # degree and sink
    root: Floats  # of the weights: scaled with it, the equations are symmetric
    component: Ints
    max_terms: int  # of any equation, labels included


def solve_sparse_cover(cover: Cover, learner: OnlineLearner) -> BatchPredictor:
    """Solve on all vertices of a cover, and the labels of a learner that has a coarser one.

    Walks take more steps on more vertices, so each sink is smaller: their sum stays the same.
    """
    engine = learner._engine
    coarse = engine.get_predictor(learner._shares())
    rules, labelled = engine.rules, coarse.solved.labelled
    centers = cover.means if engine.settings.moving else cover.points
    points = np.concatenate([centers, coarse.solved.points[labelled]])
    codes = np.concatenate([np.full(len(cover), UNLABELLED), coarse.solved.label]).astype(np.int64)
    params, bandwidth = _measure_bandwidths(points, engine, coarse.params)
    weight, sink = _weigh_vertices(cover, len(labelled), rules)
    sink *= (len(coarse.solved.points) - len(labelled)) / len(cover)
    w = compute_similarities(points, bandwidth, rules.cut)
    solution = solve_sparse(
        w, weight, np.full(len(points), sink), codes, len(learner.classes), rules.tolerance
    )
    labelled = np.flatnonzero(codes >= 0)
    solved = coarse.solved._replace(
        points=points, bandwidth=bandwidth, weight=weight, labelled=labelled, **solution._asdict()
    )
    return BatchPredictor(solved, params._replace(sink=sink))


def _measure_bandwidths(
    points: Floats, engine: Engine, params: ReadoutParams
) -> tuple[ReadoutParams, Floats]:
    """Measure bandwidths as `labelwalk.engine.bandwidth` does, with the width that was chosen."""
    similarity = engine.settings.similarity
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


def measure_local_distances(points: Floats, neighbor: int) -> Floats:
    """Return the distance of each point to its k-th nearest one at another place."""
    index, distances = index_points(points), np.empty(len(points))
    for rows, bounds in index.bound_distances(points, len(points)):
        write_local_distances(points, neighbor, bounds, points[rows], distances[rows])
    return distances


def compute_similarities(points: Floats, bandwidth: Floats, cut: float) -> csr_array:
    """Return the similarities of pairs, zero beyond `cut` bandwidths and on the diagonal."""
    n, index = len(points), index_points(points)
    capacity = 8 * n + 1024
    ids, similarities = np.empty(capacity, dtype=np.int64), np.empty(capacity)
    columns, values, counts = [np.empty(0, np.int64)], [np.empty(0)], [np.zeros(1, np.int64)]
    for rows, bounds in index.bound_distances(points, n):
        start, n_rows = 0, rows.stop - rows.start
        while start < n_rows:
            ends = np.empty(n_rows - start, dtype=np.int64)
            rest = bounds._replace(
                products=bounds.products[start:],
                squares=bounds.squares[start:],
                slack=bounds.slack[start:],
            )
            n_listed = list_pairs(
                *(points, bandwidth, cut, rest, rows.start + start, n_rows - start),
                *(ids, similarities, ends),
            )
            n_pairs = int(ends[n_listed - 1])
            columns.append(ids[:n_pairs].copy())
            values.append(similarities[:n_pairs].copy())
            counts.append(np.diff(ends[:n_listed], prepend=0))
            start += n_listed
    starts = np.cumsum(np.concatenate(counts))
    return csr_array((np.concatenate(values), np.concatenate(columns), starts), shape=(n, n))


def solve_sparse(
    w: csr_array, v: Floats, sink: Floats, codes: Ints, n_classes: int, tolerance: float
) -> SparseSolution:
    """Solve for the probability of every class at every vertex by conjugate gradients.

    The similarities `w` are symmetric and 0 on the diagonal, the weights `v` and sinks above 0. The
    code of a vertex is its class, or -1 without a label. The error is at most `tolerance`, if that
    can be reached.
    """
    is_labelled = codes >= 0
    _, component = connected_components(w, directed=False)
    has_label = np.isin(component, component[is_labelled])
    f, errors = np.zeros((len(v), n_classes)), np.zeros(len(v))
    f[is_labelled, codes[is_labelled]] = 1.0
    free = np.flatnonzero(has_label & ~is_labelled)
    if len(free) == 0:
        return SparseSolution(f, errors, has_label)
    rows = w[free]
    system = FreeSystem(
        flow=csr_array(rows[:, free] @ diags_array(v[free])),
        total=rows @ v + sink[free],
        root=np.sqrt(v[free]),
        component=component[free].astype(np.int64),
        max_terms=int(np.diff(rows.indptr).max(initial=0)),
    )
    inflow = rows[:, is_labelled] @ (v[is_labelled, None] * f[is_labelled])
    accuracy, steps = FIRST_ACCURACY, np.zeros(len(free))
    while True:
        steps = _solve(system, system.total, steps, accuracy)
        for c, right in enumerate(inflow.T):
            f[free, c] = _solve(system, right, f[free, c], accuracy)
        np.clip(f, 0.0, 1.0, out=f)
        errors[free] = _bound_errors(system, steps, f[free], inflow)
        if errors.max() <= tolerance or accuracy <= LAST_ACCURACY:
            return SparseSolution(f, errors, has_label)
        accuracy *= ACCURACY_STEP


def _solve(system: FreeSystem, right: Floats, start: Floats, accuracy: float) -> Floats:
    """Solve the equations for one right side, within a limited number of steps."""
    root, total = system.root, system.total

    def multiply(g: Floats) -> Floats:
        return np.asarray(total * g - root * (system.flow @ (g / root)))

    n = len(total)
    matrix = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    scaled = LinearOperator((n, n), matvec=lambda g: g / total, dtype=np.float64)
    with single_blas_thread():
        g, _ = cg(matrix, root * right, root * start, rtol=accuracy, maxiter=MAX_CG_STEPS, M=scaled)
    return np.asarray(g / root)


def _bound_errors(system: FreeSystem, steps: Floats, f: Floats, inflow: Floats) -> Floats:
    """Return a bound on the error of the probabilities of each vertex, at most 1.

    For computed probabilities f and steps t, with relative residuals rho and tau, and maxima over
    the connected component of vertex i, the exact solution f* satisfies

        |f_i - f*_i|  <=  max |rho| * t_i / (1 - max tau),

    for any f and t (docs/decisions/certificate.md): a poor solution has a poor bound.
    """
    total, rounding = system.total[:, None], 4.0 * (system.max_terms + 8) * UNIT_ROUNDOFF
    residual = inflow + system.flow @ f - total * f
    rho = np.abs(residual / total).max(axis=1) + rounding
    tau = (system.total + system.flow @ steps - system.total * steps) / system.total
    tau += rounding * (1.0 + steps)
    max_rho = _component_max(system.component, rho)
    max_tau = np.maximum(_component_max(system.component, tau), 0.0)
    divisor = np.where(max_tau < 1.0, 1.0 - max_tau, 0.0)
    with np.errstate(divide="ignore"):
        errors = np.where(divisor > 0.0, max_rho * steps / divisor, 1.0)
    return np.asarray(np.minimum(errors, 1.0))


def _component_max(component: Ints, values: Floats) -> Floats:
    """Return, for each vertex, the largest value in its component."""
    largest = np.full(int(component.max()) + 1, -np.inf)
    np.maximum.at(largest, component, values)
    return largest[component]


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
        raise model_file.ModelFileError(f"this is not the model of a job: {error}") from error
