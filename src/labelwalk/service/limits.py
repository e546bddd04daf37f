"""How much and how long: what keeps one client from taking all there is."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from labelwalk.service.access import SOON, Application, Receive, Refusal, Scope, Send, refuse
from labelwalk.service.bodies import LARGEST, WholeBodies
from labelwalk.service.rate import Rate

MOST = 1000  # requests at a time


@dataclass(frozen=True)
class Limits:
    """What a service allows.

    Attributes
    ----------
    body : int
        Bytes of a body.
    patience : float
        Seconds in which the head of a request must be there, and then its body.
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
    open_ = f"{limits.sockets} WebSockets are open. Close one, or try again later."
    answered = f"{MOST} requests are being answered. Try again later."
    inner = AtOnce(
        Deadline(application, limits.timeout),
        "websocket",
        limits.sockets,
        Refusal(429, open_, (SOON,)),
    )
    whole = AtOnce(
        WholeBodies(inner, limits.body, limits.patience),
        "http",
        MOST,
        Refusal(503, answered, (SOON,)),
    )
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


class AtOnce:
    """Lets in so many of a kind at a time.

    Parameters
    ----------
    application : ASGI application
    kind : str
        That of a scope: http or websocket.
    most : int
    refusal : Refusal
        For those beyond.
    """

    def __init__(self, application: Application, kind: str, most: int, refusal: Refusal) -> None:
        self._application, self._kind, self._most = application, kind, most
        self._refusal, self._inside = refusal, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != self._kind:
            await self._application(scope, receive, send)
            return
        if self._inside >= self._most:
            await refuse(scope, send, self._refusal)
            return
        self._inside += 1
        try:
            await self._application(scope, receive, send)
        finally:
            self._inside -= 1
