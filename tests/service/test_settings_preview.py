"""Settings tried, which changes nothing, and given anew, which is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.learner import from_bytes
from labelwalk.service.learner_store import LearnerStore
from tests.service.asking import TOKENS, Asking

pytestmark = pytest.mark.shell


def rows(seed: int, n: int) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    found: list[list[float]] = (
        4.0 * rng.integers(2, size=(n, 1)) + rng.normal(size=(n, 3))
    ).tolist()
    return found


POINTS = [[0.0] * 3, [0.5] * 3, [4.0] * 3, [4.5] * 3]
LABELS: list[str | int] = ["low", "low", 4, 4]


def begun() -> OnlineLearner:
    learner = OnlineLearner(40)
    learner.teach(POINTS, LABELS)
    learner.observe(rows(1, 300))
    return learner


@contextmanager
def serving(folder: Path) -> Iterator[Asking]:
    store = LearnerStore(str(folder / "kept"))
    asking = Asking(store)
    asking("POST", "/api/learners", json={"name": "a", "settings": {"n_centroids": 40}})
    asking("POST", "/api/learners/a/teach", json={"rows": POINTS, "labels": LABELS})
    asking("POST", "/api/learners/a/observe", json={"rows": rows(1, 300)})
    yield asking
    store.close()


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asking]:
    with serving(tmp_path) as asking:
        yield asking


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """One for all tests that leave it as it was."""
    with serving(tmp_path_factory.mktemp("untouched")) as asking:
        yield asking


def test_trying_changes_nothing(ask: Asking) -> None:
    before = ask("GET", "/api/learners/a/export").content
    told = ask(
        "POST", "/api/learners/a/dials/try", TOKENS.read, json={"abstain_below": 0.999, "sink": 0.1}
    ).json()
    assert ask("GET", "/api/learners/a/export").content == before
    assert told["of"] == 300
    learner = begun()
    said = learner.predict(rows(1, 300))
    assert told["before"]["confidence"] == pytest.approx(said.confidence.mean())
    assert told["before"]["labels"] == {
        "low": int((said.label == "low").sum()),
        "4": int((said.label == 4).sum()),
    }
    assert told["before"]["silent"] == 0
    assert told["before"]["answered"] == 1.0
    assert (told["before"]["precision"], told["before"]["recall"]) == (1.0, 1.0)
    learner.adjust(abstain_below=0.999, sink=0.1)
    after = learner.predict(rows(1, 300))
    silent = sum(label is None for label in after.label)
    assert told["after"]["silent"] == told["changed"] == silent > 0
    assert told["after"]["recall"] < 1.0


def test_what_is_turned_is_kept(ask: Asking, tmp_path: Path) -> None:
    body = {"sink": 0.01, "prior": {"low": 0.9, "4": 0.1}, "half_life": 500, "abstain_below": 0.1}
    settings = ask("POST", "/api/learners/a/dials", json=body).json()
    assert settings["prior"] == [["low", 0.9], [4, 0.1]]
    assert (settings["sink"], settings["half_life"]) == (0.01, 500.0)
    assert ask("GET", "/api/learners/a").json()["settings"] == settings
    again = ask("POST", "/api/learners/a/dials", json={"prior": settings["prior"]}).json()
    assert again == settings
    ask("POST", "/api/learners/a/observe", json={"rows": rows(2, 100)})
    content = ask("GET", "/api/learners/a/export").content
    alone = begun()
    alone.adjust(sink=0.01, prior={"low": 0.9, 4: 0.1}, half_life=500.0, abstain_below=0.1)
    alone.observe(rows(2, 100))
    assert from_bytes(content).digest() == alone.digest()


def test_a_restart_does_it_again(tmp_path: Path) -> None:
    kept = []
    for turn in range(2):
        store = LearnerStore(str(tmp_path / "kept"))
        ask = Asking(store)
        if turn == 0:
            ask("POST", "/api/learners", json={"name": "a"})
            ask("POST", "/api/learners/a/observe", json={"rows": rows(1, 50)})
            ask("POST", "/api/learners/a/dials", json={"sink": 0.02, "prior": "uniform"})
            ask("POST", "/api/learners/a/dials", json={"prior": None})
        kept.append(ask("GET", "/api/learners/a/export").content)
        assert ask("GET", "/api/learners/a").json()["settings"]["sink"] == 0.02
        store.close()
    assert kept[0] == kept[1]


def test_a_key_makes_a_repetition_harmless(ask: Asking) -> None:
    key = {"idempotency-key": "k"}
    for _ in range(2):
        answer = ask("POST", "/api/learners/a/dials", json={"sink": 0.02}, headers=key)
        assert answer.json()["sink"] == 0.02
    answer = ask("POST", "/api/learners/a/dials", json={"sink": 0.03}, headers=key)
    assert answer.status_code == 409


def test_reading_alone_may_only_try(ask: Asking) -> None:
    answer = ask("POST", "/api/learners/a/dials", TOKENS.read, json={"sink": 0.02})
    assert answer.status_code == 403


BAD: list[Any] = [
    {"sink": 0},
    {"sink": "x"},
    {"sink": None},
    {"abstain_below": 1.5},
    {"prior": "even"},
    {"prior": {"low": 1.0}},
    {"prior": {}},
    {"prior": []},
    {"prior": {"low": -1.0, "4": 1.0}},
    {"prior": [["low", 0.5], ["low", 0.2], [4, 0.5]]},
    {"sink": "0.1"},
    {"abstain_below": True},
    {"half_life": 0},
    {"growth": 2.0},
    [],
    3,
]


@pytest.mark.parametrize("body", BAD, ids=repr)
def test_bad_dials(body: Any, untouched: Asking) -> None:
    before = untouched("GET", "/api/learners/a/export").content
    for path in ("dials", "dials/try"):
        answer = untouched("POST", f"/api/learners/a/{path}", json=body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]
    content = b'{"sink": NaN}'
    headers = {"content-type": "application/json"}
    answer = untouched("POST", "/api/learners/a/dials", content=content, headers=headers)
    assert answer.status_code == 422
    assert untouched("GET", "/api/learners/a/export").content == before


def test_an_empty_learner_can_be_tried(ask: Asking) -> None:
    ask("POST", "/api/learners", json={"name": "new"})
    told = ask("POST", "/api/learners/new/dials/try", json={"sink": 0.1}).json()
    assert (told["of"], told["changed"], told["before"]["labels"]) == (0, 0, {})
    assert ask("POST", "/api/learners/none/dials/try", json={"sink": 0.1}).status_code == 404
