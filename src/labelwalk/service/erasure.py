"""Erasure: removes examples from the learner, journal, snapshots and backups.

The parts of the examples are destroyed where they are stored, and the learner is rebuilt by a
replay of everything else from a snapshot before the first of them. What is older than the stored
events cannot be erased in this way; the result says so.
"""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats, Label
from labelwalk.errors import LabelwalkError
from labelwalk.service import commands
from labelwalk.service.commands import ErasureRequest, Forget, Observe, Retract, Teach, TeachLater
from labelwalk.service.database import DamagedError, Database
from labelwalk.service.encryption import read_key_name
from labelwalk.service.journal import Entry, EventContent, Journal, JournalReader, StoredEvent
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.sealed_parts import redact_parts
from labelwalk.service.snapshots import (
    BACKUP_FOLDER,
    CREATE,
    ERASE,
    Snapshots,
    read_first_id,
    rebuild_learner,
)

ROWS_PER_CALL = 256  # in which rows are given to `belongs`
MEANING = {
    False: "They are removed from learner, journal, snapshots and backups, without a trace.",
    True: "Some are older than the stored events: their influence on the learner remains.",
}


class BackupError(LabelwalkError):
    """A backup cannot be read or belongs to another folder, so nothing can be erased from it."""


class CleanupError(LabelwalkError, OSError):
    """Files outside the store with content that was erased cannot be destroyed; names them."""


class ErasureResult(NamedTuple):
    """How many examples were erased, and whether older ones still influence the learner."""

    examples: int
    older: bool

    @property
    def meaning(self) -> str:
        """What the result means, as a sentence."""
        return MEANING[self.older]

    def describe(self) -> dict[str, int | bool | str]:
        """Return the result for JSON."""
        return {"erased": self.examples, "older": self.older, "meaning": self.meaning}


@dataclass(frozen=True)
class _LearnerEvent:
    """An event of a learner, its content, and the ids of the examples that it brought."""

    stored: StoredEvent
    content: EventContent
    ids: range

    @property
    def examples(self) -> dict[int, bytes]:
        """The parts of the examples that were not erased, by id."""
        parts = zip(self.ids, self.content.parts, strict=False)
        return {i: part for i, part in parts if part is not None}

    @property
    def command(self) -> commands.Command | None:
        """The command, if it brought no examples and was not erased."""
        if self.stored.kind not in commands.TYPES_BY_KIND:
            return None
        return commands.decode_command(self.stored.kind, self.stored.about, self.content.parts)


@dataclass(frozen=True)
class ErasurePlan:
    """The new payloads of events, and the examples to be erased.

    Of the examples, `n_erased` are stored; `older` says whether some came before the
    `first_example` of the stored events.
    """

    payloads: dict[int, bytes]
    examples: frozenset[int]
    n_erased: int
    first_example: int
    older: bool


def check_request(managed: ManagedLearner, request: ErasureRequest) -> None:
    """Raise a ValueError if the label or the examples do not exist."""
    label = request.label
    if (label is None) == (not request.examples):
        raise ValueError("Give either a label or examples to erase.")
    if label is not None and label not in managed.learner.classes:
        raise ValueError(
            f"{label!r} is not a class of {managed.name!r}. Choose one of its classes."
        )
    for example in request.examples:
        if not 0 <= example < managed.next_example_id:
            raise ValueError(
                f"example {example} does not exist: there are {managed.next_example_id} examples, "
                "numbered from 0."
            )


