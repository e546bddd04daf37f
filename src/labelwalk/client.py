"""Clients of the service, synchronous and asynchronous.

A request is retried while the service is busy or unreachable. A request that changes a learner
carries an idempotency key, so that a repetition is not applied twice.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload
from urllib.parse import quote

import httpx
import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Label
from labelwalk.errors import LabelwalkError

__all__ = ["Answers", "AsyncClient", "Client", "LabelQuestion", "ServiceError"]

P = ParamSpec("P")
T = TypeVar("T")
RAW_ROWS_TYPE = "application/octet-stream"
RETRIED_STATUSES = (429, 503)
RETRY_TIMEOUT_S = 60.0
MIN_PAUSE_S, MAX_PAUSE_S = 0.05, 2.0  # between two attempts
REQUEST_TIMEOUT_S = 60.0


class ServiceError(LabelwalkError):
    """The service rejected a request.

    Attributes
    ----------
    status : int
        Of HTTP.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{reason} (status {status})")
        self.status = status


class Answers(NamedTuple):
    """The answers to examples.

    Attributes
    ----------
    first : int
        The id of the first example; the others follow.
    label : list
        None where the learner abstains.
    confidence : list of float
    outlier : list of bool
    """

    first: int
    label: list[Label | None]
    confidence: list[float]
    outlier: list[bool]


@dataclass(frozen=True)
class LabelQuestion:
    """A question about what to label next; `example` is None if no example is remembered."""

    example: int | None
    row: list[float]
    guess: Label | None
    confidence: float
    count: int


class ErasureReport(NamedTuple):
    """What was erased, in numbers and in words."""

    erased: int  # examples
    older: bool  # whether examples older than the retained events still have influence
    meaning: str


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how its response is read."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    options: dict[str, Any] = field(default_factory=dict)

    def read_response(self, response: httpx.Response) -> T:
        """Return the result, or raise `ServiceError`."""
        if response.is_success:
            return self.read(response)
        try:
            body = response.json()
            reason = str(body.get("error") or body.get("detail"))
        except ValueError:
            reason = response.text[:200]
        raise ServiceError(response.status_code, reason)


class Endpoint(Generic[P, T]):
    """A method that both clients have: its function returns a call, which the client sends."""

    def __init__(self, make: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    @overload
    def __get__(self, client: None, owner: Any) -> Callable[Concatenate[Any, P], Call[T]]: ...
    @overload
    def __get__(self, client: Client, owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: Any) -> Any:
        """Return the method of a client."""
        if client is None:
            return self._make

        def send(*args: P.args, **options: P.kwargs) -> Any:
            return client._send(self._make(client, *args, **options))

        return send


class Endpoints:
    """The methods of the clients."""

    @Endpoint
    def learners(self) -> Call[list[dict[str, Any]]]:
        """Return a summary of each learner."""
        return Call("GET", "/api/learners", httpx.Response.json)

    @Endpoint
    def create(self, /, name: str, **settings: Any) -> Call[None]:
        """Create a learner."""
        options = {"json": {"name": name, "settings": settings}}
        return Call("POST", "/api/learners", _ignore, options)

    @Endpoint
    def delete(self, name: str) -> Call[None]:
        """Delete a learner."""
        return Call("DELETE", _learner_path(name), _ignore)

    @Endpoint
    def observe(self, name: str, X: ArrayLike) -> Call[Answers]:
        """Learn examples without labels, and answer each."""
        return _change("observe", name, _read_answers, **_encode_rows(X))

    @Endpoint
    def predict(self, name: str, X: ArrayLike) -> Call[Answers]:
        """Answer examples without learning."""
        return Call("POST", _learner_path(name, "/predict"), _read_answers, _encode_rows(X))

    @Endpoint
    def teach(self, name: str, X: ArrayLike, labels: Label | Iterable[Label]) -> Call[int]:
        """Teach examples, and return the id of the first."""
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64)).tolist()
        names = [labels] if isinstance(labels, str | int) else list(labels)
        body = {"rows": rows, "labels": names}
        return _change("teach", name, lambda answer: answer.json()["first"], json=body)

    @Endpoint
    def teach_later(self, name: str, example: int, label: Label) -> Call[None]:
        """Teach an example that was observed."""
        return _change("teach_later", name, _ignore, json={"example": example, "label": label})

    @Endpoint
    def retract(
        self, name: str, example: int | None = None, *, label: Label | None = None
    ) -> Call[None]:
        """Remove the label of an example, or all labels of a class."""
        return _change("retract", name, _ignore, json={"example": example, "label": label})

    @Endpoint
    def forget(
        self, name: str, label: Label | None = None, *, examples: Iterable[int] = ()
    ) -> Call[ErasureReport]:
        """Erase a class with its examples, or examples by their ids, and their influence."""
        body = {"label": label, "examples": [int(example) for example in examples]}
        path = _learner_path(name, "/forget")
        return Call("POST", path, lambda answer: ErasureReport(**answer.json()), {"json": body})

    @Endpoint
    def ask(self, name: str, n: int = 5) -> Call[list[LabelQuestion]]:
        """Return what to label next."""

        def read(response: httpx.Response) -> list[LabelQuestion]:
            return [LabelQuestion(**question) for question in response.json()]

        return Call("GET", _learner_path(name, "/ask"), read, {"params": {"n": n}})

    @Endpoint
    def health(self, name: str) -> Call[list[dict[str, Any]]]:
        """Return the health metrics."""
        return Call("GET", _learner_path(name, "/health"), httpx.Response.json)

    @Endpoint
    def export(self, name: str) -> Call[bytes]:
        """Return the file of a learner, as `OnlineLearner.to_bytes` does."""
        return Call("GET", _learner_path(name, "/export"), lambda answer: answer.content)

    @Endpoint
    def take_in(self, name: str, content: bytes) -> Call[None]:
        """Create a learner from a file."""
        return Call("PUT", _learner_path(name), _ignore, {"content": content})


