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

from labelwalk.arrays import Bools, Label
from labelwalk.service.events import Observe, Retract, Rows, Teach, TeachLater, read_back, word_of
from labelwalk.service.ledger import Ledger, Opened, Stored
from labelwalk.service.pupil import Pupil, pupil_from_bytes
from labelwalk.service.replay import CREATE, first_of, redo
from labelwalk.service.sealed import erased
from labelwalk.service.snapshots import Snapshots


@dataclass(frozen=True)
class Unwanted:
    """What is to go: a class with all examples taught as it, or examples by their numbers."""

    learner: int
    label: Label | None = None
    examples: frozenset[int] = frozenset()


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
    older : bool
        Whether some came before the events that are kept.
    """

    payloads: dict[int, bytes]
    examples: frozenset[int]
    n_erased: int
    older: bool


def planned(ledger: Ledger, unwanted: Unwanted) -> Plan:
    """Return what must be done for something to be erased, without doing it."""
    examples = unwanted.examples
    if unwanted.label is not None:
        examples |= _members(_numbered(ledger, unwanted.learner), unwanted.label)
    payloads, n_erased, begun = {}, 0, None
    for one in _numbered(ledger, unwanted.learner):
        begun = one.numbers.start if begun is None else begun
        which = _which(one, examples, unwanted.label)
        if which:
            payloads[one.stored.sequence] = erased(one.stored.payload, which)
            n_erased += len(which & set(range(len(one.numbers))))
    older = any(begun is None or number < begun for number in examples)
    return Plan(payloads, examples, n_erased, older)


def belonging(ledger: Ledger, learner: int, belongs: Callable[[Rows], Bools]) -> frozenset[int]:
    """Return the examples that were observed, and of whose rows something is true.

    Parameters
    ----------
    ledger : Ledger
    learner : int
    belongs : function of rows
        Returns whether it is, for each.
    """
    found = set[int]()
    for one in _numbered(ledger, learner):
        parts = one.held.parts
        numbers = [n for n, part in zip(one.numbers, parts, strict=False) if part is not None]
        event = read_back(one.stored.kind, one.stored.about, parts) if numbers else None
        if isinstance(event, Observe):
            found |= {n for n, is_so in zip(numbers, belongs(event.rows), strict=True) if is_so}
    return frozenset(found)


def carry_out(plan: Plan, ledger: Ledger, snapshots: Snapshots) -> None:
    """Destroy the parts, and the states that know them; each step leaves all as it must be."""
    if plan.payloads:
        snapshots.strike(since=min(plan.payloads))
        ledger.rewrite(plan.payloads)


def remade(ledger: Ledger, snapshots: Snapshots, learner: int, since: int) -> Pupil:
    """Return a learner to which all that is kept has happened, and nothing that is erased."""
    last = snapshots.before(since)
    pupils = {}
    if last is not None and learner in last.states:
        pupils[learner] = pupil_from_bytes(last.states[learner])
    for stored in ledger.events(after=None if last is None else last.at.sequence):
        if stored.learner == learner:
            redo(pupils, ledger, stored)
    return pupils[learner]


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
