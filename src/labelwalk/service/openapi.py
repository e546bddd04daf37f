"""The routes of the service: permission, request and response of each, as an OpenAPI document."""

from copy import deepcopy
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Literal

from labelwalk._extensions import load_extension
from labelwalk.service import schemas
from labelwalk.service.schemas import (
    ARROW,
    BODY_EXAMPLES,
    JSON,
    LIVE_EVENTS,
    RAW,
    TEXT,
    TUNABLE_SETTINGS,
    Schema,
    array,
    ref,
)
from labelwalk.service.static_files import CONTENT_TYPES

Permission = Literal["nothing", "read", "write"]

SESSION_COOKIE = "labelwalk"
PLAIN, HTML, EVENT_STREAM = "text/plain", "text/html", "text/event-stream"
BINARY_BODIES = ("Learner", "Picture")
PAGE_TYPES = tuple(kind.partition(";")[0] for kind in CONTENT_TYPES.values())
_LEARNER = "/api/learners/{name}"


@dataclass(frozen=True)
class Route:
    """What a route needs and returns, beyond the signature of its function."""

    permission: Permission
    summary: str
    answer: Schema | None  # None: no response body
    media: str | tuple[str, ...] = JSON  # content types of the response
    body: str | None = None  # schema of rows, or `BINARY_BODIES`; None: see the signature
    errors: tuple[int, ...] = ()  # in addition to those of the permission, the path and the body
    is_cacheable: bool = False  # a browser may store the response and revalidate it


_LIVE: Schema = TEXT | {
    "description": f"Events named {', '.join(LIVE_EVENTS)}, each with data in JSON: "
    + ", ".join(f"{name.capitalize()}Event" for name in LIVE_EVENTS)
}
ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/"): Route("nothing", "Get the page.", TEXT, HTML, is_cacheable=True),
    ("GET", "/faces"): Route("nothing", "Get the face page.", TEXT, HTML, is_cacheable=True),
    ("GET", "/page/{file}"): Route(
        "nothing", "Get a file of the page.", {}, PAGE_TYPES, errors=(404,), is_cacheable=True
    ),
    ("POST", "/api/session"): Route("read", "Store the token in a cookie.", None),
    ("GET", "/api/session"): Route("read", "Get the permission of the token.", ref("Session")),
    ("DELETE", "/api/session"): Route("nothing", "Delete the cookie.", None),
    ("POST", "/api/demo"): Route("write", "Start the demo stream.", ref("Named"), errors=(409,)),
    ("GET", "/healthz"): Route("nothing", "Check that the process runs.", ref("Alive")),
    ("GET", "/readyz"): Route(
        "nothing", "Check that learners answer, and report damage.", ref("Ready")
    ),
    ("GET", "/metrics"): Route("read", "Get the metrics for Prometheus.", TEXT, PLAIN),
    ("POST", "/api/backups"): Route("write", "Back up all learners.", ref("Named")),
    ("GET", "/api/learners"): Route("read", "List the learners.", array(ref("LearnerSummary"))),
    ("POST", "/api/learners"): Route("write", "Create a learner.", ref("Named"), errors=(409,)),
}
_LEARNER_ROUTES = {
    ("GET", ""): Route("read", "Get a summary of a learner.", ref("LearnerSummary")),
    ("DELETE", ""): Route("write", "Delete a learner.", None),
    ("POST", "/observe"): Route(
        "write",
        "Learn rows without labels, and answer them.",
        ref("Verdicts"),
        body="Rows",
        errors=(409,),
    ),
    ("POST", "/teach"): Route(
        "write", "Learn rows with labels.", ref("First"), body="LabelledRows", errors=(409,)
    ),
    ("POST", "/teach_later"): Route(
        "write", "Label an example that was observed.", ref("First"), errors=(409,)
    ),
    ("POST", "/retract"): Route("write", "Remove a label.", ref("First"), errors=(409,)),
    ("POST", "/forget"): Route(
        "write", "Erase a class or examples and their influence.", ref("Erased")
    ),
    ("POST", "/predict"): Route(
        "read", "Answer rows without learning.", ref("Predictions"), body="Rows"
    ),
    ("POST", "/explain"): Route("read", "Explain the answer to a row.", TEXT, body="OneRow"),
    ("GET", "/ask"): Route("read", "Suggest what to label next.", array(ref("Question"))),
    ("GET", "/health"): Route("read", "Get the health metrics.", array(ref("HealthMetric"))),
    ("GET", "/vertices"): Route("read", "Get the vertices as columns.", ref("Vertices")),
    ("GET", "/vertices/{id}"): Route("read", "Get a vertex in detail.", ref("Vertex")),
    ("GET", "/map"): Route("read", "Get all vertices in the plane.", ref("Map")),
    ("GET", "/recent"): Route("read", "Get the last verdicts, newest first.", ref("Recent")),
    ("GET", "/taught"): Route(
        "read", "Get the last labels that are in effect, newest first.", array(ref("Taught"))
    ),
    ("GET", "/history"): Route("read", "Get the measurements of the last hour.", ref("History")),
    ("GET", "/live"): Route("read", "Get live updates as server-sent events.", _LIVE, EVENT_STREAM),
    ("POST", "/dials/try"): Route(
        "read", "Preview the effect of other settings.", ref("SettingsPreview")
    ),
    ("POST", "/dials"): Route("write", "Change settings.", ref("CurrentSettings"), errors=(409,)),
    ("GET", "/export"): Route("read", "Export a learner as a file.", {}, RAW),
    ("PUT", ""): Route(
        "write", "Import a learner from a file.", ref("Named"), body="Learner", errors=(409,)
    ),
}
ROUTES |= {(verb, _LEARNER + path): route for (verb, path), route in _LEARNER_ROUTES.items()}
for key, fields in load_extension("route table faces").items():
    route = Route(*fields)
    ROUTES[key] = replace(route, errors=route.errors or (404,))
