"""The routes of the service: permission, request and response of each, as an OpenAPI document."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, TypeVar

from fastapi import FastAPI

from labelwalk._extensions import load_extension
from labelwalk.service import schemas
from labelwalk.service.errors import RETRY_STATUSES
from labelwalk.service.schemas import ARROW, JSON, RAW, TEXT, Schema, ref

Permission = Literal["nothing", "read", "write"]
Permissions = Mapping[tuple[str, str], Permission]  # by method and path
Handler = TypeVar("Handler", bound=Callable[..., Any])

SESSION_COOKIE = "labelwalk"
LEARNER_PATH = "/api/learners/{name}"
BINARY_BODIES = ("Learner", "Picture")
COMMON_ERRORS = (400, 403, 421, 429, 503)
BODY_ERRORS = (408, 413, 422)


@dataclass(frozen=True)
class Route:
    """What a route needs and returns, beyond the signature of its function."""

    permission: Permission
    answer: Schema | None  # None: no response body
    media: tuple[str, ...]  # content types of the response
    body: str | None  # schema of rows, or `BINARY_BODIES`; None: see the signature
    errors: tuple[int, ...]  # in addition to those of the permission, the path and the body
    is_cacheable: bool  # a browser may store the response and revalidate it


class RouteTable:
    """Adds routes to an application together with their permissions and descriptions.

    The `permissions` are those of all routes: a route that is not in them answers 404.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self.routes: dict[tuple[str, str], Route] = {}
        self.permissions: dict[tuple[str, str], Permission] = {
            ("GET", str(app.openapi_url)): "read"
        }

    def add(
        self,
        method: str,
        path: str,
        permission: Permission,
        answer: Schema | None,
        *media: str,
        status: int = 200,
        body: str | None = None,
        errors: tuple[int, ...] = (),
        is_cacheable: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Return the decorator of a documented function that answers requests; see `Route`."""
        route = Route(permission, answer, media or (JSON,), body, errors, is_cacheable)
        self.routes[method, path], self.permissions[method, path] = route, permission
        return self._app.api_route(path, methods=[method], status_code=status)


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
    "TunableSettings": schemas.TUNABLE_SETTINGS,
}


def complete_document(document: Schema, routes: Mapping[tuple[str, str], Route]) -> None:
    """Complete the document that FastAPI made from the signatures of functions."""
    models = document["components"]["schemas"]
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
            if route := routes.get((method.upper(), path)):
                _complete_operation(operation, route, path)


def _complete_operation(operation: Schema, route: Route, path: str) -> None:
    parameters = operation.get("parameters", [])
    operation["summary"] = operation.pop("description")  # the docstring of the function
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
        success["content"] = {kind: {"schema": route.answer} for kind in route.media}
    responses = {status: success}
    if route.is_cacheable:
        responses["304"] = {"description": HTTPStatus(304).phrase}
    codes = {*COMMON_ERRORS, *route.errors, *(BODY_ERRORS if "requestBody" in operation else ())}
    codes |= {401} if route.permission != "nothing" else set()
    codes |= {404, 422} if path.startswith(LEARNER_PATH) else set()
    if any(parameter["name"] == "Idempotency-Key" for parameter in parameters):
        codes.add(409)
    operation["responses"] = responses | {
        str(code): _describe_error(code) for code in sorted(codes)
    }


def _describe_error(status: int) -> Schema:
    content = {JSON: {"schema": ref("Error")}}
    response: Schema = {"description": HTTPStatus(status).phrase, "content": content}
    if status in RETRY_STATUSES:
        seconds = {"schema": schemas.POSITIVE_INTEGER, "required": True}
        seconds["description"] = "Seconds to wait."
        response["headers"] = {"Retry-After": seconds}
    return response


def _describe_body(name: str) -> dict[str, Any]:
    if name in BINARY_BODIES:
        return {RAW: {"schema": {}}}
    rows = {"schema": ref(name), "examples": {"small": {"value": schemas.BODY_EXAMPLES[name]}}}
    return {JSON: rows, RAW: {"schema": {}}, ARROW: {"schema": {}}}