def erase(
    journal: Journal,
    snapshots: Snapshots,
    learners: dict[int, ManagedLearner],
    request: ErasureRequest,
) -> ErasureResult:
    """Erase from backups, journal, snapshots and learner: no trace is left on disk afterwards.

    Nothing else may be written meanwhile; the learner in `learners` is replaced. Backups come
    first: if this is interrupted, the same request finds everything that is left.
    """
    learner_id, label, reader = request.learner_id, request.label, journal.reader
    before = learners[learner_id]
    if request.belongs is None or label is not None:
        check_request(before, request)
    if request.belongs is not None:
        request = replace(request, belongs=partial(request.belongs, before))
    plan = plan_erasure(reader, request)
    older = _erase_in_backups(journal, replace(request, examples=plan.examples)) or plan.older
    apply_plan(plan, reader, snapshots)
    if plan.payloads:
        learners.update(rebuild_learner(reader, snapshots, learner_id, min(plan.payloads)))
        learners[learner_id].advance_ids(before.next_example_id)
    managed = learners[learner_id]
    older |= _has_traces(managed, request, plan)
    about = json.dumps({"examples": plan.n_erased, "first": before.next_example_id})
    entries = [Entry(learner_id, ERASE, about, [])]
    managed.n_changes = before.n_changes + 1  # so that pages notice the new learner
    if label is not None and label in managed.learner.classes:
        older, forget = True, Forget(label)
        metadata = commands.encode_metadata(forget, managed.apply(forget).first)
        entries.append(Entry(learner_id, Forget.kind, metadata, commands.encode_command(forget)))
    prior = managed.learner.settings.prior
    older |= isinstance(prior, dict) and label in prior  # the prior the learner was created with
    journal.append(entries)
    snapshots.save(journal.last, {i: each.to_bytes() for i, each in learners.items()}, learners)
    journal.database.purge()
    return ErasureResult(plan.n_erased, older)


def plan_erasure(reader: JournalReader, request: ErasureRequest) -> ErasurePlan:
    """Return the changes that erase something."""
    examples = request.examples
    if request.label is not None:
        examples |= _find_members(reader, request.learner_id, request.label)
    if request.belongs is not None:
        observed = _read_observed_rows(reader, request.learner_id)
        members = {
            i
            for ids, rows in observed
            for i, is_member in zip(ids, request.belongs(rows), strict=True)
            if is_member
        }
        examples |= members - _find_taught_otherwise(reader, request)
    payloads, n_erased, first_example = {}, 0, None
    for event in _read_events(reader, request.learner_id):
        first_example = event.ids.start if first_example is None else first_example
        indices = _find_parts(event, examples, request.label)
        if indices:
            payloads[event.stored.sequence] = redact_parts(event.stored.payload, indices)
            n_erased += len(indices & set(range(len(event.ids))))
    older = any(first_example is None or example < first_example for example in examples)
    return ErasurePlan(payloads, examples, n_erased, first_example or 0, older)


def apply_plan(plan: ErasurePlan, reader: JournalReader, snapshots: Snapshots) -> None:
    """Delete the snapshots with the examples, then the parts: valid after each step."""
    if plan.payloads:
        snapshots.delete(since=min(plan.payloads))
        reader.replace_payloads(plan.payloads)


def _erase_in_backups(journal: Journal, request: ErasureRequest) -> bool:
    """Erase from all backups; return whether something older remains in one."""
    folder = os.path.join(os.path.dirname(journal.database.path), BACKUP_FOLDER)
    older = False
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if ".db.part" in name:  # left by a backup that was interrupted
            os.remove(os.path.join(folder, name))
        if not name.endswith(".db"):
            continue
        path, cipher = os.path.join(folder, name), journal.reader.cipher
        try:
            database = Database(path)
        except DamagedError as error:
            raise BackupError(
                f"nothing was erased: {path} is damaged. Move it to another folder, and try again."
            ) from error
        with closing(database):
            if read_key_name(database) != cipher.key_name:
                raise BackupError(
                    f"nothing was erased: {path} is not a backup of this folder, since it is "
                    "encrypted with another key. Move it to another folder, and try again."
                )
            reader = JournalReader(database, cipher)
            if reader.read_end().sequence < request.learner_id:
                continue  # the learner was created later
            snapshots = Snapshots(reader)
            plan = plan_erasure(reader, request)
            apply_plan(plan, reader, snapshots)
            latest = snapshots.read_latest()
            state = None if latest is None else latest.states.get(request.learner_id)
            older |= plan.older
            if state is not None:
                older |= _has_traces(ManagedLearner.from_bytes(state), request, plan)
            database.purge()
    return older


