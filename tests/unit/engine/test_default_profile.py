"""The default profile: its reference implementation, its answers, and what it is there for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner, SelfTuning
from labelwalk.arrays import Floats, Ints, Label
from labelwalk.engine.weights import compute_capped_mean
from labelwalk.kernels.answer import compute_class_mass, fit_biases
from tests.reference.balance import balanced
from tests.reference.harmonic import quantized_row_form, reaches_a_label
from tests.reference.profile import ReferenceProfile

seeds = st.integers(0, 2**32 - 1)
ks = st.sampled_from([3, 8, 20, None])
AT_REST = 1e-9


def clouds(seed: int, n: int = 60, d: int = 2) -> tuple[Floats, Ints]:
    """Rows from three clouds of different width, and which cloud each is from."""
    rng = np.random.default_rng(seed)
    cloud = rng.integers(0, 3, n)
    centres = rng.normal(size=(3, d)) * 6
    width = np.array([0.3, 1.0, 2.0])[cloud]
    return centres[cloud] + width[:, None] * rng.normal(size=(n, d)), cloud


def begun(k: int | None, seed: int, **settings: object) -> tuple[OnlineLearner, Floats]:
    rows, cloud = clouds(seed)
    learner = OnlineLearner(k, **settings)  # type: ignore[arg-type]
    for c in range(3):
        learner.teach(rows[cloud == c][:2], [f"class {c}"] * min(2, int((cloud == c).sum())))
    return learner, rows


@given(seeds, ks, st.sampled_from([1e-4, 1e-2, 1.0]))
def test_it_equals_the_reference_implementation(seed: int, k: int | None, sink: float) -> None:
    rows, cloud = clouds(seed)
    learner, reference = OnlineLearner(k, sink=sink, tolerance=0.0), ReferenceProfile(k, sink)
    rng = np.random.default_rng(seed)
    for x, c in zip(rows, cloud, strict=True):
        reference.mu = float(learner._engine.state.counters.mean_weight)
        if rng.random() < 0.15:
            learner.teach(x, int(c))
            reference.teach(x, int(c))
            continue
        verdict, (probabilities, scores) = learner.observe(x), reference.observe(x)
        np.testing.assert_allclose(verdict.probabilities, probabilities, atol=1e-7)
        np.testing.assert_allclose(verdict.scores, scores, atol=1e-7)
        if len(scores) and np.ptp(np.sort(scores)[-2:]) > 1e-6:
            assert verdict.label == reference.classes[int(np.argmax(scores))]
    table = learner.vertices
    assert table.count.tolist() == [v.count for v in reference.cover.vertices]
    bandwidths = [reference.bandwidth[v.age] for v in reference.cover.vertices]
    np.testing.assert_allclose(table.bandwidth, bandwidths, rtol=1e-7)


@given(seeds, ks, st.sampled_from([0.2, 1e-2, 1e-4]), st.sampled_from([None, "uniform"]))
def test_a_verdict_is_the_prediction_before_it_was_learned(
    seed: int, k: int | None, tolerance: float, prior: str | None
) -> None:
    """And both are within their bounds of the exact solution on the learner's own graph."""
    learner, rows = begun(k, seed, tolerance=tolerance, prior=prior)
    for x in rows:
        exact = exact_extension(learner, x)
        foreseen, verdict = learner.predict(x), learner.observe(x)
        for answer in (foreseen, verdict):
            assert np.abs(answer.probabilities - exact).max() <= answer.bound + AT_REST
            assert answer.bound <= tolerance
        if foreseen.certain and verdict.certain:
            assert foreseen.label == verdict.label


