"""Baselines, each against an implementation that was not written for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelPropagation
from threadpoolctl import threadpool_limits

from labelwalk import Gaussian, OnlineLearner
from labelwalk.arrays import Floats, Ints
from labelwalk.solver import harmonic
from paper.baselines import full_graph, quantized
from paper.baselines.full_graph import (
    EveryExample,
    OfflineHarmonic,
    TemporalPropagation,
    compute_similarities,
    refine_solution,
)
from paper.baselines.manifold_svm import ManifoldSVM
from paper.baselines.nearest import NearestLabel
from paper.baselines.poisson import QuantizedPoisson, solve_poisson
from paper.baselines.predictions import OfflineBaseline, Predictions
from paper.baselines.quantized import KMeansHarmonic, NystromHarmonic, SampleHarmonic
from paper.baselines.semi_boost import SemiBoost
from tests.reference import nystrom as reference_nystrom
from tests.reference import representatives as reference_representatives
from tests.reference.harmonic import full_graph as reference_full_graph
from tests.reference.harmonic import reaches_a_label
from tests.reference.manifold import Kept, ReferenceManifoldSVM
from tests.reference.poisson import confidences, neighbour_graph, potentials
from tests.reference.semi_boost import ReferenceSemiBoost
from tests.reference.temporal import ReferenceTemporal
from tests.support.small_graphs import Graph, bare, chain, graphs, mask

pytestmark = pytest.mark.shell

NAMES = ("a", "b", "c")
METHODS: dict[str, Callable[[], Any]] = {
    "offline": lambda: OfflineHarmonic(Gaussian(1.0)),
    "every example": lambda: EveryExample(Gaussian(1.0)),
    "k-means": lambda: KMeansHarmonic(10, Gaussian(1.0)),
    "sample": lambda: SampleHarmonic(99, Gaussian(1.0)),
    "Nyström": lambda: NystromHarmonic(99, 2.0),
    "manifold SVM": lambda: ManifoldSVM(Gaussian(1.0)),
    "nearest": lambda: NearestLabel(radius=5.0),
    "temporal": lambda: TemporalPropagation(Gaussian(1.0), window=7),
    "poisson": lambda: QuantizedPoisson(10, interval=4, neighbours=5),
}
all_methods = pytest.mark.parametrize("name", METHODS)
online_methods = pytest.mark.parametrize("name", [n for n in METHODS if METHODS[n]().online])

seeds = st.integers(0, 2**32 - 1)


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[int, list[float]]]:
    """Three labelled examples of three classes, then some of no class (-1) and a few more."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(0, 15))
    codes = [0, 1, 2, *rng.choice([-1, -1, -1, -1, -1, 0, 1, 2], n)]
    points = rng.integers(-3, 4, (n + 3, 2)).astype(np.float64)
    return [(int(code), point.tolist()) for code, point in zip(codes, points, strict=True)]


def two_clusters(n: int = 40) -> tuple[Floats, list[str]]:
    rng = np.random.default_rng(3)
    names = [NAMES[i % 2] for i in range(n)]
    centres = np.array([[0.0, 0.0] if name == "a" else [8.0, 0.0] for name in names])
    return centres + 0.5 * rng.normal(size=(n, 2)), names


