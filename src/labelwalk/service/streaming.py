"""Observing without end over a WebSocket: blocks of rows in, verdicts out, in order.

A client begins with a text: {"type": "f4", "features": 64, "session": "a name of its own"}. Then it
sends binary frames: a number of its own, eight bytes, and rows. Each is answered by a frame: the
same number and that of the first example, eight bytes each; then for all rows the codes of their
classes (four bytes, -1: none; else the place in `classes`), their confidences (four bytes, floats)
and whether they are outliers (a byte). Frames are answered when they are on the disk. One that
comes again under its number, in the same session, is answered again and learned once.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable
from typing import Any

import numpy as np

from labelwalk.service.access import Receive, Refusal, Scope, Send, refuse
from labelwalk.service.commands import Observe, Rows
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import CommandResult
from labelwalk.service.wire import BodyError, raw_rows
from labelwalk.service.worker import BusyError, NoLearnerError, to_asyncio_future

NUMBER = struct.Struct("<Q")
WINDOW = 64  # frames under way: the next is read when the first is answered
PAUSE = 0.01  # seconds, where too much waits in the store
WRONG, GONE = 1008, 1011
REASON = 123  # bytes that a closing frame can hold


class Streams:
    """An ASGI application that answers the frames of a client until it leaves.

    Parameters
    ----------
    store : LearnerStore
    """

    def __init__(self, store: LearnerStore) -> None:
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one client."""
        name = scope["path_params"]["name"]
        try:
            self._store.find_id(name)
        except NoLearnerError as error:
            await refuse(scope, send, Refusal(404, str(error.args[0])))
            return
        await receive()
        await send({"type": "websocket.accept"})
        waiting: asyncio.Queue[tuple[int, Awaitable[CommandResult]] | None] = asyncio.Queue(WINDOW)
        reader = asyncio.create_task(self._read(name, receive, waiting))
        try:
            while (frame := await waiting.get()) is not None:
                number, told = frame
                answer = _answer(number, await told, self._store.get_classes(name))
                await send({"type": "websocket.send", "bytes": answer})
            await reader
        except _LeftError:
            pass
        except (ValueError, LookupError) as error:
            await send(_closing(WRONG, str(error.args[0])))
        except Exception as error:
            await send(_closing(GONE, type(error).__name__))
        finally:
            reader.cancel()
            while not waiting.empty():  # it may wait for room, to say that it ends
                waiting.get_nowait()

    async def _read(self, name: str, receive: Receive, waiting: asyncio.Queue[Any]) -> None:
        try:
            hello = _hello(await _received(receive, "text"))
            while True:
                frame = await _received(receive, "bytes")
                if len(frame) < NUMBER.size:
                    raise BodyError("a frame has no number. Begin it with eight bytes.")
                number = NUMBER.unpack_from(frame)[0]
                rows = raw_rows(frame[NUMBER.size :], hello["type"], str(hello["features"]))
                key = f"{hello['session']} {number}"
                await waiting.put((number, await self._accepted(name, rows, key)))
        finally:
            await waiting.put(None)

    async def _accepted(self, name: str, rows: Rows, key: str) -> Awaitable[CommandResult]:
        """Hand rows over; where too much waits, let the client wait too."""
        while True:
            try:
                number = self._store.find_id(name)
                return to_asyncio_future(self._store.submit(number, Observe(rows), key))
            except BusyError:
                await asyncio.sleep(PAUSE)


class _LeftError(Exception):
    """The client has left."""


async def _received(receive: Receive, kind: str) -> Any:
    message = await receive()
    if message["type"] == "websocket.disconnect":
        raise _LeftError
    content = message.get(kind)
    if content is None:
        raise BodyError("begin with a text, and go on with binary frames.")
    return content


def _closing(code: int, reason: str) -> dict[str, Any]:
    short = reason.encode(errors="replace")[:REASON].decode(errors="ignore")
    return {"type": "websocket.close", "code": code, "reason": short}


def _hello(text: str) -> dict[str, Any]:
    try:
        hello = json.loads(text)
        session = hello["session"]
        if set(hello) != {"type", "features", "session"} or not isinstance(session, str):
            raise KeyError
    except (ValueError, KeyError, TypeError):
        raise BodyError("begin with a JSON object of type, features and session.") from None
    if not 0 < len(session) <= 100 or not session.isprintable():
        raise BodyError("session is no name of at most 100 characters. Choose one at random.")
    return dict(hello)


def _answer(number: int, told: CommandResult, classes: tuple[Any, ...]) -> bytes:
    codes = {name: code for code, name in enumerate(classes)}
    columns = told.columns
    return b"".join(
        [
            NUMBER.pack(number),
            NUMBER.pack(told.first),
            np.array([codes.get(name, -1) for name in columns["label"]], "<i4").tobytes(),
            np.array(columns["confidence"], "<f4").tobytes(),
            np.array(columns["outlier"], "u1").tobytes(),
        ]
    )
