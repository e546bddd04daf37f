"""One client that waits, and one to be awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import httpx
from numpy.typing import ArrayLike

from labelwalk.arrays import Label
from labelwalk.client import calls
from labelwalk.client.calls import Answers, Call, Forgotten, Question, ServiceError

T = TypeVar("T")
PATIENCE = 60.0  # seconds, before an error is final
FIRST, LONGEST = 0.05, 2.0  # seconds between two tries


def _pauses(patience: float) -> Iterator[float | None]:
    """Yield how long to wait after each try; None where it is the last."""
    end, pause = time.monotonic() + patience, FIRST
    while time.monotonic() < end:
        yield pause
        pause = min(2 * pause, LONGEST)
    yield None


def _session(url: str, token: str) -> dict[str, Any]:
    return {"base_url": url, "headers": {"authorization": f"Bearer {token}"}, "timeout": 60.0}


class Client:
    """The service, from Python.

    What is busy or away is tried again; what changes something carries a key, so that a repetition
    is harmless.

    Parameters
    ----------
    url : str
        Such as "http://127.0.0.1:8321".
    token : str
    patience : float
        Seconds before an error is final.

    Raises
    ------
    ServiceError
        The service refused.
    """

    def __init__(self, url: str, token: str, *, patience: float = PATIENCE) -> None:
        self._http, self._patience = httpx.Client(**_session(url, token)), patience

    def learners(self) -> list[dict[str, Any]]:
        """Return what there is to know of each learner."""
        return self._do(Call("GET", "/api/learners", calls.parsed))

    def create(self, name: str, **settings: Any) -> None:
        """Make a learner."""
        self._do(calls.created(name, settings))

    def delete(self, name: str) -> None:
        """Strike out a learner."""
        self._do(Call("DELETE", calls.of_learner(name), calls.nothing))

    def observe(self, name: str, X: ArrayLike) -> Answers:
        """Learn examples, and answer each."""
        return self._do(calls.examples("observe", name, X, calls.answers))

    def predict(self, name: str, X: ArrayLike) -> Answers:
        """Answer examples without learning."""
        return self._do(calls.examples("predict", name, X, calls.answers))

    def teach(self, name: str, X: ArrayLike, labels: Label | Iterable[Label]) -> int:
        """Teach examples, and return the number of the first."""
        return self._do(calls.taught(name, X, labels))

    def teach_later(self, name: str, example: int, label: Label) -> None:
        """Teach an example that was observed."""
        self._do(calls.change("teach_later", name, {"example": example, "label": label}))

    def retract(self, name: str, example: int | None = None, *, label: Label | None = None) -> None:
        """Take back what was taught."""
        self._do(calls.change("retract", name, {"example": example, "label": label}))

    def forget(
        self, name: str, label: Label | None = None, *, examples: Iterable[int] = ()
    ) -> Forgotten:
        """Erase a class with its examples, or examples by their numbers, as if never seen."""
        return self._do(calls.forgotten(name, label, examples))

    def ask(self, name: str, n: int = 5) -> list[Question]:
        """Return what to label next."""
        return self._do(calls.asked(name, n))

    def health(self, name: str) -> list[dict[str, Any]]:
        """Return the signs of health."""
        return self._do(Call("GET", calls.of_learner(name, "/health"), calls.parsed))

    def export(self, name: str) -> bytes:
        """Return the file of a learner, as `OnlineLearner.to_bytes` does."""
        return self._do(Call("GET", calls.of_learner(name, "/export"), calls.content))

    def take_in(self, name: str, content: bytes) -> None:
        """Make a learner of a file."""
        self._do(Call("PUT", calls.of_learner(name), calls.nothing, {"content": content}))

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _do(self, call: Call[T]) -> T:
        for pause in _pauses(self._patience):
            try:
                return call.answer(self._http.request(call.method, call.path, **call.more))
            except (httpx.TransportError, ServiceError) as error:
                if pause is None or not calls.is_worth_another_try(error):
                    raise
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")


class AsyncClient:
    """The service, to be awaited; as `Client` in all else."""

    def __init__(self, url: str, token: str, *, patience: float = PATIENCE) -> None:
        self._http, self._patience = httpx.AsyncClient(**_session(url, token)), patience

    async def learners(self) -> list[dict[str, Any]]:
        """Return what there is to know of each learner."""
        return await self._do(Call("GET", "/api/learners", calls.parsed))

    async def create(self, name: str, **settings: Any) -> None:
        """Make a learner."""
        await self._do(calls.created(name, settings))

    async def observe(self, name: str, X: ArrayLike) -> Answers:
        """Learn examples, and answer each."""
        return await self._do(calls.examples("observe", name, X, calls.answers))

    async def predict(self, name: str, X: ArrayLike) -> Answers:
        """Answer examples without learning."""
        return await self._do(calls.examples("predict", name, X, calls.answers))

    async def teach(self, name: str, X: ArrayLike, labels: Label | Iterable[Label]) -> int:
        """Teach examples, and return the number of the first."""
        return await self._do(calls.taught(name, X, labels))

    async def teach_later(self, name: str, example: int, label: Label) -> None:
        """Teach an example that was observed."""
        await self._do(calls.change("teach_later", name, {"example": example, "label": label}))

    async def delete(self, name: str) -> None:
        """Strike out a learner."""
        await self._do(Call("DELETE", calls.of_learner(name), calls.nothing))

    async def retract(
        self, name: str, example: int | None = None, *, label: Label | None = None
    ) -> None:
        """Take back what was taught."""
        await self._do(calls.change("retract", name, {"example": example, "label": label}))

    async def forget(
        self, name: str, label: Label | None = None, *, examples: Iterable[int] = ()
    ) -> Forgotten:
        """Erase a class with its examples, or examples by their numbers, as if never seen."""
        return await self._do(calls.forgotten(name, label, examples))

    async def ask(self, name: str, n: int = 5) -> list[Question]:
        """Return what to label next."""
        return await self._do(calls.asked(name, n))

    async def health(self, name: str) -> list[dict[str, Any]]:
        """Return the signs of health."""
        return await self._do(Call("GET", calls.of_learner(name, "/health"), calls.parsed))

    async def export(self, name: str) -> bytes:
        """Return the file of a learner, as `OnlineLearner.to_bytes` does."""
        return await self._do(Call("GET", calls.of_learner(name, "/export"), calls.content))

    async def take_in(self, name: str, content: bytes) -> None:
        """Make a learner of a file."""
        await self._do(Call("PUT", calls.of_learner(name), calls.nothing, {"content": content}))

    async def close(self) -> None:
        """Let go of the connection."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _do(self, call: Call[T]) -> T:
        for pause in _pauses(self._patience):
            try:
                return call.answer(await self._http.request(call.method, call.path, **call.more))
            except (httpx.TransportError, ServiceError) as error:
                if pause is None or not calls.is_worth_another_try(error):
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")
