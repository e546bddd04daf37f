"""The short way for machines: raw rows to be observed or predicted, ahead of everything else.

There is nothing here between a request and the store but what both must know. Whatever is not
plainly such a request goes the long way.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple
from urllib.parse import parse_qsl

from labelwalk.service.access import Application, Receive, Scope, Send
from labelwalk.service.commands import Observe
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.refusals import KNOWN, refused
from labelwalk.service.wire import JSON, LONGEST_KEY, RAW, understood
from labelwalk.service.worker import to_asyncio_future

PATH = re.compile("/api/learners/([^/]+)/(observe|predict)")


class Wanted(NamedTuple):
    """What a machine wants."""

    learner: str
    verb: str
    key: str
    asked: dict[str, str]


class Swift:
    """Stands before an application, and answers machines itself.

    Parameters
    ----------
    application : ASGI application
        For all others.
    store : LearnerStore
    """

    def __init__(self, application: Application, store: LearnerStore) -> None:
        self._application, self._store = application, store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass it on."""
        wanted = _wanted(scope)
        if wanted is None:
            await self._application(scope, receive, send)
            return
        status, headers = 200, dict[str, str]()
        try:
            body = await self._answered(wanted, receive)
        except _LeftError:
            return
        except KNOWN as error:
            status, headers, body = refused(error)
        sent = {"content-type": JSON, "content-length": str(len(body))} | headers
        lines = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": body})

    async def _answered(self, wanted: Wanted, receive: Receive) -> bytes:
        rows = understood(await _body(receive), RAW, wanted.asked).rows
        number = self._store.find_id(wanted.learner)
        if wanted.verb == "observe":
            told = await to_asyncio_future(self._store.submit(number, Observe(rows), wanted.key))
            return bytes(told.to_json())
        told = await to_asyncio_future(self._store.predict(number, rows))
        return json.dumps(told.columns, ensure_ascii=False).encode()


class _LeftError(Exception):
    """The client has left."""


def _wanted(scope: Scope) -> Wanted | None:
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    found = PATH.fullmatch(scope["path"])
    if found is None:
        return None
    headers = dict(scope["headers"])
    key = headers.get(b"idempotency-key", b"").decode("latin-1")
    if headers.get(b"content-type") != RAW.encode() or len(key) > LONGEST_KEY:
        return None
    asked = dict(parse_qsl(scope["query_string"].decode("latin-1")))
    return Wanted(found[1], found[2], key, asked)


async def _body(receive: Receive) -> bytes:
    message = await receive()  # bodies are whole by now
    if message["type"] == "http.disconnect":
        raise _LeftError
    return bytes(message["body"])
