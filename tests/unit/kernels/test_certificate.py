"""Every bound is a proof: verdicts, vertices and predictions against the exact solution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits

from labelwalk import Gaussian, OnlineLearner
from labelwalk.arrays import Bools, Floats, Label
from labelwalk.kernels.system import STEPS, rebuild
from labelwalk.similarity import euclidean
from labelwalk.verdicts import Verdict
from tests.support.streams import Coarsening, Labelled, coarsenings, plain_learner, policies, take

ROUNDING = 1e-13  # of the exact solution
LOOKS = 20  # steps of a stream that are compared with the exact solution


class Graph(NamedTuple):
    w: Floats
    v: Floats
    g: Floats
    clamped: Bools
    targets: Floats


def stored_graph(learner: OnlineLearner) -> Graph:
    """The learner's own graph: what its verdicts are about."""
    n, system = learner.n_vertices, learner._engine.state.system
    clamped = system.clamped[:n]
    targets = np.where(clamped[:, None], system.f[STEPS + 1 :, :n].T, 0.0)
    return Graph(system.w[:n, :n], system.v[:n], system.g[:n], clamped, targets)


def exact(graph: Graph) -> Floats:
    """The harmonic solution, a row a vertex, by an elimination without a single subtraction.

    A walk that enters the vertex eliminated leaves it to older ones, to labels or to the sink, in
    proportion to its flows. Sums of products of positive numbers are right to a few roundings,
    however long the walks (Grassmann, Taksar and Heyman 1985).
    """
    free = np.flatnonzero(~graph.clamped)
    flow = graph.w[np.ix_(free, free)] * graph.v[free]
    ends = graph.w[free] @ (graph.v[:, None] * graph.targets)
    ends = np.column_stack([graph.g[free], ends])
    total = np.zeros(len(free))
    for k in range(len(free) - 1, -1, -1):
        total[k] = flow[k, :k].sum() + ends[k].sum()
        share = flow[:k, k] / total[k]
        flow[:k, :k] += np.outer(share, flow[k, :k])
        ends[:k] += np.outer(share, ends[k])
    f = graph.targets.copy()
    for k, i in enumerate(free):
        f[i] = (ends[k, 1:] + flow[k, :k] @ f[free[:k]]) / total[k]
    return f


def answer_of(learner: OnlineLearner, probabilities: Floats) -> Label | None:
    if not probabilities.any():
        return None
    return learner.classes[int(np.argmax(probabilities))]


def current_vertex(learner: OnlineLearner) -> int:
    return int(learner._engine.state.counters.vertex)


def worst(a: Floats, b: Floats) -> float:
    return float(np.abs(a - b).max(initial=0.0))


# --- streams -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A learner to be made and a stream for it."""

    n_rows: int
    n_features: int
    n_classes: int
    shape: Literal["clusters", "line", "cloud"]
    label_rate: float
    seed: int
    k: int | None
    bandwidth: float | Literal["cover", "scale"]
    threshold: float
    sink: float
    tolerance: float
    label_weight: float | None
    coarsening: Coarsening
    labelled: Labelled

    def learner(self) -> OnlineLearner:
        return plain_learner(
            self.k,
            similarity=Gaussian(self.bandwidth, threshold=self.threshold),
            sink=self.sink,
            tolerance=self.tolerance,
            label_weight=self.label_weight,
            labels_per_class=4,
            coarsening=self.coarsening,
            labelled=self.labelled,
        )

    def steps(self) -> Iterator[tuple[Label | None, Floats]]:
        rng = np.random.default_rng(self.seed)
        of_class = rng.integers(0, self.n_classes, self.n_rows)
        rows = rng.normal(size=(self.n_rows, self.n_features))
        if self.shape == "clusters":
            rows = (
                0.5 * rows + rng.normal(scale=2.0, size=(self.n_classes, self.n_features))[of_class]
            )
        elif self.shape == "line":
            rows[:, 0] = 0.2 * rng.permutation(self.n_rows)
            rows[:, 1:] = 0.0
            of_class = (rows[:, 0] * self.n_classes / (0.2 * self.n_rows)).astype(np.int64)
        repeated = rng.random(self.n_rows) < 0.1
        rows[repeated] = rows[0]
        taught = rng.random(self.n_rows) < self.label_rate
        for label, row, known in zip(of_class.tolist(), rows, taught, strict=True):
            yield f"class {label}" if known else None, row

    def looks(self) -> Bools:
        """Steps to look at, the last one among them."""
        rng = np.random.default_rng(self.seed)
        looked = np.zeros(self.n_rows, dtype=np.bool_)
        looked[rng.integers(0, self.n_rows, LOOKS)] = True
        looked[-1] = True
        return looked

    def observed(self) -> Iterator[tuple[OnlineLearner, Verdict]]:
        """The learner and its verdict at the unlabelled steps to look at."""
        learner = self.learner()
        for (label, row), looked in zip(self.steps(), self.looks(), strict=True):
            if label is not None:
                learner.teach(row, label)
            else:
                verdict: Any = learner.observe(row)
                if looked:
                    yield learner, verdict

    def learners(self) -> Iterator[OnlineLearner]:
        """The learner after each step to look at, taught ones too."""
        learner = self.learner()
        for (label, row), looked in zip(self.steps(), self.looks(), strict=True):
            if label is None:
                learner.observe(row)
            else:
                learner.teach(row, label)
            if looked:
                yield learner