ROUTE_PERMISSIONS: dict[tuple[str, str], Permission] = {
    **{key: route.permission for key, route in ROUTES.items()},
    ("GET", "/api/openapi.json"): "read",
    ("WEBSOCKET", _LEARNER + "/stream"): "write",
}

COMMON_ERRORS = (400, 403, 421, 429, 503)
BODY_ERRORS = (408, 413, 422)
RETRY_STATUSES = (429, 503)


def _describe_parameter(name: str, place: str, description: str, schema: Schema) -> Schema:
    fields = {"in": place, "required": False, "description": description, "schema": schema}
    return {"name": name, **fields}


RAW_PARAMETERS = [
    _describe_parameter(
        "type", "query", f"Number type of a body of type {RAW}.", schemas.enum("f4", "f8")
    ),
    _describe_parameter(
        "features",
        "query",
        f"Numbers per row of a body of type {RAW}.",
        {"type": "integer", "minimum": 1, "maximum": 2**24 - 1},
    ),
]
IF_NONE_MATCH = _describe_parameter(
    "If-None-Match", "header", "The ETag of the stored response.", TEXT
)
# Properties of pydantic models that the settings describe more precisely.
MODEL_PROPERTIES: dict[str, Schema] = {
    "CreateLearnerBody": {"settings": ref("Settings")},
    "TunableSettings": TUNABLE_SETTINGS,
}


def complete_document(document: Schema) -> Schema:
    """Return the document that FastAPI made from the signatures, completed from `ROUTES`.

    Examples
    --------
    >>> document = {"paths": {"/healthz": {"get": {"responses": {"200": {"description": "?"}}}}}}
    >>> complete_document(document)["paths"]["/healthz"]["get"]["summary"]
    'Check that the process runs.'
    """
    document = deepcopy(document)
    models = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        models.pop(name, None)
    models |= schemas.SCHEMAS | load_extension("schemas faces")
    for name in MODEL_PROPERTIES.keys() & models.keys():
        models[name]["properties"] |= MODEL_PROPERTIES[name]
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE},
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if route := ROUTES.get((method.upper(), path)):
                _complete_operation(operation, route, path)
    return document


def _complete_operation(operation: Schema, route: Route, path: str) -> None:
    parameters = operation.get("parameters", [])
    operation["summary"] = route.summary
    if route.permission != "nothing":
        operation["security"] = [{"token": []}, {"cookie": []}]
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _describe_body(route.body)}
        parameters = parameters + (RAW_PARAMETERS if route.body not in BINARY_BODIES else [])
    if route.is_cacheable:
        parameters = [*parameters, IF_NONE_MATCH]
    if parameters:
        operation["parameters"] = parameters
    status = next(status for status in operation["responses"] if status.startswith("2"))
    success: Schema = {"description": HTTPStatus(int(status)).phrase}
    if route.answer is not None:
        media = (route.media,) if isinstance(route.media, str) else route.media
        success["content"] = {kind: {"schema": route.answer} for kind in media}
    responses = {status: success}
    if route.is_cacheable:
        responses["304"] = {"description": HTTPStatus(304).phrase}
    for code in _list_errors(route, path, has_body="requestBody" in operation):
        responses[str(code)] = _describe_error_response(code)
    operation["responses"] = responses


def _list_errors(route: Route, path: str, *, has_body: bool) -> list[int]:
    codes = {*COMMON_ERRORS, *route.errors, *(BODY_ERRORS if has_body else ())}
    if route.permission != "nothing":
        codes.add(401)
    if path.startswith(_LEARNER):
        codes |= {404, 422}
    return sorted(codes)


def _describe_error_response(status: int) -> Schema:
    response: Schema = {
        "description": HTTPStatus(status).phrase,
        "content": {JSON: {"schema": ref("Error")}},
    }
    if status in RETRY_STATUSES:
        seconds = {"type": "integer", "minimum": 1}
        response["headers"] = {
            "Retry-After": {"description": "Seconds to wait.", "schema": seconds, "required": True}
        }
    return response


def _describe_body(name: str) -> dict[str, Any]:
    if name in BINARY_BODIES:
        return {RAW: {"schema": {}}}
    rows = {"schema": ref(name), "examples": {"small": {"value": BODY_EXAMPLES[name]}}}
    return {JSON: rows, RAW: {"schema": {}}, ARROW: {"schema": {}}}
