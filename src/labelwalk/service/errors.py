"""Errors of the service, and the HTTP responses that report them."""

import json
from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

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
    401: {"www-authenticate": "Bearer"},
    **{status: {"retry-after": "1"} for status in RETRY_STATUSES},  # seconds
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


class ErrorResponse(Response):
    """A response with an error; its `logged_reason` contains nothing of the request."""

    def __init__(
        self,
        status: int,
        reason: str,
        headers: Mapping[str, str] | None = None,
        logged_reason: str | None = None,
    ) -> None:
        headers = {**DEFAULT_HEADERS.get(status, {}), **(headers or {})}
        super().__init__(json.dumps({"error": reason}), status, headers, "application/json")
        self.reason, self.logged_reason = reason, logged_reason or reason

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, over a WebSocket instead of the handshake."""
        add_log_facts(scope, reason=self.logged_reason)
        extensions = scope.get("extensions", {})
        if scope["type"] == "websocket" and "websocket.http.response" not in extensions:
            await send({"type": "websocket.close", "code": 1008, "reason": self.reason})
        else:
            await super().__call__(scope, receive, send)


def describe_error(error: Exception) -> ErrorResponse:
    """Return the response to one of `REPORTED_ERRORS`."""
    status = next(code for kind, code in STATUSES.items() if isinstance(error, kind))
    if isinstance(error, UnicodeError):
        reason = "The text contains an unpaired surrogate and is not valid UTF-8."
    else:
        reason = str(error.args[0]) if error.args else str(error)
    return ErrorResponse(status, reason, logged_reason=type(error).__name__)
