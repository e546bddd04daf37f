"""The edges of what may come: never NaN, never infinity, and every invariant holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner, Verdict
from labelwalk.arrays import Bools, Floats, Label
from tests.support.streams import plain_learner

Maker: TypeAlias = Callable[[int | None], OnlineLearner]


LEARNERS: dict[str, Maker] = {
    "paper": lambda k: OnlineLearner.paper(k),
    "paper, threshold": lambda k: OnlineLearner.paper(k, bandwidth="cover", threshold=0.01),
    "default": lambda k: OnlineLearner(k),
    "default, exact": lambda k: OnlineLearner(k, tolerance=0.0),
    "default, scale": lambda k: OnlineLearner(k, similarity=Gaussian("scale")),
    "default, number": lambda k: OnlineLearner(k, similarity=Gaussian(1.0)),
    "default, prior": lambda k: OnlineLearner(k, prior="uniform"),
    "plain": lambda k: plain_learner(k),
    "doubling": lambda k: OnlineLearner(k, coarsening="doubling"),
    "absorb": lambda k: OnlineLearner(k, labelled="absorb", labels_per_class=2),
}
every_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())


def assert_sound(verdict: Verdict) -> None:
    assert np.isfinite(verdict.probabilities).all()
    assert (verdict.probabilities >= 0.0).all()
    assert verdict.probabilities.sum() <= 1.0 + 1e-12
    assert 0.0 <= verdict.sink <= 1.0
    assert math.isfinite(verdict.confidence)
    assert 0.0 <= verdict.bound <= 1.0
    if verdict.label is None:
        assert verdict.confidence == 0.0, "nothing here abstains for doubt"
    else:
        assert verdict.confidence > 0.0


def unlabelled(learner: OnlineLearner) -> Bools:
    return np.array([label is None for label in learner.vertices.label], dtype=np.bool_)


def assert_invariants(learner: OnlineLearner) -> None:
    """What holds of every learner."""
    table, free = learner.vertices, unlabelled(learner)
    for name in ("points", "weight", "reach", "probabilities"):
        assert np.isfinite(getattr(table, name)).all(), name
    for name in ("radius", "bandwidth", "distortion", "certificate"):
        assert math.isfinite(getattr(learner, name)), name
        assert getattr(learner, name) >= 0.0, name
    assert learner.settings.n_centroids is None or free.sum() <= learner.settings.n_centroids
    assert (table.count >= 1).all()
    assert table.count.sum() == learner.n_seen - learner.n_outliers
    assert (table.weight > 0.0).all()
    assert (table.reach >= 0.0).all()
    assert (table.probabilities >= 0.0).all()
    one_hot = table.probabilities[~free]
    assert (one_hot.sum(axis=1) == 1.0).all()
    assert (one_hot.max(axis=1, initial=1.0) == 1.0).all()
    names = [learner.classes[int(np.argmax(row))] for row in one_hot]
    assert names == table.label[~free].tolist()
    assert_separated(table.points[free], learner.radius)
    finite_but_for = {"here.cutoff"}
    header, arrays = learner._contents()
    for name, array in arrays.items():
        if array.dtype.kind == "f" and name not in finite_but_for:
            assert np.isfinite(array).all(), name
    assert header["classes"] == list(learner.classes)


def assert_separated(points: Floats, radius: float) -> None:
    for i, point in enumerate(points):
        distance = np.sqrt(((points[:i] - point) ** 2).sum(axis=1))
        assert (distance >= radius * (1 - 1e-12)).all()


def run(learner: OnlineLearner, rows: Floats, queries: Floats | None = None) -> list[Verdict]:
    """Observe and predict, and check all that can be checked."""
    verdicts = list(learner.observe(rows))
    predicted = list(learner.predict(rows if queries is None else queries))
    for verdict in verdicts + predicted:
        assert_sound(verdict)
    assert_invariants(learner)
    return verdicts


class TestFewPoints:
    @every_learner
    @pytest.mark.parametrize("k", [1, 2, 5])
    def test_k_plus_1_equal_first_points(self, make: Maker, k: int) -> None:
        learner = make(k)
        run(learner, np.ones((k + 1, 2)))
        assert learner.n_vertices == 1
        assert learner.radius == 0.0
        run(learner, np.random.default_rng(0).normal(size=(30, 2)))
        learner.teach([[1.0, 1.0], [-1.0, 0.0]], ["a", "b"])
        run(learner, np.random.default_rng(1).normal(size=(30, 2)))

    @every_learner
    def test_all_points_equal(self, make: Maker) -> None:
        learner = make(3)
        run(learner, np.full((150, 2), 0.1))
        learner.teach([0.1, 0.1], "a")
        for verdict in run(learner, np.full((150, 2), 0.1)):
            assert verdict.label == "a"
        assert learner.n_vertices <= 2
        assert learner.distortion == 0.0
        assert learner.vertices.count.sum() == 301

    @every_learner
    def test_one_centroid(self, make: Maker) -> None:
        learner = make(1)
        learner.teach([[0.0], [5.0]], ["a", "b"])
        run(learner, np.random.default_rng(2).normal(scale=2.0, size=(120, 1)))
        assert unlabelled(learner).sum() <= 1

    @every_learner
    def test_one_feature(self, make: Maker) -> None:
        learner = make(8)
        learner.teach([[-3.0], [3.0]], ["low", "high"])
        rng = np.random.default_rng(3)
        rows = rng.choice([-3.0, 3.0], size=(150, 1)) + rng.normal(scale=0.3, size=(150, 1))
        run(learner, rows)
        assert learner.predict([-3.1]).label == "low"
        assert learner.predict([3.1]).label == "high"

    @every_learner
    def test_a_single_example_ever(self, make: Maker) -> None:
        learner = make(4)
        assert run(learner, np.array([[1.0, 2.0]]))[0].label is None
        taught = make(4)
        taught.teach([1.0, 2.0], "a")
        assert_invariants(taught)
        assert taught.predict([1.0, 2.0]).label == "a"

    @pytest.mark.compiled
    @every_learner
    def test_ten_thousand_features(self, make: Maker) -> None:
        rng = np.random.default_rng(4)
        rows = rng.normal(size=(12, 10_000))
        learner = make(4)
        learner.teach(rows[:2], ["a", "b"])
        run(learner, rows)
        assert learner.n_features == 10_000


class TestFewLabels:
    @every_learner
    def test_one_class(self, make: Maker) -> None:
        learner = make(6)
        learner.teach([0.0, 0.0], "only")
        for verdict in run(learner, np.random.default_rng(5).normal(size=(80, 2))):
            assert verdict.label in ("only", None)
        assert learner.vertices.probabilities.shape[1] == 1

    @every_learner
    def test_no_label(self, make: Maker) -> None:
        learner = make(6)
        for verdict in run(learner, np.random.default_rng(6).normal(size=(150, 2))):
            assert verdict.label is None
            assert verdict.sink == 1.0

    @every_learner
    def test_labels_alone(self, make: Maker) -> None:
        learner = make(6)
        rng = np.random.default_rng(7)
        for i in range(60):
            learner.teach(rng.normal(size=2), i % 3)
            assert_invariants(learner)
        assert learner.n_seen == 60
        assert_sound(learner.predict([0.0, 0.0]))

    @pytest.mark.compiled
    @every_learner
    def test_thirty_classes(self, make: Maker) -> None:
        rng = np.random.default_rng(8)
        centres = rng.normal(scale=20.0, size=(30, 3))
        learner = make(40)
        learner.teach(centres, [f"class {c}" for c in range(30)])
        rows = centres[rng.integers(0, 30, 200)] + rng.normal(scale=0.1, size=(200, 3))
        for verdict in run(learner, rows):
            assert verdict.probabilities.shape == (30,)
        assert len(learner.classes) == 30

    @every_learner
    def test_conflicting_labels_at_one_point(self, make: Maker) -> None:
        learner = make(6)
        learner.teach(np.zeros((6, 2)), ["a", "b", "a", "c", "b", "a"])
        assert learner.n_vertices == 3
        run(learner, np.random.default_rng(9).normal(size=(60, 2)))
        verdict = learner.observe([0.0, 0.0])
        assert_sound(verdict)
        assert_sound(learner.predict([0.0, 0.0]))

    def test_conflicting_labels_share_the_walks(self) -> None:
        """Outside paper mode each class weighs the same, whatever it was taught how often."""
        learner = OnlineLearner(6, similarity=Gaussian(1.0), sink=1e-9, tolerance=0.0)
        learner.teach(np.zeros((4, 1)), ["a", "b", "a", "a"])
        np.testing.assert_allclose(learner.observe([0.5]).probabilities, [0.5, 0.5], atol=1e-8)
        paper = OnlineLearner.paper(6, bandwidth=1.0, sink=1e-9, tolerance=0.0)
        paper.teach(np.zeros((4, 1)), ["a", "b", "a", "a"])
        np.testing.assert_allclose(paper.observe([0.5]).probabilities, [0.75, 0.25], atol=1e-8)

    @every_learner
    def test_a_label_taught_again_and_again(self, make: Maker) -> None:
        learner = make(5)
        for _ in range(200):
            learner.teach([0.0, 1.0], "a")
        assert learner.n_vertices == 1
        assert learner.vertices.count.tolist() == [200]
        run(learner, np.random.default_rng(10).normal(size=(50, 2)))


class TestScales:
    @every_learner
    @pytest.mark.parametrize("scale", [1e150, 1e-150, 1e100, 1e-100])
    def test_huge_and_tiny_values(self, make: Maker, scale: float) -> None:
        rng = np.random.default_rng(11)
        rows = rng.uniform(-1.0, 1.0, size=(130, 3)) * scale
        learner = make(6)
        learner.teach(rows[:2], ["a", "b"])
        run(learner, rows)
        assert learner.n_vertices >= 2

    @pytest.mark.parametrize("bandwidth", [1e-300, 1e-150, 1e150, 1e300])
    @pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
    @pytest.mark.parametrize("threshold", [0.0, 1e-6])
    def test_a_bandwidth_out_of_all_proportion(
        self, bandwidth: float, scale: float, threshold: float
    ) -> None:
        similarity = Gaussian(bandwidth, threshold)
        learner = OnlineLearner(5, similarity=similarity)
        rows = np.random.default_rng(12).uniform(-1.0, 1.0, size=(40, 2)) * scale
        # with the compiler off, the lines that overflow in silence would warn
        with np.errstate(over="ignore"):
            learner.teach(rows[:2], ["a", "b"])
            run(learner, rows)

    @every_learner
    @pytest.mark.parametrize("factor", [1e6, 1e-6])
    def test_a_jump_of_scale(self, make: Maker, factor: float) -> None:
        rng = np.random.default_rng(13)
        learner = make(10)
        learner.teach([[0.0, 0.0], [1.0, 1.0]], ["a", "b"])
        run(learner, rng.normal(size=(60, 2)))
        run(learner, rng.normal(size=(120, 2)) * factor)
        run(learner, rng.normal(size=(20, 2)))

    @every_learner
    def test_one_far_value_among_many(self, make: Maker) -> None:
        rng = np.random.default_rng(14)
        learner = make(10)
        learner.teach([[0.0, 0.0], [2.0, 2.0]], ["a", "b"])
        rows = rng.normal(size=(120, 2))
        rows[60] = 1e150
        run(learner, rows)

    @every_learner
    def test_signed_zeros_are_one_point(self, make: Maker) -> None:
        learner = make(5)
        run(learner, np.array([[0.0, -0.0], [-0.0, 0.0], [0.0, 0.0]]))
        assert learner.n_vertices == 1

    @every_learner
    def test_the_smallest_numbers_there_are(self, make: Maker) -> None:
        learner = make(3)
        rows = np.array([[5e-324], [1e-323], [0.0], [-5e-324], [1e-310], [2.0**-1022]])
        learner.teach([1e-320], "a")
        run(learner, np.tile(rows, (3, 1)))


def exact_answers(learner: OnlineLearner) -> list[list[Fraction]]:
    """The harmonic solution of the learner's own graph in rational numbers: no rounding at all."""
    n, n_classes, system = learner.n_vertices, len(learner.classes), learner._engine.state.system
    is_free = unlabelled(learner).tolist()
    free = [i for i in range(n) if is_free[i]]
    f = [[Fraction(value) for value in row] for row in learner.vertices.probabilities.tolist()]
    rows: list[list[Fraction]] = []
    for i in free:
        flow = [Fraction(float(system.w[i, j])) * Fraction(float(system.v[j])) for j in range(n)]
        flow[i] = Fraction(0)
        left = [-flow[j] for j in free]
        left[len(rows)] += sum(flow, Fraction(float(system.g[i])))
        fixed = [j for j in range(n) if not is_free[j]]
        zero = Fraction(0)
        rows.append(
            left + [sum((flow[j] * f[j][c] for j in fixed), zero) for c in range(n_classes)]
        )
    for p in range(len(rows)):
        rows[p] = [value / rows[p][p] for value in rows[p]]
        for q in range(len(rows)):
            if q != p and rows[q][p]:
                rows[q] = [a - rows[q][p] * b for a, b in zip(rows[q], rows[p], strict=True)]
    for i, row in zip(free, rows, strict=True):
        f[i] = row[len(free) :]
    return f