@cache
def digits() -> tuple[Floats, Ints, Floats, Ints]:
    """Four labelled examples of each digit, and a stream of six hundred."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    taught = np.concatenate([np.flatnonzero(y == digit)[:4] for digit in range(10)])
    rest = np.setdiff1d(np.arange(len(X)), taught)[:600]
    return X[taught], y[taught], X[rest], y[rest]


def accuracy(method: Any) -> float:
    X_taught, y_taught, X, y = digits()
    method.teach(X_taught, y_taught)
    return float(np.mean(method.observe(X).label == y))


def reference_similarities(points: Floats, bandwidth: float, threshold: float) -> Floats:
    w = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / (2 * bandwidth**2))
    return bare(np.where(w >= threshold, w, 0.0))


def check_names(predictions: Predictions, f: Floats) -> None:
    """Labels and confidences are those of a solution, up to ties."""
    np.testing.assert_allclose(predictions.confidence, f.max(axis=1, initial=0.0), atol=1e-8)
    for label, row in zip(predictions.label, f, strict=True):
        if label is None:
            assert row.max(initial=0.0) <= 1e-8
        else:
            assert row[NAMES.index(label)] >= row.max() - 1e-8


class TestAll:
    @all_methods
    def test_both_clusters_are_named(self, name: str) -> None:
        X, names = two_clusters()
        method = METHODS[name]()
        method.teach(X[:2], names[:2])
        assert method.observe(X[2:]).label.tolist() == names[2:]

    @all_methods
    @given(seed=seeds)
    def test_answers_are_names_with_a_confidence(self, name: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        X = rng.normal(scale=rng.choice([0.0, 1.0, 1e3, 1e140]), size=(12, 2)).round(1)
        method = METHODS[name]()
        method.teach(X[:3], rng.choice(NAMES, 3))
        label, confidence = method.observe(X[3:])
        assert len(label) == len(confidence) == 9
        assert ((confidence >= 0) & (confidence <= 1)).all()
        assert [one in NAMES for one in label] == (confidence > 0).tolist()
        assert method.nbytes > 0

    @all_methods
    def test_nothing_taught_nothing_answered(self, name: str) -> None:
        predictions = METHODS[name]().observe([[0.0], [1.0], [1.5], [2.0], [2.5]])
        assert predictions.label.tolist() == [None] * 5
        assert not predictions.confidence.any()

    @online_methods
    @given(seed=seeds, cut=st.integers(1, 24))
    def test_only_the_order_of_a_stream_matters(self, name: str, seed: int, cut: int) -> None:
        X = np.random.default_rng(seed).normal(scale=2.0, size=(28, 2))
        whole, parts = METHODS[name](), METHODS[name]()
        for method in (whole, parts):
            method.teach(X[:3], NAMES)
        one = whole.observe(X[3:])
        others = [parts.observe(part) for part in np.split(X[3:], [cut])]
        confidence = np.concatenate([predictions.confidence for predictions in others])
        np.testing.assert_allclose(confidence, one.confidence, atol=1e-7)

    @all_methods
    def test_rows_are_copied(self, name: str) -> None:
        X, names = two_clusters(12)
        clean, disturbed = METHODS[name](), METHODS[name]()
        taught = X[:2].copy()
        clean.teach(X[:2], names[:2])
        disturbed.teach(taught, names[:2])
        taught[:] = 0.0
        assert disturbed.observe(X[2:]).label.tolist() == clean.observe(X[2:]).label.tolist()

    @online_methods
    def test_a_new_class_is_welcome(self, name: str) -> None:
        X, names = two_clusters(12)
        method = METHODS[name]()
        method.observe(X[:4])
        method.teach(X[:2], names[:2])
        method.observe(X[4:])
        method.teach([[4.0, 4.0]], ["c"])
        assert method.observe([[4.0, 4.5]]).label.tolist() == ["c"]


class TestOffline:
    @given(seeds, st.sampled_from([0.0, 0.3]), st.sampled_from([1e-4, 0.5]))
    def test_equals_the_closed_form(self, seed: int, threshold: float, sink: float) -> None:
        rng = np.random.default_rng(seed)
        X, codes = rng.normal(size=(9, 2)), rng.permutation([0, 1, 2])
        method = OfflineHarmonic(Gaussian(0.8, threshold=threshold), sink=sink)
        method.teach(X[:3], [NAMES[code] for code in codes])
        w = reference_similarities(X, 0.8, threshold)
        f = reference_full_graph(w, [*codes, *[-1] * 6], sink, 3)[3:]
        check_names(method.observe(X[3:]), f)

    @given(seeds)
    def test_equals_label_propagation_where_the_sink_is_faint(self, seed: int) -> None:
        X = np.random.default_rng(seed).normal(size=(12, 2))
        method = OfflineHarmonic(Gaussian(1.0, threshold=0.0), sink=1e-12)
        method.teach(X[:3], NAMES)
        theirs = LabelPropagation(gamma=0.5, max_iter=100_000, tol=1e-12)
        theirs.fit(X, [0, 1, 2] + [-1] * 9)
        check = method.observe(X[3:])
        np.testing.assert_allclose(
            check.confidence, theirs.label_distributions_[3:].max(axis=1), atol=1e-6
        )


class TestEveryExample:
    @given(streams(), st.sampled_from([1e-3, 0.1]), st.sampled_from([1e-6, 0.3]))
    def test_every_answer_is_the_solution_on_all_so_far(
        self, stream: list[tuple[int, list[float]]], sink: float, threshold: float
    ) -> None:
        method = EveryExample(Gaussian(1.0, threshold=threshold), sink=sink)
        for n, (code, point) in enumerate(stream, start=1):
            if code >= 0:
                method.teach([point], [NAMES[code]])
                continue
            codes, X = [code for code, _ in stream[:n]], [point for _, point in stream[:n]]
            w, labelled = reference_similarities(np.array(X), 1.0, threshold), np.array(codes) >= 0
            f = harmonic.solve(w, labelled, np.eye(3)[codes], sink=sink)
            check_names(method.observe([point]), f[-1:])

    @given(graphs(), seeds, st.sampled_from([1e-14, 1e-6, 0.1, 10.0]))
    def test_any_guess_leads_to_the_solution(self, graph: Graph, seed: int, sink: float) -> None:
        w, labelled, y = graph
        guess = np.random.default_rng(seed).random(y.shape)
        f = refine_solution(bare(w), sink, labelled, np.where(labelled[:, None], y, guess))
        np.testing.assert_allclose(f, harmonic.solve(w, labelled, y, sink=sink), atol=1e-8)

    def test_too_many_steps_end_in_a_direct_solution(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(full_graph, "MAX_STEPS", 1)
        y = np.eye(2)[[0, 0, 0, 0, 1]]
        f = refine_solution(chain(5), 0.1, mask(5, 0, 4), y)
        expected = harmonic.solve(chain(5), mask(5, 0, 4), y, sink=0.1)
        np.testing.assert_allclose(f, expected, atol=1e-12)


class TestNearest:
    @given(seeds, st.sampled_from([0.5, 1.0, math.inf]))
    def test_equals_one_neighbour(self, seed: int, radius: float) -> None:
        rng = np.random.default_rng(seed)
        X, names, rows = rng.normal(size=(6, 2)), rng.choice(NAMES, 6), rng.normal(size=(9, 2))
        method = NearestLabel(radius)
        method.teach(X, names)
        theirs = KNeighborsClassifier(1).fit(X, names)
        far = theirs.kneighbors(rows)[0][:, 0] > radius
        predictions = method.observe(rows)
        expected = theirs.predict(rows).astype(object)
        expected[far] = None
        assert predictions.label.tolist() == expected.tolist()
        assert (predictions.confidence[far] == 0.0).all()
        for row, is_far, label, confidence in zip(rows, far, *predictions, strict=True):
            if not is_far:
                own = cdist([row], X[names == label]).min()
                other = cdist([row], X[names != label]).min(initial=np.inf)
                assert confidence == pytest.approx(1.0 - own / (own + other))

    def test_borders_and_twins(self) -> None:
        method = NearestLabel()
        method.teach([[0.0], [0.0], [2.0]], ["a", "b", "b"])
        predictions = method.observe([[0.0], [-1.0], [2.0]])
        assert predictions.label.tolist() == ["a", "a", "b"]
        assert predictions.confidence.tolist() == [0.5, 0.5, 1.0]

    def test_digits(self) -> None:
        X_taught, y_taught, X, y = digits()
        theirs = KNeighborsClassifier(1).fit(X_taught, y_taught).score(X, y)
        assert accuracy(NearestLabel()) == theirs


class TestTemporal:
    @given(streams(), st.integers(1, 5), st.sampled_from([1e-3, 0.5]), st.sampled_from([1e-6, 0.1]))
    def test_equals_a_graph_that_keeps_everything(
        self, stream: list[tuple[int, list[float]]], window: int, sink: float, threshold: float
    ) -> None:
        method = TemporalPropagation(Gaussian(1.2, threshold=threshold), window, sink)
        twin = ReferenceTemporal(1.2, threshold, window, sink)
        for code, point in stream:
            if code >= 0:
                method.teach([point], [NAMES[code]])
                twin.teach(point, code)
            else:
                check_names(method.observe([point]), twin.observe(point, 3)[None])

    @given(seeds)
    def test_equals_every_example_while_the_window_is_not_full(self, seed: int) -> None:
        X = np.random.default_rng(seed).normal(size=(12, 2))
        one, other = TemporalPropagation(Gaussian(1.0), 9, 0.1), EveryExample(Gaussian(1.0), 0.1)
        for method in (one, other):
            method.teach(X[:3], NAMES)
        np.testing.assert_allclose(
            one.observe(X[3:]).confidence, other.observe(X[3:]).confidence, atol=1e-8
        )

    def test_memory_stops_growing(self) -> None:
        X, names = two_clusters(60)
        method = TemporalPropagation(Gaussian(1.0), window=5)
        method.teach(X[:2], names[:2])
        method.observe(X[2:20])
        before = method.nbytes
        method.observe(X[20:])
        assert method.nbytes == before


class TestPoisson:
    @given(graphs(), seeds)
    def test_equals_the_pseudo_inverse(self, graph: Graph, seed: int) -> None:
        w, labelled, y = graph
        rng = np.random.default_rng(seed)
        w, v = bare(np.where(w < 1e-2, 0.0, w)), rng.choice([1.0, 2.5, 9.0], len(w))
        labels = np.where(labelled[:, None], y * rng.integers(1, 4, len(w))[:, None], 0.0)
        ours = solve_poisson(w, v, labels)
        theirs = potentials(w, v, labels)
        np.testing.assert_allclose(ours.u, theirs, atol=1e-9 * (1 + np.abs(theirs).max()))
        for i in range(len(w)):
            here = reaches_a_label(w, [i])
            assert (ours.component == ours.component[i]).tolist() == here
            assert ours.has_label[ours.component[i]].tolist() == labels[here].any(axis=0).tolist()

    @given(seeds, st.integers(1, 4))
    def test_answers_are_the_mean_potential_of_similar_vertices(self, seed: int, few: int) -> None:
        rng = np.random.default_rng(seed)
        X, similarity = rng.normal(scale=1.5, size=(30, 2)), Gaussian(0.8, threshold=0.0)
        method = QuantizedPoisson(12, 100, few, similarity)
        learner = OnlineLearner(12, similarity=similarity, remember=0)
        for one in (method, learner):
            one.observe(X[:20])
            one.teach(X[20:24], ["a", "b", "c", "a"])
        predictions, seen = method.observe(X[24:]), learner.vertices
        W = neighbour_graph(seen.means, seen.bandwidth, 1e-12, few)
        labels = np.zeros((len(seen), 3))
        for i, label in enumerate(seen.label):
            if label is not None:
                labels[i, NAMES.index(label)] = seen.count[i]
        for x, label, confidence in zip(X[24:], *predictions, strict=True):
            expected = confidences(x, seen.means, seen.bandwidth, W, seen.weight, labels, few)
            assert confidence == pytest.approx(expected.max(), abs=1e-6)
            if label is not None:
                assert expected[NAMES.index(label)] >= expected.max() - 1e-6

    def test_a_wire_between_two_labels(self) -> None:
        """One example flows in at one end and out at the other: the potential falls evenly."""
        labels = np.zeros((5, 2))
        labels[0, 0] = labels[4, 1] = 1.0
        u, _, size, _ = solve_poisson(chain(5), np.ones(5), labels)
        np.testing.assert_allclose(u[:, 0], [1.0, 0.5, 0.0, -0.5, -1.0], atol=1e-12)
        np.testing.assert_allclose(size, (1 + 2 * 0.5 + 2 * 0.5 + 1) / 8)

    def test_faint_bridges(self) -> None:
        """A wire with a link of 1e-200: all of the potential falls there."""
        labels = np.zeros((4, 2))
        labels[0, 0] = labels[3, 1] = 1.0
        u = solve_poisson(chain(4, np.array([1.0, 1e-200, 1.0])), np.ones(4), labels).u
        np.testing.assert_allclose(u[:, 0] * 1e-200, [0.25, 0.25, -0.25, -0.25], rtol=1e-12)

    def test_classes_compete_in_their_own_component(self) -> None:
        method = QuantizedPoisson(similarity=Gaussian(1.0))
        X = [[0.0], [1.0], [100.0], [101.0], [200.0], [201.0]]
        method.observe(X)
        method.teach([[0.5], [101.5], [99.0], [98.0]], ["a", "b", "b", "c"])
        label, confidence = method.observe(X)
        assert label.tolist() == ["a", "a", "b", "b", None, None]
        assert (confidence[:2] == 1.0).all()
        assert ((confidence[2:4] > 0.5) & (confidence[2:4] < 1.0)).all()

    def test_potentials_are_solved_every_so_many_rows(self) -> None:
        """A class far away is heard of once the rows on the way have become vertices."""
        method = QuantizedPoisson(interval=3, similarity=Gaussian(1.0))
        method.teach([[0.0], [20.0]], ["a", "b"])
        predictions = method.observe([[4.0], [8.0], [8.5], [8.5], [8.5]])
        assert predictions.label.tolist() == ["a", None, None, "a", "a"]


GAUSSIAN = Gaussian(1.0, threshold=0.0)
LabelledStream = tuple[Floats, list[str], Floats]


@st.composite
def labelled_streams(draw: st.DrawFn, most: int = 12, spread: float = 1.5) -> LabelledStream:
    """Labelled rows, their labels, and unlabelled rows, some of them repeated."""
    rng = np.random.default_rng(draw(seeds))
    n_l, n_u = draw(st.integers(1, 5)), draw(st.integers(1, most))
    rows = rng.normal(size=(n_l + n_u, 2)) * spread
    if draw(st.booleans()):
        rows = rows.round()
    return rows[:n_l], [str(name) for name in rng.choice(list("abc"), n_l)], rows[n_l:]


def one_hot(labels: list[str]) -> Floats:
    names = list(dict.fromkeys(labels))
    return np.array([[float(name == other) for other in names] for name in labels])


def answer(method: OfflineBaseline, stream: LabelledStream) -> Predictions:
    labelled, labels, rows = stream
    method.teach(labelled, labels)
    return method.observe(rows)


def check_scores(
    predictions: Predictions, scores: Floats, labels: list[str], within: float = 1e-9
) -> None:
    """The best class, with its score; where two are equal, either."""
    names = list(dict.fromkeys(labels))
    np.testing.assert_allclose(
        predictions.confidence, np.clip(scores.max(axis=1), 0, 1), atol=within
    )
    for name, row in zip(predictions.label, scores, strict=True):
        if name is None:
            assert row.max() <= within
        else:
            assert row[names.index(name)] >= row.max() - within


def solve_full_graph(stream: LabelledStream, sink: float) -> Floats:
    labelled, labels, rows = stream
    w = reference_similarities(np.vstack([labelled, rows]), 1.0, 0.0)
    targets = np.vstack([one_hot(labels), np.zeros((len(rows), len(set(labels))))])
    f = harmonic.solve(w, np.arange(len(w)) < len(labelled), targets, sink=sink)
    return f[len(labelled) :]


def check_representatives(
    method: SampleHarmonic | KMeansHarmonic, stream: LabelledStream, predictions: Predictions
) -> None:
    labelled, labels, _ = stream
    own = method.points, method.assigned.tolist()
    scores = reference_representatives.answers(labelled, one_hot(labels), *own, 1.0, 0.01, False)
    check_scores(predictions, scores, labels)


class TestRepresentatives:
    @given(labelled_streams(), st.integers(1, 12), seeds)
    def test_a_sample_equals_the_loops(self, stream: LabelledStream, k: int, seed: int) -> None:
        rows = stream[2]
        method = SampleHarmonic(k, GAUSSIAN, sink=0.01, seed=seed)
        predictions = answer(method, stream)
        joined = reference_representatives.joined_nearest(rows, method.points)
        np.testing.assert_allclose(  # of equally near ones, rounding may choose
            np.linalg.norm(rows - method.points[joined], axis=1),
            np.linalg.norm(rows - method.points[method.assigned], axis=1),
        )
        check_representatives(method, stream, predictions)

    @given(labelled_streams(), seeds)
    def test_a_sample_of_everything_is_the_full_graph(
        self, stream: LabelledStream, seed: int
    ) -> None:
        predictions = answer(SampleHarmonic(99, GAUSSIAN, sink=0.1, seed=seed), stream)
        check_scores(predictions, solve_full_graph(stream, 0.1), stream[1])

    @given(labelled_streams(), st.integers(1, 12))
    def test_means_are_those_of_scikit_learn(self, stream: LabelledStream, k: int) -> None:
        rows = stream[2]
        k = min(k, len(np.unique(rows, axis=0)))
        with threadpool_limits(1):
            reference = KMeans(k, n_init=1, random_state=3).fit(rows)
        method = KMeansHarmonic(k, GAUSSIAN, sink=0.01, seed=3)
        predictions = answer(method, stream)
        np.testing.assert_array_equal(
            method.points[method.assigned], reference.cluster_centers_[reference.labels_]
        )
        check_representatives(method, stream, predictions)

    def test_more_means_than_rows_that_differ(self) -> None:
        method = KMeansHarmonic(5, GAUSSIAN)
        predictions = answer(method, (np.zeros((1, 2)), ["a"], np.ones((9, 2))))
        assert set(predictions.label) == {"a"}
        np.testing.assert_allclose(method.points, [[1, 1]])
        np.testing.assert_array_equal(method.counts, [9])


class TestNystrom:
    @given(labelled_streams(), st.sampled_from([1e-3, 0.1, 10.0]), seeds)
    def test_all_as_landmarks_is_the_full_graph(
        self, stream: LabelledStream, sink: float, seed: int
    ) -> None:
        predictions = answer(NystromHarmonic(99, 1.0, sink, seed), stream)
        check_scores(predictions, solve_full_graph(stream, sink), stream[1], within=1e-7)

    @given(labelled_streams(spread=0.7), st.integers(1, 12), seeds)
    def test_equals_the_dense_solution(self, stream: LabelledStream, m: int, seed: int) -> None:
        """Of a graph that is compact and has a strong sink: it stays definite."""
        labelled, labels, rows = stream
        examples = np.vstack([labelled, rows])
        W = compute_similarities(examples, examples, 1.0)
        drawn = np.random.default_rng(seed).permutation(len(examples))[:m]
        G = quantized.approximate_graph(examples, examples[drawn], 1.0)
        approximation = reference_nystrom.approximation(W, drawn.tolist())
        np.testing.assert_allclose(G @ G.T, approximation, atol=1e-3)
        dense = reference_nystrom.harmonic(W, drawn.tolist(), one_hot(labels), 30.0)
        f = quantized.solve_low_rank(G, one_hot(labels), 30.0)
        np.testing.assert_allclose(f, dense, atol=1e-4)

    @given(
        labelled_streams(spread=4.0),
        st.integers(1, 12),
        st.sampled_from([1e-300, 1e-9, 0.1, 1e50]),
        st.sampled_from([0.05, 1.0, 40.0]),
        seeds,
    )
    def test_never_nan(
        self, stream: LabelledStream, m: int, sink: float, sigma: float, seed: int
    ) -> None:
        predictions = answer(NystromHarmonic(m, sigma, sink, seed), stream)
        assert np.isfinite(predictions.confidence).all()
        assert all((name is None) == (c == 0) for name, c in zip(*predictions, strict=True))

    def test_a_negative_degree_is_no_answer(self) -> None:
        G = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.2], [1.0, 1.0]])
        f = quantized.solve_low_rank(G, np.eye(2), 1e-3)
        assert not f[0].any()
        assert (f[1] > 0).all()


@st.composite
def mixed_streams(draw: st.DrawFn) -> list[tuple[Floats, str | None]]:
    """Rows with a label or without, in any order."""
    rng = np.random.default_rng(draw(seeds))
    rows = rng.normal(size=(draw(st.integers(1, 14)), 2)) * draw(st.sampled_from([0.5, 1.5]))
    if draw(st.booleans()):
        rows = rows.round()
    share = draw(st.sampled_from([0.2, 0.6]))
    return [(x, str(rng.choice(list("abc"))) if rng.random() < share else None) for x in rows]


class TestSemiBoost:
    @given(
        mixed_streams(),
        st.integers(1, 6),
        st.integers(1, 5),
        st.sampled_from([0.05, 0.3, 0.8]),
        st.sampled_from([None, 0.2, 0.7]),
        seeds,
    )
    def test_equals_the_loops(
        self,
        stream: list[tuple[Floats, str | None]],
        m: int,
        n_selectors: int,
        epsilon: float,
        prior_epsilon: float | None,
        seed: int,
    ) -> None:
        """All classes are taught in one call, and so known from the start."""
        candidates = np.random.default_rng(seed).normal(size=(m, 2))
        method = SemiBoost(candidates, GAUSSIAN, epsilon, n_selectors, prior_epsilon)
        twin = ReferenceSemiBoost(
            candidates, 1.0, epsilon, n_selectors, 3, prior_epsilon or epsilon
        )
        start = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        method.teach(start, list("abc"))
        for code in range(3):
            twin.teach(start[code], code)
        for x, name in stream:
            if name is not None:
                method.teach([x], [name])
                twin.teach(x, "abc".index(name))
            else:
                H = np.array([twin.observe(x)])
                check_scores(method.observe([x]), H, list("abc"))
        for c, regressor in enumerate(twin.regressors):
            chosen, alpha = np.array(regressor).T
            np.testing.assert_allclose(method.alpha[:, c], alpha, atol=1e-9)
            speaks = alpha > 1e-9
            np.testing.assert_array_equal(method.chosen[speaks, c], chosen[speaks])

    @given(mixed_streams())
    def test_chunks_do_not_matter(self, stream: list[tuple[Floats, str | None]]) -> None:
        rows = np.array([x for x, _ in stream])
        one, other = (SemiBoost(rows[::2], GAUSSIAN, 0.3) for _ in range(2))
        for method in (one, other):
            method.teach(rows[:1], ["a"])
            method.teach(rows[-1:] + 1, ["b"])
        whole, parts = one.observe(rows), [other.observe([x]) for x in rows]
        assert whole.label.tolist() == [part.label[0] for part in parts]
        np.testing.assert_array_equal(whole.confidence, [part.confidence[0] for part in parts])

    def test_outliers_are_not_recognised_and_change_nothing(self) -> None:
        method = SemiBoost([[0.0], [1.0]], GAUSSIAN, 0.5)
        method.teach([[0.0]], ["a"])
        before = method.alpha.copy()
        assert method.observe([[50.0]]).label.tolist() == [None]
        np.testing.assert_array_equal(method.alpha, before)
        assert method.observe([[0.1]]).label.tolist() == ["a"]

    def test_a_class_may_come_late(self) -> None:
        method = SemiBoost([[0.0], [5.0]], GAUSSIAN, 0.5, n_selectors=2)
        assert method.observe([[0.0]]).label.tolist() == [None]
        method.teach([[0.0]], ["a"])
        method.observe(np.zeros((20, 1)))
        method.teach([[5.0]], ["b"])
        assert method.observe([[0.1], [5.1]]).label.tolist() == ["a", "b"]
        assert method.online
        assert method.nbytes >= 2 * 8 * 2 * 2 * 2  # right and wrong: selectors, classes, candidates


class TestManifoldSVM:
    @given(
        mixed_streams(),
        st.integers(1, 8),
        st.sampled_from([0.0, 0.1, 3.0]),
        st.sampled_from([1e-3, 1.0]),
        st.sampled_from([0.0, 0.4]),
    )
    def test_equals_the_loops(
        self,
        stream: list[tuple[Floats, str | None]],
        buffer: int,
        smooth: float,
        shrink: float,
        threshold: float,
    ) -> None:
        """All classes are taught in one call, and so known from the start; each has its twin."""
        method = ManifoldSVM(Gaussian(1.0, threshold), buffer, 0.7, shrink, smooth)
        twins = [ReferenceManifoldSVM(1.0, threshold, buffer, 0.7, shrink, smooth) for _ in "abc"]
        start = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        method.teach(start, list("abc"))
        for x, name in [*zip(start, "abc", strict=True), *stream]:
            if name is None:
                f = np.array([[twin.f(x) for twin in twins]])
                check_scores(method.observe([x]), 0.5 + 0.5 * f / (1 + abs(f)), list("abc"))
            for own, twin in zip("abc", twins, strict=True):
                twin.learn(x, None if name is None else 1.0 if own == name else -1.0)
            if name is not None and twins[0].t > 3:
                method.teach([x], [name])
        order = np.argsort(method.step_added[: method.n_stored])
        for c, twin in enumerate(twins):
            kept = [one.alpha for one in twin.buffer]
            np.testing.assert_allclose(method.alpha[order, c], kept, atol=1e-9)

    @given(mixed_streams(), st.sampled_from([None, "a", "b"]), seeds)
    def test_steps_go_against_the_gradient(
        self, stream: list[tuple[Floats, str | None]], name: str | None, seed: int
    ) -> None:
        """By finite differences of the risk, in any direction of the expansion."""
        rng = np.random.default_rng(seed)
        method = ManifoldSVM(Gaussian(1.0, 0.3), 99, 0.2, 0.1, 0.5)
        method.teach([[0.0, 0.0], [1.0, 1.0]], ["a", "b"])
        for x, _ in stream:
            method.observe([x])
        n, before = method.n_stored, method.alpha[:, 0].copy()
        x = rng.normal(size=2)
        method.teach([x], [name]) if name else method.observe([x])
        moved = before[: n + 1] - method.alpha[: n + 1, 0]
        gradient = moved * np.sqrt(method.n_seen) / 0.2
        direction = rng.normal(size=n + 1)
        K = method.kernel[: n + 1, : n + 1]
        y = {"a": 1.0, "b": -1.0}.get(name or "")

        def risk(alpha: Floats) -> float:
            twin = ReferenceManifoldSVM(1.0, 0.3, 99, 0.2, 0.1, 0.5)
            twin.buffer = [Kept(*kept, False) for kept in zip(method.points, alpha, strict=False)]
            return twin.risk(x, y)

        there, back = (risk(before[: n + 1] + by * direction) for by in (1e-5, -1e-5))
        slope = (there - back) / 2e-5
        np.testing.assert_allclose(direction @ K @ gradient, slope, rtol=1e-5, atol=1e-5)

    @given(mixed_streams(), st.sampled_from([1e-3, 1.0, 1e10]), st.sampled_from([1e-10, 1e10]))
    def test_never_nan(
        self, stream: list[tuple[Floats, str | None]], step: float, shrink: float
    ) -> None:
        method = ManifoldSVM(Gaussian(1.0), 5, step, shrink, 1e10)
        method.teach([[0.0, 0.0], [1.0, 1.0]], ["a", "b"])
        for _ in range(10):
            for x, _ in stream:
                assert np.isfinite(method.observe([x]).confidence).all()

    def test_labelled_examples_stay_longest(self) -> None:
        method = ManifoldSVM(GAUSSIAN, buffer=3)
        method.teach([[0.0], [1.0]], ["a", "b"])
        method.observe(np.arange(2.0, 9.0)[:, None])
        assert sorted(method.points[:, 0]) == [0.0, 1.0, 8.0]
        method.teach([[9.0], [10.0]], ["a", "b"])
        assert sorted(method.points[:, 0]) == [1.0, 9.0, 10.0]

    def test_a_class_may_come_late(self) -> None:
        method = ManifoldSVM(GAUSSIAN)
        assert method.observe([[0.0]]).label.tolist() == [None]
        method.teach([[0.0]], ["a"])
        method.teach([[5.0]], ["b"])
        predictions = method.observe([[0.1], [5.1], [2.4], [99.0]])
        assert predictions.label.tolist() == ["a", "b", "a", None]
        assert method.online


DIGITS: dict[str, tuple[Callable[[float], Any], float]] = {
    "offline": (lambda sigma: OfflineHarmonic(), 0.9),
    "every example": (lambda sigma: EveryExample(Gaussian(sigma), sink=1e-2), 0.8),
    "temporal": (lambda sigma: TemporalPropagation(Gaussian(sigma), window=100), 0.8),
    "poisson": (lambda sigma: QuantizedPoisson(300), 0.75),
    "k-means": (lambda sigma: KMeansHarmonic(), 0.89),
    "sample": (lambda sigma: SampleHarmonic(), 0.83),
    "Nyström": (lambda sigma: NystromHarmonic(sigma=6.0), 0.8),
    "manifold SVM": (lambda sigma: ManifoldSVM(Gaussian(8.0)), 0.8),
}
SLOW = pytest.param("every example", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [SLOW if name == "every example" else name for name in DIGITS])
def test_digits(name: str) -> None:
    make, least = DIGITS[name]
    assert accuracy(make(0.22 * full_graph.scale_bandwidth(digits()[2]))) > least


def test_digits_that_boosting_recognises() -> None:
    X_taught, y_taught, X, y = digits()
    method = SemiBoost(X[::8], Gaussian(8.0), epsilon=1e-3)
    method.teach(X_taught, y_taught)
    label, _ = method.observe(X[:500])
    answered = np.array([name is not None for name in label])
    assert answered.mean() > 0.5
    assert (label[answered] == y[:500][answered]).mean() > 0.8