class Client(Endpoints):
    """A client of the service.

    Parameters
    ----------
    url : str
        Such as "http://127.0.0.1:8321".
    token : str
    patience : float
        Seconds during which a request is retried.

    Raises
    ------
    ServiceError
        The service rejected a request.
    """

    def __init__(self, url: str, token: str, *, patience: float = RETRY_TIMEOUT_S) -> None:
        self._http, self._patience = httpx.Client(**_session_options(url, token)), patience

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        for pause in _list_pauses(self._patience):
            try:
                response = self._http.request(call.method, call.path, **call.options)
                return call.read_response(response)
            except (httpx.TransportError, ServiceError) as error:
                if pause is None or not _is_retryable(error):
                    raise
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")


class AsyncClient(Endpoints):
    """An asynchronous client: as `Client`, but each method is awaited."""

    def __init__(self, url: str, token: str, *, patience: float = RETRY_TIMEOUT_S) -> None:
        self._http, self._patience = httpx.AsyncClient(**_session_options(url, token)), patience

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _send(self, call: Call[T]) -> T:
        for pause in _list_pauses(self._patience):
            try:
                response = await self._http.request(call.method, call.path, **call.options)
                return call.read_response(response)
            except (httpx.TransportError, ServiceError) as error:
                if pause is None or not _is_retryable(error):
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")


def _session_options(url: str, token: str) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}"}
    return {"base_url": url, "headers": headers, "timeout": REQUEST_TIMEOUT_S}


def _list_pauses(patience: float) -> Iterator[float | None]:
    """Yield the pause after each attempt; None after the last."""
    end, pause = time.monotonic() + patience, MIN_PAUSE_S
    while time.monotonic() < end:
        yield pause
        pause = min(2 * pause, MAX_PAUSE_S)
    yield None


def _is_retryable(error: Exception) -> bool:
    return not isinstance(error, ServiceError) or error.status in RETRIED_STATUSES


def _learner_path(name: str, rest: str = "") -> str:
    return f"/api/learners/{quote(name, safe='')}{rest}"


def _encode_rows(X: ArrayLike) -> dict[str, Any]:
    values = np.asarray(X)
    rows = np.atleast_2d(values).astype("<f4" if values.dtype == np.float32 else "<f8")
    return {
        "params": {"type": rows.dtype.str[1:], "features": str(rows.shape[1])},
        "content": rows.tobytes(),
        "headers": {"content-type": RAW_ROWS_TYPE},
    }


def _change(verb: str, name: str, read: Callable[[httpx.Response], T], **options: Any) -> Call[T]:
    key = {"idempotency-key": secrets.token_hex(16)}
    options["headers"] = options.get("headers", {}) | key
    return Call("POST", _learner_path(name, f"/{verb}"), read, options)


def _ignore(response: httpx.Response) -> None:
    """Read a response without content."""


def _read_answers(response: httpx.Response) -> Answers:
    body = response.json()
    return Answers(body.get("first", 0), body["label"], body["confidence"], body["outlier"])