cases = st.builds(
    Case,
    n_rows=st.sampled_from([10, 30, 60, 100, 150]),
    n_features=st.integers(1, 4),
    n_classes=st.integers(1, 4),
    shape=st.sampled_from(["clusters", "line", "cloud"]),
    label_rate=st.sampled_from([0.02, 0.05, 0.2]),
    seed=st.integers(0, 2**32 - 1),
    k=st.sampled_from([None, 5, 20, 60]),
    bandwidth=st.sampled_from([0.2, 0.5, 1.0, 2.0, "cover", "scale"]),
    threshold=st.sampled_from([0.0, 0.0, 1e-6, 1e-2]),
    sink=st.sampled_from([1e-6, 1e-5, 1e-3, 1e-2, 0.1, 1.0]),
    tolerance=st.sampled_from([1e-1, 1e-2, 1e-3]),
    label_weight=st.sampled_from([3.0, 3.0, None]),
    coarsening=coarsenings,
    labelled=policies,
)


def streamed(case: Case) -> OnlineLearner:
    *_, learner = case.learners()
    return learner


# --- the theorem ---------------------------------------------------------------------------------


@given(
    st.integers(1, 12),
    st.sampled_from([0.2, 0.5, 1.0]),
    st.sampled_from([1e-3, 1e-1, 1.0]),
    st.sampled_from([0.0, 0.3, 3.0]),
    st.integers(0, 2**32 - 1),
)
def test_relative_residuals_times_steps_dominate_the_error(
    n: int, density: float, sink: float, noise: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    w = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    w = w + w.T
    v, g = rng.uniform(0.1, 50.0, n), sink * rng.uniform(0.1, 1.0, n)
    total = w @ v + g
    free = rng.random(n) < 0.7
    assume(free.any())
    M = (np.diag(total) - w * v)[np.ix_(free, free)]
    b = rng.random((int(free.sum()), 3)) * total[free][:, None]
    truth = np.linalg.solve(M, b)
    f = truth + noise * rng.normal(size=truth.shape)
    t = (
        np.linalg.solve(M, total[free])
        * rng.uniform(0.5, 2.0)
        * (1 + 0.1 * noise * rng.random(len(f)))
    )
    rho = np.abs(b - M @ f).max(axis=1) / total[free]
    tau = 1.0 - (M @ t) / total[free]
    assume(tau.max() < 0.99)
    _, component = connected_components(w[np.ix_(free, free)])
    for i in range(len(f)):
        inside = component == component[i]
        bound = rho[inside].max() * t[i] / (1.0 - tau[inside].max())
        assert worst(f[i], truth[i]) <= bound * (1 + 1e-9) + 1e-9


# --- the stored system ---------------------------------------------------------------------------


def similarities(learner: OnlineLearner, case: Case, x: Floats, rows: Floats) -> Floats:
    """exp(-d^2 / 2 sigma^2), zero past the threshold; a bandwidth of 0 tells equal points only."""
    distance, sigma = euclidean(x, rows), learner.bandwidth
    if sigma == 0.0:
        return np.where(distance == 0.0, 1.0, 0.0)
    w: Floats = np.exp(-0.5 * (distance / sigma) ** 2)
    if case.threshold > 0.0:
        w[distance > sigma * np.sqrt(2.0 * np.log(1.0 / case.threshold))] = 0.0
    return w


def assert_graph_follows(learner: OnlineLearner, case: Case) -> None:
    """Similarities from the points, weights and sinks from the counts, targets from the labels."""
    graph, table = stored_graph(learner), learner.vertices
    w = np.array([similarities(learner, case, x, table.points) for x in table.points])
    np.fill_diagonal(w, 0.0)
    np.testing.assert_allclose(graph.w, w, rtol=1e-12, atol=1e-300)
    is_labelled = np.array([name is not None for name in table.label], dtype=np.bool_)
    mean, v = 1.0, table.count.astype(np.float64)
    if case.label_weight is not None:
        mean = float(learner._engine.state.counters.mean_weight)
        v[is_labelled] = case.label_weight * mean
    assert graph.v.tolist() == v.tolist() == table.weight.tolist()
    assert graph.g.tolist() == [case.sink * mean] * len(table)
    assert graph.clamped.tolist() == is_labelled.tolist()
    for name, row in zip(table.label, graph.targets, strict=True):
        assert row.tolist() == [float(name is not None and name == c) for c in learner.classes]


@given(cases)
def test_the_stored_graph_follows_from_the_vertices(case: Case) -> None:
    for learner in case.learners():
        assert_graph_follows(learner, case)


@given(cases, st.integers(0, 2**32 - 1))
def test_a_merged_graph_follows_from_the_vertices(case: Case, seed: int) -> None:
    learner = streamed(case)
    learner.merge(streamed(replace(case, seed=seed)))
    assert_graph_follows(learner, case)
    truth = exact(stored_graph(learner))
    assert worst(learner.vertices.probabilities, truth) <= learner.certificate + ROUNDING


def assert_kept_as_recomputed(learner: OnlineLearner) -> None:
    """Degrees and residuals differ from those recomputed by no more than the drift counted."""
    n, system = learner.n_vertices, learner._engine.state.system
    copied = {name: getattr(system, name).copy() for name in ("d", "r", "drift")}
    again = system._replace(**copied)
    rebuild(again, n)
    free = ~system.clamped[:n]
    drift = float(system.drift[0] + again.drift[0])
    total = (again.d + system.g)[:n][free]
    degree_change = np.abs(again.d - system.d)[:n][free] / total
    change = np.abs(again.r - system.r)[:, :n][:, free] / total
    steps = system.f[STEPS, :n][free].max(initial=0.0)
    assert degree_change.max(initial=0.0) <= drift
    assert change[STEPS + 1 :].max(initial=0.0) <= drift
    assert change[STEPS].max(initial=0.0) <= drift * (1.0 + steps)


@given(cases)
def test_degrees_and_residuals_kept_are_those_recomputed(case: Case) -> None:
    for learner in case.learners():
        assert_kept_as_recomputed(learner)


@pytest.mark.slow
def test_the_rounding_of_a_long_stream_is_counted() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(10, 2))
    learner = OnlineLearner.paper(None, bandwidth=1.0, sink=0.1, tolerance=0.1)
    learner.teach(points[:2], ["a", "b"])
    for _ in range(20):
        learner.observe(points[rng.integers(2, 10, 2000)])
        assert_kept_as_recomputed(learner)


