"""How many requests a token may make: a bucket that fills with time, and each takes one out."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from labelwalk.service.access import TOKEN, Application, Receive, Refusal, Scope, Send, refuse

BURST = 2  # seconds of requests that may come at once


@dataclass
class Bucket:
    """What is left of a token's share.

    Attributes
    ----------
    rate : float
        Requests a second.
    left : float
    at : float
        When it was last looked at, in seconds.

    Examples
    --------
    >>> bucket = Bucket(rate=0.5, left=1.0, at=0.0)
    >>> bucket.wait(now=0.0), bucket.wait(now=0.5), bucket.wait(now=2.0)
    (0.0, 1.5, 0.0)
    """

    rate: float
    left: float
    at: float

    def wait(self, now: float) -> float:
        """Take one out, or return how many seconds to wait for one."""
        self.left = min(max(1.0, BURST * self.rate), self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return (1 - self.left) / self.rate
        self.left -= 1
        return 0.0


class Rate:
    """Refuses what a token sends beyond its share; a WebSocket counts once.

    Stands behind a guard: what comes without a token needs none, and is not counted.

    Parameters
    ----------
    application : ASGI application
    rate : float
        Requests a second.
    """

    def __init__(self, application: Application, rate: float) -> None:
        self._application, self._rate = application, rate
        self._buckets: dict[str, Bucket] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        token = scope.get(TOKEN)
        seconds = 0.0 if token is None else self._wait(token)
        if not seconds:
            await self._application(scope, receive, send)
            return
        again = (b"retry-after", str(math.ceil(seconds)).encode())
        reason = f"more than {self._rate:g} requests a second. Send fewer, or try again later."
        await refuse(send, Refusal(429, reason, (again,)), scope)

    def _wait(self, token: str) -> float:
        now = time.monotonic()
        full = max(1.0, BURST * self._rate)
        return self._buckets.setdefault(token, Bucket(self._rate, full, now)).wait(now)