def exact_extension(learner: OnlineLearner, x: Floats) -> Floats:
    """Solve the learner's stored graph densely and extend it to x from its table alone."""
    now, table, rules = learner._engine.state, learner.vertices, learner._engine.rules
    n = now.n
    w, v, sink = now.system.w[:n, :n], table.weight, rules.sink * float(now.counters.mean_weight)
    codes = [-1 if name is None else learner.classes.index(name) for name in table.label]
    labelled = [i for i in range(n) if codes[i] >= 0]
    reached = reaches_a_label(w, labelled)
    inside = [i for i in range(n) if reached[i]]
    targets = np.eye(len(learner.classes))[[codes[i] for i in labelled]]
    F = np.zeros((n, len(learner.classes)))
    at = [inside.index(i) for i in labelled]
    F[inside] = quantized_row_form(w[np.ix_(inside, inside)], v[inside], at, targets, sink)
    apart = np.sqrt(((table.means - x) ** 2).cumsum(axis=1)[:, -1])
    near = np.sort(apart[apart > 0])[:7]
    local, typical = near[-1] if len(near) else 0.0, float(now.counters.typical)
    own = float(now.counters.width) * local * (typical / local) ** float(now.counters.evenness)
    alike = np.exp(-(apart**2) / (2 * own * table.bandwidth))
    flows = np.where(alike >= 1e-4, alike, 0.0) * v
    extension: Floats = flows @ F / (flows.sum() + sink)
    return extension


@given(seeds, ks)
def test_the_stored_graph_is_that_of_its_representatives(seed: int, k: int | None) -> None:
    learner, rows = begun(k, seed)
    for start in range(0, len(rows), 7):
        learner.observe(rows[start : start + 7])
        now = learner._engine.state
        n, system, vertices = now.n, now.system, now.vertices
        apart, s = vertices.mean_distances[:n, :n], vertices.bandwidth[:n]
        with np.errstate(divide="ignore", invalid="ignore"):
            alike = np.exp(-(apart**2) / (2 * np.outer(s, s)))
        expected = np.where((alike >= 1e-4) | (apart == 0), alike, 0.0)
        np.fill_diagonal(expected, 0.0)
        np.testing.assert_allclose(system.w[:n, :n], expected, rtol=1e-9)
        for i in range(n):
            length = system.n_neighbours[i]
            listed = system.neighbours[i, :length]
            assert sorted(listed) == np.flatnonzero(system.w[i, :n]).tolist()
            assert (system.similar[i, :length] == system.w[i, listed]).all()


@given(seeds, ks)
def test_a_representative_is_the_mean_of_its_examples(seed: int, k: int | None) -> None:
    learner, rows = begun(k, seed)
    learner.observe(rows)
    table = learner.vertices
    free = table.label == None  # noqa: E711
    total = (table.means * table.count[:, None])[free].sum(axis=0)
    np.testing.assert_allclose(total, rows.sum(axis=0), rtol=1e-9, atol=1e-9)
    moved = np.linalg.norm(table.means - table.points, axis=1)
    assert (moved <= table.reach * (1 + 1e-9) + 1e-12).all()


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40), st.floats(1.01, 20))
def test_the_capped_mean_is_the_mean_of_capped_counts(counts: list[int], cap: float) -> None:
    weights = np.array(counts, dtype=float)
    mean = compute_capped_mean(weights, cap)
    assert np.minimum(weights, cap * mean).mean() == pytest.approx(mean)


def test_a_stuck_source_weighs_no_more_than_two_means() -> None:
    learner, rows = begun(20, 1)
    learner.observe(rows)
    learner.observe(np.repeat(rows[-1:], 5000, axis=0))
    table = learner.vertices
    free = table.label == None  # noqa: E711
    assert table.count.sum() == learner.n_seen
    assert table.weight[free].max() <= 2.0 * table.weight[free].mean() * 1.06


