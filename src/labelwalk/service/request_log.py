"""The log of the service: events as lines of JSON or text, and a middleware that logs requests.

Only facts that are listed by name are logged: no token, body, row, label or query.
"""

import json
import logging
import math
import re
import threading
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Literal, NamedTuple, TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")
Fact = str | int | float | bool
LOG_FACTS = "labelwalk.log_facts"  # key in an ASGI scope
LOGGED_EVENTS = {
    ("POST", "/api/learners", 201): "learner created",
    ("PUT", "/api/learners/{name}", 201): "learner created",
    ("DELETE", "/api/learners/{name}", 204): "learner deleted",
    ("POST", "/api/backups", 201): "backup",
}
LOGGED_STATUSES = {status for _, _, status in LOGGED_EVENTS}
REJECTION_INTERVAL_S = 1.0
MAX_REJECTION_KINDS = 1000


class ServiceLog:
    """Writes a line for each event of a sufficient level; "debug" logs every request."""

    def __init__(self, stream: TextIO, form: Literal["json", "plain"], level: Level) -> None:
        self._stream, self.form, self._minimum = stream, form, LEVELS.index(level)
        self._lock = threading.Lock()

    def is_enabled(self, level: Level) -> bool:
        """Return whether events of a level are logged."""
        return LEVELS.index(level) >= self._minimum

    def write(self, level: Level, event: str, **facts: Fact) -> None:
        """Write a line; an error of the stream is ignored."""
        if not self.is_enabled(level):
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if self.form == "json":
            line = json.dumps({"at": at, "level": level, "event": event} | facts)
        else:
            line = " ".join([at, event, *(f"{name}={fact!r}" for name, fact in facts.items())])
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def write_error(self, event: str, error: BaseException | None) -> None:
        """Log the kind and the place of an unexpected error, but not its message."""
        frames = traceback.extract_tb(error.__traceback__) if error is not None else []
        where = [f"{frame.filename}:{frame.lineno}" for frame in frames[-3:]]
        self.write("error", event, kind=type(error).__name__, where=" ".join(where))


class LogHandler(logging.Handler):
    """Forwards records of the standard logging module, without the messages of errors."""

    def __init__(self, log: ServiceLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record; a failure is ignored."""
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        with suppress(Exception):
            if record.exc_info and record.exc_info[1] is not None:
                self._log.write_error("failure", record.exc_info[1])
            else:
                self._log.write(level, "web server", message=str(record.msg))


def install_log_handler(log: ServiceLog) -> None:
    """Send the records of uvicorn and labelwalk, and errors that end a thread, to a log."""
    for name in ("uvicorn", "labelwalk"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [LogHandler(log)], False
    threading.excepthook = lambda failure: log.write_error("failure", failure.exc_value)


def add_log_facts(scope: Scope, **facts: str) -> None:
    """Attach facts to a request for the log: nothing from its body, headers or query."""
    scope.setdefault(LOG_FACTS, {}).update(facts)


def compile_path(path: str) -> re.Pattern[str]:
    """Return the pattern of the paths of a route, such as "/api/learners/{name}"."""
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + r"\Z")


class Rejection(NamedTuple):
    """A kind of request that was rejected."""

    status: int
    method: str
    route: str
    reason: str


class RequestLogMiddleware:
    """Logs the route and the status of each request; unknown routes are logged as "none"."""

    def __init__(
        self, application: ASGIApp, log: ServiceLog, routes: Iterable[tuple[str, str]]
    ) -> None:
        routes = tuple(routes)
        self._application, self._log = application, log
        self._patterns = {path: compile_path(path) for _, path in routes}
        self._methods = {method for method, _ in routes} | {"HEAD"}
        self._rejections: dict[Rejection, tuple[float, int]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log its result."""
        start, statuses = time.perf_counter(), list[int]()

        async def send_and_note_status(message: Message) -> None:
            if message["type"].endswith("response.start"):
                statuses.append(message["status"])
            elif message["type"] == "websocket.accept":
                statuses.append(101)
            await send(message)

        try:
            await self._application(scope, receive, send_and_note_status)
        finally:
            milliseconds = round(1000 * (time.perf_counter() - start), 1)
            self._log_request(scope, statuses[0] if statuses else 500, milliseconds)

    def _log_request(self, scope: Scope, status: int, milliseconds: float) -> None:
        is_notable = status >= 400 or status in LOGGED_STATUSES
        if not is_notable and not self._log.is_enabled("debug"):
            return
        method = scope.get("method", "WEBSOCKET")
        method = method if method in self._methods else "other"
        matches = (path for path, regex in self._patterns.items() if regex.match(scope["path"]))
        route = next(matches, "none")
        facts = scope.get(LOG_FACTS, {})
        self._log.write(
            "debug", "request", method=method, route=route, status=status, milliseconds=milliseconds
        )
        if event := LOGGED_EVENTS.get((method, route, status)):
            self._log.write("info", event, **facts)
        elif status >= 400:
            reason = facts.get("reason", HTTPStatus(status).phrase)
            self._log_rejection(Rejection(status, method, route, reason))

    def _log_rejection(self, rejection: Rejection) -> None:
        """Log rejections of one kind once a second: a flood of requests must not flood the log."""
        clock = time.monotonic()
        logged_at, n_more = self._rejections.get(rejection, (-math.inf, 0))
        if clock - logged_at < REJECTION_INTERVAL_S:
            self._rejections[rejection] = logged_at, n_more + 1
            return
        if len(self._rejections) >= MAX_REJECTION_KINDS:
            self._rejections.clear()
        self._rejections[rejection] = clock, 0
        self._log.write(
            "info", "refused", **rejection._asdict(), **({"more": n_more} if n_more else {})
        )
