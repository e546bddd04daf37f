"""A learner with a past looks as it is described, and so does all that a page is told of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from jsonschema_rs import Draft202012Validator

from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.live_updates import HISTORY_TICKS, EventDiff
from labelwalk.service.schemas import LIVE_EVENTS
from tests.service.asking import Asking

pytestmark = pytest.mark.shell

D = 3
LEARNER = "/api/learners/a"
LOOKS = ("", "/map", "/recent", "/taught", "/history", "/vertices", "/health", "/ask")


def rows(seed: int, n: int) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    found: list[list[float]] = (
        5.0 * rng.integers(3, size=(n, 1)) + rng.normal(size=(n, D))
    ).tolist()
    return found


@pytest.fixture
def ask(store: LearnerStore) -> Asking:
    """A learner to which all has happened that can."""
    ask = Asking(store)

    def post(path: str, body: Any) -> None:
        answer = ask("POST", path, json=body)
        assert answer.status_code in (200, 201), answer.text

    post("/api/learners", {"name": "a", "settings": {"n_centroids": 30, "quarantine": 5}})
    post(
        LEARNER + "/teach", {"rows": [[0.0] * D, [5.0] * D, [9.0] * D], "labels": ["x", 4, "gone"]}
    )
    post(LEARNER + "/observe", {"rows": rows(1, 200)})
    post(LEARNER + "/observe", {"rows": [[1e6] * D, [-1e6] * D]})
    for example, label in ((7, "y"), (8, "x"), (9, 4)):
        post(LEARNER + "/teach_later", {"example": example, "label": label})
    post(LEARNER + "/retract", {"example": 8})
    post(LEARNER + "/forget", {"label": "gone"})
    post(LEARNER + "/dials", {"prior": [["x", 2.0], [4, 1.0], ["y", 1.0]], "half_life": 1000})
    post(LEARNER + "/observe", {"rows": rows(2, 20)})
    for _ in range(2 * HISTORY_TICKS):
        ask.sampler.tick()
    return ask


def described(ask: Asking) -> dict[str, Any]:
    found: dict[str, Any] = ask("GET", "/api/openapi.json").json()
    return found


def check(value: Any, schema: dict[str, Any], whole: dict[str, Any]) -> None:
    Draft202012Validator(schema | {"components": whole["components"]}).validate(value)


def test_what_is_looked_at(ask: Asking) -> None:
    whole = described(ask)

    def looked(path: str, line: str, method: str = "GET", **more: Any) -> Any:
        answer = ask(method, LEARNER + path, **more)
        assert answer.status_code == 200, answer.text
        operation = whole["paths"]["/api/learners/{name}" + line][method.lower()]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        check(answer.json(), schema, whole)
        return answer.json()

    seen = {path: looked(path, path) for path in LOOKS}
    assert seen["/map"]["quarantine"]["x"]
    assert len(seen["/history"]["at"]) == 2
    assert {one["how"] for one in seen["/taught"]} == {"teach", "teach-later"}
    assert {one["taught"] for one in looked("/recent?n=500", "/recent")["verdicts"]} == {
        None,
        "y",
        4,
    }
    for number in seen["/map"]["vertices"]["id"]:
        looked(f"/vertices/{number}", "/vertices/{id}")
    looked("/dials/try", "/dials/try", "POST", json={"abstain_below": 1.0})
    looked("/dials", "/dials", "POST", json={"sink": 0.01})


def test_what_a_page_is_told(ask: Asking, store: LearnerStore) -> None:
    whole, number, teller = described(ask), store.find_id("a"), EventDiff(0)
    ask.sampler.open_page(number)
    told = {}
    for seed in range(2):
        ask("POST", LEARNER + "/observe", json={"rows": rows(seed, 30)})
        for _ in range(HISTORY_TICKS):
            ask.sampler.tick()
        watched = ask.sampler.get(number)
        assert watched is not None
        for event in teller.list_new(watched):
            name, data = event.removesuffix("\n\n").split("\n")
            told[name.removeprefix("event: ")] = json.loads(data.removeprefix("data: "))
    assert set(told) == set(LIVE_EVENTS)
    for name, data in told.items():
        check(data, whole["components"]["schemas"][f"{name.capitalize()}Event"], whole)
