"""Limits: middlewares for the rate, size, duration and number of requests."""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelwalk.service.auth import TOKEN_KEY
from labelwalk.service.errors import ErrorResponse

MAX_REQUESTS = 1000  # at the same time
MAX_BODY_BYTES = 16 << 20
MAX_UNUSED_BODY_BYTES = 64 << 10  # of methods whose body has no meaning
BURST_S = 2  # a rate limit permits the requests of so many seconds at once
CLOSE_CONNECTION = {"connection": "close"}  # the rest of a rejected body is not read
ROUTES_WITH_EXAMPLES = ("/observe", "/teach")
QUEUE_IS_FULL = ErrorResponse(429, "Too many examples are waiting. Send fewer, or try again later.")


@dataclass(frozen=True)
class Limits:
    """What a service permits."""

    body: int = MAX_BODY_BYTES
    patience: float = 30.0  # seconds until a head is complete, and then until its body is
    timeout: float = 300.0  # seconds until a response starts
    sockets: int = 100  # WebSockets at the same time
    rate: float | None = None  # requests per token per second; None: no rate limit

    def list_middlewares(self) -> list[Callable[[ASGIApp], ASGIApp]]:
        """Return the middlewares behind authorization that apply these limits, outermost first."""
        busy = ErrorResponse(503, f"{MAX_REQUESTS} requests are being answered. Try again later.")
        many_sockets = ErrorResponse(
            429, f"{self.sockets} WebSockets are open. Close one, or try again later."
        )
        rate = [] if self.rate is None else [partial(RateLimitMiddleware, rate=self.rate)]
        return [
            *rate,
            partial(ConcurrencyMiddleware, kind="http", limit=MAX_REQUESTS, rejection=busy),
            partial(BodyMiddleware, max_bytes=self.body, timeout_s=self.patience),
            partial(
                ConcurrencyMiddleware, kind="websocket", limit=self.sockets, rejection=many_sockets
            ),
            partial(TimeoutMiddleware, timeout_s=self.timeout),
        ]


class LoadSheddingMiddleware:
    """Rejects requests with examples before their body is read while the queue is full.

    The queue has a limit of its own. This one keeps a flood of requests that cannot be accepted
    from taking the time of those that can.
    """

    def __init__(self, application: ASGIApp, is_full: Callable[[], bool]) -> None:
        self._application, self._is_full = application, is_full

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        has_examples = scope["type"] == "http" and scope["path"].endswith(ROUTES_WITH_EXAMPLES)
        is_rejected = has_examples and scope["method"] == "POST" and self._is_full()
        await (QUEUE_IS_FULL if is_rejected else self._application)(scope, receive, send)


@dataclass
class TokenBucket:
    """A rate limit: a bucket that fills with time, and each request takes one unit out.

    Examples
    --------
    >>> bucket = TokenBucket(rate=0.5, level=1.0, updated_at=0.0)
    >>> bucket.take(0.0), bucket.take(0.5), bucket.take(2.0)
    (0.0, 1.5, 0.0)
    """

    rate: float  # requests per second
    level: float = math.inf  # a full bucket
    updated_at: float = 0.0  # seconds

    def take(self, clock: float) -> float:
        """Take a unit out, or return the seconds until there is one."""
        gain = (clock - self.updated_at) * self.rate
        self.level = min(max(1.0, BURST_S * self.rate), self.level + gain)
        self.updated_at = clock
        if self.level < 1:
            return (1 - self.level) / self.rate
        self.level -= 1
        return 0.0


class RateLimitMiddleware:
    """Limits the requests per second of each token; a WebSocket counts once.

    Requests without a token, to routes that need none, do not count. The `AuthMiddleware` in front
    determines the token.
    """

    def __init__(self, application: ASGIApp, rate: float) -> None:
        self._application, self._rate = application, rate
        self._buckets: dict[str, TokenBucket] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        token = scope.get(TOKEN_KEY)
        bucket = None if token is None else self._buckets.setdefault(token, TokenBucket(self._rate))
        seconds = 0.0 if bucket is None else bucket.take(time.monotonic())
        if not seconds:
            await self._application(scope, receive, send)
            return
        reason = (
            f"The rate limit of {self._rate:g} requests per second is exceeded. Send fewer, or try "
            "again later."
        )
        rejection = ErrorResponse(429, reason, {"retry-after": str(math.ceil(seconds))})
        await rejection(scope, receive, send)


class ConcurrencyMiddleware:
    """Limits the number of requests ("http"), or of WebSockets ("websocket"), at the same time."""

    def __init__(
        self, application: ASGIApp, kind: str, limit: int, rejection: ErrorResponse
    ) -> None:
        self._application, self._kind, self._limit = application, kind, limit
        self._rejection, self._n_active = rejection, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] != self._kind:
            await self._application(scope, receive, send)
            return
        if self._n_active >= self._limit:
            await self._rejection(scope, receive, send)
            return
        self._n_active += 1
        try:
            await self._application(scope, receive, send)
        finally:
            self._n_active -= 1


class BodyMiddleware:
    """Reads the whole body of a request before it passes the request on."""

    def __init__(self, application: ASGIApp, max_bytes: int, timeout_s: float) -> None:
        self._application, self._max_bytes, self._timeout_s = application, max_bytes, timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body, or reject it."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        body = await self._read(Request(scope, receive))
        if isinstance(body, ErrorResponse):
            await body(scope, receive, send)
            return
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_next() -> Message:
            return pending.pop() if pending else await receive()

        await self._application(scope, receive_next, send)

    async def _read(self, request: Request) -> bytes | ErrorResponse:
        """Return the whole body, or the rejection of the request."""
        has_body = request.method in ("POST", "PUT")
        max_bytes, body = self._max_bytes if has_body else MAX_UNUSED_BODY_BYTES, bytearray()
        try:
            async with asyncio.timeout(self._timeout_s):
                async for piece in request.stream():
                    body += piece
                    if len(body) > max_bytes:
                        reason = f"The body exceeds {self._max_bytes:,} bytes."
                        fix = "Send fewer rows per request."
                        return ErrorResponse(413, f"{reason} {fix}", CLOSE_CONNECTION)
        except TimeoutError:
            reason = f"The body was incomplete after {self._timeout_s:g} seconds. Send it faster."
            return ErrorResponse(408, reason, CLOSE_CONNECTION)
        except ClientDisconnect:
            return ErrorResponse(400, "The client disconnected before its body was complete.")
        return bytes(body)


class TimeoutMiddleware:
    """Answers 503 if no response starts in time; an accepted change is still applied."""

    def __init__(self, application: ASGIApp, timeout_s: float) -> None:
        self._application, self._timeout_s = application, timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and limit the time until its response starts."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._timeout_s) as deadline:

                async def send_without_deadline(message: Message) -> None:
                    deadline.reschedule(None)  # a response that has started may take longer
                    await send(message)

                await self._application(scope, receive, send_without_deadline)
        except TimeoutError:
            reason = (
                f"There was no response after {self._timeout_s:g} seconds. A change may still be "
                "applied: repeat it with the same idempotency key."
            )
            await ErrorResponse(503, reason)(scope, receive, send)
