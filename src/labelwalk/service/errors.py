"""Errors of the service, and the HTTP responses that report them."""

import json
from dataclasses import dataclass

from starlette.types import Scope, Send

from labelwalk._extensions import load_extension
from labelwalk.errors import LabelwalkError
from labelwalk.service.commands import UnfinishedError
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.erasure import BackupError, CleanupError
from labelwalk.service.journal_writer import KeyReusedError
from labelwalk.service.request_log import add_log_facts
from labelwalk.service.worker import BusyError, NameTakenError, NoLearnerError

RETRY_STATUSES = (429, 503)
DEFAULT_HEADERS = {
    401: (b"www-authenticate", b"Bearer"),
    **dict.fromkeys(RETRY_STATUSES, (b"retry-after", b"1")),  # seconds
}


class NoVertexError(LabelwalkError, LookupError):
    """The learner has no vertex with this id."""


class TooManyPagesError(LabelwalkError):
    """The limit of connections for live updates is reached."""


class BodyError(LabelwalkError, ValueError):
    """The rows in a request body cannot be parsed."""


class TooManyRowsError(BodyError):
    """A request body holds more rows, or longer ones, than one request may."""


STATUSES: dict[type[Exception], int] = load_extension("errors faces") | {
    NoLearnerError: 404,
    NoVertexError: 404,
    NameTakenError: 409,
    KeyReusedError: 409,
    BackupError: 409,
    TooManyRowsError: 413,
    ValueError: 422,
    BusyError: 429,
    DiskError: 503,
    DamagedError: 503,
    UnfinishedError: 503,
    TooManyPagesError: 503,
    CleanupError: 503,
}
REPORTED_ERRORS = tuple(STATUSES)


@dataclass(frozen=True)
class ErrorResponse:
    """A response with an error; its `logged_reason` contains nothing of the request."""

    status: int
    reason: str
    headers: tuple[tuple[bytes, bytes], ...] = ()
    logged_reason: str | None = None  # None: the reason itself

    def encode(self) -> tuple[list[tuple[bytes, bytes]], bytes]:
        """Return all headers and the body."""
        body = json.dumps({"error": self.reason}).encode()
        length = (b"content-length", str(len(body)).encode())
        headers = [(b"content-type", b"application/json"), *self.headers, length]
        default = DEFAULT_HEADERS.get(self.status)
        if default is not None and default[0] not in dict(self.headers):
            headers.append(default)
        return headers, body


async def send_error(scope: Scope, send: Send, response: ErrorResponse) -> None:
    """Send an error response, over a WebSocket instead of the handshake."""
    add_log_facts(scope, reason=response.logged_reason or response.reason)
    kind = "http.response"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": response.reason})
            return
        kind = "websocket.http.response"
    headers, body = response.encode()
    await send({"type": f"{kind}.start", "status": response.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})


def describe_error(error: Exception) -> ErrorResponse:
    """Return the response to one of `REPORTED_ERRORS`."""
    status = next(code for kind, code in STATUSES.items() if isinstance(error, kind))
    if isinstance(error, UnicodeError):
        reason = "The text contains an unpaired surrogate and is not valid UTF-8."
    else:
        reason = str(error.args[0]) if error.args else str(error)
    return ErrorResponse(status, reason, logged_reason=type(error).__name__)
