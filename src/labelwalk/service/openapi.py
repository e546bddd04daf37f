"""The description of the service for `/api/openapi.json`: signatures, and what is known besides."""

from __future__ import annotations

from copy import deepcopy
from http import HTTPStatus
from typing import Any

from labelwalk.service.access import COOKIE, LEARNER, RULES
from labelwalk.service.routes import BYTES, ROUTES, Route
from labelwalk.service.schemas import EXAMPLES, SCHEMAS
from labelwalk.service.setting_schemas import DIALS
from labelwalk.service.shapes import TEXT, Schema, ref
from labelwalk.service.wire import ARROW, JSON, RAW

EVERYWHERE = (400, 403, 421, 429, 503)
WITH_A_BODY = (408, 413, 422)
WAIT = (429, 503)  # come with Retry-After
QUERY: list[Schema] = [
    {
        "name": "type",
        "in": "query",
        "required": False,
        "description": f"Of the numbers of a body in {RAW}.",
        "schema": {"type": "string", "enum": ["f4", "f8"]},
    },
    {
        "name": "features",
        "in": "query",
        "required": False,
        "description": f"How many numbers a row has in {RAW}.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 2**24 - 1},
    },
]
IF_NONE_MATCH: Schema = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of what is kept.",
    "schema": TEXT,
}
# Of bodies in signatures, what settings may be.
PROPERTIES: dict[str, Schema] = {"NewLearner": {"settings": ref("Settings")}, "Dials": DIALS}


def completed(plain: Schema) -> Schema:
    """Return the description of an application, with all that is known of its routes.

    Parameters
    ----------
    plain : dict
        An OpenAPI document made from the signatures alone. Routes that have no line in `ROUTES`
        stay as they are.

    Examples
    --------
    >>> plain = {"paths": {"/healthz": {"get": {"responses": {"200": {"description": "?"}}}}}}
    >>> completed(plain)["paths"]["/healthz"]["get"]["summary"]
    'Whether the process is alive.'
    """
    whole = deepcopy(plain)
    schemas = whole.setdefault("components", {}).setdefault("schemas", {})
    for gone in ("HTTPValidationError", "ValidationError"):
        schemas.pop(gone, None)
    schemas |= SCHEMAS
    for name in PROPERTIES.keys() & schemas.keys():
        schemas[name]["properties"] |= PROPERTIES[name]
    whole["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    }
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            if route := ROUTES.get((method.upper(), path)):
                _describe(operation, route, method.upper(), path)
    return whole


def _describe(operation: Schema, route: Route, method: str, path: str) -> None:
    need = RULES[method, path]
    operation["summary"] = route.does
    if need != "nothing":
        operation["security"] = [{"token": []}, {"cookie": []}]
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _bodies(route.body)}
    if route.body is not None and route.body not in BYTES:
        operation["parameters"] = [*operation.get("parameters", []), *QUERY]
    if route.kept:
        operation["parameters"] = [*operation.get("parameters", []), IF_NONE_MATCH]
    done = next(status for status in operation["responses"] if status.startswith("2"))
    answered: Schema = {"description": HTTPStatus(int(done)).phrase}
    if route.answer is not None:
        media = (route.media,) if isinstance(route.media, str) else route.media
        answered["content"] = {one: {"schema": route.answer} for one in media}
    kept = {"304": {"description": HTTPStatus(304).phrase}} if route.kept else {}
    found = _errors(route, need, path, sends="requestBody" in operation)
    refused = {str(status): _refusal(status) for status in found}
    operation["responses"] = {done: answered} | kept | refused


def _errors(route: Route, need: str, path: str, *, sends: bool) -> list[int]:
    found = {*EVERYWHERE, *route.errors, *(WITH_A_BODY if sends else ())}
    if need != "nothing":
        found.add(401)
    if path.startswith(LEARNER):
        found |= {404, 422}
    return sorted(found)


def _refusal(status: int) -> Schema:
    said: Schema = {
        "description": HTTPStatus(status).phrase,
        "content": {JSON: {"schema": ref("Error")}},
    }
    if status in WAIT:
        seconds = {"type": "integer", "minimum": 1}
        said["headers"] = {
            "Retry-After": {"description": "Seconds to wait.", "schema": seconds, "required": True}
        }
    return said


def _bodies(name: str) -> dict[str, Any]:
    if name in BYTES:
        return {RAW: {"schema": {}}}
    asked: Schema = {"schema": ref(name), "examples": {"small": {"value": EXAMPLES[name]}}}
    return {JSON: asked, RAW: {"schema": {}}, ARROW: {"schema": {}}}
