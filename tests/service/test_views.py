"""A learner as the page shows it: a map that does not jump, vertices, verdicts, labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.service.commands import Observe, Retract, Teach, TeachLater
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import MAX_RECENT, ManagedLearner, compute_axes
from labelwalk.service.views import (
    MAX_SHOWN_LABELS,
    describe_vertex,
    draw_map,
    list_labels,
    list_recent,
)
from tests.service.asking import TOKENS, Asking

pytestmark = pytest.mark.shell

D = 5


def rows(seed: int, n: int, d: int = D) -> Any:
    rng = np.random.default_rng(seed)
    centres = 6.0 * np.random.default_rng(1).normal(size=(3, d))
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, d))


def observe(ask: Asking, name: str, given: Any) -> Any:
    return ask("POST", f"/api/learners/{name}/observe", json={"rows": given.tolist()}).json()


@pytest.fixture
def ask(store: LearnerStore) -> Asking:
    asking = Asking(store)
    asking("POST", "/api/learners", json={"name": "a", "settings": {"n_centroids": 40}})
    return asking


def test_an_empty_learner_has_an_empty_map(ask: Asking) -> None:
    shown = ask("GET", "/api/learners/a/map").json()
    assert (shown["examples"], shown["axes"], shown["classes"]) == (0, 0, [])
    assert all(column == [] for column in shown["vertices"].values())
    assert ask("GET", "/api/learners/a/recent").json() == {"verdicts": []}
    assert ask("GET", "/api/learners/a/taught").json() == []
    assert ask("GET", "/api/learners/a/vertices/0").status_code == 404


def test_map(ask: Asking) -> None:
    observe(ask, "a", rows(1, 300))
    shown = ask("GET", "/api/learners/a/map", TOKENS.read).json()
    vertices = shown["vertices"]
    n = len(vertices["id"])
    assert {len(column) for column in vertices.values()} == {n}
    assert sum(vertices["count"]) + shown["outliers"] == shown["examples"] == 300
    assert vertices["label"] == [None] * n
    assert len(set(vertices["id"])) == n
    late = next(number for number in vertices["example"] if number is not None)
    place = vertices["example"].index(late)
    body = {"example": late, "label": "cat"}
    assert ask("POST", "/api/learners/a/teach_later", json=body).status_code == 200
    after = ask("GET", "/api/learners/a/map").json()
    known = dict(zip(after["vertices"]["id"], after["vertices"]["label"], strict=True))
    assert known[vertices["id"][place]] == "cat"
    assert sum(after["vertices"]["taught"]) == 1
    assert after["classes"] == ["cat"]
    kept = [i for i, one in enumerate(vertices["id"]) if one in known]
    moved = {one: i for i, one in enumerate(after["vertices"]["id"])}
    for i in kept:
        assert vertices["x"][i] == after["vertices"]["x"][moved[vertices["id"][i]]]


def test_a_vertex_closely(ask: Asking) -> None:
    observe(ask, "a", rows(1, 200))
    for example, label in ((10, "cat"), (11, 7)):
        body = {"example": example, "label": label}
        ask("POST", "/api/learners/a/teach_later", json=body)
    vertices = ask("GET", "/api/learners/a/map").json()["vertices"]
    for i, number in enumerate(vertices["id"]):
        one = ask("GET", f"/api/learners/a/vertices/{number}").json()
        for name in ("label", "count", "taught"):
            assert one[name] == vertices[name][i]
        assert one["confidence"] == pytest.approx(vertices["confidence"][i])
        assert len(one["row"]) == D
        assert set(one["probabilities"]) == {"cat", "7"}
        assert len(one["examples"]) == 8
        distances = [example["distance"] for example in one["examples"]]
        assert distances == sorted(distances)
        assert "no label" in one["why"]
    for wrong in ("12345678", "-3", "x", "1e9", "9" * 30):
        assert ask("GET", f"/api/learners/a/vertices/{wrong}").status_code in (404, 422)


def test_what_came_last(ask: Asking) -> None:
    ask("POST", "/api/learners/a/teach", json={"rows": rows(1, 2).tolist(), "labels": ["x", "y"]})
    told = observe(ask, "a", rows(2, 30))
    late = {"example": 31, "label": "x"}
    assert ask("POST", "/api/learners/a/teach_later", json=late).status_code == 200
    shown = ask("GET", "/api/learners/a/recent?n=10").json()["verdicts"]
    assert [one["example"] for one in shown] == list(range(31, 21, -1))
    assert [one["label"] for one in shown] == told["label"][:-11:-1]
    assert [one["confidence"] for one in shown] == told["confidence"][:-11:-1]
    assert [one["taught"] for one in shown] == ["x"] + [None] * 9
    assert all(isinstance(one["x"], float) and isinstance(one["y"], float) for one in shown)
    observe(ask, "a", rows(3, 700))
    assert len(ask("GET", "/api/learners/a/recent?n=500").json()["verdicts"]) == MAX_RECENT
    for n in (0, 501, "x"):
        refused = ask("GET", f"/api/learners/a/recent?n={n}")
        assert (refused.status_code, "error" in refused.json()) == (422, True)


def test_labels_that_stand(ask: Asking) -> None:
    def shown() -> list[tuple[int, Any, str]]:
        found = ask("GET", "/api/learners/a/taught").json()
        return [(one["example"], one["label"], one["how"]) for one in found]

    observe(ask, "a", rows(1, 10))
    ask("POST", "/api/learners/a/teach", json={"rows": rows(2, 2).tolist(), "labels": ["x", 1]})
    ask("POST", "/api/learners/a/teach_later", json={"example": 3, "label": "x"})
    assert shown() == [(3, "x", "teach-later"), (11, 1, "teach"), (10, "x", "teach")]
    ask("POST", "/api/learners/a/teach_later", json={"example": 3, "label": "x"})
    assert len(shown()) == 3
    refused = ask("POST", "/api/learners/a/teach_later", json={"example": 3, "label": "y"})
    assert refused.status_code == 422
    ask("POST", "/api/learners/a/retract", json={"example": 3})
    assert shown() == [(11, 1, "teach"), (10, "x", "teach")]
    ask("POST", "/api/learners/a/retract", json={"label": "x"})
    assert shown() == [(11, 1, "teach")]
    many = {"rows": rows(4, 60).tolist(), "labels": ["z"] * 60}
    ask("POST", "/api/learners/a/teach", json=many)
    assert len(shown()) == MAX_SHOWN_LABELS
    ask("POST", "/api/learners/a/forget", json={"label": "z"})
    assert shown() == [(11, 1, "teach")]


def fed() -> ManagedLearner:
    managed = ManagedLearner("p", OnlineLearner(30, scale="robust"))
    for seed in range(20):
        managed.apply(Observe(rows(seed, 40).astype("<f4")))
        managed.apply(TeachLater(managed.next_example_id - 3, f"class {seed % 3}"))
        if seed % 5 == 0:
            managed.apply(Teach(rows(seed + 100, 2), ("class 0", 3)))
    managed.apply(Retract(label=3))
    return managed


def test_it_is_the_same_after_a_restart() -> None:
    managed = fed()
    content = managed.to_bytes()
    again = ManagedLearner.from_bytes(content)
    assert again.to_bytes() == content
    for view in (draw_map, list_labels, lambda one: list_recent(one, MAX_RECENT)):
        assert view(again) == view(managed)
    one = draw_map(managed)["vertices"]["id"][0]
    assert describe_vertex(again, one) == describe_vertex(managed, one)
    for seed in range(20, 40):
        for either in (managed, again):
            either.apply(Observe(rows(seed, 70)))
    assert again.to_bytes() == managed.to_bytes()


@pytest.mark.parametrize("cut", [10, 10_000])
def test_from_the_journal_as_from_memory(cut: int, tmp_path: Path) -> None:
    store = LearnerStore(str(tmp_path / "kept"), snapshot_every=cut)
    one = store.create("a", OnlineLearner(20)).result()
    for seed in range(12):
        store.submit(one, Observe(rows(seed, 3 + 7 * seed)))
        store.submit(one, TeachLater(seed, "x" if seed % 2 else "y")).result()
    kept = store.query(one, ManagedLearner.to_bytes).result()
    store.close()
    again = LearnerStore(str(tmp_path / "kept"))
    assert again.query(one, ManagedLearner.to_bytes).result() == kept
    again.close()


def test_blocks_of_any_size_are_the_same_past() -> None:
    given = rows(7, 1700)
    shown = []
    for size in (1, 7, 499, 500, 501, 1700):
        managed = ManagedLearner("p", OnlineLearner(30))
        for start in range(0, len(given), size):
            managed.apply(Observe(given[start : start + size]))
        seen = managed.history.get_examples()
        assert seen.id.tolist() == list(range(1200, 1700))
        assert np.array_equal(seen.row, given[1200:])
        shown.append((seen.label.tolist(), seen.confidence.tolist(), managed.history.n_observed))
    assert shown.count(shown[0]) == len(shown)


def test_numbers_are_those_of_the_service_where_examples_were_erased() -> None:
    """An event without two of its rows, done again: the others keep their numbers."""
    managed = ManagedLearner("p", OnlineLearner(30))
    given = rows(1, 12)
    gone = np.isin(np.arange(12), [0, 5])
    managed.apply(Observe(given[~gone]))
    managed.reserve_erased(0, gone.tolist())
    left = np.flatnonzero(~gone).tolist()
    assert [one["example"] for one in list_recent(managed, 20)] == left[::-1]
    assert draw_map(managed)["vertices"]["example"] == left
    managed.apply(TeachLater(7, "x"))
    assert list_labels(managed) == [{"example": 7, "label": "x", "how": "teach-later"}]
    assert managed.to_public_ids(np.arange(10)).tolist() == left


@pytest.mark.parametrize("d", [1, 2])
def test_few_features_are_drawn_as_they_are(d: int) -> None:
    managed = ManagedLearner("p", OnlineLearner(30))
    for seed in range(6):
        managed.apply(Observe(rows(seed, 50, d)))
    shown, means = draw_map(managed), managed.learner.vertices.means
    assert shown["axes"] == 1
    assert shown["vertices"]["x"] == means[:, 0].tolist()
    assert shown["vertices"]["y"] == (means[:, 1] if d == 2 else 0.0 * means[:, 0]).tolist()


@pytest.mark.parametrize("d", [3, 7, 64])
def test_axes_are_drawn_anew_when_examples_have_doubled_and_points_stay_close(d: int) -> None:
    managed = ManagedLearner("p", OnlineLearner(30))
    versions = []
    for seed in range(60):
        managed.apply(Observe(rows(seed, 20, d)))
        assert managed.axes is not None
        versions.append(managed.axes.version)
    assert versions[0] == 1
    assert versions[-1] == 1 + 5  # at 20, 40, 80, 160, 320 and 640 of 1200 examples
    means, old = managed.learner.vertices.means, managed.axes
    new = compute_axes(managed.learner, old)
    assert old is not None
    assert new is not None
    before, after = old.project(managed.learner, means), new.project(managed.learner, means)
    spread = np.linalg.norm(before - before.mean(axis=0), axis=1).max()
    assert np.linalg.norm(after - before, axis=1).max() < 0.35 * spread
    assert np.allclose(new.directions @ new.directions.T, np.eye(2))


def test_axes_carry_most_of_the_spread() -> None:
    rng = np.random.default_rng(3)
    learner = OnlineLearner(None)
    given = rng.normal(size=(200, 6)) * [1, 9, 1, 5, 1, 1]
    learner.observe(given)
    axes = compute_axes(learner, None)
    assert axes is not None
    spread = axes.project(learner, given).std(axis=0)
    assert spread == pytest.approx([9.0, 5.0], rel=0.2)
    assert np.abs(axes.directions[0]).argmax() == 1


@pytest.mark.parametrize("kind", ["one example", "all equal", "huge", "one way"])
def test_degenerate_maps_are_finite(kind: str) -> None:
    given = {
        "one example": np.ones((1, 4)),
        "all equal": np.ones((9, 4)),
        "huge": 1e90 * np.random.default_rng(0).normal(size=(9, 4)),
        "one way": np.arange(9.0)[:, None] * np.ones(4),
    }[kind]
    managed = ManagedLearner("p", OnlineLearner(30))
    for row in given:
        managed.apply(Observe(row[None]))
    shown = draw_map(managed)["vertices"]
    assert np.all(np.isfinite(shown["x"] + shown["y"]))


def test_a_learner_that_comes_from_a_file_has_a_map(ask: Asking) -> None:
    learner = OnlineLearner(30)
    learner.teach(rows(1, 5), ["x"] * 5)
    learner.observe(rows(2, 50))
    other = OnlineLearner(30)
    other.observe(rows(3, 50))
    learner.merge(other)  # nobody knows its founders any more
    answer = ask("PUT", "/api/learners/b", content=learner.to_bytes())
    assert answer.status_code == 201
    shown = ask("GET", "/api/learners/b/map").json()
    ids = shown["vertices"]["id"]
    assert shown["axes"] == 1
    assert len(set(ids)) == len(ids)
    assert ask("GET", f"/api/learners/b/vertices/{ids[-1]}").json()["id"] == ids[-1]
