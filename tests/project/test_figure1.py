"""The learner against its literal twins, step by step, and its bandwidths against their rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner
from labelwalk.arrays import Floats
from labelwalk.verdicts import Verdict
from tests.reference.figure1 import Answer, ReferenceBalanced, ReferenceFigure1
from tests.reference.kcenters import ReferenceCover, distance
from tests.support.streams import (
    Coarsening,
    Labelled,
    Point,
    Step,
    assert_same_cover,
    coarsenings,
    growths,
    plain_learner,
    policies,
    streams,
    take,
)

COVER_FRACTION = 0.26
KEPT_WITHIN = 1.05


@dataclass(frozen=True)
class Parameters:
    k: int | None
    sigma: float
    gamma: float
    growth: float
    threshold: float


parameters = st.builds(
    Parameters,
    k=st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, None]),
    sigma=st.sampled_from([0.3, 1.0, 3.7, 30.0]),
    gamma=st.sampled_from([1e-4, 1e-2, 0.1, 1.0, 10.0]),
    growth=growths,
    threshold=st.sampled_from([0.0, 0.0, 1e-6, 1e-2, 0.3]),
)


def assert_same_answer(verdict: Verdict, answer: Answer) -> None:
    assert verdict.outlier == answer["outlier"]
    np.testing.assert_allclose(verdict.probabilities, answer["probabilities"], atol=1e-8)
    np.testing.assert_allclose(verdict.sink, answer["sink"], atol=1e-8)
    second, best = sorted([0.0, 0.0, *answer["probabilities"]])[-2:]
    if best - second > 1e-9 or best == 0.0:
        assert verdict.label == answer["label"]


def mean_weight(learner: OnlineLearner) -> float:
    return float(learner._engine.state.counters.mean_weight)


@given(streams(), parameters)
def test_paper_mode_is_figure_1(stream: list[Step], p: Parameters) -> None:
    learner = OnlineLearner.paper(p.k, p.sigma, p.gamma, p.growth, p.threshold, tolerance=0)
    twin = ReferenceFigure1(p.k, p.sigma, p.gamma, p.growth, p.threshold)
    for step in stream:
        verdict, answer = take(learner, step), take(twin, step)
        assert_same_cover(learner, twin.cover)
        if step[0] is None:
            assert_same_answer(verdict, answer)
    assert learner.classes == tuple(twin.classes)


@given(streams(), parameters, st.integers(1, 3))
def test_the_plain_profile_is_the_balanced_twin(
    stream: list[Step], p: Parameters, labels_per_class: int
) -> None:
    learner = plain_learner(
        p.k,
        similarity=Gaussian(p.sigma, threshold=p.threshold),
        sink=p.gamma,
        growth=p.growth,
        labels_per_class=labels_per_class,
        tolerance=0,
    )
    twin = ReferenceBalanced(p.k, p.sigma, p.gamma, p.growth, p.threshold, labels_per_class)
    for step in stream:
        verdict = take(learner, step)
        twin.mu = mean_weight(learner)
        answer = take(twin, step)
        assert_same_cover(learner, twin.cover)
        if step[0] is None:
            assert_same_answer(verdict, answer)


@given(streams(), st.integers(1, 8), coarsenings, policies)
def test_the_mean_weight_stays_within_five_percent_of_the_mean_count(
    stream: list[Step], k: int, coarsening: Coarsening, labelled: Labelled
) -> None:
    similarity = Gaussian(5.0, threshold=1e-3)
    learner = plain_learner(k, similarity=similarity, coarsening=coarsening, labelled=labelled)
    for step in stream:
        take(learner, step)
        table = learner.vertices
        counts = [n for n, name in zip(table.count, table.label, strict=True) if name is None]
        if counts:
            ratio = float(np.mean(counts)) / mean_weight(learner)
            assert max(ratio, 1 / ratio) <= KEPT_WITHIN * (1 + 1e-12)


@st.composite
def long_streams(draw: st.DrawFn) -> Floats:
    """Rows of whole numbers, long enough to leave the warm-up of a measured bandwidth."""
    n = draw(st.sampled_from([1, 2, 3, 7, 20, 50, 100, 150, 250]))
    d = draw(st.integers(1, 4))
    spread = draw(st.sampled_from([0, 1, 5, 100]))
    equal_first = draw(st.sampled_from([0, 0, 2, 3, 5, 12]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.integers(-spread, spread + 1, (n, d)) * rng.choice([1] * 20 + [50], n)[:, None]
    rows[:equal_first] = rows[0]
    return np.asarray(rows, dtype=np.float64)


def measured_scales(rows: Floats) -> list[float]:
    """σ after each row: sqrt(p) s whenever the number of rows has doubled, from 1 on."""
    sigma, due, scales = 0.0, 2, []
    for n in range(1, len(rows) + 1):
        if n == due:
            deviations = [float(np.std(rows[:n, p])) for p in range(rows.shape[1])]
            sigma = float(np.sqrt(len(deviations)) * np.mean(deviations))
            due = 2 * n if sigma > 0 else n + 1
        scales.append(sigma)
    return scales


@given(long_streams(), st.sampled_from([0.0, 1e-6, 0.9]), st.integers(0, 8))
def test_the_scale_bandwidth_is_measured_whenever_the_rows_have_doubled(
    rows: Floats, threshold: float, taught_at: int
) -> None:
    learner = plain_learner(6, similarity=Gaussian("scale", threshold=threshold))
    measured = []
    for t, row in enumerate(rows):
        take(learner, ("a" if t % 8 == taught_at else None, tuple(row.tolist())))
        measured.append(learner.bandwidth)
    np.testing.assert_allclose(measured, measured_scales(rows), rtol=1e-10)


@given(long_streams(), long_streams())
def test_a_merged_scale_bandwidth_is_that_of_all_rows(rows: Floats, others: Floats) -> None:
    d = min(rows.shape[1], others.shape[1])
    learner, other = (plain_learner(6, similarity=Gaussian("scale")) for _ in range(2))
    learner.observe(rows[:, :d])
    other.observe(others[:, :d])
    learner.merge(other)
    deviations = np.concatenate([rows[:, :d], others[:, :d]]).std(axis=0)
    np.testing.assert_allclose(learner.bandwidth, np.sqrt(d) * deviations.mean(), rtol=1e-10)


def nearest_fraction(points: list[Point]) -> float:
    """0.26 times the median distance from a point to its fifth nearest (or the last there is)."""
    fifth = []
    for x in points:
        fifth += sorted(d for y in points if (d := distance(x, y)) > 0)[:5][-1:]
    return COVER_FRACTION * float(np.median(fifth)) if fifth else 0.0


def assert_follows_the_cover(learner: OnlineLearner) -> None:
    target = nearest_fraction([tuple(x) for x in learner.vertices.points.tolist()])
    assert target / KEPT_WITHIN <= learner.bandwidth * (1 + 1e-12)
    assert learner.bandwidth <= target * KEPT_WITHIN * (1 + 1e-12)


@given(streams(), st.sampled_from([1, 2, 4, 8, 16, None]), coarsenings, policies)
def test_the_cover_bandwidth_follows_the_nearest_vertices(
    stream: list[Step], k: int | None, coarsening: Coarsening, labelled: Labelled
) -> None:
    learner = plain_learner(k, coarsening=coarsening, labelled=labelled, labels_per_class=2)
    twin = ReferenceCover(k, 1.5, coarsening, labelled, labels_per_class=2)
    due = 2
    for step in stream:
        founded, vertices, sigma = twin.n_founded, len(twin.vertices), learner.bandwidth
        take(learner, step)
        take(twin, step)
        coarsened = len(twin.vertices) < vertices + twin.n_founded - founded
        if twin.n_founded >= due or coarsened:
            assert_follows_the_cover(learner)
            due = twin.n_founded + max(1, len(twin.vertices) // 8)
        else:
            assert learner.bandwidth == sigma


@given(streams(n_features=2), streams(n_features=2), st.sampled_from([1, 4, 16, None]))
def test_a_merged_cover_bandwidth_follows_the_nearest_vertices(
    stream: list[Step], other_stream: list[Step], k: int | None
) -> None:
    learner, other = plain_learner(k), plain_learner(k)
    for target, steps in ((learner, stream), (other, other_stream)):
        for step in steps:
            take(target, step)
    learner.merge(other)
    assert_follows_the_cover(learner)
