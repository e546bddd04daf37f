"""The service over HTTP: each route one call of the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.routing import WebSocketRoute

from labelwalk._extensions import ServiceExtension, load_extension
from labelwalk.arrays import Label
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.service import views
from labelwalk.service.access import note
from labelwalk.service.commands import Command, Observe, Retract, Teach, TeachLater
from labelwalk.service.demo import Demo
from labelwalk.service.dial_routes import add_dials
from labelwalk.service.erasure import ErasureResult
from labelwalk.service.key_header import Key
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.look_routes import add_looks
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.metrics import KIND, exposed
from labelwalk.service.openapi import completed
from labelwalk.service.orders import Forgotten, LateLabel, Name, NewLearner, TakenBack
from labelwalk.service.page_routes import add_page, add_session
from labelwalk.service.refusals import STATUSES, refused
from labelwalk.service.streaming import Streams
from labelwalk.service.watcher import Watcher
from labelwalk.service.wire import JSON, RAW, Body, understood
from labelwalk.service.worker import to_asyncio_future


def application(
    store: LearnerStore,
    watcher: Watcher | None = None,
    demo: Demo | None = None,
    faces: ServiceExtension | None = None,
) -> FastAPI:
    """Return the service as an ASGI application, without a guard before it.

    Whoever gives a watcher, a demo or faces starts and closes them.
    """
    app = FastAPI(
        title="labelwalk",
        description="A few labels, an endless stream: learners that outlive their process.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    for error in STATUSES:
        app.add_exception_handler(error, _said)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(HTTPException, _misunderstood)
    _add_learners(app, store)
    _add_changes(app, store)
    _add_questions(app, store)
    add_page(app)
    add_session(app)
    add_looks(app, store, watcher or Watcher(store))
    add_dials(app, store)
    _add_demo(app, demo or Demo(store))
    load_extension("routes faces")(app, faces, _erased)
    app.openapi_schema = completed(app.openapi())
    return app


async def _said(request: Request, error: Exception) -> Response:
    note(request.scope, reason=type(error).__name__)
    status, headers, body = refused(error)
    return Response(body, status, headers, JSON)


async def _misunderstood(request: Request, error: Exception) -> Response:
    """Say what the framework refuses as we say it."""
    if isinstance(error, HTTPException):
        status, said = error.status_code, str(error.detail)
    else:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        status, said = 422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return Response(json.dumps({"error": f"{said}."}), status, media_type=JSON)


def _add_learners(app: FastAPI, store: LearnerStore) -> None:
    @app.get("/healthz")
    async def is_alive() -> dict[str, bool]:
        return {"alive": True}

    @app.get("/readyz")
    async def is_ready() -> dict[str, bool | str]:
        await _answer(store.query_all(lambda learners: None))
        return {"ready": True} | ({"damage": store.damage} if store.damage else {})

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(exposed(store), media_type=KIND)

    @app.post("/api/backups", status_code=201)
    async def back_up(request: Request) -> dict[str, str]:
        name = await asyncio.to_thread(store.back_up)
        note(request.scope, backup=name)
        return {"name": name}

    @app.get("/api/learners")
    async def names() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await _answer(
            store.query_all(lambda learners: [views.facts(one) for one in learners.values()])
        )
        return found

    @app.post("/api/learners", status_code=201)
    async def create(wanted: NewLearner, request: Request) -> dict[str, str]:
        _check_name(wanted.name)
        note(request.scope, learner=wanted.name)
        await _answer(store.create(wanted.name, _made(wanted.settings)))
        return {"name": wanted.name}

    @app.put("/api/learners/{name}", status_code=201)
    async def take_in(name: Name, request: Request) -> dict[str, str]:
        _check_name(name)
        note(request.scope, learner=name)
        learner = from_bytes(await request.body())
        "".join(map(str, learner.classes)).encode()
        await _answer(store.create(name, learner))
        return {"name": name}

    @app.get("/api/learners/{name}")
    async def facts(name: str) -> dict[str, Any]:
        found: dict[str, Any] = await _answer(store.query(store.find_id(name), views.facts))
        return found

    @app.delete("/api/learners/{name}", status_code=204)
    async def delete(name: str, request: Request) -> None:
        note(request.scope, learner=name)
        await _answer(store.delete(store.find_id(name)))


def _add_changes(app: FastAPI, store: LearnerStore) -> None:
    app.router.routes.append(WebSocketRoute("/api/learners/{name}/stream", Streams(store)))

    async def done(name: str, event: Command, key: str) -> Response:
        told = await _answer(store.submit(store.find_id(name), event, key))
        return Response(told.to_json(), media_type=JSON)

    @app.post("/api/learners/{name}/observe")
    async def observe(name: str, request: Request, key: Key = "") -> Response:
        body = await _body(request, "source")
        if body.sources:
            _check_one_each("sources", body.sources, body)
        return await done(name, Observe(body.rows, body.sources), key)

    @app.post("/api/learners/{name}/teach")
    async def teach(name: str, request: Request, key: Key = "") -> Response:
        body = await _body(request, "label")
        _check_one_each("labels", body.labels, body)
        return await done(name, Teach(body.rows, body.labels), key)

    @app.post("/api/learners/{name}/teach_later")
    async def teach_later(name: str, late: LateLabel, key: Key = "") -> Response:
        return await done(name, TeachLater(late.example, late.label), key)

    @app.post("/api/learners/{name}/retract")
    async def retract(name: str, wrong: TakenBack, key: Key = "") -> Response:
        return await done(name, Retract(wrong.example, wrong.label), key)

    @app.post("/api/learners/{name}/forget")
    async def forget(name: str, gone: Forgotten) -> dict[str, int | bool | str]:
        number = store.find_id(name)
        return _erased(await _answer(store.erase(number, label=gone.label, examples=gone.examples)))


def _add_questions(app: FastAPI, store: LearnerStore) -> None:
    async def asked(name: str, question: Callable[[ManagedLearner], Any]) -> Any:
        return await _answer(store.query(store.find_id(name), question))

    @app.post("/api/learners/{name}/predict")
    async def predict(name: str, request: Request) -> Any:
        rows = (await _body(request)).rows
        return (await _answer(store.predict(store.find_id(name), rows))).columns

    @app.post("/api/learners/{name}/explain")
    async def explain(name: str, request: Request) -> Any:
        rows = (await _body(request)).rows
        if len(rows) > 1:
            raise ValueError(f"rows has {len(rows)} entries, and one is explained. Send it alone.")
        return await asked(name, lambda managed: str(managed.learner.explain(rows[0])))

    @app.get("/api/learners/{name}/ask")
    async def ask(name: str, n: Annotated[int, Field(ge=1, le=100)] = 5) -> Any:
        return await asked(name, lambda managed: managed.questions(n))

    @app.get("/api/learners/{name}/health")
    async def health(name: str) -> Any:
        return await asked(name, views.health)

    @app.get("/api/learners/{name}/vertices")
    async def vertices(name: str) -> Any:
        return await asked(name, views.vertices)

    @app.get("/api/learners/{name}/export")
    async def export(name: str) -> Response:
        content = await asked(name, lambda managed: managed.learner.to_bytes())
        return Response(content, media_type=RAW)


def _add_demo(app: FastAPI, demo: Demo) -> None:
    @app.post("/api/demo", status_code=201)
    async def show() -> dict[str, str]:
        return {"name": await asyncio.to_thread(demo.start)}


def _erased(told: ErasureResult) -> dict[str, int | bool | str]:
    return {"erased": told.examples, "older": told.older, "meaning": told.meaning}


def _made(settings: dict[str, Any]) -> OnlineLearner:
    known = [name for name in OnlineLearner().settings.parameters() if name != "similarity"]
    if "similarity" in settings:
        raise ValueError(
            "similarity cannot be set here. Make the learner in Python, and import its file."
        )
    for name in settings:
        if name not in known:
            raise ValueError(f"{name!r} is no setting here. Choose among {', '.join(known)}.")
    return OnlineLearner(**settings)


def _check_one_each(what: str, names: Sequence[Label], body: Body) -> None:
    if len(names) != len(body.rows):
        raise ValueError(
            f"{what} has {len(names)} entries for {len(body.rows)} rows. Send one for each row."
        )


def _check_name(name: str) -> None:
    if name in (".", ".."):
        raise ValueError(f"name={name!r} means a folder in addresses. Choose another name.")
    name.encode()  # what cannot be written is refused as such


async def _answer(future: Future[Any]) -> Any:
    return await to_asyncio_future(future)


async def _body(request: Request, *wanted: str) -> Body:
    kind = request.headers.get("content-type", JSON)
    return understood(await request.body(), kind, request.query_params, *wanted)
