"""Examples made as if they had never been: in the journal, in learners, in copies.

Their parts are destroyed where they lie, and the learner is made again from before the first of
them by letting all else happen once more. What lies before the events that are kept cannot be
taken out so; whoever asks is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwalk.arrays import Bools, Label
from labelwalk.service.events import (
    Forget,
    Observe,
    Retract,
    Rows,
    Teach,
    TeachLater,
    read_back,
    word_of,
)
from labelwalk.service.ledger import Ledger, Opened, Stored
from labelwalk.service.pupil import Pupil, pupil_from_bytes
from labelwalk.service.replay import CREATE, first_of, redo
from labelwalk.service.sealed import erased
from labelwalk.service.snapshots import Snapshots

AT_ONCE = 256  # rows that are asked about together


@dataclass(frozen=True)
class Unwanted:
    """What is to go: a class with all examples taught as it, or examples by their numbers.

    Attributes
    ----------
    learner : int
    label : str or int or None
    examples : frozenset of int
    belongs : function of rows or None
        Says of rows that were observed, and not taught as another class since, which go too.
    """

    learner: int
    label: Label | None = None
    examples: frozenset[int] = frozenset()
    belongs: Callable[[Rows], Bools] | None = None

    def remains(self, pupil: Pupil, plan: Plan) -> bool:
        """Return whether something that came before the events that are kept is still known."""
        means = pupil.learner.vertices.means
        if self.belongs is None or plan.begun == 0 or not len(means):
            return False
        return bool(self.belongs(means).any())


@dataclass(frozen=True)
class Numbered:
    """An event of a learner, what it holds, and the numbers of the examples that it brought."""

    stored: Stored
    held: Opened
    numbers: range


@dataclass(frozen=True)
class Plan:
    """What is to be done to the events of a database.

    Attributes
    ----------
    payloads : dict from events to bytes
        What takes the place of their payloads.
    examples : frozenset of int
        The examples that go.
    n_erased : int
        How many of them are there.
    begun : int
        The first example of the events that are kept.
    older : bool
        Whether some came before them.
    """

    payloads: dict[int, bytes]
    examples: frozenset[int]
    n_erased: int
    begun: int
    older: bool


def planned(ledger: Ledger, unwanted: Unwanted) -> Plan:
    """Return what must be done for something to be erased, without doing it."""
    examples = unwanted.examples
    if unwanted.label is not None:
        examples |= _members(_numbered(ledger, unwanted.learner), unwanted.label)
    if unwanted.belongs is not None:
        examples |= _belonging(ledger, unwanted) - _taught_otherwise(ledger, unwanted)
    payloads, n_erased, begun = {}, 0, None
    for one in _numbered(ledger, unwanted.learner):
        begun = one.numbers.start if begun is None else begun
        which = _which(one, examples, unwanted.label)
        if which:
            payloads[one.stored.sequence] = erased(one.stored.payload, which)
            n_erased += len(which & set(range(len(one.numbers))))
    older = any(begun is None or number < begun for number in examples)
    return Plan(payloads, examples, n_erased, begun or 0, older)


def carry_out(plan: Plan, ledger: Ledger, snapshots: Snapshots) -> None:
    """Destroy the parts, and the states that know them; each step leaves all as it must be."""
    if plan.payloads:
        snapshots.strike(since=min(plan.payloads))
        ledger.rewrite(plan.payloads)


def remade(ledger: Ledger, snapshots: Snapshots, learner: int, since: int) -> dict[int, Pupil]:
    """Return a learner, if any, to which all that is kept has happened, and nothing erased."""
    last = snapshots.before(since)
    pupils = dict[int, Pupil]()
    if last is not None and learner in last.states:
        pupils[learner] = pupil_from_bytes(last.states[learner])
    for stored in ledger.events(after=None if last is None else last.at.sequence):
        if stored.learner == learner:
            redo(pupils, ledger, stored)
    return pupils


def _numbered(ledger: Ledger, learner: int) -> Iterator[Numbered]:
    for stored in ledger.events():
        if stored.learner != learner:
            continue
        held = ledger.unlocked(stored)
        first = _taken_in(held) if stored.kind == CREATE else first_of(stored)
        n = len(held.parts) if stored.kind in (Observe.kind, Teach.kind) else 0
        yield Numbered(stored, held, range(first, first + n))


def _taken_in(held: Opened) -> int:
    """Return how many examples a learner had seen when it was taken in."""
    return pupil_from_bytes(held.parts[0] or b"").n_numbered


def _members(events: Iterator[Numbered], label: Label) -> frozenset[int]:
    """Return the examples taught as a class, but those that were taken back and only observed."""
    taught: set[int] = set()
    later: set[int] = set()
    for one in events:
        if one.stored.kind == Teach.kind:
            parts = zip(one.numbers, one.held.parts, strict=True)
            taught |= {n for n, part in parts if part is not None and word_of(part) == label}
        elif one.stored.kind in (TeachLater.kind, Retract.kind):
            said = _said(one)
            if one.stored.kind == TeachLater.kind and said.get("label") == label:
                later.add(said["example"])
            elif one.stored.kind == Retract.kind:
                later = later - {said.get("example")} if said.get("label") != label else set()
    return frozenset(taught | later)


def _belonging(ledger: Ledger, unwanted: Unwanted) -> set[int]:
    """Return the examples that were observed, and belong to what is to go."""
    found = set[int]()
    assert unwanted.belongs is not None
    for numbers, rows in _observed(ledger, unwanted.learner):
        found |= {n for n, is_so in zip(numbers, unwanted.belongs(rows), strict=True) if is_so}
    return found


def _observed(ledger: Ledger, learner: int) -> Iterator[tuple[list[int], Rows]]:
    """Yield the numbers and rows of what was observed, many at a time."""
    numbers, rows = list[int](), list[Rows]()
    for one in _numbered(ledger, learner):
        parts = one.held.parts
        there = [n for n, part in zip(one.numbers, parts, strict=False) if part is not None]
        event = read_back(one.stored.kind, one.stored.about, parts) if there else None
        if isinstance(event, Observe):
            numbers += there
            rows.append(event.rows)
        if len(numbers) >= AT_ONCE:
            yield numbers, _stacked(rows)
            numbers, rows = [], []
    if numbers:
        yield numbers, _stacked(rows)


def _stacked(rows: list[Rows]) -> Rows:
    return np.concatenate([np.asarray(one, np.float64) for one in rows])


def _taught_otherwise(ledger: Ledger, unwanted: Unwanted) -> set[int]:
    """Return the examples that were observed, and are taught as another class since."""
    later = dict[int, Label]()
    for one in _numbered(ledger, unwanted.learner):
        kind = one.stored.kind
        said = _said(one) if kind in (TeachLater.kind, Retract.kind, Forget.kind) else {}
        if said and kind == TeachLater.kind:
            later[said["example"]] = said["label"]
        elif said:
            later = {
                example: label
                for example, label in later.items()
                if example != said.get("example") and label != said.get("label")
            }
    return {example for example, label in later.items() if label != unwanted.label}


def _which(one: Numbered, examples: frozenset[int], label: Label | None) -> set[int]:
    """Return the places of the parts that must go, that of the answer with them."""
    stored, parts = one.stored, one.held.parts
    if stored.kind in (Observe.kind, Teach.kind):
        numbers = zip(one.numbers, parts, strict=True)
        which = {i for i, (n, part) in enumerate(numbers) if n in examples and part is not None}
    else:
        said = _said(one)
        named = label is not None and (said.get("label") == label or _has_prior(said, label))
        which = {0} if named or said.get("example") in examples else set()
    if stored.key and (which or _tells(one.held, label)):
        which.add(len(parts))
    return which


def _has_prior(said: dict[str, Any], label: Label) -> bool:
    """Return whether settings say how often a class is to be expected."""
    prior = said.get("dials", {}).get("prior")
    return isinstance(prior, list) and any(name == label for name, _ in prior)


def _said(one: Numbered) -> dict[str, Any]:
    """Return what a small event says; nothing where it is erased, or is none of those."""
    parts = one.held.parts
    if one.stored.kind == CREATE or not parts or parts[0] is None:
        return {}
    return dict(json.loads(parts[0]))


def _tells(held: Opened, label: Label | None) -> bool:
    """Return whether an answer names a class."""
    answer = held.answer
    return label is not None and answer is not None and label in json.loads(answer).get("label", [])
