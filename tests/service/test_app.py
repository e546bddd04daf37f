"""The service over HTTP: requests of people and of programs, and invalid ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

from labelwalk import OnlineLearner
from labelwalk.learner import from_bytes
from labelwalk.service.app import create_app
from labelwalk.service.auth import Tokens
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.limits import Limits
from labelwalk.service.request_log import ServiceLog
from labelwalk.service.schemas import ARROW, RAW
from labelwalk.service.server import list_middlewares, wrap_app
from tests.service.bad_input import BAD

pytestmark = pytest.mark.shell

TOKENS = Tokens(read="r" * 40, write="w" * 40)
VARIATIONS = settings().max_examples // 4  # of each kind of bad input: 25, or few with --fast
WAYS = ["fast path", "framework"]
ROWS = [[0.0, 0.0], [9.0, 9.0], [0.5, 0.0], [8.0, 9.0]]


class Client:
    """Requests one after the other."""

    def __init__(self, store: LearnerStore, *, is_fast: bool = True) -> None:
        self.app = create_app(store)
        log = ServiceLog(StringIO(), "json", "debug")
        middlewares = list_middlewares(
            self.app.state.permissions, store, TOKENS, ["here"], Limits(rate=1e6), log
        )
        if not is_fast:
            middlewares.pop()
        self._transport = httpx.ASGITransport(wrap_app(self.app, middlewares))

    def __call__(self, method: str, path: str, token: str = TOKENS.write, **more: Any) -> Any:
        headers = {"authorization": f"Bearer {token}"} | more.pop("headers", {})

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://here") as one:
                return await one.request(method, path, headers=headers, **more)

        return asyncio.run(ask())


@contextmanager
def serving(folder: Path, way: str) -> Iterator[Client]:
    store = LearnerStore(str(folder / "kept"))
    yield Client(store, is_fast=way == "fast path")
    store.close()


@pytest.fixture(params=WAYS)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    with serving(tmp_path, request.param) as client:
        yield client


@pytest.fixture(scope="module", params=WAYS)
def empty(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """A service without learners; one for all tests that leave it so."""
    with serving(tmp_path_factory.mktemp("empty"), request.param) as client:
        yield client


@pytest.fixture(scope="module", params=WAYS)
def untouched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """A service with one learner; one for all tests that leave it as it was."""
    with serving(tmp_path_factory.mktemp("untouched"), request.param) as client:
        yield teach_two(client)


@pytest.fixture
def taught(client: Client) -> Client:
    return teach_two(client)


def teach_two(client: Client) -> Client:
    created = client("POST", "/api/learners", json={"name": "a b", "settings": {"n_centroids": 50}})
    assert created.status_code == 201, created.text
    body = {"rows": ROWS[:2], "labels": ["low", "high"]}
    assert client("POST", "/api/learners/a b/teach", json=body).json() == {"first": 0}
    return client


def test_every_route_has_a_rule_and_every_rule_a_route(client: Client) -> None:
    routes = {
        (method, getattr(route, "path", ""))
        for route in client.app.routes
        for method in getattr(route, "methods", None) or ["WEBSOCKET"]
        if method != "HEAD"
    }
    assert routes == set(client.app.state.permissions)


def test_people(taught: Client) -> None:
    told = taught("POST", "/api/learners/a b/observe", json={"rows": ROWS[2:]}).json()
    assert told["first"] == 2
    assert told["label"] == ["low", "high"]
    guessed = taught("POST", "/api/learners/a b/predict", json={"rows": ROWS[:1]}).json()
    assert guessed["label"] == ["low"]
    late = {"example": 2, "label": "low"}
    assert taught("POST", "/api/learners/a b/teach_later", json=late).status_code == 200
    assert taught("POST", "/api/learners/a b/retract", json={"example": 2}).status_code == 200
    gone = taught("POST", "/api/learners/a b/forget", json={"label": "high"}).json()
    assert (gone["erased"], gone["older"]) == (1, False)
    facts = taught("GET", "/api/learners/a b").json()
    assert (facts["examples"], facts["classes"]) == (5, ["low"])
    assert [one["name"] for one in taught("GET", "/api/learners").json()] == ["a b"]
    assert (
        "most probable path"
        in taught("POST", "/api/learners/a b/explain", json={"rows": ROWS[:1]}).json()
    )
    assert len(taught("GET", "/api/learners/a b/ask?n=1").json()) == 1
    assert taught("GET", "/api/learners/a b/health").json()[0]["name"] == "radius"
    assert len(taught("GET", "/api/learners/a b/vertices").json()["label"]) >= 1
    assert taught("DELETE", "/api/learners/a b").status_code == 204
    assert taught("GET", "/api/learners/a b").status_code == 404


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_machines(kind: str, taught: Client) -> None:
    raw = np.array(ROWS[2:], f"<{kind}").tobytes()
    headers = {"content-type": RAW}
    path = f"/api/learners/a b/observe?type={kind}&features=2"
    assert taught("POST", path, content=raw, headers=headers).json()["label"] == ["low", "high"]
    table = {"x": [0.0, 9.0], "y": [1, 8], "label": ["low", "high"]}
    told = sent(taught, "/api/learners/a b/teach", table)
    assert told.json() == {"first": 4}


def test_columns_of_arrow_are_taken_by_name(taught: Client) -> None:
    path = "/api/learners/a b/"
    named: dict[str, Any] = {"x": [0.0, 9.0], "y": [100.0, 100.0]}
    turned: dict[str, Any] = {"y": named["y"], "label": ["low", "high"], "x": named["x"]}
    assert sent(taught, path + "teach", named | {"label": ["low", "high"]}).status_code == 200
    for table in (turned, {name: turned[name] for name in ("y", "x")}):
        for verb in ("predict", "observe"):
            told = sent(taught, path + verb, table).json()
            assert told["label"] == ["low", "high"]
    assert sent(taught, path + "teach", turned).status_code == 200
    rows = from_bytes(taught("GET", path + "export").content).remembered.row
    assert rows[2:].tolist() == [[0.0, 100.0], [9.0, 100.0]] * 4
    before = taught("GET", path + "export").content
    others: list[tuple[dict[str, Any], str]] = [
        ({"x": [1.0]}, "missing ['y']"),
        (turned | {"z": [1.0, 2.0]}, "extra ['z']"),
        ({"x": [1.0], "Y": [1.0]}, "extra ['Y']"),
    ]
    for table, said in others:
        for verb in ("observe", "predict", "explain", "teach"):
            first = pa.table(
                table | ({"label": ["low"] * len(table["x"])} if verb == "teach" else {})
            )
            answer = sent(taught, path + verb, first[:1])
            assert answer.status_code == 422
            assert said in answer.text
    twice = pa.table([[1.0], [2.0]], names=["x", "x"])
    assert sent(taught, path + "observe", twice).status_code == 422
    assert taught("GET", path + "export").content == before
    one = sent(taught, path + "explain", pa.table(turned)[:1]).json()
    assert one == taught("POST", path + "explain", json={"rows": [[0.0, 100.0]]}).json()


def sent(client: Client, path: str, columns: Any) -> Any:
    """Send columns as Arrow."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content, headers = sink.getvalue().to_pybytes(), {"content-type": ARROW}
    return client("POST", path, content=content, headers=headers)


