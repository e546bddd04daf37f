"""A body is there whole before anything is done with it, and neither too large nor too slow."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from labelwalk.service.access import Application, Receive, Refusal, Scope, Send, refuse

LARGEST = 16 << 20  # bytes
SMALL = 64 << 10  # where a body has no business to be
CLOSE = (b"connection", b"close")  # what is left of the body is not read


class WholeBodies:
    """Reads the body of each request, and only then passes the request on.

    Parameters
    ----------
    application : ASGI application
    largest : int
        Bytes of a body.
    patience : float
        Seconds in which it must be there.
    """

    def __init__(self, application: Application, largest: int, patience: float) -> None:
        self._application, self._largest, self._patience = application, largest, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body, or refuse it."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._patience):
                brings = scope["method"] in ("POST", "PUT")
                body = await self._read(receive, self._largest if brings else SMALL)
        except TimeoutError:
            reason = f"the body was not there after {self._patience:g} seconds. Send it faster."
            await refuse(scope, send, Refusal(408, reason, (CLOSE,)))
            return
        if body is None:
            reason = f"the body is larger than {self._largest:,} bytes. Send fewer rows at once."
            await refuse(scope, send, Refusal(413, reason, (CLOSE,)))
            return
        if body["type"] != "http.request":
            await refuse(scope, send, Refusal(400, "the client left before its body was whole"))
            return
        await self._application(scope, _first(body, receive), send)

    async def _read(self, receive: Receive, largest: int) -> MutableMapping[str, Any] | None:
        """Return a message with all of the body, or that the client has left; None if too large."""
        pieces, size = [], 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return message
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > largest:
                return None
            if not message.get("more_body", False):
                return {"type": "http.request", "body": b"".join(pieces), "more_body": False}


def _first(message: MutableMapping[str, Any], receive: Receive) -> Receive:
    """Return what gives a message, and then what comes after it."""
    waiting = [message]

    async def receiving() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return receiving
