"""Requests as data: what is sent, and how the answer is read. Both clients send the same ones."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

import httpx
import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Label

T = TypeVar("T")
RAW = "application/octet-stream"
TRY_AGAIN = (429, 503)


class ServiceError(Exception):
    """What the service refused, and why.

    Attributes
    ----------
    status : int
        Of HTTP.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{reason} (status {status})")
        self.status = status


class Answers(NamedTuple):
    """What the service says of examples.

    Attributes
    ----------
    first : int
        The number of the first; the others follow.
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
class Question:
    """Something to label next; `example` is None where no example is remembered."""

    example: int | None
    row: list[float]
    guess: Label | None
    confidence: float
    count: int


class Forgotten(NamedTuple):
    """What was erased.

    Attributes
    ----------
    erased : int
        How many examples.
    older : bool
        Whether some came before the events that are kept, so that their influence remains.
    meaning : str
        The same in words.
    """

    erased: int
    older: bool
    meaning: str


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    more: dict[str, Any] = field(default_factory=dict)

    def answer(self, response: httpx.Response) -> T:
        """Return what a response says.

        Raises
        ------
        ServiceError
            The service refused.
        """
        if not response.is_success:
            raise ServiceError(response.status_code, _reason(response))
        return self.read(response)


def is_worth_another_try(error: Exception) -> bool:
    """Return whether the service may be back, or less busy, in a moment."""
    return not isinstance(error, ServiceError) or error.status in TRY_AGAIN


def of_learner(name: str, rest: str = "") -> str:
    """Return the path of a learner, whatever its name."""
    return f"/api/learners/{quote(name, safe='')}{rest}"


def nothing(response: httpx.Response) -> None:
    """Read an answer without content."""


def content(response: httpx.Response) -> bytes:
    """Read an answer as it is."""
    return response.content


def parsed(response: httpx.Response) -> Any:
    """Read an answer of JSON."""
    return response.json()


def questions(response: httpx.Response) -> list[Question]:
    """Read what to label next."""
    return [Question(**one) for one in response.json()]


def answers(response: httpx.Response) -> Answers:
    """Read verdicts."""
    found = response.json()
    return Answers(found.get("first", 0), found["label"], found["confidence"], found["outlier"])


def first(response: httpx.Response) -> int:
    """Read the number of the first example."""
    return int(response.json()["first"])


def examples(verb: str, name: str, X: ArrayLike, read: Callable[[httpx.Response], T]) -> Call[T]:
    """Return a call that sends rows as raw numbers."""
    given = np.asarray(X)
    rows = np.atleast_2d(given).astype("<f4" if given.dtype == np.float32 else "<f8")
    more = {
        "params": {"type": rows.dtype.str[1:], "features": str(rows.shape[1])},
        "content": rows.tobytes(),
        "headers": {"content-type": RAW} | (key() if verb == "observe" else {}),
    }
    return Call("POST", of_learner(name, f"/{verb}"), read, more)


def taught(name: str, X: ArrayLike, labels: Label | Iterable[Label]) -> Call[int]:
    """Return a call that teaches."""
    rows = np.atleast_2d(np.asarray(X, dtype=np.float64)).tolist()
    names = [labels] if isinstance(labels, str | int) else list(labels)
    body = {"rows": rows, "labels": names}
    return Call("POST", of_learner(name, "/teach"), first, {"json": body, "headers": key()})


def created(name: str, settings: dict[str, Any]) -> Call[None]:
    """Return a call that makes a learner."""
    body = {"name": name, "settings": settings}
    return Call("POST", "/api/learners", nothing, {"json": body})


def asked(name: str, n: int) -> Call[list[Question]]:
    """Return a call for what to label next."""
    return Call("GET", of_learner(name, "/ask"), questions, {"params": {"n": n}})


def forgotten(name: str, label: Label | None, examples: Iterable[int]) -> Call[Forgotten]:
    """Return a call that erases."""
    body = {"label": label, "examples": [int(one) for one in examples]}
    return Call(
        "POST", of_learner(name, "/forget"), lambda one: Forgotten(**one.json()), {"json": body}
    )


def change(verb: str, name: str, body: dict[str, Any]) -> Call[None]:
    """Return a call that changes something by a small body."""
    return Call("POST", of_learner(name, f"/{verb}"), nothing, {"json": body, "headers": key()})


def key() -> dict[str, str]:
    """Return a header by which the service knows a request again."""
    return {"idempotency-key": secrets.token_hex(16)}


def _reason(response: httpx.Response) -> str:
    try:
        found = response.json()
        return str(found.get("error") or found.get("detail"))
    except ValueError:
        return response.text[:200]
