"""Authorization: tokens, and a middleware that checks host, origin and token of each request."""

import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelwalk.service.errors import ErrorResponse
from labelwalk.service.openapi import SESSION_COOKIE, Permission, Permissions
from labelwalk.service.request_log import compile_path

MIN_TOKEN_LENGTH = 20
TOKEN_KEY, PERMISSION_KEY = "labelwalk.token", "labelwalk.permission"  # keys in an ASGI scope
SAFE_METHODS = ("GET", "HEAD")
SECURITY_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True)
class Tokens:
    """The tokens of a folder: one permits reading, the other everything."""

    read: str
    write: str

    def allow(self, token: str, permission: Permission) -> bool:
        """Return whether a token grants a permission; takes the same time for every token."""
        is_read, is_write = (
            hmac.compare_digest(token.encode(), valid.encode()) for valid in (self.read, self.write)
        )
        return is_write or (permission == "read" and is_read)


def join_token_path(folder: str) -> str:
    """Return the path of the token file in a folder."""
    return os.path.join(folder, "tokens.json")


def load_or_create_tokens(folder: str) -> tuple[Tokens, bool]:
    """Return the tokens of a folder, and whether they are new.

    A file that is invalid, or readable by other users, raises a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, is_new = load_or_create_tokens(folder)
    ...     again, is_still_new = load_or_create_tokens(folder)
    >>> first == again, is_new, is_still_new, len(first.write)
    (True, True, False, 43)
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = join_token_path(folder)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _load_tokens(path), False
    tokens = Tokens(read=secrets.token_urlsafe(32), write=secrets.token_urlsafe(32))
    with os.fdopen(descriptor, "w") as file:
        json.dump({"read": tokens.read, "write": tokens.write}, file)
        file.flush()
        os.fsync(file.fileno())
    return tokens, True


def _load_tokens(path: str) -> Tokens:
    if os.stat(path).st_mode & 0o077:
        raise ValueError(f"{path} is readable by other users. Run: chmod 600 {path}")
    try:
        with open(path) as file:
            content = json.load(file)
        tokens = [content["read"], content["write"]]
        if not all(isinstance(token, str) and len(token) >= MIN_TOKEN_LENGTH for token in tokens):
            raise ValueError
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} does not contain valid tokens. Delete it to create new tokens."
        ) from error
    return Tokens(*tokens)


class AuthMiddleware:
    """Passes on requests to known routes from the right host and origin with a valid token.

    The `hosts` are the names of this server with the port. A request for another name may come from
    a page that made its own name resolve to this server (DNS rebinding).
    """

    def __init__(
        self, application: ASGIApp, tokens: Tokens, hosts: Iterable[str], permissions: Permissions
    ) -> None:
        self._application, self._tokens = application, tokens
        self._hosts = {host.lower() for host in hosts}
        methods = dict[str, dict[str, Permission]]()
        for (method, path), permission in permissions.items():
            methods.setdefault(path, {})[method] = permission
        # No two of these match the same path.
        self._routes = [(compile_path(path), methods[path]) for path in methods]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        application = self._check(scope) or self._application
        await application(scope, receive, _add_security_headers(send))

    def _check(self, scope: Scope) -> ErrorResponse | None:
        headers = _read_headers(scope)
        if headers is None:
            return ErrorResponse(
                400, "A Host, Origin, Authorization or Cookie header is repeated. Send each once."
            )
        method = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if host not in self._hosts:
            return ErrorResponse(421, "The requested host name does not belong to this server.")
        if origin is not None and _parse_netloc(origin) != host:
            return ErrorResponse(403, "Cross-origin requests are not allowed.")
        path = scope["path"]
        permissions = next((each for pattern, each in self._routes if pattern.match(path)), {})
        permission = permissions.get("GET" if method == "HEAD" else method)
        if permission is None:
            if methods := ", ".join(each for each in permissions if each != "WEBSOCKET"):
                reason = f"This resource supports only {methods}."
                return ErrorResponse(405, reason, {"allow": methods})
            return ErrorResponse(404, "The resource does not exist.")
        if permission == "nothing":
            return None
        return self._check_token(scope, headers, method, permission)

    def _check_token(
        self, scope: Scope, headers: Mapping[str, str], method: str, permission: Permission
    ) -> ErrorResponse | None:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        is_bearer = kind.lower() == "bearer"
        token = bearer.strip() if is_bearer else _read_cookie(headers)
        if token is None:
            return ErrorResponse(
                401, "A token is required. Send the header Authorization: Bearer TOKEN."
            )
        if not self._tokens.allow(token, "read"):
            return ErrorResponse(401, "The token is invalid.")
        if not self._tokens.allow(token, permission):
            return ErrorResponse(403, "The token is read-only.")
        # A browser sends the cookie with requests of any page; the origin tells ours from others.
        if not is_bearer and method not in SAFE_METHODS and "origin" not in headers:
            return ErrorResponse(403, "A request with a cookie must have an Origin header.")
        scope[TOKEN_KEY] = token
        scope[PERMISSION_KEY] = "write" if self._tokens.allow(token, "write") else "read"
        return None


def _read_headers(scope: Scope) -> dict[str, str] | None:
    """Return the headers that authorization depends on; None if one is repeated."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").lower()
        if name in ("host", "origin", "authorization", "cookie"):
            if name in headers:
                return None
            headers[name] = raw_value.decode("latin-1")
    return headers


def _read_cookie(headers: Mapping[str, str]) -> str | None:
    """Return the session cookie; invalid cookies of other services on the host do not matter."""
    for pair in headers.get("cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == SESSION_COOKIE:
            return value.strip('"')
    return None


def _parse_netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _add_security_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = list(message.get("headers", []))
            names = {name for name, _ in headers}
            defaults = [pair for pair in SECURITY_HEADERS if pair[0] not in names]
            message["headers"] = [*headers, *defaults]
        await send(message)

    return send_with_headers
