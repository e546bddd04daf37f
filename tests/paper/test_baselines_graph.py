"""Baselines on graphs of examples, each against a reference that was not written for it."""

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
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelPropagation

from labelwalk import Gaussian, OnlineLearner
from labelwalk.arrays import Floats, Ints
from labelwalk.solver import harmonic
from paper.baselines import full_graph, warm_start
from paper.baselines.every_example import EveryExample
from paper.baselines.nearest import NearestLabel
from paper.baselines.offline import OfflineHarmonic
from paper.baselines.poisson import QuantizedPoisson
from paper.baselines.poisson_equation import poisson
from paper.baselines.said import Said
from paper.baselines.temporal import TemporalPropagation
from paper.baselines.warm_start import resolve
from tests.reference.harmonic import full_graph as reference_full_graph
from tests.reference.harmonic import reaches_a_label
from tests.reference.poisson import confidences, neighbour_graph, potentials
from tests.reference.temporal import ReferenceTemporal
from tests.small_graphs import Graph, bare, chain, graphs, mask

pytestmark = pytest.mark.shell

NAMES = ("a", "b", "c")
METHODS: dict[str, Callable[[], Any]] = {
    "offline": lambda: OfflineHarmonic(Gaussian(1.0)),
    "offline, uniform prior": lambda: OfflineHarmonic(prior="uniform"),
    "every example": lambda: EveryExample(Gaussian(1.0)),
    "nearest": lambda: NearestLabel(radius=5.0),
    "temporal": lambda: TemporalPropagation(Gaussian(1.0), window=7),
    "poisson": lambda: QuantizedPoisson(10, every=4, neighbours=5),
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


def check_names(said: Said, f: Floats) -> None:
    """Labels and confidences are those of a solution, up to ties."""
    np.testing.assert_allclose(said.confidence, f.max(axis=1, initial=0.0), atol=1e-8)
    for label, row in zip(said.label, f, strict=True):
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
    def test_nothing_taught_nothing_said(self, name: str) -> None:
        said = METHODS[name]().observe([[0.0], [1.0], [1.5], [2.0], [2.5]])
        assert said.label.tolist() == [None] * 5
        assert not said.confidence.any()

    @all_methods
    def test_bad_input_changes_nothing(self, name: str) -> None:
        X, names = two_clusters(12)
        clean, disturbed = METHODS[name](), METHODS[name]()
        clean.teach(X[:2], names[:2])
        for bad, labels, match in [
            ([[0.0, np.nan]], ["x"], "X"),
            ([[0.0, 1.0]], ["x", "y"], "labels"),
            ([[0.0, 1.0]], [None], "labels"),
        ]:
            with pytest.raises(ValueError, match=match):
                disturbed.teach(bad, labels)
        disturbed.teach(X[:2], names[:2])
        for wrong in ([[1.0, 2.0, 3.0]], [[np.inf, 0.0]], []):
            with pytest.raises(ValueError, match="X"):
                disturbed.observe(wrong)
            with pytest.raises(ValueError, match="X"):
                disturbed.teach(wrong, ["x"])
        one, other = clean.observe(X[2:]), disturbed.observe(X[2:])
        assert one.label.tolist() == other.label.tolist()
        np.testing.assert_array_equal(one.confidence, other.confidence)

    @online_methods
    @given(seed=seeds, cut=st.integers(1, 24))
    def test_only_the_order_of_a_stream_matters(self, name: str, seed: int, cut: int) -> None:
        X = np.random.default_rng(seed).normal(scale=2.0, size=(28, 2))
        whole, parts = METHODS[name](), METHODS[name]()
        for method in (whole, parts):
            method.teach(X[:3], NAMES)
        one = whole.observe(X[3:])
        others = [parts.observe(part) for part in np.split(X[3:], [cut])]
        confidence = np.concatenate([said.confidence for said in others])
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
        method.teach([4.0, 4.0], "c")
        assert method.observe([4.0, 4.5]).label.tolist() == ["c"]

    @pytest.mark.parametrize(
        ("make", "match"),
        [
            (lambda: OfflineHarmonic(sink=0.0), "sink=0.0"),
            (lambda: OfflineHarmonic(1.0), "similarity=1.0"),  # type: ignore[arg-type]
            (lambda: OfflineHarmonic(prior="equal"), "prior='equal'"),  # type: ignore[arg-type]
            (lambda: EveryExample(Gaussian("cover")), "bandwidth='cover'"),
            (lambda: EveryExample(Gaussian(1.0), sink=-1.0), "sink=-1.0"),
            (lambda: NearestLabel(radius=-1.0), "radius=-1.0"),
            (lambda: NearestLabel(radius=math.nan), "radius=nan"),
            (lambda: TemporalPropagation(Gaussian(1.0), window=0), "window=0"),
            (lambda: TemporalPropagation(Gaussian(1.0), window=10**6), "window=1000000"),
            (lambda: TemporalPropagation(Gaussian(1.0), sink=-2.0), "sink=-2.0"),
            (lambda: TemporalPropagation(Gaussian("scale")), "bandwidth='scale'"),
            (lambda: QuantizedPoisson(0), "n_centroids=0"),
            (lambda: QuantizedPoisson(every=0), "every=0"),
            (lambda: QuantizedPoisson(neighbours=0), "neighbours=0"),
        ],
    )
    def test_wrong_parameters(self, make: Callable[[], object], match: str) -> None:
        with pytest.raises(ValueError, match=match):
            make()


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

    @given(seeds)
    def test_a_uniform_prior_divides_by_the_mass_of_classes(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(12, 2))
        w = reference_similarities(X, 1.0, 0.0)
        f = reference_full_graph(w, [0, 1, 2] + [-1] * 9, 0.1, 3)[3:]
        fair = f / f.sum(axis=0) / 3
        fair *= (f.sum(axis=1) / fair.sum(axis=1))[:, None]
        method = OfflineHarmonic(Gaussian(1.0, threshold=0.0), sink=0.1, prior="uniform")
        method.teach(X[:3], NAMES)
        check_names(method.observe(X[3:]), fair)

    def test_the_first_stream_is_the_only_one(self) -> None:
        method = OfflineHarmonic()
        method.teach([[0.0], [9.0]], ["a", "b"])
        method.observe([[1.0], [8.0]])
        with pytest.raises(ValueError, match="or make a new one"):
            method.observe([[1.0]])
        with pytest.raises(ValueError, match="make a new one"):
            method.teach([[1.0]], "a")

    def test_a_stream_that_does_not_fit_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(full_graph, "MOST_EXAMPLES", 3)
        method = OfflineHarmonic()
        method.teach([[0.0], [9.0]], ["a", "b"])
        with pytest.raises(ValueError, match="4 rows"):
            method.observe([[1.0], [8.0]])
        assert method.observe([[1.0]]).label.tolist() == ["a"]

    def test_digits(self) -> None:
        assert accuracy(OfflineHarmonic()) > 0.9


class TestEveryExample:
    @given(streams(), st.sampled_from([1e-3, 0.1]), st.sampled_from([1e-6, 0.3]))
    def test_every_answer_is_the_solution_on_all_so_far(
        self, stream: list[tuple[int, list[float]]], sink: float, threshold: float
    ) -> None:
        method = EveryExample(Gaussian(1.0, threshold=threshold), sink=sink)
        for n, (code, point) in enumerate(stream, start=1):
            if code >= 0:
                method.teach(point, NAMES[code])
                continue
            codes, X = [code for code, _ in stream[:n]], [point for _, point in stream[:n]]
            w, labelled = reference_similarities(np.array(X), 1.0, threshold), np.array(codes) >= 0
            f = harmonic.solve(w, labelled, np.eye(3)[codes], sink=sink)
            check_names(method.observe(point), f[-1:])

    def test_more_than_fits_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(full_graph, "MOST_EXAMPLES", 4)
        method = EveryExample(Gaussian(1.0))
        method.teach([[0.0], [9.0]], ["a", "b"])
        with pytest.raises(ValueError, match="5 rows"):
            method.observe([[1.0], [2.0], [3.0]])
        with pytest.raises(ValueError, match="5 rows"):
            method.teach([[1.0], [2.0], [3.0]], ["c", "c", "c"])
        assert method.observe([[1.0], [8.0]]).label.tolist() == ["a", "b"]

    @pytest.mark.slow
    def test_digits(self) -> None:
        bandwidth = 0.22 * full_graph.scale_bandwidth(digits()[2])
        assert accuracy(EveryExample(Gaussian(bandwidth), sink=1e-2)) > 0.8

    @given(graphs(), seeds, st.sampled_from([1e-14, 1e-6, 0.1, 10.0]))
    def test_any_guess_leads_to_the_solution(self, graph: Graph, seed: int, sink: float) -> None:
        w, labelled, y = graph
        guess = np.random.default_rng(seed).random(y.shape)
        f = resolve(bare(w), sink, labelled, np.where(labelled[:, None], y, guess))
        np.testing.assert_allclose(f, harmonic.solve(w, labelled, y, sink=sink), atol=1e-8)

    def test_too_many_steps_end_in_a_direct_solution(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(warm_start, "MOST_STEPS", 1)
        y = np.eye(2)[[0, 0, 0, 0, 1]]
        f = resolve(chain(5), 0.1, mask(5, 0, 4), y)
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
        said = method.observe(rows)
        expected = theirs.predict(rows).astype(object)
        expected[far] = None
        assert said.label.tolist() == expected.tolist()
        assert (said.confidence[far] == 0.0).all()
        for row, is_far, label, confidence in zip(rows, far, *said, strict=True):
            if not is_far:
                own = cdist([row], X[names == label]).min()
                other = cdist([row], X[names != label]).min(initial=np.inf)
                assert confidence == pytest.approx(1.0 - own / (own + other))

    def test_borders_and_twins(self) -> None:
        method = NearestLabel()
        method.teach([[0.0], [0.0], [2.0]], ["a", "b", "b"])
        said = method.observe([[0.0], [-1.0], [2.0]])
        assert said.label.tolist() == ["a", "a", "b"]
        assert said.confidence.tolist() == [0.5, 0.5, 1.0]

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
                method.teach(point, NAMES[code])
                twin.teach(point, code)
            else:
                check_names(method.observe(point), twin.observe(point, 3)[None])

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

    def test_digits(self) -> None:
        bandwidth = 0.22 * full_graph.scale_bandwidth(digits()[2])
        assert accuracy(TemporalPropagation(Gaussian(bandwidth), window=100)) > 0.8


class TestPoisson:
    @given(graphs(), seeds)
    def test_equals_the_pseudo_inverse(self, graph: Graph, seed: int) -> None:
        w, labelled, y = graph
        rng = np.random.default_rng(seed)
        w, v = bare(np.where(w < 1e-2, 0.0, w)), rng.choice([1.0, 2.5, 9.0], len(w))
        labels = np.where(labelled[:, None], y * rng.integers(1, 4, len(w))[:, None], 0.0)
        ours = poisson(w, v, labels)
        theirs = potentials(w, v, labels)
        np.testing.assert_allclose(ours.u, theirs, atol=1e-9 * (1 + np.abs(theirs).max()))
        for i in range(len(w)):
            here = reaches_a_label(w, [i])
            assert (ours.component == ours.component[i]).tolist() == here
            assert ours.taught[ours.component[i]].tolist() == labels[here].any(axis=0).tolist()

    @given(seeds, st.integers(1, 4))
    def test_answers_are_the_mean_potential_of_similar_vertices(self, seed: int, few: int) -> None:
        rng = np.random.default_rng(seed)
        X, similarity = rng.normal(scale=1.5, size=(30, 2)), Gaussian(0.8, threshold=0.0)
        method = QuantizedPoisson(12, 100, few, similarity)
        learner = OnlineLearner(12, similarity=similarity, remember=0)
        for one in (method, learner):
            one.observe(X[:20])
            one.teach(X[20:24], ["a", "b", "c", "a"])
        said, seen = method.observe(X[24:]), learner.vertices
        W = neighbour_graph(seen.means, seen.bandwidth, 1e-12, few)
        labels = np.zeros((len(seen), 3))
        for i, label in enumerate(seen.label):
            if label is not None:
                labels[i, NAMES.index(label)] = seen.count[i]
        for x, label, confidence in zip(X[24:], *said, strict=True):
            expected = confidences(x, seen.means, seen.bandwidth, W, seen.weight, labels, few)
            assert confidence == pytest.approx(expected.max(), abs=1e-6)
            if label is not None:
                assert expected[NAMES.index(label)] >= expected.max() - 1e-6

    def test_a_wire_between_two_labels(self) -> None:
        """One example flows in at one end and out at the other: the potential falls evenly."""
        labels = np.zeros((5, 2))
        labels[0, 0] = labels[4, 1] = 1.0
        u, _, size, _ = poisson(chain(5), np.ones(5), labels)
        np.testing.assert_allclose(u[:, 0], [1.0, 0.5, 0.0, -0.5, -1.0], atol=1e-12)
        np.testing.assert_allclose(size, (1 + 2 * 0.5 + 2 * 0.5 + 1) / 8)

    def test_faint_bridges(self) -> None:
        """A wire with a link of 1e-200: all of the potential falls there."""
        labels = np.zeros((4, 2))
        labels[0, 0] = labels[3, 1] = 1.0
        u = poisson(chain(4, np.array([1.0, 1e-200, 1.0])), np.ones(4), labels).u
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
        method = QuantizedPoisson(every=3, similarity=Gaussian(1.0))
        method.teach([[0.0], [20.0]], ["a", "b"])
        said = method.observe([[4.0], [8.0], [8.5], [8.5], [8.5]])
        assert said.label.tolist() == ["a", None, None, "a", "a"]

    def test_digits(self) -> None:
        assert accuracy(QuantizedPoisson(300)) > 0.75
