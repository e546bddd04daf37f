"""Models of covers: as the learner's own where both can be, and proven where only one can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelwalk import Gaussian, OnlineLearner, SelfTuning
from labelwalk.distributed import model, sketches
from labelwalk.distributed.cover import build_cover, merge_covers
from labelwalk.distributed.model import learner_from_cover
from labelwalk.learner import from_bytes
from labelwalk.similarity import Similarity, euclidean
from labelwalk.solver.harmonic import solve as solve_densely
from tests.support.small_graphs import Graph, bare, graphs

SIMILARITIES: list[Similarity] = [SelfTuning(), SelfTuning(3, 0.4, 0.5), Gaussian(0.8)]


def clouds(n: int, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    who = random.integers(0, 3, n)
    return 4.0 * np.eye(3, d)[who] + random.normal(scale=0.7, size=(n, d)), who


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("label_weight", [3.0, None])
def test_a_sparse_model_is_the_dense_one(
    similarity: Similarity, label_weight: float | None
) -> None:
    rows, who = clouds(600)
    settings = OnlineLearner(
        150, similarity=similarity, label_weight=label_weight, tolerance=1e-9
    ).settings
    cover = build_cover([rows], 150)
    taught = rows[:12], who[:12].tolist()
    dense = model.solve_cover(cover, *taught, settings)
    coarse = learner_from_cover(cover, *taught, settings)
    sparse = model.Model(coarse.classes, model.solve_sparse_cover(cover, coarse), 0.0)
    for name in ("bandwidth", "weight", "f"):
        one, other = getattr(dense.frozen.solved, name), getattr(sparse.frozen.solved, name)
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    found, expected = sparse.label(rows), dense.label(rows)
    assert np.array_equal(found.label, expected.label)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-6)
    assert sparse.certificate <= 1e-6


def test_many_vertices_are_solved_sparsely_and_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketches, "MAX_DENSE_VERTICES", 60)
    rows, who = clouds(1500)
    cover = build_cover([rows], 400)
    settings = OnlineLearner(400).settings
    found = model.solve_cover(cover, rows[:12], who[:12].tolist(), settings)
    assert len(found.frozen.solved.points) > 300
    assert found.certificate <= settings.tolerance
    assert (found.label(rows).label == who).mean() > 0.95


@given(graphs())
def test_the_proof_holds(case: Graph) -> None:
    w, labelled, n = bare(case[0]), case[1], len(case[0])
    random = np.random.default_rng(n)
    codes = np.where(labelled, random.integers(0, 2, n), -1)
    v, sink = random.uniform(0.5, 3.0, n), np.full(n, 1e-3)
    found = model.solve_sparse(csr_array(w), v, sink, codes, 2, tolerance=1e-6)
    one_hot = np.stack([codes == c for c in range(2)], axis=1).astype(float)
    exact = solve_densely(w, labelled, one_hot, weights=v, sink=sink)
    assert (np.abs(found.f - exact)[~labelled] <= found.errors[~labelled, None] + 1e-12).all()


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 4), st.floats(0.5, 6.0))
def test_pairs_are_those_of_plain_loops(seed: int, n: int, d: int, cut: float) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=(n, d)).round(1)
    bandwidth = random.uniform(0.1, 1.0, n)
    apart = np.array([euclidean(x, points) for x in points])
    s = np.sqrt(np.outer(bandwidth, bandwidth))
    expected = np.where(apart <= cut * s, np.exp(-0.5 * (apart / s) ** 2), 0.0)
    np.fill_diagonal(expected, 0.0)
    found = model.compute_similarities(points, bandwidth, cut).toarray()
    borderline = np.abs(apart - cut * s) < 1e-9
    np.testing.assert_allclose(found[~borderline], expected[~borderline], rtol=1e-12)
    positive = np.sort(np.where(apart > 0.0, apart, np.inf), axis=1)
    for i, own in enumerate(model.measure_local_distances(points, 3)):
        there = positive[i][np.isfinite(positive[i])][:3]
        assert own == (there[-1] if len(there) else 0.0)


@pytest.mark.parametrize("shards", [1, 4])
def test_a_planted_learner_goes_on_learning(shards: int) -> None:
    rows, who = clouds(900)
    settings = OnlineLearner(100).settings
    parts = [build_cover([part], 100) for part in np.array_split(rows[:600], shards)]
    learner = learner_from_cover(merge_covers(parts, 100), rows[:12], who[:12].tolist(), settings)
    assert learner.n_seen == 612
    assert (learner.observe(rows[600:]).label == who[600:]).mean() > 0.95
    again = from_bytes(learner.to_bytes())
    assert again.digest() == learner.digest()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"scale": "robust"}, "only scale='none'"),
        ({"coarsening": "doubling"}, r"coarsening='just-enough' \(got 'doubling'\)"),
        ({"labelled": "absorb"}, "only labelled='pure'"),
        ({"half_life": 50.0}, "half_life=50"),
        ({"similarity": Gaussian("scale")}, "bandwidth='scale'"),
    ],
)
def test_what_shards_cannot_do_is_refused_by_name(options: dict[str, object], name: str) -> None:
    rows, who = clouds(40)
    settings = OnlineLearner(20, **options).settings  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=name):
        learner_from_cover(build_cover([rows], 20), rows[:3], who[:3].tolist(), settings)


def test_a_bandwidth_that_follows_the_cover_is_measured_on_all_of_it() -> None:
    rows, who = clouds(600)
    cover = build_cover([rows], 150)
    settings = OnlineLearner(150, similarity=Gaussian("cover")).settings
    coarse = learner_from_cover(cover, rows[:12], who[:12].tolist(), settings)
    frozen = model.solve_sparse_cover(cover, coarse)
    one, other = coarse.vertices.bandwidth[0], frozen.solved.bandwidth[0]
    assert one == pytest.approx(other, rel=0.05)  # a learner keeps what has hardly changed
    said = model.Model(coarse.classes, frozen, 0.0).label(rows).label
    assert (said == coarse.predict(rows).label).mean() > 0.99


@pytest.mark.compiled
def test_walks_on_more_vertices_still_arrive() -> None:
    random = np.random.default_rng(0)
    turn = random.uniform(0.0, 6.0, 4000)
    curve = np.stack([np.cos(turn) * turn, np.sin(turn) * turn], axis=1)
    rows = curve + random.normal(scale=0.02, size=curve.shape)
    ends = rows[[turn.argmin(), turn.argmax()]]
    coarse = learner_from_cover(
        build_cover([rows], 100), ends, ["inner", "outer"], OnlineLearner(100).settings
    )
    fine = build_cover([rows], 1000)
    reached = model.solve_sparse_cover(fine, coarse).solved.f[: len(fine)].sum(axis=1)
    assert reached.mean() > 0.4  # with sinks as large as on the coarsen_cover cover 0.19
