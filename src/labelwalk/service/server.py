"""The server process: sockets, the middlewares in their order, and a graceful stop."""

import re
import signal
import socket
import sys
import threading
from asyncio import Transport
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from labelwalk._extensions import ServiceExtension
from labelwalk.service.app import create_app
from labelwalk.service.auth import SECURITY_HEADERS, AuthMiddleware, Tokens
from labelwalk.service.demo import Demo
from labelwalk.service.errors import ErrorResponse
from labelwalk.service.fast_path import RawRowsFastPath
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.limits import Limits, LoadSheddingMiddleware
from labelwalk.service.live_updates import PageSampler
from labelwalk.service.openapi import Permissions
from labelwalk.service.request_log import RequestLogMiddleware, ServiceLog, install_log_handler

SHUTDOWN_TIMEOUT_S = 5  # for requests in progress
SWITCH_INTERVAL_S = 0.001  # longest time that a thread keeps the interpreter from another
DEFAULT_PORTS = (80, 443)  # browsers omit them
FAILURE_POLL_S = 1.0
MAX_HEAD_BYTES = 64 << 10
MAX_HEADERS = 100
MAX_PIPELINED_REQUESTS = 100  # that wait for earlier ones of the connection
LINGER_S = 2.0  # for a client to read its rejection before the connection closes
HEAD_TOO_LARGE = ErrorResponse(
    431,
    f"The request line and headers exceed {MAX_HEAD_BYTES:,} bytes or {MAX_HEADERS} headers. "
    "Send fewer or shorter headers.",
)


def list_host_names(host: str, port: int, more: Iterable[str]) -> list[str]:
    """Return the values of the Host header that a server accepts.

    Examples
    --------
    >>> list_host_names("127.0.0.1", 8000, ["cam.local"])
    ['127.0.0.1:8000', 'localhost:8000', '[::1]:8000', 'cam.local:8000', 'cam.local']
    >>> list_host_names("::1", 80, [])
    ['[::1]:80', 'localhost:80', '[::1]', 'localhost']
    """
    loopback = list(dict.fromkeys([_bracket_ipv6(host), "localhost", "[::1]"]))
    names = [f"{name}:{port}" for name in loopback] + (loopback if port in DEFAULT_PORTS else [])
    for name in map(_bracket_ipv6, more):
        names += [f"{name}:{port}", name]
    return names


def format_address(host: str, port: int, more: Sequence[str], *, secure: bool) -> str:
    """Return the URL of a server for a browser.

    Examples
    --------
    >>> format_address("127.0.0.1", 8000, [], secure=False)
    'http://127.0.0.1:8000'
    >>> format_address("0.0.0.0", 8000, ["cam.local"], secure=True)
    'https://cam.local:8000'
    >>> format_address("127.0.0.1", 8000, ["localhost:9000"], secure=False)
    'http://localhost:9000'
    >>> format_address("::", 8000, ["2001:db8::5"], secure=False)
    'http://[2001:db8::5]:8000'
    """
    scheme = "https" if secure else "http"
    name = more[0] if more else "localhost" if host in ("0.0.0.0", "::") else host
    authority = _bracket_ipv6(name)
    if more and re.search(r":\d+$", authority):  # with the port of a reverse proxy
        return f"{scheme}://{authority}"
    return f"{scheme}://{authority}:{port}"


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to a port but does not listen yet."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        return sock
    except OSError as error:
        sock.close()
        reason = error.strerror or error
        raise OSError(f"Cannot bind {host}:{port} ({reason}). Choose another --port.") from error


