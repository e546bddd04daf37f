"""What every route takes and answers, for `/api/openapi.json`: `ROUTES` has a line for each."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from labelwalk.service.access import COOKIE, LEARNER, RULES
from labelwalk.service.schemas import EXAMPLES, SCHEMAS, Schema, ref
from labelwalk.service.wire import ARROW, JSON, RAW

TEXT = "text/plain"
EVERYWHERE = (400, 403, 421, 429, 503)
WAIT = (429, 503)  # come with Retry-After


@dataclass(frozen=True)
class Route:
    """What is to be known of a route beyond what its signature says.

    Attributes
    ----------
    does : str
    answer : schema or None
        Of what comes back; None where nothing does.
    media : str
        What it is written in.
    body : str or None
        The schema of what is sent: "Rows" or "LabelledRows" also as numbers and as Arrow, "Learner"
        as bytes; None where the signature says it, or nothing is sent.
    errors : tuple of int
        Besides those that its rule, its path and its body bring with them.
    """

    does: str
    answer: Schema | None
    media: str = JSON
    body: str | None = None
    errors: tuple[int, ...] = ()


ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/healthz"): Route("Whether the process is alive.", ref("Alive")),
    ("GET", "/readyz"): Route("Whether it answers, and what is damaged.", ref("Ready")),
    ("GET", "/metrics"): Route("What is counted, for Prometheus.", {"type": "string"}, TEXT),
    ("POST", "/api/backups"): Route("Copy everything as of now.", ref("Named")),
    ("GET", "/api/learners"): Route("All learners.", {"type": "array", "items": ref("Facts")}),
    ("POST", "/api/learners"): Route("Make a learner.", ref("Named"), errors=(408, 409, 413, 422)),
    ("GET", LEARNER): Route("What is known of a learner.", ref("Facts")),
    ("PUT", LEARNER): Route("Take in a learner.", ref("Named"), body="Learner", errors=(409,)),
    ("DELETE", LEARNER): Route("Delete a learner.", None),
    ("POST", LEARNER + "/observe"): Route(
        "Learn rows without labels, and answer them.", ref("Verdicts"), body="Rows", errors=(409,)
    ),
    ("POST", LEARNER + "/teach"): Route(
        "Learn rows with their labels.", ref("First"), body="LabelledRows", errors=(409,)
    ),
    ("POST", LEARNER + "/teach_later"): Route(
        "Label an example that was observed.", ref("First"), errors=(408, 409, 413, 422)
    ),
    ("POST", LEARNER + "/retract"): Route(
        "Take back what was taught.", ref("First"), errors=(408, 409, 413, 422)
    ),
    ("POST", LEARNER + "/predict"): Route(
        "Answer rows, and learn nothing.", ref("Guesses"), body="Rows"
    ),
    ("POST", LEARNER + "/explain"): Route(
        "Say why the first row gets its answer.", {"type": "string"}, body="Rows"
    ),
    ("GET", LEARNER + "/ask"): Route(
        "What to label next.", {"type": "array", "items": ref("Question")}, errors=(422,)
    ),
    ("GET", LEARNER + "/health"): Route(
        "The signs of health.", {"type": "array", "items": ref("Sign")}
    ),
    ("GET", LEARNER + "/vertices"): Route("The vertices, column by column.", ref("Vertices")),
    ("GET", LEARNER + "/export"): Route("The learner as a file.", {}, RAW),
}
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
    if "NewLearner" in schemas:
        schemas["NewLearner"]["properties"]["settings"] = ref("Settings")
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
    if route.body in ("Rows", "LabelledRows"):
        operation["parameters"] = [*operation.get("parameters", []), *QUERY]
    done = next(status for status in operation["responses"] if status.startswith("2"))
    answered: Schema = {"description": HTTPStatus(int(done)).phrase}
    if route.answer is not None:
        answered["content"] = {route.media: {"schema": route.answer}}
    refused = {str(status): _refusal(status) for status in _errors(route, need, path)}
    operation["responses"] = {done: answered} | refused


def _errors(route: Route, need: str, path: str) -> list[int]:
    found = {*EVERYWHERE, *route.errors}
    if need != "nothing":
        found.add(401)
    if path.startswith(LEARNER):
        found |= {404, 422}
    if route.body is not None:
        found |= {408, 413, 422}
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
    if name == "Learner":
        return {RAW: {"schema": {}}}
    asked: Schema = {"schema": ref(name), "examples": {"small": {"value": EXAMPLES[name]}}}
    return {JSON: asked, RAW: {"schema": {}}, ARROW: {"schema": {}}}