@given(seeds, st.floats(0.05, 0.95))
def test_under_a_prior_classes_take_their_shares(seed: int, share: float) -> None:
    """The biases move towards a state in which they do, one example a class aside."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(100, 2)) + np.where(rng.random(100) < 0.5, 2.0, -2.0)[:, None]
    prior: dict[Label, float] = {"a": share, "b": 1.0 - share}
    learner = OnlineLearner(40, similarity=Gaussian(1.0, threshold=0.0), prior=prior)
    learner.teach([[-2.0, -2.0], [2.0, 2.0]], ["a", "b"])
    learner.observe(rows)
    now, mass = learner._engine.state, np.empty(2)
    for _ in range(200):
        fit_biases(now.vertices, now.system, now.n, np.array([share, 1.0 - share]))
    compute_class_mass(now.vertices, now.system, now.n, mass)
    assert (mass[0] + 1.0) / (mass.sum() + 2.0) == pytest.approx(share, abs=1e-3)


@given(seeds, ks, st.floats(0.05, 0.95), st.integers(1, 40))
def test_the_prior_is_brought_to_bear_on_the_solution(
    seed: int, k: int | None, share: float, n: int
) -> None:
    """Labels were just taught, and nothing is solved until a row is to be answered."""
    rows, _ = clouds(seed, n=80)
    prior: dict[Label, float] = {"a": share, "b": 1.0 - share}
    learner = OnlineLearner(k, prior=prior, tolerance=1e-6)
    learner.teach(rows[0], "a")
    learner.observe(rows[1:40])
    learner.teach(rows[40 : 40 + n], ["b"] * n)
    now, size = learner._engine.state, learner.n_vertices
    due = now.counters.n_seen >= now.counters.balance_at_seen
    codes, bias = now.vertices.label[:size], now.system.bias[1:].tolist()
    labelled = np.flatnonzero(codes >= 0)
    w, v, g = now.system.w[:size, :size], now.system.v[:size], now.system.g[:size]
    exact = quantized_row_form(w, v, labelled.tolist(), np.eye(2)[codes[labelled]], g)
    if due:
        counts = now.vertices.examples[:size][codes < 0].tolist()
        bias = balanced(exact[codes < 0].tolist(), counts, bias, [share, 1.0 - share])
    foreseen = learner._engine.settle(learner._shares())[0].bias[1:]
    # values are exact up to the tolerance, and so is a bias that is close to 0
    np.testing.assert_allclose(foreseen, bias, rtol=1e-3, atol=learner.settings.tolerance)
    assert (now.system.bias[1:] == [1.0, 1.0]).all()
    learner.observe(rows[-1])
    np.testing.assert_array_equal(learner._engine.state.system.bias[1:], foreseen)


def test_a_class_taught_late_leaves_the_others_their_share() -> None:
    rng = np.random.default_rng(1)
    rows, new, more = (rng.normal(size=(n, 2)) for n in (200, 32, 400))
    learner = OnlineLearner(60, prior="uniform")
    learner.teach([-1.5, 0.0], "left")
    learner.observe(rows)
    learner.teach(new + np.array([1.5, 0.0]), ["right"] * 32)
    truth = np.where(more[:, 0] < 0, "left", "right")
    assert (learner.predict(more).label == truth).mean() > 0.75
    assert (learner.observe(more[:40]).label == truth[:40]).mean() > 0.75


def test_without_unlabelled_examples_a_prior_prefers_nobody() -> None:
    learner = OnlineLearner(prior={"a": 0.9, "b": 0.1})
    learner.teach([[0.0], [1.0]], ["a", "b"])
    assert learner.predict([[0.1], [0.9]]).label.tolist() == ["a", "b"]


def test_without_a_prior_scores_are_probabilities_where_all_is_reached() -> None:
    learner, rows = begun(20, 3, unreached="abstain")
    verdicts = learner.observe(rows)
    np.testing.assert_allclose(verdicts.scores, verdicts.probabilities, rtol=1e-12)
    np.testing.assert_allclose(verdicts.confidence, verdicts.probabilities.max(axis=1), rtol=1e-12)


def test_where_nothing_is_reached_the_nearest_label_is_guessed() -> None:
    narrow = SelfTuning(threshold=0.99)
    learner = OnlineLearner(20, similarity=narrow)
    learner.teach([[0.0], [10.0]], ["low", "high"])
    verdicts = learner.observe([[3.0], [8.0]])
    assert verdicts.label.tolist() == ["low", "high"]
    assert verdicts.probabilities.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert verdicts.confidence.tolist() == [1 / 3, 1 / 3]
    careful = OnlineLearner(20, similarity=narrow, unreached="abstain")
    careful.teach([[0.0], [10.0]], ["low", "high"])
    assert careful.observe([[3.0], [8.0]]).label.tolist() == [None, None]


class TestQuarantine:
    def warm(self, **settings: object) -> OnlineLearner:
        learner = OnlineLearner(30, **settings)  # type: ignore[arg-type]
        learner.teach([[0.0, 0.0], [3.0, 3.0]], ["a", "b"])
        learner.observe(np.random.default_rng(0).normal(size=(200, 2)))
        return learner

    def test_scattered_outliers_stay_out(self) -> None:
        learner = self.warm()
        vertices, radius = learner.n_vertices, learner.radius
        far = 1e4 * np.random.default_rng(1).normal(size=(300, 2))
        verdicts = learner.observe(far)
        assert verdicts.outlier.all()
        assert (learner.n_vertices, learner.radius) == (vertices, radius)
        assert learner.n_outliers == 300

    def test_five_together_found_a_vertex(self) -> None:
        """The fifth does, and the four before it stay outliers: they are nowhere any more."""
        learner = self.warm()
        far = np.array([1e3, 1e3]) + 1e-3 * np.arange(6)[:, None]
        verdicts = learner.observe(far)
        assert verdicts.outlier.tolist() == [True] * 5 + [False]
        assert learner.n_outliers == 4
        table = learner.vertices
        assert table.count.sum() + learner.n_outliers == learner.n_seen
        assert (table.points == far[4]).all(axis=1).any()

    def test_none_drops_outliers_for_good(self) -> None:
        learner = self.warm(quarantine=None)
        assert learner.observe(np.full((50, 2), 1e3)).outlier.all()
        assert learner.n_outliers == 50


class TestSelfTuning:
    def test_even_bandwidths_are_all_the_same(self) -> None:
        learner, rows = begun(20, 5, similarity=SelfTuning(evenness=1.0))
        learner.observe(rows)
        np.testing.assert_allclose(learner.vertices.bandwidth, learner.bandwidth, rtol=1e-12)

    def test_local_bandwidths_are_wide_where_vertices_are_sparse(self) -> None:
        learner, rows = begun(None, 5, similarity=SelfTuning(evenness=0.0))
        learner.observe(rows)
        table = learner.vertices
        apart = np.linalg.norm(table.means[:, None] - table.means, axis=2)
        local = np.sort(np.where(apart > 0, apart, np.inf), axis=1)[:, 6]
        assert np.corrcoef(local, table.bandwidth)[0, 1] > 0.99

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"neighbour": 0}, "neighbour=0"),
            ({"neighbour": 65}, "neighbour=65 is not an integer from 1 to 64"),
            ({"width": 0.0}, "width=0.0"),
            ({"evenness": 1.5}, "evenness=1.5"),
            ({"threshold": 1.0}, "threshold=1.0"),
            ({"distance": 3}, "distance=3"),
        ],
    )
    def test_bad_parameters_are_named(self, parameters: dict[str, float], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            SelfTuning(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("even", "prior='even' is not None"),
        ({}, "prior={} is not None"),
        ({"a": 0.0}, "prior gives 'a' the share 0.0"),
        ({"a": float("nan")}, "prior gives 'a' the share nan"),
        ({1.5: 0.5}, "prior has a share for 1.5"),
    ],
)
def test_a_bad_prior_is_named(prior: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnlineLearner(prior=prior)  # type: ignore[arg-type]


def test_a_label_without_a_share_is_refused_and_changes_nothing() -> None:
    learner = OnlineLearner(prior={"a": 0.5, "b": 0.5})
    learner.teach([0.0], "a")
    before = learner.digest()
    with pytest.raises(ValueError, match="label 'c' has no share"):
        learner.teach([[1.0], [2.0]], ["b", "c"])
    assert learner.digest() == before
