"""Raw rows of programs: a fast path of HTTP requests past FastAPI, and a WebSocket stream.

A WebSocket client begins with a text: {"type": "f4", "features": 64, "session": "unique name"}.
Then it sends binary frames: a frame number of eight bytes, and rows. The response to each is a
binary frame: the frame number and the id of the first example, eight bytes each; then for all rows
the codes of their classes (four bytes each: the position in `classes`, or -1 for none), their
confidences (four-byte floats) and whether they are outliers (one byte each). A response is sent
when the rows are on disk. A frame that is repeated in the same session gets the same response, and
is learned only once.
"""

import asyncio
import json
import re
import struct
from collections.abc import Awaitable
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelwalk.service import errors
from labelwalk.service.commands import CommandResult, Observe, Rows
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.request_bodies import MAX_KEY_LENGTH, parse_raw_rows, parse_rows
from labelwalk.service.schemas import JSON, RAW
from labelwalk.service.worker import BusyError, NoLearnerError, to_asyncio_future

FAST_PATHS = re.compile("/api/learners/([^/]+)/(observe|predict)")
FRAME_NUMBER = struct.Struct("<Q")
MAX_PENDING_FRAMES = 64  # the next frame is read when the first of these is answered
BUSY_WAIT_S = 0.01  # while the queue of the store is full
POLICY_VIOLATION, INTERNAL_ERROR = 1008, 1011  # close codes
MAX_CLOSE_REASON_BYTES = 123
MAX_SESSION_LENGTH = 100
HELLO_TYPES: dict[str, Any] = {"type": str, "features": int | float | str, "session": str}


class ClientDisconnectedError(Exception):
    """The client has closed the connection."""


class RawRowsFastPath:
    """Answers `observe` and `predict` of raw rows without the framework."""

    def __init__(self, application: ASGIApp, store: LearnerStore) -> None:
        self._application, self._store = application, store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        match = FAST_PATHS.fullmatch(scope["path"]) if is_post else None
        headers = {} if match is None else dict(scope["headers"])
        key = headers.get(b"idempotency-key", b"").decode("latin-1")
        is_raw = headers.get(b"content-type") == RAW.encode()
        if match is None or not is_raw or len(key) > MAX_KEY_LENGTH:
            await self._application(scope, receive, send)
            return
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        try:
            message = await receive()  # the body is complete: it has passed `BodyMiddleware`
            rows = parse_rows(bytes(message["body"]), RAW, query).rows
            body = await self._answer(match[1], match[2], rows, key)
        except errors.REPORTED_ERRORS as error:
            await errors.describe_error(error)(scope, receive, send)
            return
        await Response(body, media_type=JSON)(scope, receive, send)

    async def _answer(self, name: str, verb: str, rows: Rows, key: str) -> bytes:
        learner = self._store.find_id(name)
        if verb == "observe":
            change = self._store.submit(learner, Observe(rows), key)
            return bytes((await to_asyncio_future(change)).to_json())
        result = await to_asyncio_future(self._store.predict(learner, rows))
        return json.dumps(result.columns, ensure_ascii=False).encode()


class RowStream:
    """An ASGI application that observes rows over a WebSocket."""

    def __init__(self, store: LearnerStore) -> None:
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the frames of one client until it disconnects."""
        name = scope["path_params"]["name"]
        try:
            self._store.find_id(name)
        except NoLearnerError as error:
            await errors.ErrorResponse(404, str(error.args[0]))(scope, receive, send)
            return
        await receive()
        await send({"type": "websocket.accept"})
        pending: asyncio.Queue[tuple[int, Awaitable[CommandResult]] | None]
        pending = asyncio.Queue(MAX_PENDING_FRAMES)
        reader = asyncio.create_task(self._read_frames(name, receive, pending))
        try:
            while (frame := await pending.get()) is not None:
                number, result = frame
                content = _encode_frame(number, await result, self._store.get_classes(name))
                await send({"type": "websocket.send", "bytes": content})
            await reader
        except ClientDisconnectedError:
            pass
        except (ValueError, LookupError) as error:
            await send(_make_close_message(POLICY_VIOLATION, str(error.args[0])))
        except Exception as error:
            await send(_make_close_message(INTERNAL_ERROR, type(error).__name__))
        finally:
            reader.cancel()
            while not pending.empty():  # the reader may wait for space to put its end marker
                pending.get_nowait()

    async def _read_frames(self, name: str, receive: Receive, pending: asyncio.Queue[Any]) -> None:
        try:
            hello = _parse_hello(await _receive_content(receive, "text"))
            while True:
                frame = await _receive_content(receive, "bytes")
                if len(frame) < FRAME_NUMBER.size:
                    raise errors.BodyError(
                        "A frame has no number. Begin each frame with an eight-byte number."
                    )
                number = FRAME_NUMBER.unpack_from(frame)[0]
                content = frame[FRAME_NUMBER.size :]
                rows = parse_raw_rows(content, hello["type"], str(hello["features"]))
                key = f"{hello['session']} {number}"
                await pending.put((number, await self._submit(name, rows, key)))
        finally:
            await pending.put(None)

    async def _submit(self, name: str, rows: Rows, key: str) -> Awaitable[CommandResult]:
        """Submit rows; wait while the queue is full, which slows the client down too."""
        while True:
            try:
                learner = self._store.find_id(name)
                return to_asyncio_future(self._store.submit(learner, Observe(rows), key))
            except BusyError:
                await asyncio.sleep(BUSY_WAIT_S)


async def _receive_content(receive: Receive, kind: str) -> Any:
    message = await receive()
    if message["type"] == "websocket.disconnect":
        raise ClientDisconnectedError
    content = message.get(kind)
    if content is None:
        raise errors.BodyError("Expected a text frame first, and then binary frames.")
    return content


def _make_close_message(code: int, reason: str) -> Message:
    short = reason.encode(errors="replace")[:MAX_CLOSE_REASON_BYTES].decode(errors="ignore")
    return {"type": "websocket.close", "code": code, "reason": short}


def _parse_hello(text: str) -> dict[str, Any]:
    try:
        hello = json.loads(text)
        are_typed = all(isinstance(hello[name], kind) for name, kind in HELLO_TYPES.items())
        if set(hello) != HELLO_TYPES.keys() or not are_typed:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise errors.BodyError(
            "The first frame must be a JSON object with type, features and session."
        ) from None
    session = hello["session"]
    if not 0 < len(session) <= MAX_SESSION_LENGTH or not session.isprintable():
        raise errors.BodyError(
            f"session must have 1 to {MAX_SESSION_LENGTH} printable characters. Use a random one."
        )
    return dict(hello)


def _encode_frame(number: int, result: CommandResult, classes: tuple[Any, ...]) -> bytes:
    codes = {name: code for code, name in enumerate(classes)}
    columns = result.columns
    return b"".join(
        [
            FRAME_NUMBER.pack(number),
            FRAME_NUMBER.pack(result.first),
            np.array([codes.get(name, -1) for name in columns["label"]], "<i4").tobytes(),
            np.array(columns["confidence"], "<f4").tobytes(),
            np.array(columns["outlier"], "u1").tobytes(),
        ]
    )
