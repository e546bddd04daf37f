"""How much and how long: what keeps one client from taking all there is."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from labelwalk.service.access import Application, Receive, Refusal, Scope, Send, refuse
from labelwalk.service.bodies import LARGEST, WholeBodies
from labelwalk.service.rate import Rate

SOON = (b"retry-after", b"1")
MOST = 1000  # requests at a time


@dataclass(frozen=True)
class Limits:
    """What a service allows.

    Attributes
    ----------
    body : int
        Bytes of a body.
    patience : float
        Seconds in which a body must be there.
    timeout : float
        Seconds in which an answer must begin.
    sockets : int
        WebSockets at a time.
    rate : float or None
        Requests a second under each token; None: any number.
    """

    body: int = LARGEST
    patience: float = 30.0
    timeout: float = 300.0
    sockets: int = 100
    rate: float | None = None


def limited(application: Application, limits: Limits) -> Application:
    """Return an application that keeps within limits."""
    inner = Sockets(Deadline(application, limits.timeout), limits.sockets)
    whole = Crowd(WholeBodies(inner, limits.body, limits.patience), MOST)
    return whole if limits.rate is None else Rate(whole, limits.rate)


class Deadline:
    """Gives up where an answer does not begin in time; what was accepted still happens."""

    def __init__(self, application: Application, seconds: float) -> None:
        self._application, self._seconds = application, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and watch the clock."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._seconds) as clock:

                async def sending(message: MutableMapping[str, Any]) -> None:
                    clock.reschedule(None)  # an answer that has begun may take its time
                    await send(message)

                await self._application(scope, receive, sending)
        except TimeoutError:
            reason = (
                f"there was no answer after {self._seconds:g} seconds. What changes something may "
                "still happen: send it again under its key."
            )
            await refuse(scope, send, Refusal(503, reason, (SOON,)))


class Crowd:
    """Lets in so many requests at a time."""

    def __init__(self, application: Application, most: int) -> None:
        self._application, self._most, self._inside = application, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and self._inside >= self._most:
            reason = f"{self._most} requests are being answered. Try again later."
            await refuse(scope, send, Refusal(503, reason, (SOON,)))
            return
        self._inside += 1
        try:
            await self._application(scope, receive, send)
        finally:
            self._inside -= 1


class Sockets:
    """Lets in so many WebSockets at a time."""

    def __init__(self, application: Application, most: int) -> None:
        self._application, self._most, self._open = application, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "websocket":
            await self._application(scope, receive, send)
            return
        if self._open >= self._most:
            reason = f"{self._most} WebSockets are open. Close one, or try again later."
            await refuse(scope, send, Refusal(429, reason, (SOON,)))
            return
        self._open += 1
        try:
            await self._application(scope, receive, send)
        finally:
            self._open -= 1