# --- the bounds ----------------------------------------------------------------------------------


@given(cases)
def test_a_verdict_is_within_its_bound_and_the_bound_within_the_tolerance(case: Case) -> None:
    for learner, verdict in case.observed():
        assert 0.0 <= verdict.bound <= case.tolerance
        if not verdict.outlier:
            truth = exact(stored_graph(learner))[current_vertex(learner)]
            assert worst(verdict.probabilities, truth) <= verdict.bound + ROUNDING


@given(cases, st.sampled_from([1e-300, 1e-18, 1e-15, 1e-12, 1e-9]))
def test_a_tiny_sink_costs_tightness_and_never_truth(case: Case, sink: float) -> None:
    for learner, verdict in replace(case, sink=sink).observed():
        if not verdict.outlier:
            truth = exact(stored_graph(learner))[current_vertex(learner)]
            assert worst(verdict.probabilities, truth) <= verdict.bound + ROUNDING
            if verdict.certain:
                assert verdict.label == answer_of(learner, truth)


@given(cases)
def test_a_certain_verdict_is_that_of_the_exact_solution(case: Case) -> None:
    for learner, verdict in case.observed():
        if verdict.certain and not verdict.outlier:
            truth = exact(stored_graph(learner))[current_vertex(learner)]
            assert verdict.label == answer_of(learner, truth)


@given(cases)
def test_the_certificate_covers_every_vertex(case: Case) -> None:
    for learner in case.learners():
        truth = exact(stored_graph(learner))
        assert worst(learner.vertices.probabilities, truth) <= learner.certificate + ROUNDING