def true_error(learner: OnlineLearner, verdict: Verdict) -> Fraction:
    exact = exact_answers(learner)[int(learner._engine.state.counters.vertex)]
    pairs = zip(verdict.probabilities.tolist(), exact, strict=True)
    return max((abs(Fraction(value) - right) for value, right in pairs), default=Fraction(0))


class TestTinySinks:
    @pytest.mark.parametrize("tolerance", [0.0, 1e-2])
    @pytest.mark.parametrize("sink", [1e-9, 1e-12, 1e-15, 1e-18])
    @given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 7), spread=st.floats(0.3, 6.0))
    def test_the_bound_is_honest(
        self, sink: float, tolerance: float, seed: int, n: int, spread: float
    ) -> None:
        """A walk may be endless to a computer: then the bound says so, and the error is within."""
        rows = np.random.default_rng(seed).normal(scale=spread, size=(n, 1))
        similarity = Gaussian(1.0, threshold=0.0)
        for learner in (
            plain_learner(4, similarity=similarity, sink=sink, tolerance=tolerance),
            OnlineLearner.paper(4, bandwidth=1.0, sink=sink, tolerance=tolerance),
        ):
            learner.teach([[0.0], [4.0]], ["a", "b"])
            for row in rows:
                verdict = learner.observe(row)
                assert_sound(verdict)
                assert true_error(learner, verdict) <= verdict.bound
            exact = exact_answers(learner)
            certificate = learner.certificate
            for given_row, right in zip(learner.vertices.probabilities, exact, strict=True):
                for value, true_value in zip(given_row.tolist(), right, strict=True):
                    assert abs(Fraction(value) - true_value) <= certificate
            assert_invariants(learner)

    @every_learner
    def test_far_from_every_label_at_a_tiny_sink(self, make: Maker) -> None:
        parameters = make(12).settings.parameters() | {"sink": 1e-12}
        learner = OnlineLearner(**parameters)
        learner.teach([0.0], "a")
        run(learner, np.linspace(0.5, 40.0, 60)[:, None])