def _has_traces(managed: ManagedLearner, request: ErasureRequest, plan: ErasurePlan) -> bool:
    """Return whether vertices from before the stored events belong to what was erased."""
    means = managed.learner.vertices.means
    if request.belongs is None or plan.first_example == 0 or not len(means):
        return False
    return bool(request.belongs(means).any())


def _read_events(reader: JournalReader, learner_id: int) -> Iterator[_LearnerEvent]:
    for event in reader.read_events():
        if event.learner != learner_id:
            continue
        content = reader.decrypt(event)
        if event.kind == CREATE:
            first = ManagedLearner.from_bytes(content.parts[0] or b"").next_example_id
        else:
            first = read_first_id(event)
        has_rows = event.kind in (Observe.kind, Teach.kind)
        n_examples = len(content.parts) if has_rows else 0
        yield _LearnerEvent(event, content, range(first, first + n_examples))


def _find_members(reader: JournalReader, learner_id: int, label: Label) -> frozenset[int]:
    """Return the examples taught as a class, without observed ones whose label was retracted."""
    taught, taught_later = set[int](), set[int]()
    for event in _read_events(reader, learner_id):
        if event.stored.kind == Teach.kind:
            parts = event.examples.items()
            taught |= {i for i, part in parts if commands.decode_label(part) == label}
        command = event.command
        if isinstance(command, TeachLater) and command.label == label:
            taught_later.add(command.example)
        elif isinstance(command, Retract):
            taught_later -= {command.example} if command.label != label else set(taught_later)
    return frozenset(taught | taught_later)


def _read_observed_rows(
    reader: JournalReader, learner_id: int
) -> Iterator[tuple[list[int], Floats]]:
    """Yield the ids and rows of observed examples, in batches."""
    ids, rows = list[int](), list[Floats]()
    for event in _read_events(reader, learner_id):
        kind, about = event.stored.kind, event.stored.about
        if kind == Observe.kind:
            command = commands.decode_command(kind, about, event.content.parts)
            if isinstance(command, Observe):
                ids += event.examples
                rows.append(np.asarray(command.rows, np.float64))
        if len(ids) >= ROWS_PER_CALL:
            yield ids, np.concatenate(rows)
            ids, rows = [], []
    if ids:
        yield ids, np.concatenate(rows)


def _find_taught_otherwise(reader: JournalReader, request: ErasureRequest) -> set[int]:
    """Return the observed examples that were taught as another class later."""
    labels = dict[int, Label]()
    for event in _read_events(reader, request.learner_id):
        command = event.command
        if isinstance(command, TeachLater):
            labels[command.example] = command.label
        elif isinstance(command, Retract | Forget):
            example = command.example if isinstance(command, Retract) else None
            labels = {
                i: label for i, label in labels.items() if i != example and label != command.label
            }
    return {i for i, label in labels.items() if label != request.label}


def _find_parts(event: _LearnerEvent, examples: frozenset[int], label: Label | None) -> set[int]:
    """Return the indices of the parts to be erased, that of the answer included."""
    indices = {i - event.ids.start for i in examples.intersection(event.examples)}
    command = event.command
    is_named = label is not None and _names_class(command, label)
    if is_named or getattr(command, "example", None) in examples:
        indices.add(0)
    if event.stored.key and (indices or _answers_with(event.content, label)):
        indices.add(len(event.content.parts))
    return indices


def _answers_with(content: EventContent, label: Label | None) -> bool:
    """Return whether a stored answer names a class."""
    if label is None or content.answer is None:
        return False
    return label in json.loads(content.answer).get("label", [])


def _names_class(command: commands.Command | None, label: Label) -> bool:
    """Return whether a command has a class as its label or in its prior."""
    if isinstance(command, commands.Adjust):
        prior = command.settings.get("prior")
        return isinstance(prior, list) and any(name == label for name, _ in prior)
    return getattr(command, "label", None) == label
