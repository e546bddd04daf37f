"""Every combination of route, method, host, origin and token: only permitted ones are answered."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import pytest

from labelwalk.service.auth import AuthMiddleware, Tokens
from labelwalk.service.request_log import compile_path
from tests.service.asking import list_permissions

pytestmark = pytest.mark.shell

ROUTE_PERMISSIONS = list_permissions()
HOST = "127.0.0.1:8000"
TOKENS = Tokens(read="r" * 40, write="w" * 40)
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "WEBSOCKET")
HOSTS = (HOST, "LOCALHOST:8000", "127.0.0.1", "evil.example", "127.0.0.1:8000.evil.example", None)
ORIGINS = (None, f"http://{HOST}", "http://evil.example", "null", "http://127.0.0.1:9")
CREDENTIALS: dict[str, tuple[bytes, bytes] | None] = {
    "none": None,
    "write": (b"authorization", b"Bearer " + b"w" * 40),
    "read": (b"authorization", b"Bearer " + b"r" * 40),
    "wrong": (b"authorization", b"Bearer x"),
    "basic": (b"authorization", b"Basic " + b"w" * 40),
    "cookie": (b"cookie", b"labelwalk=" + b"w" * 40),
    "reading cookie": (b"cookie", b"labelwalk=" + b"r" * 40),
    "not text": (b"authorization", b"Bearer \xff\xfe"),
}
# All routes that need no token that writes; every other route must need one.
WITHOUT_A_TOKEN = {
    ("GET", "/"),
    ("GET", "/faces"),
    ("GET", "/healthz"),
    ("GET", "/page/{file}"),
    ("GET", "/readyz"),
    ("DELETE", "/api/session"),
}
WITH_A_TOKEN_THAT_READS = {
    ("GET", "/api/faces"),
    ("GET", "/api/faces/pictures/{example}"),
    ("GET", "/api/faces/sink"),
    ("GET", "/api/faces/view"),
    ("GET", "/api/learners"),
    ("GET", "/api/learners/{name}"),
    ("GET", "/api/learners/{name}/ask"),
    ("GET", "/api/learners/{name}/export"),
    ("GET", "/api/learners/{name}/health"),
    ("GET", "/api/learners/{name}/history"),
    ("GET", "/api/learners/{name}/live"),
    ("GET", "/api/learners/{name}/map"),
    ("GET", "/api/learners/{name}/recent"),
    ("GET", "/api/learners/{name}/taught"),
    ("GET", "/api/learners/{name}/vertices"),
    ("GET", "/api/learners/{name}/vertices/{id}"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/session"),
    ("GET", "/metrics"),
    ("POST", "/api/learners/{name}/dials/try"),
    ("POST", "/api/learners/{name}/explain"),
    ("POST", "/api/learners/{name}/predict"),
    ("POST", "/api/session"),
}
PATHS = [
    *sorted({path for _, path in ROUTE_PERMISSIONS}),
    "/page/",
    "/api",
    "/api/learners/a/b",
    "/../etc/passwd",
]


async def inside(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


def answered(scope: dict[str, Any]) -> tuple[bool, list[Any]]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    middleware = AuthMiddleware(inside, TOKENS, [HOST, "localhost:8000"], ROUTE_PERMISSIONS)
    asyncio.run(middleware(scope, receive, send))
    return sent[0].get("status") == 200, sent


def scope_of(method: str, path: str, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    kind = "websocket" if method == "WEBSOCKET" else "http"
    return {"type": kind, "method": method, "path": path, "headers": list(headers)}


def allowed(method: str, path: str, host: str | None, origin: str | None, who: str) -> bool:
    """Say it again, in other words."""
    need = ROUTE_PERMISSIONS.get(("GET" if method == "HEAD" else method, path))
    ours = host is not None and host.lower() in (HOST, "localhost:8000")
    same = origin is None or (host is not None and origin == f"http://{host.lower()}")
    if need is None or not ours or not same:
        return False
    if need == "nothing":
        return True
    if who in ("none", "wrong", "basic", "not text"):
        return False
    if need == "write" and "read" in who:
        return False
    return "cookie" not in who or method in ("GET", "HEAD") or origin is not None


def test_which_routes_need_less_than_the_token_that_writes() -> None:
    less = {route: need for route, need in ROUTE_PERMISSIONS.items() if need != "write"}
    expected = dict.fromkeys(WITHOUT_A_TOKEN, "nothing")
    assert less == expected | dict.fromkeys(WITH_A_TOKEN_THAT_READS, "read")


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_only_permitted_requests_are_answered(path: str) -> None:
    real = path.replace("{name}", "some%20name")
    for method, host, origin, who in product(METHODS, HOSTS, ORIGINS, CREDENTIALS):
        headers = [] if host is None else [(b"host", host.encode())]
        headers += [] if origin is None else [(b"origin", origin.encode())]
        credential = CREDENTIALS[who]
        headers += [] if credential is None else [credential]
        through, sent = answered(scope_of(method, real, *headers))
        assert through == allowed(method, path, host, origin, who), (method, host, origin, who)
        if not through:
            assert sent[0].get("status", 403) in (400, 401, 403, 404, 405, 421)
        elif sent[0]["type"] == "http.response.start":
            assert (b"x-content-type-options", b"nosniff") in sent[0]["headers"]


def test_authorization_headers_must_not_repeat() -> None:
    write = CREDENTIALS["write"]
    assert write is not None
    host = (b"host", HOST.encode())
    assert answered(scope_of("GET", "/metrics", host, write))[0]
    assert not answered(scope_of("GET", "/metrics", host, host, write))[0]
    assert not answered(scope_of("GET", "/metrics", host, write, write))[0]


def test_rejections_contain_no_token() -> None:
    for who in CREDENTIALS.values():
        headers = [(b"host", HOST.encode()), *([] if who is None else [who])]
        through, sent = answered(scope_of("POST", "/api/learners", *headers))
        assert through or b"wwww" not in sent[1]["body"]


def test_allow_header_lists_the_methods() -> None:
    _, sent = answered(scope_of("PATCH", "/api/learners/a", (b"host", HOST.encode())))
    assert sent[0]["status"] == 405
    assert (b"allow", b"GET, DELETE, PUT") in sent[0]["headers"]
    _, sent = answered(scope_of("GET", "/api/learners/a/stream", (b"host", HOST.encode())))
    assert sent[0]["status"] == 404


def test_a_path_belongs_to_one_route() -> None:
    paths = {path for _, path in ROUTE_PERMISSIONS}
    for path in paths:
        assert [other for other in paths if compile_path(other).match(path)] == [path]