def made_unless_refused(name: str, **parameters: Any) -> OnlineLearner | None:
    """A learner, or None where the parameter is refused by its name."""
    try:
        return OnlineLearner(4, **parameters)
    except ValueError as error:
        if name not in str(error):
            raise
        return None


class TestExtremeParameters:
    """Refused at once, or good for any stream."""

    def learn(self, learner: OnlineLearner | None, scale: float = 1.0) -> None:
        if learner is not None:
            learner.teach([[0.0], [3.0]], ["a", "b"])
            run(learner, np.random.default_rng(15).normal(size=(60, 1)) * scale)

    @pytest.mark.parametrize("sink", [5e-324, 1e-310, 1e-300, 1e-100, 1e100, 1e300, 1.7e308])
    @pytest.mark.parametrize("tolerance", [0.0, 1e-2])
    def test_sink(self, sink: float, tolerance: float) -> None:
        self.learn(made_unless_refused("sink", sink=sink, tolerance=tolerance))

    @pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-100, 1e100, 1e300, 1.7e308])
    @pytest.mark.parametrize("tolerance", [0.0, 1e-2])
    def test_label_weight(self, weight: float, tolerance: float) -> None:
        self.learn(made_unless_refused("label_weight", label_weight=weight, tolerance=tolerance))

    @pytest.mark.parametrize("growth", [1.001, 1e10, 1e100, 1e300, 1.7e308])
    @pytest.mark.parametrize("coarsening", ["doubling", "just-enough"])
    def test_growth(self, growth: float, coarsening: str) -> None:
        self.learn(made_unless_refused("growth", growth=growth, coarsening=coarsening), 1e100)


