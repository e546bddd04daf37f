"""What is new of a learner, told to a page as it happens: server-sent events.

Each connection reads what the watcher saw last, at its own pace. So a browser that is slow is told
less often, and one that is dead is dropped; nothing is kept for either.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from fastapi import Response

from labelwalk.service.access import Receive, Scope, Send
from labelwalk.service.watcher import TICK, Glimpse, Watched, Watcher

MOST = 50  # connections
QUIET = 15.0  # seconds after which a comment keeps a connection open
PATIENCE = 30.0  # seconds for a browser to take what is sent
STARTED = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8")],
}


class TooManyPagesError(Exception):
    """No more pages can be told."""


class Live(Response):
    """Events of a learner until the page leaves, the learner is deleted, or the server stops.

    Parameters
    ----------
    watcher : Watcher
    number : int
        Of the learner.

    Raises
    ------
    TooManyPagesError
    """

    def __init__(self, watcher: Watcher, number: int) -> None:
        super().__init__()
        if watcher.n_pages >= MOST:
            raise TooManyPagesError(f"{MOST} pages are open already. Close one, or try again.")
        self._watcher, self._number = watcher, number
        watcher.open(number)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell until there is nobody to tell."""
        gone = asyncio.create_task(_until_gone(receive))
        try:
            await _sent(send, dict(STARTED))
            await self._tell(send, gone)
        except TimeoutError:
            pass  # dead: not even what was sent is taken
        finally:
            gone.cancel()
            self._watcher.leave(self._number)

    async def _tell(self, send: Send, gone: asyncio.Task[None]) -> None:
        began = self._watcher.of(self._number)
        teller, quiet = Teller(began.standings if began else 0), 0.0
        while not gone.done() and not self._watcher.stopping():
            watched = self._watcher.of(self._number)
            if watched is None:
                break
            said = "".join(teller.news(watched))
            quiet = 0.0 if said else quiet + TICK
            if quiet >= QUIET:
                said, quiet = ": still here\n\n", 0.0
            if said:
                await _sent(send, _body(said.encode(), more=True))
            await asyncio.wait([gone], timeout=TICK)
        await _sent(send, _body(b"", more=False))


class Teller:
    """Knows what one page has been told.

    Parameters
    ----------
    standings : int
        How many were measured before, which are old by now.
    """

    def __init__(self, standings: int) -> None:
        self._told: Glimpse | None = None
        self._standings = standings

    def news(self, watched: Watched) -> Iterator[str]:
        """Yield what is new since the last time."""
        glimpse, told = watched.glimpse, self._told
        if glimpse is not None and (told is None or glimpse.n_changes != told.n_changes):
            yield _event("map", {"version": glimpse.n_changes, "examples": glimpse.examples})
            passed = 0 if told is None else glimpse.n_observed - told.n_observed
            if passed > 0:
                yield _event("verdicts", {"verdicts": glimpse.verdicts[:passed], "passed": passed})
            self._told = glimpse
        if watched.standings != self._standings:
            self._standings = watched.standings
            yield _event("standing", watched.standing)


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _body(content: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": content, "more_body": more}


async def _sent(send: Send, message: dict[str, Any]) -> None:
    await asyncio.wait_for(send(message), PATIENCE)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
