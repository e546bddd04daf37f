"""Who may do what: nothing is answered that is not listed here."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

Need = Literal["nothing", "read", "write"]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "labelwalk"
TOKEN, MAY = "labelwalk.token", "labelwalk.may"  # in a scope: what was shown, and what it allows
ABOUT = "labelwalk.about"  # where a scope holds what a log may tell
BEARER = (b"www-authenticate", b"Bearer")
SOON = (b"retry-after", b"1")  # seconds
SAFE = ("GET", "HEAD")
LEARNER = "/api/learners/{name}"
RULES: dict[tuple[str, str], Need] = {
    ("GET", "/"): "nothing",
    ("GET", "/faces"): "nothing",
    ("GET", "/page/{file}"): "nothing",
    ("POST", "/api/session"): "read",
    ("GET", "/api/session"): "read",
    ("DELETE", "/api/session"): "nothing",
    ("POST", "/api/demo"): "write",
    ("GET", "/healthz"): "nothing",
    ("GET", "/readyz"): "nothing",
    ("GET", "/metrics"): "read",
    ("GET", "/api/openapi.json"): "read",
    ("POST", "/api/backups"): "write",
    ("GET", "/api/learners"): "read",
    ("POST", "/api/learners"): "write",
    ("GET", LEARNER): "read",
    ("DELETE", LEARNER): "write",
    ("POST", LEARNER + "/observe"): "write",
    ("POST", LEARNER + "/teach"): "write",
    ("POST", LEARNER + "/teach_later"): "write",
    ("POST", LEARNER + "/retract"): "write",
    ("POST", LEARNER + "/forget"): "write",
    ("POST", LEARNER + "/predict"): "read",
    ("POST", LEARNER + "/explain"): "read",
    ("GET", LEARNER + "/ask"): "read",
    ("GET", LEARNER + "/health"): "read",
    ("GET", LEARNER + "/vertices"): "read",
    ("GET", LEARNER + "/vertices/{id}"): "read",
    ("GET", LEARNER + "/map"): "read",
    ("GET", LEARNER + "/recent"): "read",
    ("GET", LEARNER + "/taught"): "read",
    ("GET", LEARNER + "/history"): "read",
    ("GET", LEARNER + "/live"): "read",
    ("POST", LEARNER + "/dials/try"): "read",
    ("POST", LEARNER + "/dials"): "write",
    ("GET", LEARNER + "/export"): "read",
    ("PUT", LEARNER): "write",
    ("WEBSOCKET", LEARNER + "/stream"): "write",
    ("GET", "/api/faces"): "read",
    ("POST", "/api/faces/frames"): "write",
    ("GET", "/api/faces/view"): "read",
    ("GET", "/api/faces/pictures/{example}"): "read",
    ("POST", "/api/faces/name"): "write",
    ("POST", "/api/faces/undo"): "write",
    ("POST", "/api/faces/forget"): "write",
    ("GET", "/api/faces/sink"): "read",
    ("POST", "/api/faces/sink"): "write",
}
HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True)
class Tokens:
    """What opens the doors: one for reading alone, one for everything."""

    read: str
    write: str

    def allows(self, given: str, need: Need) -> bool:
        """Return whether a token is good enough."""
        both = [
            hmac.compare_digest(given.encode(), known.encode()) for known in (self.read, self.write)
        ]
        return both[1] or (need == "read" and both[0])


@dataclass(frozen=True)
class Refusal:
    """Why something is not answered."""

    status: int
    reason: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Guard:
    """Stands before an application, and lets through what is listed.

    Parameters
    ----------
    application : ASGI application
    tokens : Tokens
    hosts : iterable of str
        What a request may call this server, with its port: other names may belong to a page that
        has turned its own name towards us.
    rules : mapping from (method, path) to what is needed
    """

    def __init__(
        self,
        application: Application,
        tokens: Tokens,
        hosts: Iterable[str],
        rules: Mapping[tuple[str, str], Need] = RULES,
    ) -> None:
        self._application, self._tokens = application, tokens
        self._hosts = {host.lower() for host in hosts}
        self._rules = [(method, pattern_of(path), need) for (method, path), need in rules.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._application(scope, receive, _with_headers(send))
        else:
            await refuse(scope, _with_headers(send), refusal)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers = _headers(scope)
        if headers is None:
            return Refusal(400, "a header that decides came twice, or is not text")
        method = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if host not in self._hosts:
            return Refusal(421, "this server is not called that; see --allow-host")
        if origin is not None and _netloc(origin) != host:
            return Refusal(403, "requests from other pages are not answered")
        need = self._need(method, scope["path"])
        if need is None:
            if known := self._methods(scope["path"]):
                allow = (b"allow", known.encode())
                return Refusal(405, f"this is done by {known} alone", (allow,))
            return Refusal(404, "there is no such thing here")
        if need == "nothing":
            return None
        return self._by_credential(scope, headers, method, need, origin)

    def _need(self, method: str, path: str) -> Need | None:
        known = "GET" if method == "HEAD" else method
        for listed, pattern, need in self._rules:
            if listed == known and pattern.fullmatch(path):
                return need
        return None

    def _methods(self, path: str) -> str:
        known = [method for method, pattern, _ in self._rules if pattern.fullmatch(path)]
        return ", ".join(method for method in known if method != "WEBSOCKET")

    def _by_credential(
        self, scope: Scope, headers: Mapping[str, str], method: str, need: Need, origin: str | None
    ) -> Refusal | None:
        given = _given(headers)
        if given is None:
            return Refusal(401, "a token is needed: Authorization: Bearer TOKEN", (BEARER,))
        if not self._tokens.allows(given, "read"):
            return Refusal(401, "the token is not known here", (BEARER,))
        if not self._tokens.allows(given, need):
            return Refusal(403, "this token may only read")
        if _bearer(headers) is None and method not in SAFE and origin is None:
            return Refusal(403, "with a cookie, the page it comes from must be named")
        scope[TOKEN] = given
        scope[MAY] = "write" if self._tokens.allows(given, "write") else "read"
        return None


def note(scope: Scope, **facts: str) -> None:
    """Let a log tell something of a request: nothing that came in a body, a header or a query."""
    scope.setdefault(ABOUT, {}).update(facts)


def pattern_of(path: str) -> re.Pattern[str]:
    """Return what a path must be like to be that of a route."""
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + r"\Z")


def _headers(scope: Scope) -> dict[str, str] | None:
    """Return the headers that decide; None where one of them is ambiguous."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").lower()
        if name in ("host", "origin", "authorization", "cookie"):
            if name in found:
                return None
            found[name] = raw_value.decode("latin-1")
    return found


def _given(headers: Mapping[str, str]) -> str | None:
    bearer = _bearer(headers)
    return _cookie(headers) if bearer is None else bearer


def _bearer(headers: Mapping[str, str]) -> str | None:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _cookie(headers: Mapping[str, str]) -> str | None:
    """Return our cookie, whatever those of others on the same host look like."""
    for pair in headers.get("cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            return value.strip('"')
    return None


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            given = list(message.get("headers", []))
            said = {name for name, _ in given}
            message["headers"] = [*given, *(pair for pair in HEADERS if pair[0] not in said)]
        await send(message)

    return sending


async def refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    """Answer with a refusal."""
    note(scope, reason=refusal.reason)
    kind = "http.response"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": refusal.reason})
            return
        kind = "websocket.http.response"
    headers, body = response_of(refusal)
    await send({"type": f"{kind}.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})


def response_of(refusal: Refusal) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return the headers and the body that say it."""
    body = json.dumps({"error": refusal.reason}).encode()
    length = (b"content-length", str(len(body)).encode())
    return [(b"content-type", b"application/json"), *refusal.headers, length], body