class LimitedHttpProtocol(HttpToolsProtocol):
    """The HTTP protocol of uvicorn with limits for request heads, trailers and pipelining.

    The head is the request line and the headers. It must be complete `patience_s` seconds after
    its first byte.
    """

    def __init__(self, *args: Any, patience_s: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._patience_s = patience_s
        self._n_bytes = 0  # of a head, or since the last bytes of a body
        self._is_head, self._is_over = True, False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self._patience_s, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse at most the bytes of a head, unless a body continues or a message ends."""
        while data and not self._is_over:
            if allowance := MAX_HEAD_BYTES - self._n_bytes:
                self._n_bytes += min(allowance, len(data))
                super().data_received(data[:allowance])
                data = data[allowance:]
            is_large = not allowance or len(self.headers or ()) > MAX_HEADERS
            if is_large and not self._is_over:
                self._reject(HEAD_TOO_LARGE)
        if self._timer.cancelled() and not self._is_over and not self._is_answering():
            self._timer = self.loop.call_later(self._patience_s, self._expire)

    def on_headers_complete(self) -> None:
        """Start a response, unless there are too many headers or pipelined requests."""
        if len(self.headers) > MAX_HEADERS or len(self.pipeline) >= MAX_PIPELINED_REQUESTS:
            raise ValueError
        self._is_over = self.parser.should_upgrade() and self._should_upgrade()  # to a WebSocket
        self._is_head, self._n_bytes = False, 0
        self._timer.cancel()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Leave the limits of a body to the middlewares."""
        self._n_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next head."""
        super().on_message_complete()
        self._is_head, self._n_bytes = True, 0

    def send_400_response(self, msg: str) -> None:
        """Reject what the parser or `on_headers_complete` rejected."""
        is_large = len(self.headers or ()) > MAX_HEADERS
        self._reject(HEAD_TOO_LARGE if is_large else ErrorResponse(400, msg))

    def _is_answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # no cycle before a request

    def _expire(self) -> None:
        if self._is_head and self._n_bytes:
            reason = f"The headers were incomplete after {self._patience_s:g} seconds."
            self._reject(ErrorResponse(408, f"{reason} Send them faster."))
        else:  # an idle connection, or the rest of a rejected body does not come
            self.transport.close()

    def _reject(self, rejection: ErrorResponse) -> None:
        """Send an error and close the connection; responses to earlier requests come first."""
        self._is_over, cycle = True, self.cycle
        if rejection.status_code != 400:  # uvicorn has logged that one
            self.logger.warning(rejection.reason)
        if self._is_answering():
            if self._is_head or self.pipeline or cycle.response_started:
                cycle.keep_alive = False
                return
            cycle.disconnected = True
            cycle.message_event.set()
        if self._is_head or not cycle.response_started:
            headers = [*rejection.raw_headers, (b"connection", b"close"), *SECURITY_HEADERS]
            lines = [b"%s: %s\r\n" % pair for pair in headers]
            status_line = STATUS_LINE[rejection.status_code]
            self.transport.write(b"".join([status_line, *lines, b"\r\n", rejection.body]))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer.cancel()
        self._timer = self.loop.call_later(LINGER_S, self.transport.close)


def list_middlewares(
    permissions: Permissions,
    store: LearnerStore,
    tokens: Tokens,
    hosts: Iterable[str],
    limits: Limits,
    log: ServiceLog,
) -> list[Callable[[ASGIApp], ASGIApp]]:
    """Return all middlewares, outermost first."""
    return [
        partial(RequestLogMiddleware, log=log, routes=permissions),
        partial(LoadSheddingMiddleware, is_full=store.is_full),
        partial(AuthMiddleware, tokens=tokens, hosts=hosts, permissions=permissions),
        *limits.list_middlewares(),
        partial(RawRowsFastPath, store=store),
    ]


def wrap_app(app: ASGIApp, middlewares: Sequence[Callable[[ASGIApp], ASGIApp]]) -> ASGIApp:
    """Return an application behind middlewares."""
    for middleware in reversed(middlewares):
        app = middleware(app)
    return app


def serve(
    store: LearnerStore,
    tokens: Tokens,
    sock: socket.socket,
    hosts: Iterable[str],
    *,
    certificate: str | None = None,
    private_key: str | None = None,
    demo: bool = False,
    faces: ServiceExtension | None = None,
    limits: Limits | None = None,
    log: ServiceLog,
) -> None:
    """Serve until SIGINT or SIGTERM; all accepted changes are on disk when this returns.

    The socket is bound, `hosts` are the accepted values of the Host header, and `certificate` and
    `private_key` are the files for TLS. The store and the faces are closed at the end.
    """
    limits = limits or Limits()
    sampler, stream, stop = PageSampler(store), Demo(store), threading.Event()
    monitor = threading.Thread(target=_log_failures, args=(store, log, stop))
    app = create_app(store, sampler, stream, faces)
    middlewares = list_middlewares(app.state.permissions, store, tokens, hosts, limits, log)
    config = uvicorn.Config(
        wrap_app(app, middlewares),
        http=cast(Any, partial(LimitedHttpProtocol, patience_s=limits.patience)),
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
        ws_max_size=limits.body,
        ws_per_message_deflate=False,
    )
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    server = uvicorn.Server(config)
    sampler.is_stopping = lambda: server.should_exit
    install_log_handler(log)
    try:
        for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises it again at the end
            signal.signal(number, _exit)
        monitor.start()
        with threadpool_limits(limits=1, user_api="blas"):
            sampler.start()
            if demo:
                stream.start()
            server.run(sockets=[sock])
    finally:
        for part in (faces, stream, sampler, store):
            if part is not None:
                part.close()
        stop.set()
        if monitor.is_alive():
            monitor.join()
        log.write("info", "stopped")


def _log_failures(store: LearnerStore, log: ServiceLog, stop: threading.Event) -> None:
    """Log a failure of the disk, and damage, once each."""
    logged: set[str] = set()
    while True:
        is_last = stop.wait(FAILURE_POLL_S)
        for event, reason in (("disk failed", store.failure), ("damage", store.damage)):
            if reason is not None and event not in logged:
                logged.add(event)
                log.write("error", event, reason=reason)
        if is_last:
            return


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
