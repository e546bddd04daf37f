"""Laws of the cover: what stands for what, how far away, and how two covers become one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner
from labelwalk.arrays import Floats
from tests.reference.figure1 import ReferenceBalanced
from tests.reference.kcenters import (
    ReferenceCover,
    Vertex,
    distance,
    largest_k_plus_1_separation,
    merge,
    optimal_k_center,
)
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

ROUNDING = 1 + 1e-12
CONNECTED = Gaussian(1.0, threshold=0.0)  # no outliers, so that all that is seen is accepted


@dataclass(frozen=True)
class Rules:
    """How a cover is kept; makes learners and twins alike."""

    k: int | None
    growth: float
    coarsening: Coarsening
    labelled: Labelled
    labels_per_class: int

    def learner(self, similarity: Gaussian = CONNECTED) -> OnlineLearner:
        return plain_learner(
            self.k,
            similarity=similarity,
            sink=0.1,
            growth=self.growth,
            coarsening=self.coarsening,
            labelled=self.labelled,
            labels_per_class=self.labels_per_class,
        )

    def twin(self) -> ReferenceCover:
        return ReferenceCover(
            self.k, self.growth, self.coarsening, self.labelled, self.labels_per_class
        )


@st.composite
def all_rules(draw: st.DrawFn, doubling: bool = False) -> Rules:
    return Rules(
        k=draw(st.integers(1, 8)),
        growth=draw(growths),
        coarsening="doubling" if doubling else draw(coarsenings),
        labelled=draw(policies),
        labels_per_class=100 if doubling else draw(st.integers(1, 3)),
    )


def unlabelled_points(learner: OnlineLearner) -> Floats:
    table = learner.vertices
    free = np.array([name is None for name in table.label], dtype=np.bool_)
    return table.points[free]


def separation(points: Floats) -> float:
    """Smallest distance between two of the points; infinite if there are no two."""
    pairs = itertools.combinations([tuple(point) for point in points.tolist()], 2)
    return min((distance(a, b) for a, b in pairs), default=math.inf)


def stepwise(learner: OnlineLearner, stream: list[Step]) -> Iterator[Step]:
    for step in stream:
        take(learner, step)
        yield step


def both(rules: Rules, stream: list[Step]) -> tuple[OnlineLearner, ReferenceCover]:
    """A learner and its twin, whose vertices know their members, after a stream."""
    learner, twin = rules.learner(), rules.twin()
    for step in stream:
        take(learner, step)
        take(twin, step)
    return learner, twin


# --- one stream ----------------------------------------------------------------------------------


@given(streams(), all_rules())
def test_the_cover_is_that_of_the_twin(stream: list[Step], rules: Rules) -> None:
    learner, twin = rules.learner(), rules.twin()
    for step in stepwise(learner, stream):
        take(twin, step)
        assert_same_cover(learner, twin)


@given(streams(), all_rules())
def test_a_step_ends_with_at_most_k_unlabelled_vertices(stream: list[Step], rules: Rules) -> None:
    assert rules.k is not None
    learner = rules.learner()
    for _ in stepwise(learner, stream):
        assert len(unlabelled_points(learner)) <= rules.k


@given(streams(), all_rules())
def test_unlabelled_vertices_are_at_least_r_apart(stream: list[Step], rules: Rules) -> None:
    learner = rules.learner()
    for _ in stepwise(learner, stream):
        assert separation(unlabelled_points(learner)) >= learner.radius


@given(streams(), all_rules(), st.integers(1, 3))
def test_what_leaves_quarantine_is_no_closer_than_r(
    stream: list[Step], rules: Rules, quarantine: int
) -> None:
    """Where R exceeds the bandwidth an outlier may lie within R of a vertex: that takes it in."""
    learner = plain_learner(
        rules.k,
        similarity=Gaussian(1.0, threshold=0.01),
        coarsening=rules.coarsening,
        labelled=rules.labelled,
        quarantine=quarantine,
    )
    for _ in stepwise(learner, stream):
        assert separation(unlabelled_points(learner)) >= learner.radius


def test_a_group_within_r_of_a_vertex_joins_it() -> None:
    learner = OnlineLearner(10, similarity=Gaussian(1.0), coarsening="doubling")
    learner.observe(np.repeat(np.arange(0.0, 101.0, 10.0), 5)[:, None])
    before = learner.n_vertices
    assert learner.radius == 15.0
    assert learner.observe(np.full((5, 1), -7.0)).outlier.all()
    assert learner.n_vertices == before
    assert -7.0 not in learner.vertices.points


@given(streams(), all_rules())
def test_r_never_shrinks(stream: list[Step], rules: Rules) -> None:
    learner, before = rules.learner(), 0.0
    for _ in stepwise(learner, stream):
        assert learner.radius >= before
        before = learner.radius


@given(streams(), all_rules())
def test_every_example_is_within_reach_of_its_vertex(stream: list[Step], rules: Rules) -> None:
    learner, twin = both(rules, stream)
    assert_same_cover(learner, twin)
    for v, reach in zip(twin.vertices, learner.vertices.reach, strict=True):
        assert max(distance(v.point, x) for x in v.members) <= reach * ROUNDING
    assert learner.distortion == max(learner.vertices.reach)


@given(streams(), all_rules(), st.sampled_from([0.0, 1e-6, 0.3]))
def test_counts_add_up_to_the_examples_accepted(
    stream: list[Step], rules: Rules, threshold: float
) -> None:
    learner = rules.learner(Gaussian(2.0, threshold=threshold))
    for seen, _ in enumerate(stepwise(learner, stream), start=1):
        assert learner.n_seen == seen
        assert learner.vertices.count.sum() == seen - learner.n_outliers


@given(streams(), all_rules())
def test_no_class_has_more_labelled_vertices_than_its_budget(
    stream: list[Step], rules: Rules
) -> None:
    learner = rules.learner()
    for _ in stepwise(learner, stream):
        for name in learner.classes:
            at_class = [label for label in learner.vertices.label if label == name]
            assert 1 <= len(at_class) <= rules.labels_per_class


@given(streams(), all_rules())
def test_pure_labelled_vertices_stand_for_taught_examples_alone(
    stream: list[Step], rules: Rules
) -> None:
    learner, twin = both(replace(rules, labelled="pure"), stream)
    taught = sum(label is not None for label, _ in stream)
    table = learner.vertices
    assert sum(n for n, name in zip(table.count, table.label, strict=True) if name) == taught
    for v in twin.vertices:
        if v.label is not None:
            assert {(v.label, x) for x in v.members} <= set(stream)


@given(streams(), coarsenings, policies)
def test_without_a_budget_every_distinct_example_is_a_vertex(
    stream: list[Step], coarsening: Coarsening, labelled: Labelled
) -> None:
    learner = Rules(None, 1.5, coarsening, labelled, 100).learner()
    for _ in stepwise(learner, stream):
        assert (learner.radius, learner.distortion) == (0.0, 0.0)
    table = learner.vertices
    vertices = [
        (name, tuple(x)) for name, x in zip(table.label, table.points.tolist(), strict=True)
    ]
    assert len(vertices) == len(set(vertices))
    assert {x for _, x in vertices} == {x for _, x in stream}
    assert {v for v in vertices if v[0] is not None} == {s for s in stream if s[0] is not None}
    if labelled == "pure":
        assert set(vertices) == set(stream)


# --- doubling ------------------------------------------------------------------------------------


@given(streams(), all_rules(doubling=True))
def test_doubling_reaches_no_further_than_a_geometric_series(
    stream: list[Step], rules: Rules
) -> None:
    learner, m = rules.learner(), rules.growth
    for _ in stepwise(learner, stream):
        assert learner.distortion <= learner.radius * m / (m - 1) * ROUNDING


def few_points(n_features: int) -> st.SearchStrategy[Point]:
    """Points that are near each other, or far in jumps of scale."""
    values = st.integers(-5, 5).map(float) | st.sampled_from([-1000.0, 40.0, 1e6])
    return st.tuples(*(values for _ in range(n_features)))


@given(
    st.integers(1, 3).flatmap(lambda d: st.lists(few_points(d), min_size=1, max_size=9)),
    st.integers(1, 3),
    growths,
)
def test_doubling_is_within_its_factor_of_the_optimum(
    points: list[Point], k: int, m: float
) -> None:
    learner = Rules(k, m, "doubling", "absorb", 100).learner()
    for x in points:
        learner.observe(x)
    apart = largest_k_plus_1_separation(points, k)
    assert learner.distortion <= m * m / (m - 1) * apart * ROUNDING
    assert learner.distortion <= 2 * m * m / (m - 1) * optimal_k_center(points, k) * ROUNDING


# --- just enough ---------------------------------------------------------------------------------


@given(
    st.integers(1, 8),
    st.integers(0, 7),
    st.integers(1, 3),
    growths,
    st.integers(0, 2**32 - 1),
)
def test_no_more_tight_clusters_than_k_keep_their_resolution(
    clusters: int, spare: int, n_features: int, growth: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    centres = 1000.0 * np.arange(clusters)[:, None] * np.ones(n_features)
    jitter = rng.uniform(-1.0, 1.0, (80, n_features))
    rows = centres[rng.integers(0, clusters, len(jitter))] + jitter
    learner = Rules(clusters + spare, growth, "just-enough", "pure", 1).learner()
    for row in rows:
        learner.observe(row)
        diameter = 2.0 * math.sqrt(n_features)
        assert learner.radius <= diameter
    present = np.unique(rows[:, 0].round(-3))
    assert np.unique(learner.vertices.points[:, 0].round(-3)).tolist() == present.tolist()


class LoggedCover(ReferenceCover):
    """A twin that remembers every vertex it ever founded."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(**vars(rules))
        self.founded: list[Vertex] = []

    def _found(self, point: Point, label: Hashable | None) -> Vertex:
        self.founded.append(super()._found(point, label))
        return self.founded[-1]

    def merged_distances(self) -> list[float]:
        """From every unlabelled vertex that is gone to the one it joined."""
        gone = [v for v in self.founded if v.label is None and v.merged_into is not None]
        return [distance(v.point, v.merged_into.point) for v in gone if v.merged_into is not None]


