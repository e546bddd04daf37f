"""Examples made as if they had never been: in the journal, in learners, in copies.

Their parts are destroyed where they lie, and the learner is made again from before the first of
them by letting all else happen once more. What lies before the events that are kept cannot be
taken out so; whoever asks is told.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Label
from labelwalk.service.backup import BACKUPS
from labelwalk.service.commands import (
    Forget,
    Observe,
    Retract,
    Rows,
    Teach,
    TeachLater,
    decode_command,
    decode_label,
    encode_command,
    encode_metadata,
)
from labelwalk.service.database import DamagedError, Database
from labelwalk.service.encryption import name_of_key
from labelwalk.service.journal import Entry, EventContent, Journal, JournalReader, StoredEvent
from labelwalk.service.managed_learner import ManagedLearner, load_managed_learner
from labelwalk.service.sealed_parts import redact_parts
from labelwalk.service.snapshots import CREATE, ERASE, Snapshots, read_first_id, replay_event

AT_ONCE = 256  # rows that are asked about together


@dataclass(frozen=True)
class ErasureRequest:
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

    def remains(self, managed: ManagedLearner, plan: Plan) -> bool:
        """Return whether something that came before the events that are kept is still known."""
        means = managed.learner.vertices.means
        if self.belongs is None or plan.begun == 0 or not len(means):
            return False
        return bool(self.belongs(means).any())


@dataclass(frozen=True)
class Numbered:
    """An event of a learner, what it holds, and the numbers of the examples that it brought."""

    stored: StoredEvent
    held: EventContent
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


def plan_erasure(reader: JournalReader, unwanted: ErasureRequest) -> Plan:
    """Return what must be done for something to be erased, without doing it."""
    examples = unwanted.examples
    if unwanted.label is not None:
        examples |= _members(_numbered(reader, unwanted.learner), unwanted.label)
    if unwanted.belongs is not None:
        examples |= _belonging(reader, unwanted) - _taught_otherwise(reader, unwanted)
    payloads, n_erased, begun = {}, 0, None
    for one in _numbered(reader, unwanted.learner):
        begun = one.numbers.start if begun is None else begun
        which = _which(one, examples, unwanted.label)
        if which:
            payloads[one.stored.sequence] = redact_parts(one.stored.payload, which)
            n_erased += len(which & set(range(len(one.numbers))))
    older = any(begun is None or number < begun for number in examples)
    return Plan(payloads, examples, n_erased, begun or 0, older)


def apply_plan(plan: Plan, reader: JournalReader, snapshots: Snapshots) -> None:
    """Destroy the parts, and the states that know them; each step leaves all as it must be."""
    if plan.payloads:
        snapshots.strike(since=min(plan.payloads))
        reader.rewrite(plan.payloads)


def rebuild_learner(
    reader: JournalReader, snapshots: Snapshots, learner: int, since: int
) -> dict[int, ManagedLearner]:
    """Return a learner, if any, to which all that is kept has happened, and nothing erased."""
    last = snapshots.before(since)
    learners = dict[int, ManagedLearner]()
    if last is not None and learner in last.states:
        learners[learner] = load_managed_learner(last.states[learner])
    for stored in reader.events(after=None if last is None else last.at.sequence):
        if stored.learner == learner:
            replay_event(learners, reader, stored)
    return learners


def _numbered(reader: JournalReader, learner: int) -> Iterator[Numbered]:
    for stored in reader.events():
        if stored.learner != learner:
            continue
        held = reader.decrypt(stored)
        first = _taken_in(held) if stored.kind == CREATE else read_first_id(stored)
        n = len(held.parts) if stored.kind in (Observe.kind, Teach.kind) else 0
        yield Numbered(stored, held, range(first, first + n))


def _taken_in(held: EventContent) -> int:
    """Return how many examples a learner had seen when it was taken in."""
    return load_managed_learner(held.parts[0] or b"").next_example_id


def _members(events: Iterator[Numbered], label: Label) -> frozenset[int]:
    """Return the examples taught as a class, but those that were taken back and only observed."""
    taught: set[int] = set()
    later: set[int] = set()
    for one in events:
        if one.stored.kind == Teach.kind:
            parts = zip(one.numbers, one.held.parts, strict=True)
            taught |= {n for n, part in parts if part is not None and decode_label(part) == label}
        elif one.stored.kind in (TeachLater.kind, Retract.kind):
            said = _said(one)
            if one.stored.kind == TeachLater.kind and said.get("label") == label:
                later.add(said["example"])
            elif one.stored.kind == Retract.kind:
                later = later - {said.get("example")} if said.get("label") != label else set()
    return frozenset(taught | later)


def _belonging(reader: JournalReader, unwanted: ErasureRequest) -> set[int]:
    """Return the examples that were observed, and belong to what is to go."""
    found = set[int]()
    assert unwanted.belongs is not None
    for numbers, rows in _observed(reader, unwanted.learner):
        found |= {n for n, is_so in zip(numbers, unwanted.belongs(rows), strict=True) if is_so}
    return found


def _observed(reader: JournalReader, learner: int) -> Iterator[tuple[list[int], Rows]]:
    """Yield the numbers and rows of what was observed, many at a time."""
    numbers, rows = list[int](), list[Rows]()
    for one in _numbered(reader, learner):
        parts = one.held.parts
        there = [n for n, part in zip(one.numbers, parts, strict=False) if part is not None]
        event = decode_command(one.stored.kind, one.stored.about, parts) if there else None
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


def _taught_otherwise(reader: JournalReader, unwanted: ErasureRequest) -> set[int]:
    """Return the examples that were observed, and are taught as another class since."""
    later = dict[int, Label]()
    for one in _numbered(reader, unwanted.learner):
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


def _tells(held: EventContent, label: Label | None) -> bool:
    """Return whether an answer names a class."""
    answer = held.answer
    return label is not None and answer is not None and label in json.loads(answer).get("label", [])


MEANING = {
    False: "They are gone from learner, journal, snapshots and backups, as if they had never come.",
    True: "Some came before the events that are kept: what these left in the learner remains.",
}


class ErasureResult(NamedTuple):
    """What was erased: how many examples; and whether older ones still have their influence."""

    examples: int
    older: bool

    @property
    def meaning(self) -> str:
        """What that means, for people."""
        return MEANING[self.older]


def check_known(managed: ManagedLearner, unwanted: ErasureRequest) -> None:
    """See that what is to be erased is there.

    Raises
    ------
    ValueError
    """
    label = unwanted.label
    if (label is None) == (not unwanted.examples):
        raise ValueError("give a label or examples, one of the two, to be forgotten.")
    if label is not None and label not in managed.learner.classes:
        raise ValueError(f"{label!r} is no class of {managed.name!r}. Choose among its classes.")
    for example in unwanted.examples:
        if not 0 <= example < managed.next_example_id:
            raise ValueError(
                f"there is no example {example}: {managed.next_example_id} came so far. Count "
                "from 0."
            )


def erase(
    journal: Journal,
    snapshots: Snapshots,
    learners: dict[int, ManagedLearner],
    unwanted: ErasureRequest,
) -> ErasureResult:
    """Make something as if it had never been; it is nowhere on the disk when this returns.

    Copies come first: should it be broken off, asking again finds all that is left.

    Parameters
    ----------
    journal, snapshots : Journal, Snapshots
        Nothing else is written meanwhile.
    learners : dict
        All learners; the one concerned is replaced.
    unwanted : ErasureRequest
    """
    number, label = unwanted.learner, unwanted.label
    before = learners[number]
    plan = plan_erasure(journal, unwanted)
    older = erase_in_copies(journal, replace(unwanted, examples=plan.examples)) or plan.older
    apply_plan(plan, journal, snapshots)
    if plan.payloads:
        learners.update(rebuild_learner(journal, snapshots, number, min(plan.payloads)))
        learners[number].advance_ids(before.next_example_id)
    older |= unwanted.remains(learners[number], plan)
    about = json.dumps({"examples": plan.n_erased, "first": before.next_example_id})
    entries = [Entry(number, ERASE, about, [])]
    learners[number].n_changes = before.n_changes + 1  # who watches must see that it is another
    if label is not None and label in learners[number].learner.classes:
        older, struck = True, Forget(label)
        first = learners[number].apply(struck).first
        entries.append(
            Entry(number, Forget.kind, encode_metadata(struck, first), encode_command(struck))
        )
    prior = learners[number].learner.settings.prior
    older |= isinstance(prior, dict) and label in prior  # since the learner was made
    journal.append(entries)
    states = {i: managed.to_bytes() for i, managed in learners.items()}
    snapshots.keep(journal.last, states, learners)
    journal.database.cleanse()
    return ErasureResult(plan.n_erased, older)


class CleanupError(OSError):
    """Files outside the store with content that was erased cannot be destroyed; names them."""


class CopyError(Exception):
    """A copy cannot be read, or is of another folder, so nothing can be erased from it."""


def erase_in_copies(journal: Journal, unwanted: ErasureRequest) -> bool:
    """Erase from all copies in the folder of backups; return whether something older remains."""
    folder = os.path.join(os.path.dirname(journal.database.path), BACKUPS)
    older = False
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if ".db.part" in name:  # of a copy that was never finished
            os.remove(os.path.join(folder, name))
        if not name.endswith(".db"):
            continue
        database = _opened(os.path.join(folder, name))
        try:
            _check_key(database, journal)
            reader = JournalReader(database, journal.cipher)
            if reader.end().sequence < unwanted.learner:
                continue  # it was made later
            snapshots = Snapshots(reader)
            plan = plan_erasure(reader, unwanted)
            apply_plan(plan, reader, snapshots)
            older |= plan.older or _remains(snapshots, unwanted, plan)
            database.cleanse()
        finally:
            database.close()
    return older


def _remains(snapshots: Snapshots, unwanted: ErasureRequest, plan: Plan) -> bool:
    """Return whether a state of a copy still knows what came before its events."""
    last = snapshots.latest()
    state = None if last is None else last.states.get(unwanted.learner)
    return state is not None and unwanted.remains(load_managed_learner(state), plan)


def _opened(path: str) -> Database:
    try:
        return Database(path)
    except DamagedError as error:
        raise CopyError(
            f"the learner stays as it is: {path} is damaged. Take it out of there, and ask again."
        ) from error


def _check_key(copy: Database, journal: Journal) -> None:
    if name_of_key(copy) != journal.cipher.name:
        raise CopyError(
            f"the learner stays as it is: {copy.path} is no copy of this folder, since it is "
            "encrypted otherwise. Take it out of there, and ask again."
        )
