"""The reference implementations against cases worked out by hand, and against each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from .figure1 import ReferenceBalanced, ReferenceFigure1
from .harmonic import (
    full_graph,
    hard,
    normalised_laplacian,
    quantized_as_printed,
    quantized_row_form,
    reaches_a_label,
    repeated,
    soft,
)
from .kcenters import (
    ReferenceCover,
    distance,
    largest_k_plus_1_separation,
    merge,
    optimal_k_center,
)

POLICIES = list(itertools.product(("doubling", "just-enough"), ("absorb", "pure")))


def line(cover: ReferenceCover, *values: float) -> ReferenceCover:
    for value in values:
        cover.observe([value])
    return cover


def state(cover: ReferenceCover) -> list[tuple[float, int, float]]:
    return [(v.point[0], v.count, v.reach) for v in cover.vertices]


def streamed(cover: ReferenceCover, seed: int, n: int = 60) -> ReferenceCover:
    """Feed a cover a stream of repeats, clusters, jumps of scale and, now and then, a label."""
    random = np.random.default_rng(seed)
    for t in range(n):
        x = random.normal(size=2).round(1) * random.choice([0.1, 1.0, 20.0])
        if t % 10 == 3:
            cover.teach(x, "ab"[t % 20 > 9])
        else:
            cover.observe(x)
    return cover


def assert_laws(cover: ReferenceCover, n: int) -> None:
    assert cover.k is None or len(cover.unlabelled) <= cover.k
    assert sum(v.count for v in cover.vertices) == n
    assert [v.age for v in cover.vertices] == sorted(v.age for v in cover.vertices)
    for v in cover.vertices:
        assert v.count == len(v.members)
        assert max(distance(v.point, x) for x in v.members) <= v.reach * (1 + 1e-12)
    for a, b in itertools.combinations(cover.unlabelled, 2):
        assert distance(a.point, b.point) >= cover.radius


# --- the harmonic function -------------------------------------------------------------------


def test_a_chain_of_three_by_hand() -> None:
    # 3.5 f1 = 1 + 2 f2 and 2.5 f2 = 2 f1
    W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    F = full_graph(W, [0, -1, -1], gamma=0.5, n_classes=1)
    np.testing.assert_allclose(F[:, 0], [1, 10 / 19, 8 / 19])


def test_the_sink_may_differ_from_vertex_to_vertex() -> None:
    # 3 f1 = 1 + 2 f2 and 4 f2 = 2 f1
    W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    F = hard(W, [0], np.array([[1.0]]), [7.0, 0.0, 2.0])
    np.testing.assert_allclose(F[:, 0], [1, 0.5, 0.25])


def test_labels_may_be_listed_in_any_order() -> None:
    W = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
    F = hard(W, [1, 0], np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0)
    np.testing.assert_allclose(F, [[1.0, 0.0], [0.0, 1.0], [0.2, 0.6]])


def test_self_loops_cancel() -> None:
    W = np.array([[9.0, 1.0], [1.0, 4.0]])
    np.testing.assert_allclose(full_graph(W, [0, -1], 1.0, 1)[:, 0], [1, 0.5])


@pytest.mark.parametrize("seed", range(5))
def test_proposition_1_as_printed_is_the_row_form_is_the_full_graph(seed: int) -> None:
    random = np.random.default_rng(seed)
    W = random.random((6, 6))
    W = W + W.T
    v = random.integers(1, 5, size=6)
    classes = [0, 1, -1, -1, -1, -1]
    printed = quantized_as_printed(W, v.astype(float), [0, 1], np.eye(2), 0.3)
    rows = quantized_row_form(W, v.astype(float), [0, 1], np.eye(2), 0.3)
    full = full_graph(repeated(W, list(v)), list(np.repeat(classes, v)), 0.3, 2)
    np.testing.assert_allclose(printed, rows, atol=1e-13)
    np.testing.assert_allclose(np.repeat(printed, v, axis=0), full, atol=1e-12)


def test_the_soft_solution_by_hand() -> None:
    # (C + K) l = C y is [[3, -1], [-1, 2.5]] l = [1, 0]
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    y = np.array([1.0, 0.0])
    np.testing.assert_allclose(soft(W, y, 1.0, 0.5, gamma=1.0), [5 / 13, 2 / 13])
    np.testing.assert_allclose(
        soft(4 * W, y, 1.0, 0.5, gamma=1.0, normalised=True), [5 / 13, 2 / 13]
    )
    one_hot = np.array([[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(soft(W, one_hot, 1.0, 0.5, gamma=1.0)[:, 0], [5 / 13, 2 / 13])


def test_the_normalised_laplacian_by_hand() -> None:
    W = np.array([[0.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    off = -2 / math.sqrt(8)
    np.testing.assert_allclose(
        normalised_laplacian(W), [[1.0, off, 0.0], [off, 0.5, 0.0], [0.0, 0.0, 0.0]], atol=1e-15
    )


def test_reachability_follows_chains_of_edges() -> None:
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = W[1, 2] = W[2, 1] = W[3, 4] = W[4, 3] = 1e-300
    assert reaches_a_label(W, [0]) == [True, True, True, False, False]


# --- the cover ---------------------------------------------------------------------------------


def test_doubling_by_hand() -> None:
    cover = line(ReferenceCover(2), 0, 1, 3)
    assert state(cover) == [(0, 2, 1), (3, 1, 0)]
    assert cover.radius == 1.5
    line(cover, 4.4, 10)
    assert cover.radius == 3.375
    assert [(v.point[0], v.count) for v in cover.vertices] == [(0, 4), (10, 1)]
    assert cover.vertices[0].reach == pytest.approx(3 + 1.4)
    assert cover.vertices[0].members == [(0,), (1,), (3,), (4.4,)]


def test_just_enough_by_hand() -> None:
    cover = line(ReferenceCover(3, coarsening="just-enough"), 0, 1, 3, 7)
    assert state(cover) == [(0, 2, 1), (3, 1, 0), (7, 1, 0)]
    assert cover.radius == 1
    # the pair (5.5, 7) is closest; from either the reach is 1.5, and 7 is older
    line(cover, 5.5)
    assert state(cover) == [(0, 2, 1), (3, 1, 0), (7, 2, 1.5)]
    # the pair (7, 9) is closest; from 7 the reach is 2, from 9 it would be 3.5
    line(cover, 9)
    assert state(cover) == [(0, 2, 1), (3, 1, 0), (7, 3, 2)]
    assert cover.radius == 2


@pytest.mark.parametrize(("gap", "left"), [(1.25, 9), (1.5, 9), (1.75, 10)])
def test_just_enough_goes_on_towards_nine_tenths_until_a_gap(gap: float, left: int) -> None:
    far = [100.0 * i for i in range(2, 9)]
    cover = line(ReferenceCover(10, coarsening="just-enough"), 0, 1, *far, 1000, 1000 + gap)
    assert len(cover.vertices) == left


def test_the_survivor_reaches_less_then_weighs_more_then_is_older() -> None:
    # after 0, 10, 12 the vertex 10 reaches 2; from 0 the reach would be 12, from 10 it is 10
    reaches_less = line(ReferenceCover(2, coarsening="just-enough"), 0, 10, 12, 100)
    assert state(reaches_less) == [(10, 3, 10), (100, 1, 0)]
    weighs_more = line(ReferenceCover(2, coarsening="just-enough"), 0, 5, 5, 100)
    assert state(weighs_more) == [(5, 3, 5), (100, 1, 0)]
    is_older = line(ReferenceCover(2, coarsening="just-enough"), 0, 5, 100)
    assert state(is_older) == [(0, 2, 5), (100, 1, 0)]


def test_ties_in_distance_go_to_the_older() -> None:
    pair = line(ReferenceCover(2, coarsening="just-enough"), 0, 2, 4)
    assert state(pair) == [(0, 2, 2), (4, 1, 0)]
    near = line(ReferenceCover(2), 0, 1, 2)
    assert near.observe([1.0]).point == (0.0,)


def test_exactly_r_apart_is_not_closer_than_r() -> None:
    cover = line(ReferenceCover(2), 0, 1.5, 2.5)
    assert (cover.radius, state(cover)) == (1.5, [(0, 1, 0), (1.5, 2, 1)])
    assert len(merge(cover, line(ReferenceCover(None), -1.4)).vertices) == 2
    cover.k = 3
    assert len(merge(cover, line(ReferenceCover(None), -1.5)).vertices) == 3
    assert cover.observe([-1.5]).point == (-1.5,)


@pytest.mark.parametrize(("coarsening", "labelled"), POLICIES)
def test_equal_first_points_do_not_hang(coarsening: str, labelled: str) -> None:
    cover = line(ReferenceCover(3, coarsening=coarsening, labelled=labelled), *[5.0] * 4)
    assert state(cover) == [(5, 4, 0)]
    assert cover.radius == 0
    assert_laws(line(cover, 1, 2, 3, 4), 8)


def centroids_as_printed(points: list[float], k: int, m: float) -> int:
    """Count the centroids of Figure 1 as printed, R starting at the smallest distance."""
    C: list[float] = []
    R = 0.0
    for x in points:
        if len(C) == k + 1:
            R = m * (R or min(abs(a - b) for a, b in itertools.combinations(C, 2)))
            kept: list[float] = []
            for c in C:
                if all(abs(c - other) >= R for other in kept):
                    kept.append(c)
            C = kept
        if all(abs(x - c) >= R for c in C) or not C:
            C.append(x)
    return len(C)


def test_figure_1_as_printed_loses_its_bound_where_the_loop_keeps_it() -> None:
    points = [0.0, 0.001, *(100.0 * i for i in range(1, 40))]
    assert centroids_as_printed(points, k=5, m=1.5) > 30
    assert len(line(ReferenceCover(5), *points).vertices) <= 5


@pytest.mark.parametrize(("coarsening", "labelled"), POLICIES)
@pytest.mark.parametrize("seed", range(6))
def test_the_laws_of_a_cover(coarsening: str, labelled: str, seed: int) -> None:
    cover = streamed(ReferenceCover(8, coarsening=coarsening, labelled=labelled), seed)
    assert_laws(cover, 60)
    assert len(cover.vertices) - len(cover.unlabelled) == 6
    if coarsening == "doubling":
        m = cover.growth
        assert max(v.reach for v in cover.vertices) <= cover.radius * m / (m - 1) * (1 + 1e-12)


@pytest.mark.parametrize("m", [1.1, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(10))
def test_the_distortion_of_doubling_against_the_optimum(m: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    points = [tuple(x) for x in random.normal(size=(10, 2)) ** 3]
    cover = ReferenceCover(3, growth=m)
    for x in points:
        cover.observe(x)
    distortion = max(v.reach for v in cover.vertices)
    separation = largest_k_plus_1_separation(points, 3)
    assert distortion <= m * m / (m - 1) * separation * (1 + 1e-12)
    assert separation <= 2 * optimal_k_center(points, 3)


def test_the_optimum_by_hand() -> None:
    points = [(0.0,), (1.0,), (2.0,), (10.0,)]
    assert optimal_k_center(points, 2) == 1
    assert largest_k_plus_1_separation(points, 2) == 2
    assert optimal_k_center(points, 9) == largest_k_plus_1_separation(points, 9) == 0


def test_labelled_vertices_absorb_or_stay_pure() -> None:
    absorb, pure = ReferenceCover(2), ReferenceCover(2, labelled="pure")
    for cover in (absorb, pure):
        cover.teach([0.0], "a")
    assert absorb.observe([0.0]).label == "a"
    assert pure.observe([0.0]).label is None
    assert state(absorb) == [(0, 2, 0)]
    assert state(pure) == [(0, 1, 0), (0, 1, 0)]
    line(absorb, 1, 5, 9)
    # R = 4 * 1.5: 1 and 5 join the labelled 0, and 9 stays
    assert state(absorb) == [(0, 4, 5), (9, 1, 0)]
    assert absorb.radius == 6


def test_a_labelled_vertex_absorbs_in_just_enough_coarsening() -> None:
    cover = ReferenceCover(2, coarsening="just-enough")
    line(cover, 0, 4)
    cover.teach([1.0], "a")
    cover.teach([1.5], "b")
    assert cover.observe([9.0]).point == (9.0,)
    assert state(cover) == [(4, 1, 0), (1, 2, 1), (1.5, 1, 0), (9, 1, 0)]
    assert cover.radius == 1


def test_taught_examples_found_vertices_of_their_own_within_a_budget() -> None:
    cover = line(ReferenceCover(1, labels_per_class=2), 0, 1)
    radius = cover.radius
    cover.teach([0.0], "a")
    cover.teach([0.0], "a")
    cover.teach([0.0], "b")
    cover.teach([3.0], "a")
    assert [v.label for v in cover.vertices] == [None, "a", "b", "a"]
    assert cover.vertices[1].count == 2
    merged = cover.teach([4.0], "a")
    assert (merged.point, merged.count, merged.reach) == ((3.0,), 2, 1.0)
    assert cover.radius == radius
    assert_laws(cover, 7)


# --- merging two covers --------------------------------------------------------------------------


@pytest.mark.parametrize(("coarsening", "labelled"), POLICIES)
@pytest.mark.parametrize("seed", range(4))
def test_the_laws_of_a_merged_cover(coarsening: str, labelled: str, seed: int) -> None:
    a, b = (
        streamed(ReferenceCover(8, 1.5, coarsening, labelled, labels_per_class=2), s)
        for s in (seed, 100 + seed)
    )
    before = state(a), state(b)
    both = merge(a, b)
    assert (state(a), state(b)) == before
    assert_laws(both, 120)
    assert both.radius >= max(a.radius, b.radius)
    assert len(both.vertices) - len(both.unlabelled) <= 4


@pytest.mark.parametrize(("coarsening", "labelled"), POLICIES)
def test_an_empty_cover_is_the_identity(coarsening: str, labelled: str) -> None:
    cover = streamed(ReferenceCover(8, coarsening=coarsening, labelled=labelled), seed=1)
    empty = ReferenceCover(8, coarsening=coarsening, labelled=labelled)
    for merged in (merge(cover, empty), merge(empty, cover)):
        assert merged.radius == cover.radius
        assert state(merged) == state(cover)
        assert [v.age for v in merged.vertices] == [v.age for v in cover.vertices]


def test_merging_by_hand() -> None:
    a, b = line(ReferenceCover(4), 0, 10), line(ReferenceCover(4), 0, 13)
    a.teach([5.0], "a")
    b.teach([5.0], "a")
    b.teach([5.0], "b")
    both = merge(a, b)
    assert state(both) == [(0, 2, 0), (10, 1, 0), (5, 2, 0), (13, 1, 0), (5, 1, 0)]
    assert both.radius == 0
    a.k = 2
    both = merge(a, b)
    assert state(both) == [(0, 2, 0), (10, 2, 3), (5, 2, 0), (5, 1, 0)]
    assert both.radius == 3


# --- Figure 1 ------------------------------------------------------------------------------------


def test_figure_1_by_hand() -> None:
    learner = ReferenceFigure1(k=10, sigma=1.0, gamma=0.1)
    learner.teach([0.0], "a")
    learner.teach([3.0], "b")
    near, far = math.exp(-0.5), math.exp(-2.0)
    first = learner.observe([1.0])
    total = near + far + 0.1
    np.testing.assert_allclose(first["probabilities"], [near / total, far / total])
    assert first["label"] == "a"
    assert first["sink"] == pytest.approx(0.1 / total)
    assert learner.observe([1.0])["probabilities"] == pytest.approx(first["probabilities"])
    # the vertex at 1 now weighs 2: (total + near) f1 = near a + far b + near f2,
    # (far + near + 2 near + 0.1) f2 = far a + near b + 2 near f1
    f2 = learner.observe([2.0])["probabilities"]
    M = np.array([[near + far + near + 0.1, -near], [-2 * near, far + 3 * near + 0.1]])
    expected = np.linalg.solve(M, np.array([[near, far], [far, near]]))
    np.testing.assert_allclose(learner.solution()[2:], expected)
    np.testing.assert_allclose(f2, expected[1])


def test_a_stream_that_is_never_coarsened_solves_the_full_graph() -> None:
    random = np.random.default_rng(0)
    learner = ReferenceFigure1(k=None, sigma=1.0, gamma=0.05)
    taught, stream = random.normal(size=(4, 2)), random.normal(size=(8, 2))
    for x, label in zip(taught, "abba", strict=True):
        learner.teach(x, label)
    seen = list(taught)
    for x in stream[random.integers(0, 8, size=25)]:
        answer = learner.observe(x)
        seen.append(x)
        W = np.array([[math.exp(-(distance(p, q) ** 2) / 2) for q in seen] for p in seen])
        F = full_graph(W, [0, 1, 1, 0] + [-1] * (len(seen) - 4), 0.05, 2)
        np.testing.assert_allclose(answer["probabilities"], F[-1], atol=1e-12)


def test_a_labelled_vertex_answers_for_what_it_absorbed() -> None:
    learner = ReferenceFigure1(k=1, sigma=1.0, gamma=0.1)
    learner.teach([0.0], "a")
    answer = learner.observe([0.0])
    assert (answer["label"], answer["sink"], list(answer["probabilities"])) == ("a", 0.0, [1.0])


def test_outliers_change_nothing_and_first_examples_enter() -> None:
    learner = ReferenceFigure1(k=5, sigma=1.0, gamma=0.1, threshold=math.exp(-2.0))
    first = learner.observe([0.0])
    assert (first["label"], first["outlier"], first["sink"]) == (None, False, 1.0)
    learner.teach([50.0], "a")
    answer = learner.observe([2.1])
    assert (answer["label"], answer["outlier"], answer["sink"]) == (None, True, 1.0)
    assert len(learner.cover.vertices) == 2
    unreachable = learner.observe([1.9])
    assert (unreachable["label"], unreachable["outlier"]) == (None, False)
    assert list(unreachable["probabilities"]) == [0.0]
    assert learner.observe([49.0])["label"] == "a"


def test_the_threshold_is_a_distance_that_still_connects() -> None:
    learner = ReferenceFigure1(k=5, sigma=1.0, gamma=0.1, threshold=math.exp(-2.0))
    learner.teach([0.0], "a")
    assert learner.observe([learner.farthest])["label"] == "a"
    assert learner.observe([learner.farthest + 1])["label"] == "a"
    assert learner.similarities()[0, 1] == pytest.approx(math.exp(-2.0))
    assert learner.similarities()[0, 2] == 0


def test_ties_go_to_the_class_taught_first() -> None:
    learner = ReferenceFigure1(k=5, sigma=1.0, gamma=0.1)
    learner.teach([1.0], "z")
    learner.teach([-1.0], "a")
    assert learner.observe([0.0])["label"] == "z"


def test_figure_1_stays_within_k_and_every_answer_is_a_distribution() -> None:
    random = np.random.default_rng(3)
    for learner in (ReferenceFigure1(4, 1.0, 0.1), ReferenceBalanced(4, 1.0, 0.1)):
        for label in range(3):
            learner.teach(random.normal(size=2), label)
        for _ in range(40):
            answer = learner.observe(random.normal(size=2))
            assert len(learner.cover.unlabelled) <= 4
            assert np.all(answer["probabilities"] >= 0)
            assert answer["probabilities"].sum() + answer["sink"] == pytest.approx(1)
            assert answer["label"] == int(np.argmax(answer["probabilities"]))
        assert_laws(learner.cover, 43)


def test_the_balanced_profile_by_hand() -> None:
    learner = ReferenceBalanced(k=5, sigma=1.0, gamma=0.1)
    learner.mu = 2.0
    learner.teach([0.0], "a")
    w = math.exp(-0.5)
    answer = learner.observe([1.0])
    np.testing.assert_allclose(answer["probabilities"], [6 * w / (6 * w + 0.2)])
    twin = learner.observe([0.0])
    assert 0 < twin["sink"] < 1
