"""The other methods against their twins in loops, dense solvers and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from labelwalk.arrays import Floats, Ints
from labelwalk.similarity import Gaussian, SelfTuning
from labelwalk.solver.harmonic import solve
from paper.baselines import class_mass, nystrom
from paper.baselines.full_graph import similarity_matrix
from paper.baselines.k_means import KMeansHarmonic
from paper.baselines.manifold_svm import ManifoldSVM
from paper.baselines.nystrom import NystromHarmonic
from paper.baselines.random_sample import SampleHarmonic
from paper.baselines.said import Said
from paper.baselines.semi_boost import SemiBoost
from paper.baselines.whole_stream import Offline
from tests.reference import nystrom as reference_nystrom
from tests.reference import representatives as reference_representatives
from tests.reference.manifold import Kept, ReferenceManifoldSVM
from tests.reference.semi_boost import ReferenceSemiBoost

pytestmark = pytest.mark.shell

GAUSSIAN = Gaussian(1.0, threshold=0.0)
OFFLINE = [KMeansHarmonic, SampleHarmonic, NystromHarmonic]
Stream = tuple[Floats, list[str], Floats]
seeds = st.integers(0, 2**32 - 1)


@st.composite
def streams(draw: st.DrawFn, most: int = 12, spread: float = 1.5) -> Stream:
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


def answer(method: Offline, stream: Stream) -> Said:
    labelled, labels, rows = stream
    method.teach(labelled, labels)
    return method.observe(rows)


def assert_says(said: Said, scores: Floats, labels: list[str], within: float = 1e-9) -> None:
    """The best class, with its score; where two are equal, either."""
    names = list(dict.fromkeys(labels))
    np.testing.assert_allclose(said.confidence, np.clip(scores.max(axis=1), 0, 1), atol=within)
    for name, row in zip(said.label, scores, strict=True):
        if name is None:
            assert row.max() <= within
        else:
            assert row[names.index(name)] >= row.max() - within


def few_labels(seed: int = 0) -> tuple[Floats, list[int], Floats, Ints]:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    first = np.zeros(len(y), np.bool_)
    for c in range(10):
        first[np.flatnonzero(y == c)[:4]] = True
    return X[first], y[first].tolist(), X[~first], y[~first]


class TestRepresentatives:
    @given(streams(), st.integers(1, 12), st.sampled_from([None, "uniform"]), seeds)
    def test_a_sample_equals_the_loops(
        self, stream: Stream, k: int, prior: str | None, seed: int
    ) -> None:
        labelled, labels, rows = stream
        method = SampleHarmonic(k, GAUSSIAN, sink=0.01, prior=prior, seed=seed)  # type: ignore[arg-type]
        said = answer(method, stream)
        joined = reference_representatives.joined_nearest(rows, method.points)
        np.testing.assert_allclose(  # of equally near ones, rounding may choose
            np.linalg.norm(rows - method.points[joined], axis=1),
            np.linalg.norm(rows - method.points[method.joined], axis=1),
        )
        scores = reference_representatives.answers(
            labelled,
            one_hot(labels),
            method.points,
            method.joined.tolist(),
            1.0,
            0.01,
            prior is not None,
        )
        assert_says(said, scores, labels)

    @given(streams(), seeds)
    def test_a_sample_of_everything_is_the_full_graph(self, stream: Stream, seed: int) -> None:
        labelled, labels, rows = stream
        said = answer(SampleHarmonic(99, GAUSSIAN, sink=0.1, seed=seed), stream)
        full = solve(
            similarity_matrix(np.vstack([labelled, rows]), GAUSSIAN),
            np.arange(len(labelled) + len(rows)) < len(labelled),
            np.vstack([one_hot(labels), np.zeros((len(rows), len(set(labels))))]),
            sink=0.1,
        )
        assert_says(said, full[len(labelled) :], labels)

    @given(streams(), st.integers(1, 12), st.sampled_from([None, "uniform"]))
    def test_means_are_those_of_scikit_learn(
        self, stream: Stream, k: int, prior: str | None
    ) -> None:
        labelled, labels, rows = stream
        k = min(k, len(np.unique(rows, axis=0)))
        with threadpool_limits(1):
            reference = KMeans(k, n_init=1, random_state=3).fit(rows)
        method = KMeansHarmonic(k, GAUSSIAN, sink=0.01, prior=prior, seed=3)  # type: ignore[arg-type]
        said = answer(method, stream)
        np.testing.assert_array_equal(
            method.points[method.joined], reference.cluster_centers_[reference.labels_]
        )
        scores = reference_representatives.answers(
            labelled,
            one_hot(labels),
            method.points,
            method.joined.tolist(),
            1.0,
            0.01,
            prior is not None,
        )
        assert_says(said, scores, labels)

    def test_more_means_than_rows_that_differ(self) -> None:
        method = KMeansHarmonic(5, GAUSSIAN)
        said = answer(method, (np.zeros((1, 2)), ["a"], np.ones((9, 2))))
        assert set(said.label) == {"a"}
        np.testing.assert_allclose(method.points, [[1, 1]])
        np.testing.assert_array_equal(method.counts, [9])

    def test_a_class_without_mass_stays_without(self) -> None:
        f = class_mass.balanced(np.array([[0.5, 0.0], [0.0, 0.0]]), np.array([3.0, 1.0]))
        np.testing.assert_array_equal(f, [[0.5, 0.0], [0.0, 0.0]])

    @pytest.mark.parametrize("make", [KMeansHarmonic, SampleHarmonic])
    @pytest.mark.parametrize(
        ("wrong", "match"),
        [
            ({"n_centroids": 0}, "n_centroids=0"),
            ({"sink": 0.0}, "sink=0"),
            ({"prior": "even"}, "prior='even'"),
            ({"seed": -1}, "seed=-1"),
            ({"similarity": 1.0}, "similarity=1.0"),
        ],
    )
    def test_wrong_settings(
        self, make: type[KMeansHarmonic], wrong: dict[str, object], match: str
    ) -> None:
        with pytest.raises(ValueError, match=match):
            make(**wrong)  # type: ignore[arg-type]


class TestNystrom:
    @given(streams(), st.sampled_from([1e-3, 0.1, 10.0]), seeds)
    def test_all_as_landmarks_is_the_full_graph(
        self, stream: Stream, sink: float, seed: int
    ) -> None:
        labelled, labels, rows = stream
        said = answer(NystromHarmonic(99, GAUSSIAN, sink, seed), stream)
        full = solve(
            similarity_matrix(np.vstack([labelled, rows]), GAUSSIAN),
            np.arange(len(labelled) + len(rows)) < len(labelled),
            np.vstack([one_hot(labels), np.zeros((len(rows), len(set(labels))))]),
            sink=sink,
        )
        assert_says(said, full[len(labelled) :], labels, within=1e-7)

    @given(streams(spread=0.7), st.integers(1, 12), seeds)
    def test_equals_the_dense_solution(self, stream: Stream, m: int, seed: int) -> None:
        """Of a graph that is compact and has a strong sink: it stays definite."""
        labelled, labels, rows = stream
        everyone = np.vstack([labelled, rows])
        m = min(m, len(everyone))
        W = similarity_matrix(everyone, GAUSSIAN) + np.eye(len(everyone))
        drawn = np.random.default_rng(seed).choice(len(everyone), m, replace=False)
        dense = reference_nystrom.harmonic(W, drawn.tolist(), one_hot(labels), 30.0)
        G = nystrom.low_rank_factor(W[:, drawn], W[np.ix_(drawn, drawn)])
        np.testing.assert_allclose(
            G @ G.T, reference_nystrom.approximation(W, drawn.tolist()), atol=1e-3
        )
        np.testing.assert_allclose(
            nystrom.harmonic_values(G, one_hot(labels), 30.0), dense, atol=1e-4
        )

    @given(
        streams(spread=4.0),
        st.integers(1, 12),
        st.sampled_from([1e-300, 1e-9, 0.1, 1e50]),
        st.sampled_from([0.05, 1.0, 40.0]),
        st.sampled_from([0.0, 0.3, 0.9]),
        seeds,
    )
    def test_never_nan(
        self, stream: Stream, m: int, sink: float, sigma: float, threshold: float, seed: int
    ) -> None:
        method = NystromHarmonic(m, Gaussian(sigma, threshold=threshold), sink, seed)
        said = answer(method, stream)
        assert np.isfinite(said.confidence).all()
        assert all((name is None) == (c == 0) for name, c in zip(*said, strict=True))

    def test_a_negative_degree_is_no_answer(self) -> None:
        G = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.2], [1.0, 1.0]])
        f = nystrom.harmonic_values(G, np.eye(2), 1e-3)
        assert not f[0].any()
        assert (f[1] > 0).all()

    def test_the_paper_s_bandwidth_is_that_of_all_examples(self) -> None:
        labelled, labels, rows = np.array([[0.0, 1.0]]), ["a"], np.array([[2.0, 5.0], [1.0, 0.0]])
        sigma = float(np.sqrt(2) * np.vstack([labelled, rows]).std(axis=0).mean())
        one = answer(NystromHarmonic(), (labelled, labels, rows))
        other = answer(NystromHarmonic(similarity=Gaussian(sigma, 0.0)), (labelled, labels, rows))
        np.testing.assert_allclose(one.confidence, other.confidence)

    @pytest.mark.parametrize(
        ("wrong", "match"),
        [
            ({"n_landmarks": 0}, "n_landmarks=0"),
            ({"sink": -1.0}, "sink=-1"),
            ({"seed": 0.5}, "seed=0.5"),
            ({"similarity": SelfTuning()}, "similarity=SelfTuning"),
            ({"similarity": Gaussian()}, "similarity=Gaussian"),
        ],
    )
    def test_wrong_settings(self, wrong: dict[str, object], match: str) -> None:
        with pytest.raises(ValueError, match=match):
            NystromHarmonic(**wrong)  # type: ignore[arg-type]

    def test_too_many_landmarks_for_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(nystrom, "MOST_BYTES", 100)
        with pytest.raises(ValueError, match="n_landmarks=3 for 4 examples"):
            answer(NystromHarmonic(3), (np.zeros((1, 2)), ["a"], np.ones((3, 2))))


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
                method.teach(x, name)
                twin.teach(x, "abc".index(name))
            else:
                H = np.array([twin.observe(x)])
                assert_says(method.observe(x), H, list("abc"))
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
            method.teach(rows[:1], "a")
            method.teach(rows[-1:] + 1, "b")
        whole, parts = one.observe(rows), [other.observe(x) for x in rows]
        assert whole.label.tolist() == [part.label[0] for part in parts]
        np.testing.assert_array_equal(whole.confidence, [part.confidence[0] for part in parts])

    def test_outliers_are_not_recognised_and_change_nothing(self) -> None:
        method = SemiBoost([[0.0], [1.0]], GAUSSIAN, 0.5)
        method.teach([[0.0]], "a")
        before = method.alpha.copy()
        assert method.observe([[50.0]]).label.tolist() == [None]
        np.testing.assert_array_equal(method.alpha, before)
        assert method.observe([[0.1]]).label.tolist() == ["a"]

    def test_a_class_may_come_late(self) -> None:
        method = SemiBoost([[0.0], [5.0]], GAUSSIAN, 0.5, n_selectors=2)
        assert method.observe([[0.0]]).label.tolist() == [None]
        method.teach([[0.0]], "a")
        method.observe(np.zeros((20, 1)))
        method.teach([[5.0]], "b")
        assert method.observe([[0.1], [5.1]]).label.tolist() == ["a", "b"]
        assert method.online
        assert method.nbytes >= 2 * 8 * 2 * 2 * 2  # right and wrong: selectors, classes, candidates

    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            (([[0.0]], SelfTuning(), 0.1), "similarity=SelfTuning"),
            (([[0.0]], Gaussian(), 0.1), "similarity=Gaussian"),
            (([[0.0]], GAUSSIAN, 0.0), "epsilon=0"),
            (([[0.0]], GAUSSIAN, 0.1, 0), "n_selectors=0"),
            (([[0.0]], GAUSSIAN, 0.1, 5, 2.0), "prior_epsilon=2"),
            (([[np.nan]], GAUSSIAN, 0.1), "nan"),
        ],
    )
    def test_wrong_settings(self, arguments: tuple[Any, ...], match: str) -> None:
        with pytest.raises(ValueError, match=match):
            SemiBoost(*arguments)


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
                assert_says(method.observe(x), 0.5 + 0.5 * f / (1 + abs(f)), list("abc"))
            for own, twin in zip("abc", twins, strict=True):
                twin.learn(x, None if name is None else 1.0 if own == name else -1.0)
            if name is not None and twins[0].t > 3:
                method.teach(x, name)
        order = np.argsort(method.born[: method.n_kept])
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
            method.observe(x)
        n, before = method.n_kept, method.alpha[:, 0].copy()
        x = rng.normal(size=2)
        method.teach(x, name) if name else method.observe(x)
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
                assert np.isfinite(method.observe(x).confidence).all()

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
        method.teach([[0.0]], "a")
        method.teach([[5.0]], "b")
        said = method.observe([[0.1], [5.1], [2.4], [99.0]])
        assert said.label.tolist() == ["a", "b", "a", None]
        assert method.online

    def test_bad_input_changes_nothing(self) -> None:
        method = ManifoldSVM(GAUSSIAN, buffer=4)
        with pytest.raises(ValueError, match="labels has 1 entries"):
            method.teach([[0.0, 1.0], [2.0, 1.0]], ["c"])
        method.teach([[0.0]], "a")  # one feature: the two of before are forgotten
        before = method.nbytes
        with pytest.raises(ValueError, match="2 features"):
            method.observe([[0.0, 1.0]])
        assert (len(method.classes), method.n_seen, method.nbytes) == (1, 1, before)

    @pytest.mark.parametrize(
        ("wrong", "match"),
        [
            ({"similarity": SelfTuning()}, "similarity=SelfTuning"),
            ({"buffer": 0}, "buffer=0"),
            ({"step": 0.0}, "step=0"),
            ({"shrink": 0.0}, "shrink=0"),
            ({"smooth": -1.0}, "smooth=-1"),
        ],
    )
    def test_wrong_settings(self, wrong: dict[str, Any], match: str) -> None:
        with pytest.raises(ValueError, match=match):
            ManifoldSVM(**{"similarity": GAUSSIAN} | wrong)


@pytest.mark.parametrize("make", OFFLINE)
class TestOffline:
    def test_without_labels_there_is_no_answer(self, make: type[KMeansHarmonic]) -> None:
        said = make().observe([[0.0], [1.0]])
        assert said.label.tolist() == [None, None]
        assert said.confidence.tolist() == [0.0, 0.0]

    def test_one_stream_only(self, make: type[KMeansHarmonic]) -> None:
        method = make()
        assert not method.online
        method.teach([[0.0]], "a")
        method.observe([[0.0], [1.0]])
        with pytest.raises(ValueError, match="sees only one"):
            method.observe([[0.0]])
        with pytest.raises(ValueError, match="has answered"):
            method.teach([[0.0]], "a")

    def test_bad_input_changes_nothing(self, make: type[KMeansHarmonic]) -> None:
        method = make(similarity=GAUSSIAN)
        method.teach([[0.0, 1.0], [3.0, 1.0]], ["a", "b"])
        before = method.nbytes
        with pytest.raises(ValueError, match="labels has 1 entries"):
            method.teach([[0.0, 1.0], [2.0, 1.0]], ["c"])
        with pytest.raises(ValueError, match="3 features"):
            method.observe([[0.0, 1.0, 2.0]])
        with pytest.raises(ValueError, match="nan"):
            method.observe([[0.0, np.nan]])
        assert (len(method.taught.classes), method.nbytes) == (2, before)
        assert method.observe([[0.1, 1.0], [2.9, 1.0]]).label.tolist() == ["a", "b"]
        assert method.nbytes > before


@pytest.mark.parametrize(
    ("method", "least"),
    [
        (KMeansHarmonic(prior="uniform"), 0.91),
        (SampleHarmonic(prior="uniform"), 0.85),
        (NystromHarmonic(similarity=Gaussian(6.0, threshold=0.0)), 0.82),
        (ManifoldSVM(Gaussian(8.0)), 0.81),
    ],
)
def test_digits(method: Offline | ManifoldSVM, least: float) -> None:
    labelled, labels, rows, truth = few_labels()
    method.teach(labelled, labels)
    assert (method.observe(rows).label == truth).mean() > least


def test_digits_that_boosting_recognises() -> None:
    labelled, labels, rows, truth = few_labels()
    method = SemiBoost(rows[::8], Gaussian(8.0), epsilon=1e-3)
    method.teach(labelled, labels)
    said = method.observe(rows[:500])
    answered = np.array([name is not None for name in said.label])
    assert answered.mean() > 0.5
    assert (said.label[answered] == truth[:500][answered]).mean() > 0.8