# --- predictions ---------------------------------------------------------------------------------


def extension(learner: OnlineLearner, case: Case, x: Floats) -> Floats:
    """The exact solution at a row that is no vertex: the average its own similarities take."""
    graph, rows = stored_graph(learner), learner.vertices.points
    flow = similarities(learner, case, x, rows) * graph.v
    return np.asarray(flow @ exact(graph) / (flow.sum() + graph.g[0]), dtype=np.float64)


def queries(case: Case) -> Floats:
    """Rows near the stream, rows of the stream, and one far from all."""
    rows = np.array([row for _, row in case.steps()])
    rng = np.random.default_rng(case.seed)
    near = rows[rng.integers(0, len(rows), 6)] + rng.normal(scale=0.5, size=(6, case.n_features))
    return np.concatenate([near, rows[:2], rows[:1] + 1e4])


@given(cases)
def test_a_prediction_is_within_its_bound_and_the_bound_within_the_tolerance(case: Case) -> None:
    learner = streamed(case)
    for x in queries(case):
        verdict = learner.predict(x)
        truth = extension(learner, case, x)
        assert 0.0 <= verdict.bound <= case.tolerance
        assert worst(verdict.probabilities, truth) <= verdict.bound + ROUNDING


@pytest.mark.parametrize("seed", [23, 107, 121])
def test_many_classes_push_no_prediction_past_the_tolerance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = Gaussian(0.4, threshold=0.0)
    learner = plain_learner(None, similarity=similarity, sink=1e-3, tolerance=0.1)
    rows = rng.normal(size=(120, 2))
    learner.teach(rows[:16], range(16))
    learner.observe(rows[16:])
    learner.teach(rows[:16] + rng.normal(size=(16, 2)), range(16))
    assert learner.predict(learner.vertices.points).bound.max() <= 0.1


@given(cases)
def test_a_certain_prediction_is_that_of_the_exact_solution(case: Case) -> None:
    learner = streamed(case)
    for x in queries(case):
        verdict = learner.predict(x)
        if verdict.certain:
            assert verdict.label == answer_of(learner, extension(learner, case, x))


@given(cases)
def test_predicting_changes_nothing(case: Case) -> None:
    silent, asked = case.learner(), case.learner()
    for (label, row), looked in zip(case.steps(), case.looks(), strict=True):
        for learner in (silent, asked):
            take(learner, (label, tuple(row.tolist())))
        if looked:
            asked.predict(queries(case))
            assert asked.digest() == silent.digest()


@given(cases, st.lists(st.integers(1, 8)))
def test_predictions_do_not_depend_on_how_rows_are_chunked(case: Case, cuts: list[int]) -> None:
    learner, rows = streamed(case), queries(case)
    whole = learner.predict(rows)
    chunks = np.split(rows, sorted(set(cuts)))
    parts = [verdict for chunk in chunks for verdict in learner.predict(chunk)]
    for together, part, alone in zip(whole, parts, map(learner.predict, rows), strict=True):
        for verdict in (part, alone):
            assert verdict.probabilities.tobytes() == together.probabilities.tobytes()
            for name in ("label", "confidence", "outlier", "bound", "certain"):
                assert getattr(verdict, name) == getattr(together, name)


# --- a long stream -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "similarity", [Gaussian(8.0, threshold=0.0), Gaussian("cover", threshold=1e-6)]
)
def test_the_bounds_of_a_long_stream_of_digits(similarity: Gaussian) -> None:
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.integers(0, len(images), 3000)
    rows = images[order] + rng.normal(scale=0.5, size=(3000, images.shape[1]))
    learner = plain_learner(200, similarity=similarity, tolerance=1e-2)
    looked = set(rng.choice(np.arange(50, 3000), 200, replace=False).tolist())
    for t, (row, digit) in enumerate(zip(rows, digits[order].tolist(), strict=True)):
        if t < 40 or t % 500 == 0:
            learner.teach(row, digit)
            continue
        verdict = learner.observe(row)
        if t not in looked or verdict.outlier:
            continue
        truth = exact(stored_graph(learner))
        at = current_vertex(learner)
        assert worst(verdict.probabilities, truth[at]) <= verdict.bound + ROUNDING
        assert verdict.bound <= 1e-2
        assert worst(learner.vertices.probabilities, truth) <= learner.certificate + ROUNDING
        if verdict.certain:
            assert verdict.label == answer_of(learner, truth[at])
