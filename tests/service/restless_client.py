"""A client that observes, teaches and takes back, and knows what it sent and what was answered."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

D = 3
LABELS = ("low", "high")


@dataclass
class RestlessClient:
    """Sends one request after the other, each under a key; what was not answered comes again.

    Attributes
    ----------
    name : str
        Its own; all keys begin with it.
    learners : list of str
        To which it speaks in turn.
    sent : dict
        By key: what it ever asked for, as kind and body.
    answered : set of str
        The keys under which it was told that it is done.
    refused : set of str
        The keys under which it was told that it cannot be done.
    """

    name: str
    learners: list[str]
    rng: np.random.Generator
    sent: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    _pending: tuple[str, str, str, dict[str, Any]] | None = None
    _seen: dict[str, list[int]] = field(default_factory=dict)
    _taught: dict[str, list[int]] = field(default_factory=dict)

    def until_it_breaks(self, base: str, token: str, going: threading.Event) -> None:
        """Send until the server is gone."""
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as http:
            while True:
                learner, kind, key, body = self._pending or self._next()
                self._pending = learner, kind, key, body
                self.sent[key] = kind, body
                try:
                    answer = http.post(
                        f"/api/learners/{learner}/{kind}",
                        json=body,
                        headers={"idempotency-key": key},
                    )
                except httpx.TransportError:
                    return
                self._hear(answer, learner, kind, key, body)
                going.set()

    def _hear(
        self, answer: httpx.Response, learner: str, kind: str, key: str, body: dict[str, Any]
    ) -> None:
        self._pending = None
        if answer.status_code == 422:
            self.refused.add(key)
            return
        assert answer.status_code == 200, answer.text
        self.answered.add(key)
        first = answer.json()["first"]
        if kind == "observe":
            self._seen[learner] = list(range(first, first + len(body["rows"])))
        elif kind == "teach":
            self._taught.setdefault(learner, []).append(first)
        elif kind == "teach_later":
            self._taught.setdefault(learner, []).append(body["example"])

    def _next(self) -> tuple[str, str, str, dict[str, Any]]:
        learner = self.learners[int(self.rng.integers(len(self.learners)))]
        key = f"{self.name} {len(self.sent)}"
        kind, seen = self.rng.random(), self._seen.get(learner)
        if kind < 0.1 and self._taught.get(learner):
            return learner, "retract", key, {"example": self._taught[learner].pop()}
        if kind < 0.2 and seen:
            label = LABELS[int(self.rng.integers(2))]
            return learner, "teach_later", key, {"example": seen.pop(), "label": label}
        n = int(self.rng.choice([1, 2, 300]))
        sides = self.rng.integers(2, size=n)
        rows = (6.0 * sides[:, None] + self.rng.normal(size=(n, D))).tolist()
        if kind < 0.4:
            return (
                learner,
                "teach",
                key,
                {"rows": rows[:2], "labels": [LABELS[i] for i in sides[:2]]},
            )
        return learner, "observe", key, {"rows": rows}