class TestManyCopies:
    @pytest.mark.slow
    @every_learner
    def test_a_hundred_thousand_copies(self, make: Maker) -> None:
        learner = make(6)
        learner.teach([[0.0, 0.0], [3.0, 3.0]], ["a", "b"])
        run(learner, np.random.default_rng(16).normal(size=(20, 2)))
        cheap = learner.settings.tolerance > 0.0
        copies = np.full((100_000 if cheap else 3_000, 2), [1.0, 0.5])
        for verdict in (learner.observe(copies)[-1], learner.observe(copies[0])):
            assert_sound(verdict)
        run(learner, np.random.default_rng(17).normal(size=(40, 2)))
        assert learner.vertices.count.max() + learner.n_outliers >= len(copies)

    def test_counts_beyond_what_a_float_can_count(self) -> None:
        """2^60 copies, reached by merging a learner with itself: exact, finite, sound."""
        learner = OnlineLearner(6, similarity=Gaussian(1.0))
        learner.teach([[0.0], [3.0]], ["a", "b"])
        learner.observe([[1.0], [2.0]])
        for _ in range(58):
            learner.merge(learner)
        assert learner.vertices.count.sum() == 4 * 2**58
        run_without_counts = learner.observe([[1.0], [1.5], [2.0]])
        for verdict in run_without_counts:
            assert_sound(verdict)
        assert np.isfinite(learner.vertices.probabilities).all()