def test_out_and_in_again(taught: Client) -> None:
    content = taught("GET", "/api/learners/a b/export").content
    assert from_bytes(content).n_seen == 2
    assert taught("PUT", "/api/learners/again", content=content).status_code == 201
    assert taught("GET", "/api/learners/again/export").content == content
    assert taught("PUT", "/api/learners/a b", content=content).status_code == 409
    assert taught("PUT", "/api/learners/bad", content=content[:-1]).status_code == 422


def test_a_key_makes_a_repetition_harmless(taught: Client) -> None:
    for _ in range(2):
        told = taught(
            "POST",
            "/api/learners/a b/observe",
            json={"rows": ROWS[2:]},
            headers={"idempotency-key": "k"},
        )
        assert told.json()["first"] == 2
    other = taught(
        "POST",
        "/api/learners/a b/observe",
        json={"rows": ROWS},
        headers={"idempotency-key": "k"},
    )
    assert other.status_code == 409
    assert taught("GET", "/api/learners/a b").json()["examples"] == 4


@pytest.mark.parametrize("kind", BAD)
def test_bad_input(kind: str, untouched: Client) -> None:
    before = untouched("GET", "/api/learners/a b/export").content
    for i in range(VARIATIONS):
        bad = BAD[kind](Random(f"{kind} {i}"))
        said = untouched(
            bad.method,
            f"/api/learners/a b/{bad.path}",
            content=bad.content,
            headers={"content-type": bad.kind},
        )
        assert 400 <= said.status_code < 500, (bad, said.text)
        assert len(said.json()["error"]) > 10
    assert untouched("GET", "/api/learners/a b/export").content == before


def test_there_are_many_kinds() -> None:
    assert len(BAD) >= 40


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"name": ""},
        {"name": "a/b"},
        {"name": "x" * 101},
        {"name": "a", "settings": {"sink": -1}},
        {"name": "a", "settings": {"similarity": "x"}},
        {"name": "a", "settings": {"no": 1}},
        {"name": "a", "settings": {"n_centroids": "many"}},
        {"name": "a", "more": 1},
        {"name": ".."},
        {"name": "a", "settings": {"similarity": {"kind": "Gaussian", "bandwidth": 0.5}}},
    ],
)
def test_learners_that_cannot_be_made(wanted: dict[str, Any], empty: Client) -> None:
    assert empty("POST", "/api/learners", json=wanted).status_code == 422
    assert empty("GET", "/api/learners").json() == []


def test_reading_alone(taught: Client) -> None:
    read = TOKENS.read
    body = {"rows": ROWS[:1]}
    assert taught("POST", "/api/learners/a b/predict", read, json=body).status_code == 200
    assert taught("POST", "/api/learners/a b/observe", read, json=body).status_code == 403
    assert taught("GET", "/healthz", "").json() == {"alive": True}
    assert taught("GET", "/readyz", "").json() == {"ready": True}


def test_what_was_told_is_there_after_a_restart(tmp_path: Path) -> None:
    learner = OnlineLearner()
    for _ in range(2):
        store = LearnerStore(str(tmp_path))
        client = Client(store)
        if learner.n_seen == 0:
            client("POST", "/api/learners", json={"name": "a"})
        for row in ROWS:
            label = str(row[0] > 5)
            learner.teach(row, label)
            client("POST", "/api/learners/a/teach", json={"rows": [row], "labels": [label]})
        store.close()
        assert from_bytes(export(tmp_path)).digest() == learner.digest()


def export(folder: Path) -> bytes:
    store = LearnerStore(str(folder))
    content: bytes = Client(store)("GET", "/api/learners/a/export").content
    store.close()
    return content


def test_a_backup(taught: Client) -> None:
    assert taught("POST", "/api/backups").json()["name"].endswith("-2.db")
