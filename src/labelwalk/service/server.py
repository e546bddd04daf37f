"""A process that serves a folder of learners until it is told to stop."""

from __future__ import annotations

import re
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn
from threadpoolctl import threadpool_limits

from labelwalk._extensions import ServiceExtension
from labelwalk.service.access import Guard, Tokens
from labelwalk.service.app import application
from labelwalk.service.demo import Demo
from labelwalk.service.heads import LimitedProtocol
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.limits import Limits, limited
from labelwalk.service.log import Log, listen_to_all
from labelwalk.service.request_log import RequestLog
from labelwalk.service.swift import Swift
from labelwalk.service.turnstile import Turnstile
from labelwalk.service.watcher import Watcher

PATIENCE = 5  # seconds for requests that are under way when it is to stop
SWITCH = 0.001  # seconds that a thread may keep the interpreter while another waits for it
DEFAULT_PORTS = (80, 443)  # which browsers leave out
GLANCE = 1.0  # seconds between two looks at what may have gone wrong


def hosts_of(host: str, port: int, more: Iterable[str]) -> list[str]:
    """Return what a request may call a server, as browsers do it.

    Examples
    --------
    >>> hosts_of("127.0.0.1", 8000, ["cam.local"])
    ['127.0.0.1:8000', 'localhost:8000', '[::1]:8000', 'cam.local:8000', 'cam.local']
    >>> hosts_of("::1", 80, [])
    ['[::1]:80', 'localhost:80', '[::1]', 'localhost']
    """
    own = list(dict.fromkeys([_in_address(host), "localhost", "[::1]"]))
    others = [_in_address(name) for name in more]
    names = [f"{name}:{port}" for name in own] + (own if port in DEFAULT_PORTS else [])
    for name in others:
        names += [f"{name}:{port}", name]
    return names


def address_of(host: str, port: int, more: Sequence[str], *, secure: bool) -> str:
    """Return where a browser finds a server.

    Examples
    --------
    >>> address_of("127.0.0.1", 8000, [], secure=False)
    'http://127.0.0.1:8000'
    >>> address_of("0.0.0.0", 8000, ["cam.local"], secure=True)
    'https://cam.local:8000'
    >>> address_of("127.0.0.1", 8000, ["localhost:9000"], secure=False)
    'http://localhost:9000'
    >>> address_of("::", 8000, ["2001:db8::5"], secure=False)
    'http://[2001:db8::5]:8000'
    """
    scheme = "https" if secure else "http"
    name = more[0] if more else "localhost" if host in ("0.0.0.0", "::") else host
    named = _in_address(name)
    if more and re.search(r":\d+$", named):  # with the port of whatever stands before it
        return f"{scheme}://{named}"
    return f"{scheme}://{named}:{port}"


def _in_address(host: str) -> str:
    """Return a host as addresses name it: those of IPv6 in brackets."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that has its port, and does not listen before there is something to tell.

    Raises
    ------
    OSError
        It cannot be had; says what to do.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    door = socket.socket(family)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((host, port))
        return door
    except OSError as error:
        door.close()
        reason = error.strerror or error
        raise OSError(f"{host}:{port} cannot be had ({reason}). Choose another --port.") from error


def serve(
    store: LearnerStore,
    tokens: Tokens,
    door: socket.socket,
    hosts: Iterable[str],
    *,
    certificate: str | None = None,
    private_key: str | None = None,
    demo: bool = False,
    faces: ServiceExtension | None = None,
    limits: Limits | None = None,
    log: Log,
) -> None:
    """Serve until SIGINT or SIGTERM; what was accepted is written before this returns.

    Parameters
    ----------
    store : LearnerStore
        Closed in the end.
    tokens : Tokens
    door : socket
        Where it listens.
    hosts : iterable of str
        What a request may call it.
    certificate, private_key : paths, optional
        For TLS.
    demo : bool
        Whether to feed a learner with the stream that comes with the package.
    faces : ServiceExtension, optional
        Closed in the end.
    limits : Limits, optional
    log : Log
    """
    limits = limits or Limits()
    watcher, shown, stop = Watcher(store), Demo(store), threading.Event()
    watch = threading.Thread(target=_watch, args=(store, log, stop))
    inside = limited(Swift(application(store, watcher, shown, faces), store), limits)
    guard = Guard(inside, tokens, hosts)
    config = uvicorn.Config(
        RequestLog(Turnstile(guard, store.is_full), log),
        http=cast(Any, partial(LimitedProtocol, patience_s=limits.patience)),
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=PATIENCE,
        ws_max_size=limits.body,
        ws_per_message_deflate=False,
    )
    sys.setswitchinterval(SWITCH)
    server = uvicorn.Server(config)
    watcher.stopping = lambda: server.should_exit
    listen_to_all(log)
    try:
        for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises it again in the end
            signal.signal(number, _leave)
        watch.start()
        with threadpool_limits(limits=1, user_api="blas"):
            watcher.start()
            if demo:
                shown.start()
            server.run(sockets=[door])
    finally:
        if faces is not None:
            faces.close()
        shown.close()
        watcher.close()
        store.close()
        stop.set()
        if watch.is_alive():
            watch.join()
        log.tell("info", "stopped")


def _watch(store: LearnerStore, log: Log, stop: threading.Event) -> None:
    """Tell once of a disk that fails, and of damage that is found."""
    told: set[str] = set()
    while True:
        last = stop.wait(GLANCE)
        for event, reason in (("disk failed", store.failure), ("damage", store.damage)):
            if reason is not None and event not in told:
                told.add(event)
                log.tell("error", event, reason=reason)
        if last:
            return


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
