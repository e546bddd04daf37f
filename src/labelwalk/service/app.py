"""The service over HTTP: each route one call of the keeper."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.modelfile import ModelFileError
from labelwalk.service.access import note
from labelwalk.service.database import DiskError
from labelwalk.service.events import Forget, Happening, Observe, Retract, Teach, TeachLater
from labelwalk.service.inbox import BusyError
from labelwalk.service.keeper import Keeper, NameTakenError, NoLearnerError
from labelwalk.service.keys import KeyReusedError
from labelwalk.service.metrics import KIND, exposed
from labelwalk.service.openapi import completed
from labelwalk.service.pupil import Pupil
from labelwalk.service.streaming import observe_all
from labelwalk.service.wire import JSON, RAW, Body, TooManyRowsError, understood

SECONDS = "1"  # before a client should try again
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="Your own name for a request: sent again, it is answered again and done once.",
    ),
]


Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\x00-\x1f\x7f]+$")]


class NewLearner(BaseModel):
    """A learner to be made."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"name": "doorbell", "settings": {"n_centroids": 500}}]},
    )
    name: Name
    settings: dict[str, Any] = Field(default_factory=dict)


class LateLabel(BaseModel):
    """The label of an example that was observed."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"example": 17, "label": "cat"}]},
    )
    example: int = Field(ge=0, lt=2**62)
    label: str | int


class TakenBack(BaseModel):
    """What was taught and is wrong: an example, or a class; `forget` strikes out the class."""

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"examples": [{"example": 17}]}
    )
    example: int | None = Field(None, ge=0, lt=2**62)
    label: str | int | None = None
    forget: bool = False


STATUSES: dict[type[Exception], int] = {
    NoLearnerError: 404,
    NameTakenError: 409,
    KeyReusedError: 409,
    TooManyRowsError: 413,
    ModelFileError: 422,
    ValueError: 422,
    BusyError: 429,
    DiskError: 503,
}


def application(keeper: Keeper) -> FastAPI:
    """Return the service as an ASGI application, without a guard before it."""
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
    _add_learners(app, keeper)
    _add_changes(app, keeper)
    _add_questions(app, keeper)
    app.openapi_schema = completed(app.openapi())
    return app


async def _said(request: Request, error: Exception) -> Response:
    note(request.scope, reason=type(error).__name__)
    status = next(code for kind, code in STATUSES.items() if isinstance(error, kind))
    headers = {"Retry-After": SECONDS} if status in (429, 503) else {}
    said = json.dumps({"error": str(error.args[0]) if error.args else str(error)})
    return Response(said, status, headers, JSON)


async def _misunderstood(request: Request, error: Exception) -> Response:
    """Say what the framework refuses as we say it."""
    if isinstance(error, HTTPException):
        status, said = error.status_code, str(error.detail)
    else:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        status, said = 422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return Response(json.dumps({"error": f"{said}."}), status, media_type=JSON)


def _add_learners(app: FastAPI, keeper: Keeper) -> None:
    @app.get("/healthz")
    async def is_alive() -> dict[str, bool]:
        return {"alive": True}

    @app.get("/readyz")
    async def is_ready() -> dict[str, bool | str]:
        await _answer(keeper.look_at_all(lambda pupils: None))
        return {"ready": True} | ({"damage": keeper.damage} if keeper.damage else {})

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(exposed(keeper), media_type=KIND)

    @app.post("/api/backups", status_code=201)
    async def back_up(request: Request) -> dict[str, str]:
        name = await asyncio.to_thread(keeper.back_up)
        note(request.scope, backup=name)
        return {"name": name}

    @app.get("/api/learners")
    async def names() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await _answer(
            keeper.look_at_all(lambda pupils: [_facts(pupil) for pupil in pupils.values()])
        )
        return found

    @app.post("/api/learners", status_code=201)
    async def create(wanted: NewLearner, request: Request) -> dict[str, str]:
        note(request.scope, learner=wanted.name)
        await _answer(keeper.create(wanted.name, _made(wanted.settings)))
        return {"name": wanted.name}

    @app.put("/api/learners/{name}", status_code=201)
    async def take_in(name: Name, request: Request) -> dict[str, str]:
        note(request.scope, learner=name)
        await _answer(keeper.create(name, from_bytes(await request.body())))
        return {"name": name}

    @app.get("/api/learners/{name}")
    async def facts(name: str) -> dict[str, Any]:
        found: dict[str, Any] = await _answer(keeper.look(keeper.number(name), _facts))
        return found

    @app.delete("/api/learners/{name}", status_code=204)
    async def delete(name: str, request: Request) -> None:
        note(request.scope, learner=name)
        await _answer(keeper.delete(keeper.number(name)))


def _add_changes(app: FastAPI, keeper: Keeper) -> None:
    @app.websocket("/api/learners/{name}/stream")
    async def stream(name: str, socket: WebSocket) -> None:
        await observe_all(keeper, name, socket)

    async def done(name: str, event: Happening, key: str) -> Response:
        told = await _answer(keeper.change(keeper.number(name), event, key))
        return Response(told.to_json(), media_type=JSON)

    @app.post("/api/learners/{name}/observe")
    async def observe(name: str, request: Request, key: Key = "") -> Response:
        body = await _body(request)
        return await done(name, Observe(body.rows, body.sources), key)

    @app.post("/api/learners/{name}/teach")
    async def teach(name: str, request: Request, key: Key = "") -> Response:
        body = await _body(request)
        return await done(name, Teach(body.rows, body.labels), key)

    @app.post("/api/learners/{name}/teach_later")
    async def teach_later(name: str, late: LateLabel, key: Key = "") -> Response:
        return await done(name, TeachLater(late.example, late.label), key)

    @app.post("/api/learners/{name}/retract")
    async def retract(name: str, wrong: TakenBack, key: Key = "") -> Response:
        if not wrong.forget:
            return await done(name, Retract(wrong.example, wrong.label), key)
        if wrong.label is None or wrong.example is not None:
            raise ValueError("forget needs a label, and no example.")
        return await done(name, Forget(wrong.label), key)


def _add_questions(app: FastAPI, keeper: Keeper) -> None:
    async def asked(name: str, question: Callable[[Pupil], Any]) -> Any:
        return await _answer(keeper.look(keeper.number(name), question))

    @app.post("/api/learners/{name}/predict")
    async def predict(name: str, request: Request) -> Any:
        rows = (await _body(request)).rows
        return await asked(name, lambda pupil: pupil.predict(rows).columns)

    @app.post("/api/learners/{name}/explain")
    async def explain(name: str, request: Request) -> Any:
        row = (await _body(request)).rows[0]
        return await asked(name, lambda pupil: str(pupil.learner.explain(row)))

    @app.get("/api/learners/{name}/ask")
    async def ask(name: str, n: Annotated[int, Field(ge=1, le=100)] = 5) -> Any:
        return await asked(name, lambda pupil: pupil.questions(n))

    @app.get("/api/learners/{name}/health")
    async def health(name: str) -> Any:
        return await asked(name, _health)

    @app.get("/api/learners/{name}/vertices")
    async def vertices(name: str) -> Any:
        return await asked(name, _vertices)

    @app.get("/api/learners/{name}/export")
    async def export(name: str) -> Response:
        content = await asked(name, lambda pupil: pupil.learner.to_bytes())
        return Response(content, media_type=RAW)


def _made(settings: dict[str, Any]) -> OnlineLearner:
    known = OnlineLearner().settings.parameters()
    for name in settings:
        if name not in known or name == "similarity":
            raise ValueError(f"{name!r} is no setting here. Choose among {', '.join(known)}.")
    return OnlineLearner(**settings)


def _facts(pupil: Pupil) -> dict[str, Any]:
    learner = pupil.learner
    return {
        "name": pupil.name,
        "examples": pupil.n_numbered,
        "features": learner.n_features,
        "classes": list(learner.classes),
        "vertices": learner.n_vertices,
        "radius": learner.radius,
        "settings": learner.settings.describe(),
    }


def _health(pupil: Pupil) -> list[dict[str, Any]]:
    fields = ("name", "value", "limit", "ok", "meaning")
    return [{field: getattr(sign, field) for field in fields} for sign in pupil.learner.health()]


def _vertices(pupil: Pupil) -> dict[str, list[Any]]:
    table = pupil.learner.vertices
    return {
        "label": table.label.tolist(),
        "count": table.count.tolist(),
        "probabilities": table.probabilities.tolist(),
        "point": table.means.tolist(),
    }


async def _answer(future: Future[Any]) -> Any:
    return await asyncio.wrap_future(future)


async def _body(request: Request) -> Body:
    kind = request.headers.get("content-type", JSON)
    return understood(await request.body(), kind, request.query_params)
