"""Who comes with examples when too much waits is turned away at the door, for next to nothing.

What is let in still meets the limit of the inbox itself; this is for floods, in which reading and
understanding what cannot be taken would leave no time for what can.
"""

from __future__ import annotations

from collections.abc import Callable

from labelwalk.service.access import SOON, Application, Receive, Refusal, Scope, Send, refuse

WITH_EXAMPLES = ("/observe", "/teach")
REFUSAL = Refusal(429, "too many examples wait already. Send fewer, or try again later.", (SOON,))


class Turnstile:
    """Stands before everything else.

    Parameters
    ----------
    application : ASGI application
    is_full : function
        Says whether too much waits.
    """

    def __init__(self, application: Application, is_full: Callable[[], bool]) -> None:
        self._application, self._is_full = application, is_full

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or turn it away."""
        brings = scope["type"] == "http" and scope["path"].endswith(WITH_EXAMPLES)
        if brings and scope["method"] == "POST" and self._is_full():
            await refuse(scope, send, REFUSAL)
        else:
            await self._application(scope, receive, send)
