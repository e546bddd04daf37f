"""The routes of the service: each handler makes one call of the learner store."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.routing import WebSocketRoute

from labelwalk._extensions import ServiceExtension, load_extension
from labelwalk.arrays import Label
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.service import views
from labelwalk.service.auth import PERMISSION_KEY, TOKEN_KEY
from labelwalk.service.commands import Command, Observe, Retract, Teach, TeachLater
from labelwalk.service.demo import Demo
from labelwalk.service.erasure import ErasureResult
from labelwalk.service.errors import STATUSES, describe_error
from labelwalk.service.fast_path import RowStream
from labelwalk.service.learner_store import METRICS_TYPE, LearnerStore, format_metrics
from labelwalk.service.live_updates import LiveUpdates, PageSampler
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.openapi import SESSION_COOKIE, complete_document
from labelwalk.service.page_state import MAX_RECENT
from labelwalk.service.request_bodies import MAX_KEY_LENGTH, RowsBody, parse_rows
from labelwalk.service.request_log import add_log_facts
from labelwalk.service.schemas import (
    JSON,
    RAW,
    CreateLearnerBody,
    ForgetBody,
    Name,
    RetractBody,
    TeachLaterBody,
    TunableSettings,
)
from labelwalk.service.static_files import FACE_PAGE, INDEX_PAGE, load_static_files
from labelwalk.service.worker import to_asyncio_future

SESSION_S = 30 * 86_400
MAX_SAFE_INTEGER = 2**53  # JavaScript represents integers up to this one exactly
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=MAX_KEY_LENGTH,
        description="Your own id of a request. A repetition gets the same answer, and is applied "
        "only once.",
    ),
]


def create_app(
    store: LearnerStore,
    sampler: PageSampler | None = None,
    demo: Demo | None = None,
    faces: ServiceExtension | None = None,
) -> FastAPI:
    """Return the service as an ASGI application without middlewares.

    The caller starts and closes the sampler, the demo and the faces.
    """
    app = FastAPI(
        title="labelwalk",
        description="Online semi-supervised learning: learners that survive a restart.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    for error in STATUSES:
        app.add_exception_handler(error, _send_reported_error)
    app.add_exception_handler(RequestValidationError, _send_framework_error)
    app.add_exception_handler(HTTPException, _send_framework_error)
    _add_service_routes(app, store, demo or Demo(store))
    _add_learner_routes(app, store)
    _add_change_routes(app, store)
    _add_query_routes(app, store)
    _add_page_data_routes(app, store, sampler or PageSampler(store))
    _add_settings_routes(app, store)
    _add_page_routes(app)
    load_extension("routes faces")(app, faces, _describe_erasure)
    app.openapi_schema = complete_document(app.openapi())
    return app


async def _send_reported_error(request: Request, error: Exception) -> Response:
    add_log_facts(request.scope, reason=type(error).__name__)
    status, headers, body = describe_error(error)
    return Response(body, status, headers, JSON)


async def _send_framework_error(request: Request, error: Exception) -> Response:
    """Answer an error of FastAPI in the format of our own errors."""
    if isinstance(error, HTTPException):
        status, message = error.status_code, str(error.detail)
    else:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        status, message = 422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return Response(json.dumps({"error": f"{message}."}), status, media_type=JSON)


def _add_service_routes(app: FastAPI, store: LearnerStore, demo: Demo) -> None:
    @app.get("/healthz")
    async def check_process() -> dict[str, bool]:
        return {"alive": True}

    @app.get("/readyz")
    async def check_learners() -> dict[str, bool | str]:
        await to_asyncio_future(store.query_all(lambda learners: None))
        return {"ready": True} | ({"damage": store.damage} if store.damage else {})

    @app.get("/metrics")
    async def get_metrics() -> Response:
        return Response(format_metrics(store.get_status()), media_type=METRICS_TYPE)

    @app.post("/api/backups", status_code=201)
    async def create_backup(request: Request) -> dict[str, str]:
        name = await asyncio.to_thread(store.back_up)
        add_log_facts(request.scope, backup=name)
        return {"name": name}

    @app.post("/api/demo", status_code=201)
    async def start_demo() -> dict[str, str]:
        return {"name": await asyncio.to_thread(demo.start)}


def _add_learner_routes(app: FastAPI, store: LearnerStore) -> None:
    @app.get("/api/learners")
    async def list_learners() -> Any:
        return await to_asyncio_future(
            store.query_all(lambda learners: list(map(views.summarize, learners.values())))
        )

    @app.post("/api/learners", status_code=201)
    async def create_learner(body: CreateLearnerBody, request: Request) -> dict[str, str]:
        return await create(body.name, _make_learner(body.settings), request)

    @app.put("/api/learners/{name}", status_code=201)
    async def import_learner(name: Name, request: Request) -> dict[str, str]:
        learner = from_bytes(await request.body())
        _check_utf8(*map(str, learner.classes))
        return await create(name, learner, request)

    async def create(name: str, learner: OnlineLearner, request: Request) -> dict[str, str]:
        if name in (".", ".."):
            raise ValueError(f"name={name!r} has a special meaning in URLs. Choose another name.")
        _check_utf8(name)
        add_log_facts(request.scope, learner=name)
        await to_asyncio_future(store.create(name, learner))
        return {"name": name}

    @app.get("/api/learners/{name}")
    async def get_learner(name: str) -> Any:
        return await _query(store, name, views.summarize)

    @app.delete("/api/learners/{name}", status_code=204)
    async def delete_learner(name: str, request: Request) -> None:
        add_log_facts(request.scope, learner=name)
        await to_asyncio_future(store.delete(store.find_id(name)))


def _add_change_routes(app: FastAPI, store: LearnerStore) -> None:
    app.router.routes.append(WebSocketRoute("/api/learners/{name}/stream", RowStream(store)))

    async def apply(name: str, command: Command, key: str) -> Response:
        result = await to_asyncio_future(store.submit(store.find_id(name), command, key))
        return Response(result.to_json(), media_type=JSON)

    @app.post("/api/learners/{name}/observe")
    async def observe(name: str, request: Request, key: Key = "") -> Response:
        body = await _parse_body(request, "source")
        if body.sources:
            _check_one_per_row("sources", body.sources, body)
        return await apply(name, Observe(body.rows, body.sources), key)

    @app.post("/api/learners/{name}/teach")
    async def teach(name: str, request: Request, key: Key = "") -> Response:
        body = await _parse_body(request, "label")
        _check_one_per_row("labels", body.labels, body)
        return await apply(name, Teach(body.rows, body.labels), key)

    @app.post("/api/learners/{name}/teach_later")
    async def teach_later(name: str, body: TeachLaterBody, key: Key = "") -> Response:
        return await apply(name, TeachLater(body.example, body.label), key)

    @app.post("/api/learners/{name}/retract")
    async def retract(name: str, body: RetractBody, key: Key = "") -> Response:
        return await apply(name, Retract(body.example, body.label), key)

    @app.post("/api/learners/{name}/forget")
    async def forget(name: str, body: ForgetBody) -> dict[str, int | bool | str]:
        erasure = store.erase(store.find_id(name), label=body.label, examples=body.examples)
        return _describe_erasure(await to_asyncio_future(erasure))


def _add_query_routes(app: FastAPI, store: LearnerStore) -> None:
    @app.post("/api/learners/{name}/predict")
    async def predict(name: str, request: Request) -> Any:
        rows = (await _parse_body(request)).rows
        return (await to_asyncio_future(store.predict(store.find_id(name), rows))).columns

    @app.post("/api/learners/{name}/explain")
    async def explain(name: str, request: Request) -> Any:
        rows = (await _parse_body(request)).rows
        if len(rows) > 1:
            raise ValueError(f"rows has {len(rows)} entries, but one row is explained per request.")
        return await _query(store, name, lambda managed: str(managed.learner.explain(rows[0])))

    @app.get("/api/learners/{name}/ask")
    async def ask(name: str, n: Annotated[int, Field(ge=1, le=100)] = 5) -> Any:
        return await _query(store, name, lambda managed: managed.list_questions(n))

    @app.get("/api/learners/{name}/health")
    async def get_health(name: str) -> Any:
        return await _query(store, name, views.list_health_metrics)

    @app.get("/api/learners/{name}/vertices")
    async def get_vertices(name: str) -> Any:
        return await _query(store, name, views.list_vertices)

    @app.get("/api/learners/{name}/export")
    async def export_learner(name: str) -> Response:
        content = await _query(store, name, lambda managed: managed.learner.to_bytes())
        return Response(content, media_type=RAW)


def _add_page_data_routes(app: FastAPI, store: LearnerStore, sampler: PageSampler) -> None:
    @app.get("/api/learners/{name}/map")
    async def get_map(name: str) -> Any:
        return await _query(store, name, views.draw_map)

    @app.get("/api/learners/{name}/vertices/{id}")
    async def get_vertex(
        name: str, id: Annotated[int, Path(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
    ) -> Any:
        return await _query(store, name, lambda managed: views.describe_vertex(managed, id))

    @app.get("/api/learners/{name}/recent")
    async def get_recent(name: str, n: Annotated[int, Query(ge=1, le=MAX_RECENT)] = 100) -> Any:
        return {
            "verdicts": await _query(store, name, lambda managed: views.list_recent(managed, n))
        }

    @app.get("/api/learners/{name}/taught")
    async def get_labels(name: str) -> Any:
        return await _query(store, name, views.list_labels)

    @app.get("/api/learners/{name}/history")
    async def get_history(name: str) -> Any:
        return sampler.get_history(store.find_id(name))

    @app.get("/api/learners/{name}/live", response_class=Response)
    async def get_live_updates(name: str) -> Response:
        return LiveUpdates(sampler, store.find_id(name))


def _add_settings_routes(app: FastAPI, store: LearnerStore) -> None:
    @app.post("/api/learners/{name}/dials/try")
    async def preview_settings(name: str, settings: TunableSettings) -> Any:
        command = views.parse_settings(_list_given(settings), store.get_classes(name))
        content, rows = await _query(store, name, views.copy_learner)
        return await asyncio.to_thread(views.preview_settings, content, rows, command)

    @app.post("/api/learners/{name}/dials")
    async def change_settings(name: str, settings: TunableSettings, key: Key = "") -> Any:
        command = views.parse_settings(_list_given(settings), store.get_classes(name))
        await to_asyncio_future(store.submit(store.find_id(name), command, key))
        return await _query(store, name, lambda managed: managed.learner.settings.describe())


def _add_page_routes(app: FastAPI) -> None:
    files = load_static_files()

    def send(name: str, request: Request) -> Response:
        if name not in files:
            return Response('{"error": "The file does not exist."}', 404, media_type=JSON)
        status, headers, body = files[name].respond(request.headers)
        return Response(body, status, headers)

    @app.get("/")
    def get_index(request: Request) -> Response:
        return send(INDEX_PAGE, request)

    @app.get("/faces")
    def get_face_page(request: Request) -> Response:
        return send(FACE_PAGE, request)

    @app.get("/page/{file}")
    def get_file(file: str, request: Request) -> Response:
        return send(file, request)

    @app.post("/api/session", status_code=204)
    async def begin_session(request: Request, response: Response) -> None:
        _set_cookie(request, response, request.scope[TOKEN_KEY], SESSION_S)

    @app.get("/api/session")
    async def get_session(request: Request) -> dict[str, str]:
        return {"may": request.scope[PERMISSION_KEY]}

    @app.delete("/api/session", status_code=204)
    async def end_session(request: Request, response: Response) -> None:
        _set_cookie(request, response, "", 0)


def _set_cookie(request: Request, response: Response, value: str, seconds: int) -> None:
    response.set_cookie(
        SESSION_COOKIE,
        value,
        max_age=seconds,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


async def _query(store: LearnerStore, name: str, function: Callable[[ManagedLearner], Any]) -> Any:
    return await to_asyncio_future(store.query(store.find_id(name), function))


async def _parse_body(request: Request, *columns: str) -> RowsBody:
    kind = request.headers.get("content-type", JSON)
    return parse_rows(await request.body(), kind, request.query_params, *columns)


def _describe_erasure(result: ErasureResult) -> dict[str, int | bool | str]:
    return {"erased": result.examples, "older": result.older, "meaning": result.meaning}


def _list_given(settings: TunableSettings) -> dict[str, Any]:
    return settings.model_dump(exclude_unset=True, mode="json")


def _make_learner(settings: dict[str, Any]) -> OnlineLearner:
    names = [name for name in OnlineLearner().settings.parameters() if name != "similarity"]
    if "similarity" in settings:
        raise ValueError(
            "similarity cannot be set over HTTP. Create the learner in Python, and import its file."
        )
    for name in settings:
        if name not in names:
            raise ValueError(f"Unknown setting {name!r}. Choose from {', '.join(names)}.")
    return OnlineLearner(**settings)


def _check_one_per_row(name: str, values: Sequence[Label], body: RowsBody) -> None:
    if len(values) != len(body.rows):
        raise ValueError(
            f"{name} has {len(values)} entries for {len(body.rows)} rows. Send one entry per row."
        )


def _check_utf8(*texts: str) -> None:
    for text in texts:
        text.encode()