class TestIslands:
    @every_learner
    def test_many_isolated_components(self, make: Maker) -> None:
        """Forty islands, of which two have a label: the others abstain."""
        rng = np.random.default_rng(18)
        centres = 1e4 * np.arange(40.0)[:, None]
        learner = make(100)
        learner.teach(centres[:2], ["a", "b"])
        rows = np.vstack([centres + shift for shift in rng.normal(size=(3, 1))])
        run(learner, rows)

    def test_an_island_without_a_label_abstains(self) -> None:
        similarity = Gaussian(1.0, threshold=1e-6)
        learner = plain_learner(200, similarity=similarity)
        learner.teach([[0.0], [1e4]], ["a", "b"])
        centres = 1e4 * np.arange(40.0)
        for centre in centres:
            learner.observe([centre])
        answers = plain_learner(200, similarity=Gaussian(1.0, threshold=0.0))
        answers.teach([[0.0], [1e4]], ["a", "b"])
        for i, centre in enumerate(centres):
            first, second = answers.observe([[centre + 0.5], [centre - 0.5]])
            expected: Label | None = ("a", "b", None)[min(i, 2)]
            assert first.label == second.label == expected
            assert not first.outlier
        assert_invariants(answers)
        assert learner.n_outliers == 38
        assert_invariants(learner)

    @given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(LEARNERS)))
    def test_islands_that_grow_together(self, seed: int, name: str) -> None:
        rng = np.random.default_rng(seed)
        learner = LEARNERS[name](15)
        for width in (100.0, 10.0, 1.0):
            learner.teach(rng.normal(size=2) * width, str(width))
            run(learner, np.round(rng.normal(size=(20, 2)) * width))


class TestEverythingIsAnOutlier:
    def test_a_threshold_that_nothing_passes(self) -> None:
        similarity = Gaussian(1e-9, threshold=0.999)
        learner = OnlineLearner(5, similarity=similarity)
        verdicts = run(learner, np.random.default_rng(19).normal(size=(50, 2)))
        assert not verdicts[0].outlier, "the first example always enters"
        assert all(verdict.outlier for verdict in verdicts[1:])
        assert (learner.n_vertices, learner.n_outliers, learner.n_seen) == (1, 49, 50)
        learner.teach([7.0, 7.0], "a")
        assert learner.observe([7.0, 7.0]).label == "a"
        assert learner.n_outliers == 49

    def test_in_paper_mode_too(self) -> None:
        learner = OnlineLearner.paper(5, bandwidth=1e-9, sink=1e-5, threshold=0.5)
        verdicts = run(learner, np.random.default_rng(20).normal(size=(50, 2)))
        assert [verdict.outlier for verdict in verdicts] == [False] + [True] * 49
