"""The routes of the service: handlers that call the learner store."""

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.routing import WebSocketRoute

from labelwalk._extensions import ServiceExtension, load_extension
from labelwalk.arrays import Label
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.service import schemas, views
from labelwalk.service.commands import Adjust, Command, Observe, Retract, Teach, TeachLater
from labelwalk.service.demo import Demo
from labelwalk.service.erasure import ErasureResult
from labelwalk.service.errors import REPORTED_ERRORS, ErrorResponse, describe_error
from labelwalk.service.fast_path import RowStream
from labelwalk.service.learner_store import METRICS_TYPE, LearnerStore
from labelwalk.service.live_updates import LiveUpdates, PageSampler
from labelwalk.service.managed_learner import MAX_RECENT, ManagedLearner
from labelwalk.service.openapi import LEARNER_PATH, RouteTable, complete_document
from labelwalk.service.page_routes import add_page_routes
from labelwalk.service.request_bodies import MAX_KEY_LENGTH, RowsBody, parse_rows
from labelwalk.service.request_log import add_log_facts
from labelwalk.service.schemas import JSON, MAX_SAFE_INTEGER, RAW, TEXT, array, ref
from labelwalk.service.worker import to_asyncio_future

STREAM_PATH = f"{LEARNER_PATH}/stream"
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=MAX_KEY_LENGTH,
        description="Your own id for a request. A repetition gets the same answer and is applied "
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

    The permissions of its routes are in `app.state.permissions`. The caller starts and closes the
    sampler, the demo and the faces.
    """
    app = FastAPI(
        title="labelwalk",
        description="Online semi-supervised learning: learners that survive a restart.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    for error in (*REPORTED_ERRORS, RequestValidationError, HTTPException):
        app.add_exception_handler(error, _respond_to_error)
    table = RouteTable(app)
    _add_service_routes(table, store, demo or Demo(store))
    _add_view_routes(table, store)
    _add_learner_routes(table, store)
    _add_change_routes(table, store)
    _add_query_routes(table, store, sampler or PageSampler(store))
    _add_settings_routes(table, store)
    add_page_routes(table)
    load_extension("routes faces")(table, faces)
    app.router.routes.append(WebSocketRoute(STREAM_PATH, RowStream(store)))
    app.state.permissions = {**table.permissions, ("WEBSOCKET", STREAM_PATH): "write"}
    complete_document(app.openapi(), table.routes)
    return app


async def _respond_to_error(request: Request, error: Exception) -> Response:
    """Answer an error of FastAPI in the format of our own errors."""
    if isinstance(error, HTTPException):
        status, reason = error.status_code, f"{error.detail}."
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        status, reason = 422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
    else:
        return describe_error(error)
    return ErrorResponse(status, reason, logged_reason=HTTPStatus(status).phrase)


def _add_service_routes(table: RouteTable, store: LearnerStore, demo: Demo) -> None:
    @table.add("GET", "/healthz", "nothing", ref("Alive"))
    async def check_process() -> dict[str, bool]:
        """Check that the process runs."""
        return {"alive": True}

    @table.add("GET", "/readyz", "nothing", ref("Ready"))
    async def check_learners() -> dict[str, bool | str]:
        """Check that learners answer, and report damage."""
        await to_asyncio_future(store.query_all(lambda learners: None))
        return {"ready": True} | ({"damage": store.damage} if store.damage else {})

    @table.add("GET", "/metrics", "read", TEXT, "text/plain")
    async def get_metrics() -> Response:
        """Get the metrics for Prometheus."""
        text = "".join(metric.format() for metric in store.list_metrics())
        return Response(text, media_type=METRICS_TYPE)

    @table.add("POST", "/api/backups", "write", ref("Named"), status=201)
    async def create_backup(request: Request) -> dict[str, str]:
        """Back up all learners."""
        name = await asyncio.to_thread(store.back_up)
        add_log_facts(request.scope, backup=name)
        return {"name": name}

    @table.add("POST", "/api/demo", "write", ref("Named"), status=201, errors=(409,))
    async def start_demo() -> dict[str, str]:
        """Start the demo stream."""
        return {"name": await asyncio.to_thread(demo.start)}


def _add_learner_routes(table: RouteTable, store: LearnerStore) -> None:
    @table.add("GET", "/api/learners", "read", array(ref("LearnerSummary")))
    async def list_learners() -> Any:
        """List the learners."""
        return await to_asyncio_future(
            store.query_all(lambda learners: list(map(views.summarize, learners.values())))
        )

    @table.add("POST", "/api/learners", "write", ref("Named"), status=201, errors=(409,))
    async def create_learner(body: schemas.CreateLearnerBody, request: Request) -> dict[str, str]:
        """Create a learner."""
        return await create(body.name, _make_learner(body.settings), request)

    @table.add("DELETE", LEARNER_PATH, "write", None, status=204)
    async def delete_learner(name: str, request: Request) -> None:
        """Delete a learner."""
        add_log_facts(request.scope, learner=name)
        await to_asyncio_future(store.delete(store.find_id(name)))

    @table.add(
        "PUT", LEARNER_PATH, "write", ref("Named"), status=201, body="Learner", errors=(409,)
    )
    async def import_learner(name: schemas.Name, request: Request) -> dict[str, str]:
        """Import a learner from a file."""
        learner = from_bytes(await request.body())
        "".join(map(str, learner.classes)).encode()  # raises an error for unpaired surrogates
        return await create(name, learner, request)

    async def create(name: str, learner: OnlineLearner, request: Request) -> dict[str, str]:
        if name in (".", ".."):
            raise ValueError(f"name={name!r} has a special meaning in URLs. Choose another name.")
        name.encode()  # raises an error for unpaired surrogates
        add_log_facts(request.scope, learner=name)
        await to_asyncio_future(store.create(name, learner))
        return {"name": name}

    @table.add("GET", f"{LEARNER_PATH}/export", "read", {}, RAW)
    async def export_learner(name: str) -> Response:
        """Export a learner as a file."""
        content = await _query(store, name, lambda managed: managed.learner.to_bytes())
        return Response(content, media_type=RAW)


def _add_change_routes(table: RouteTable, store: LearnerStore) -> None:
    async def apply(name: str, command: Command, key: str) -> Response:
        result = await to_asyncio_future(store.submit(store.find_id(name), command, key))
        return Response(result.to_json(), media_type=JSON)

    @table.add("POST", f"{LEARNER_PATH}/observe", "write", ref("Verdicts"), body="Rows")
    async def observe(name: str, request: Request, key: Key = "") -> Response:
        """Learn rows without labels, and answer them."""
        body = await _parse_body(request, "source")
        if body.sources:
            _check_one_per_row("sources", body.sources, body)
        return await apply(name, Observe(body.rows, body.sources), key)

    @table.add("POST", f"{LEARNER_PATH}/teach", "write", ref("First"), body="LabelledRows")
    async def teach(name: str, request: Request, key: Key = "") -> Response:
        """Learn rows with labels."""
        body = await _parse_body(request, "label")
        _check_one_per_row("labels", body.labels, body)
        return await apply(name, Teach(body.rows, body.labels), key)

    @table.add("POST", f"{LEARNER_PATH}/teach_later", "write", ref("First"))
    async def teach_later(name: str, body: schemas.TeachLaterBody, key: Key = "") -> Response:
        """Label an example that was observed."""
        return await apply(name, TeachLater(body.example, body.label), key)

    @table.add("POST", f"{LEARNER_PATH}/retract", "write", ref("First"))
    async def retract(name: str, body: schemas.RetractBody, key: Key = "") -> Response:
        """Remove a label."""
        return await apply(name, Retract(body.example, body.label), key)

    @table.add("POST", f"{LEARNER_PATH}/forget", "write", ref("Erased"))
    async def forget(name: str, body: schemas.ForgetBody) -> dict[str, int | bool | str]:
        """Erase a class or examples and their influence."""
        erasure = store.erase(store.find_id(name), label=body.label, examples=body.examples)
        result: ErasureResult = await to_asyncio_future(erasure)
        return result.describe()


def _add_view_routes(table: RouteTable, store: LearnerStore) -> None:
    @table.add("GET", LEARNER_PATH, "read", ref("LearnerSummary"))
    async def get_learner(name: str) -> Any:
        """Get a summary of a learner."""
        return await _query(store, name, views.summarize)

    @table.add("GET", f"{LEARNER_PATH}/health", "read", array(ref("HealthMetric")))
    async def get_health(name: str) -> Any:
        """Get the health metrics."""
        return await _query(store, name, views.list_health_metrics)

    @table.add("GET", f"{LEARNER_PATH}/vertices", "read", ref("Vertices"))
    async def get_vertices(name: str) -> Any:
        """Get the vertices as columns."""
        return await _query(store, name, views.list_vertices)

    @table.add("GET", f"{LEARNER_PATH}/map", "read", ref("Map"))
    async def get_map(name: str) -> Any:
        """Get all vertices in the plane."""
        return await _query(store, name, views.draw_map)

    @table.add("GET", f"{LEARNER_PATH}/taught", "read", array(ref("Taught")))
    async def get_labels(name: str) -> Any:
        """Get the last labels that are in effect, newest first."""
        return await _query(store, name, views.list_labels)


def _add_query_routes(table: RouteTable, store: LearnerStore, sampler: PageSampler) -> None:
    @table.add("POST", f"{LEARNER_PATH}/predict", "read", ref("Predictions"), body="Rows")
    async def predict(name: str, request: Request) -> Any:
        """Answer rows without learning."""
        rows = (await _parse_body(request)).rows
        return (await to_asyncio_future(store.predict(store.find_id(name), rows))).columns

    @table.add("POST", f"{LEARNER_PATH}/explain", "read", TEXT, body="OneRow")
    async def explain(name: str, request: Request) -> Any:
        """Explain the answer to a row."""
        rows = (await _parse_body(request)).rows
        if len(rows) > 1:
            raise ValueError(f"rows has {len(rows)} entries, but one row is explained per request.")
        return await _query(store, name, lambda managed: str(managed.learner.explain(rows[0])))

    @table.add("GET", f"{LEARNER_PATH}/ask", "read", array(ref("Question")))
    async def ask(name: str, n: Annotated[int, Field(ge=1, le=100)] = 5) -> Any:
        """Suggest what to label next."""
        return await _query(store, name, lambda managed: managed.list_questions(n))

    @table.add("GET", f"{LEARNER_PATH}/vertices/{{id}}", "read", ref("Vertex"))
    async def get_vertex(
        name: str, id: Annotated[int, Path(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
    ) -> Any:
        """Get a vertex in detail."""
        return await _query(store, name, lambda managed: views.describe_vertex(managed, id))

    @table.add("GET", f"{LEARNER_PATH}/recent", "read", ref("Recent"))
    async def get_recent(name: str, n: Annotated[int, Query(ge=1, le=MAX_RECENT)] = 100) -> Any:
        """Get the last verdicts, newest first."""
        verdicts = await _query(store, name, lambda managed: views.list_recent(managed, n))
        return {"verdicts": verdicts}

    @table.add("GET", f"{LEARNER_PATH}/history", "read", ref("History"))
    async def get_history(name: str) -> Any:
        """Get the measurements of the last hour."""
        return sampler.get_history(store.find_id(name))

    @table.add("GET", f"{LEARNER_PATH}/live", "read", schemas.EVENT_STREAM, "text/event-stream")
    async def get_live_updates(name: str) -> Response:
        """Get live updates as server-sent events."""
        return LiveUpdates(sampler, store.find_id(name))


def _add_settings_routes(table: RouteTable, store: LearnerStore) -> None:
    def make_command(name: str, settings: schemas.TunableSettings) -> Adjust:
        values = settings.model_dump(exclude_unset=True, mode="json")
        return views.parse_settings(values, store.get_classes(name))

    @table.add("POST", f"{LEARNER_PATH}/dials/try", "read", ref("SettingsPreview"))
    async def preview_settings(name: str, settings: schemas.TunableSettings) -> Any:
        """Preview the effect of other settings."""
        command = make_command(name, settings)
        content, rows = await _query(store, name, views.copy_learner)
        return await asyncio.to_thread(views.preview_settings, content, rows, command)

    @table.add("POST", f"{LEARNER_PATH}/dials", "write", ref("CurrentSettings"))
    async def change_settings(name: str, settings: schemas.TunableSettings, key: Key = "") -> Any:
        """Change settings."""
        command = make_command(name, settings)
        await to_asyncio_future(store.submit(store.find_id(name), command, key))
        return await _query(store, name, lambda managed: managed.learner.settings.describe())


async def _query(store: LearnerStore, name: str, function: Callable[[ManagedLearner], Any]) -> Any:
    return await to_asyncio_future(store.query(store.find_id(name), function))


async def _parse_body(request: Request, *columns: str) -> RowsBody:
    kind = request.headers.get("content-type", JSON)
    return parse_rows(await request.body(), kind, request.query_params, *columns)


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
