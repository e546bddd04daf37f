"""What became of each request, for the log: its route and status, and nothing that it held."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, NamedTuple

from labelwalk.service.access import (
    ABOUT,
    RULES,
    Application,
    Need,
    Receive,
    Scope,
    Send,
    pattern_of,
)
from labelwalk.service.log import Log

EVENTS = {
    ("POST", "/api/learners", 201): "learner created",
    ("PUT", "/api/learners/{name}", 201): "learner created",
    ("DELETE", "/api/learners/{name}", 204): "learner deleted",
    ("POST", "/api/backups", 201): "backup",
}
TOLD = {status for _, _, status in EVENTS}
SECOND = 1.0
MOST = 1000  # kinds of refusals, and paths, that are remembered


class Refused(NamedTuple):
    """A kind of refusal."""

    status: int
    method: str
    route: str
    reason: str


class RequestLog:
    """Stands before everything else, and tells a log what is answered.

    Parameters
    ----------
    application : ASGI application
    log : Log
    rules : mapping from (method, path) to what is needed
        The routes there are; others are told as "none".
    """

    def __init__(
        self,
        application: Application,
        log: Log,
        rules: Mapping[tuple[str, str], Need] = RULES,
    ) -> None:
        self._application, self._log = application, log
        self._patterns = {path: pattern_of(path) for _, path in rules}
        self._route = lru_cache(MOST)(self._route_of)
        self._methods = {method for method, _ in rules} | {"HEAD"}
        self._refused: dict[Refused, tuple[float, int]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and tell what became of it."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        began, statuses = time.perf_counter(), list[int]()

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"].endswith("response.start"):
                statuses.append(message["status"])
            elif message["type"] == "websocket.accept":
                statuses.append(101)
            await send(message)

        try:
            await self._application(scope, receive, sending)
        finally:
            spent = round(1000 * (time.perf_counter() - began), 1)
            self._tell(scope, statuses[0] if statuses else 500, spent)

    def _tell(self, scope: Scope, status: int, spent: float) -> None:
        if status < 400 and status not in TOLD and not self._log.tells("debug"):
            return
        method = scope.get("method", "WEBSOCKET")
        method = method if method in self._methods else "other"
        route = self._route(scope["path"])
        about = scope.get(ABOUT, {})
        self._log.tell(
            "debug", "request", method=method, route=route, status=status, milliseconds=spent
        )
        if event := EVENTS.get((method, route, status)):
            self._log.tell("info", event, **about)
        elif status >= 400:
            reason = about.get("reason", HTTPStatus(status).phrase)
            self._tell_refusal(Refused(status, method, route, reason))

    def _route_of(self, asked: str) -> str:
        known = (path for path, pattern in self._patterns.items() if pattern.match(asked))
        return next(known, "none")

    def _tell_refusal(self, refused: Refused) -> None:
        """Tell of a refusal, and of many that are alike once a second: a flood must not be two."""
        now = time.monotonic()
        told, more = self._refused.get(refused, (-math.inf, 0))
        if now - told < SECOND:
            self._refused[refused] = told, more + 1
            return
        if len(self._refused) >= MOST:
            self._refused.clear()
        self._refused[refused] = now, 0
        facts = refused._asdict() | ({"more": more} if more else {})
        self._log.tell("info", "refused", **facts)