@given(streams(), all_rules())
def test_just_enough_takes_r_from_the_largest_merge(stream: list[Step], rules: Rules) -> None:
    rules = replace(rules, coarsening="just-enough")
    learner, twin = rules.learner(), LoggedCover(rules)
    for step in stepwise(learner, stream):
        take(twin, step)
        assert learner.radius == max(twin.merged_distances(), default=0.0)


@given(st.integers(10, 60), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_just_enough_leaves_nine_tenths_of_k(k: int, n_features: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(2 * k, n_features))
    learner = Rules(k, 1.5, "just-enough", "pure", 1).learner()
    learner.observe(rows[:k])
    for row in rows[k:]:
        learner.observe(row)
        assert learner.n_vertices >= math.ceil(0.9 * k)


# --- merging -------------------------------------------------------------------------------------


@st.composite
def shards(draw: st.DrawFn, n: int = 2, least: int = 10, most: int = 30) -> list[list[Step]]:
    """Streams of the same features, each with labels of its own in an order of its own."""
    d = draw(st.integers(1, 4))
    return [draw(streams(n_features=d, least=least, most=most)) for _ in range(n)]


def tree(parts: list[Any], merged: Callable[[Any, Any], Any]) -> Any:
    """Merge neighbours, then pairs of neighbours, and so on."""
    while len(parts) > 1:
        parts = [merged(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def merged_learner(learner: OnlineLearner, other: OnlineLearner) -> OnlineLearner:
    learner.merge(other)
    return learner


def assert_cover_laws(learner: OnlineLearner, rules: Rules, twin: ReferenceCover) -> None:
    """The laws of one cover, with members taken from the twin."""
    table, free = learner.vertices, unlabelled_points(learner)
    assert rules.k is None or len(free) <= rules.k
    assert separation(free) >= learner.radius
    for v, reach in zip(twin.vertices, table.reach, strict=True):
        assert max(distance(v.point, x) for x in v.members) <= reach * ROUNDING
    for name in learner.classes:
        assert 1 <= sum(label == name for label in table.label) <= rules.labels_per_class


@given(shards(), all_rules())
def test_a_merged_cover_is_that_of_the_twin(streams: list[list[Step]], rules: Rules) -> None:
    (learner, twin), (other, other_twin) = (both(rules, stream) for stream in streams)
    learner.merge(other)
    assert_same_cover(learner, merge(twin, other_twin))


@given(shards(), all_rules())
def test_a_merged_cover_keeps_the_laws_of_a_cover(streams: list[list[Step]], rules: Rules) -> None:
    (learner, twin), (other, other_twin) = (both(rules, stream) for stream in streams)
    count = learner.vertices.count.sum() + other.vertices.count.sum()
    radius = max(learner.radius, other.radius)
    learner.merge(other)
    assert_cover_laws(learner, rules, merge(twin, other_twin))
    assert learner.vertices.count.sum() == count
    assert learner.n_seen == len(streams[0]) + len(streams[1])
    assert learner.radius >= radius


@given(shards(n=3), all_rules())
def test_a_merged_learner_goes_on_like_its_twin(streams: list[list[Step]], rules: Rules) -> None:
    (learner, twin), (other, other_twin) = (both(rules, stream) for stream in streams[:2])
    learner.merge(other)
    twin = merge(twin, other_twin)
    for step in stepwise(learner, streams[2]):
        take(twin, step)
        assert_same_cover(learner, twin)


@given(shards(), all_rules())
def test_merging_unites_classes_by_name(streams: list[list[Step]], rules: Rules) -> None:
    (learner, twin), (other, other_twin) = (both(rules, stream) for stream in streams)
    names = tuple(dict.fromkeys((*learner.classes, *other.classes)))
    learner.merge(other)
    assert learner.classes == names
    balanced = ReferenceBalanced(rules.k, sigma=1.0, gamma=0.1)
    balanced.cover = merge(twin, other_twin)
    balanced.classes = list(names)
    balanced.mu = float(learner._engine.state.counters.mean_weight)
    assert learner.vertices.label.tolist() == [v.label for v in balanced.cover.vertices]
    np.testing.assert_allclose(learner.vertices.probabilities, balanced.solution(), atol=1e-10)


@given(shards(), all_rules())
def test_merging_adds_what_was_seen_and_what_was_refused(
    streams: list[list[Step]], rules: Rules
) -> None:
    learner, other = (rules.learner(Gaussian(2.0, threshold=0.1)) for _ in streams)
    for target, stream in zip((learner, other), streams, strict=True):
        for step in stream:
            take(target, step)
    n_seen, n_outliers = learner.n_seen + other.n_seen, learner.n_outliers + other.n_outliers
    learner.merge(other)
    assert (learner.n_seen, learner.n_outliers) == (n_seen, n_outliers)
    assert learner.vertices.count.sum() == n_seen - n_outliers


@given(shards(), all_rules())
def test_merging_leaves_the_other_learner_as_it_was(
    streams: list[list[Step]], rules: Rules
) -> None:
    (learner, _), (other, _) = (both(rules, stream) for stream in streams)
    before = other.digest()
    learner.merge(other)
    learner.observe(streams[0][0][1])
    assert other.digest() == before


@given(streams(), all_rules(), st.sampled_from([CONNECTED, Gaussian(), Gaussian("scale")]))
def test_an_empty_learner_is_the_identity_of_merging(
    stream: list[Step], rules: Rules, similarity: Gaussian
) -> None:
    learner, empty = rules.learner(similarity), rules.learner(similarity)
    for step in stream:
        take(learner, step)
    before = learner.digest()
    learner.merge(empty)
    assert learner.digest() == before
    empty.merge(learner)
    assert empty.digest() == learner.digest() == before
    for step in stream:
        take(learner, step)
        take(empty, step)
    assert empty.digest() == learner.digest()


@pytest.mark.slow
@given(all_rules(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_a_tree_of_32_merges_keeps_the_laws_of_a_cover(
    rules: Rules, n_features: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = (4.0 * rng.normal(size=(32, 6, n_features))).round()
    parts = [both(rules, stream_of(shard, rng)) for shard in rows]
    learner = tree([learner for learner, _ in parts], merged_learner)
    twin = tree([twin for _, twin in parts], merge)
    assert_same_cover(learner, twin)
    assert_cover_laws(learner, rules, twin)
    assert learner.vertices.count.sum() == learner.n_seen == 192


def stream_of(rows: Floats, rng: np.random.Generator) -> list[Step]:
    """The rows as a stream in which one in ten is taught."""
    names = rng.choice(["a", "b", ""], len(rows), p=[0.05, 0.05, 0.9]).tolist()
    return [(name or None, tuple(row)) for name, row in zip(names, rows.tolist(), strict=True)]


def test_a_tree_of_32_merges_keeps_its_resolution() -> None:
    rows = np.random.default_rng(0).normal(size=(32, 60, 2))
    rules = Rules(20, 1.5, "just-enough", "pure", 1)
    parts = [rules.learner() for _ in rows]
    for learner, shard in zip(parts, rows, strict=True):
        learner.observe(shard)
    together, alone = tree(parts, merged_learner), rules.learner()
    alone.observe(rows.reshape(-1, 2))
    assert together.n_vertices >= 10
    assert together.radius <= 2 * alone.radius


@pytest.mark.parametrize(
    "change",
    [
        {"k": 4},
        {"growth": 2.0},
        {"coarsening": "doubling"},
        {"labelled": "absorb"},
        {"labels_per_class": 3},
    ],
)
def test_learners_of_other_settings_do_not_merge(change: dict[str, Any]) -> None:
    rules = Rules(3, 1.5, "just-enough", "pure", 2)
    learner, other = rules.learner(), replace(rules, **change).learner()
    for either in (learner, other):
        either.teach([1.0, 2.0], "a")
    before = learner.digest()
    with pytest.raises(ValueError, match="same settings"):
        learner.merge(other)
    assert learner.digest() == before


def test_learners_of_other_similarities_do_not_merge() -> None:
    rules = Rules(3, 1.5, "just-enough", "pure", 2)
    with pytest.raises(ValueError, match="same settings"):
        rules.learner().merge(rules.learner(Gaussian(2.0)))


def test_learners_of_other_features_do_not_merge() -> None:
    rules = Rules(3, 1.5, "just-enough", "pure", 2)
    learner, other = rules.learner(), rules.learner()
    learner.teach([1.0, 2.0], "a")
    other.teach([1.0], "b")
    before = learner.digest()
    with pytest.raises(ValueError, match="features"):
        learner.merge(other)
    assert learner.digest() == before
    assert learner.classes == ("a",)
